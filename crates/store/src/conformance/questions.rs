//! Questions: numbered per task, closed once.

use offshoot_core::{Addressee, Caller, Change, Payload, Question, QuestionKind, Resolution, Task};

use super::world::StoreWorld;
use crate::batch::Write;
use crate::error::Conflict;

fn question(world: &StoreWorld, task: &Task, number: u32) -> Question {
    Question {
        task: task.id(),
        number,
        wants: if number.is_multiple_of(2) { QuestionKind::Approval } else { QuestionKind::Input },
        addressee: Addressee::Owner,
        text: format!("question {number}?").into(),
        about: Payload::encode(&number).unwrap(),
        key: Some(format!("ask {number}").into()),
        at: world.now(),
        closed: None,
    }
}

fn answered(world: &StoreWorld) -> Resolution {
    let answer = Payload::encode("yes").unwrap();
    Resolution::Answered { by: Caller::Host, answer, at: world.now() }
}

fn close(task: &Task, number: u32, closed: Resolution) -> Write {
    Write::CloseQuestion { task: task.id(), number, closed: Box::new(closed) }
}

pub(super) async fn s5_5_questions_are_kept_in_order_with_their_answers(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let store = world.store();
    assert!(store.questions(task.id()).await.unwrap().is_empty());
    let after = store.cursor();
    let mut asked = Vec::new();
    for number in 1..=3 {
        let question = question(&world, &task, number);
        world.write(Write::Ask(Box::new(question.clone()))).await;
        asked.push(question);
    }
    assert_eq!(store.questions(task.id()).await.unwrap(), asked);
    let (answer, withdrawn) = (answered(&world), Resolution::Withdrawn { at: world.now() });
    world.write(close(&task, 2, answer.clone())).await;
    world.write(close(&task, 1, withdrawn.clone())).await;
    asked[1].closed = Some(answer);
    asked[0].closed = Some(withdrawn);
    assert_eq!(store.questions(task.id()).await.unwrap(), asked);
    let expected = [
        Change::Asked(1),
        Change::Asked(2),
        Change::Asked(3),
        Change::QuestionClosed(2),
        Change::QuestionClosed(1),
    ];
    let events = world.events(Some(session.id), after).await;
    assert!(events.iter().all(|event| event.task == Some(task.id())));
    assert_eq!(events.into_iter().map(|event| event.change).collect::<Vec<_>>(), expected);
}

pub(super) async fn s5_5_a_question_has_the_next_number(world: StoreWorld) {
    let session = world.session("main").await;
    let (task, other) = (world.running(&session).await, world.running(&session).await);
    for wrong in [0, 2] {
        let ask = Write::Ask(Box::new(question(&world, &task, wrong)));
        let conflict = Conflict::QuestionClosed(task.id(), wrong);
        assert_eq!(world.refused_write(ask).await, conflict);
    }
    world.write(Write::Ask(Box::new(question(&world, &task, 1)))).await;
    let again = Write::Ask(Box::new(question(&world, &task, 1)));
    assert_eq!(world.refused_write(again).await, Conflict::QuestionClosed(task.id(), 1));
    // Each task has its own numbers, and a closed question keeps its number.
    world.write(Write::Ask(Box::new(question(&world, &other, 1)))).await;
    world.write(close(&task, 1, answered(&world))).await;
    let again = Write::Ask(Box::new(question(&world, &task, 1)));
    assert_eq!(world.refused_write(again).await, Conflict::QuestionClosed(task.id(), 1));
    world.write(Write::Ask(Box::new(question(&world, &task, 2)))).await;
}

pub(super) async fn s5_5_a_question_is_closed_once(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let conflict = Conflict::QuestionClosed(task.id(), 1);
    let early = close(&task, 1, answered(&world));
    assert_eq!(world.refused_write(early).await, conflict, "never asked");
    world.write(Write::Ask(Box::new(question(&world, &task, 1)))).await;
    let first = answered(&world);
    world.write(close(&task, 1, first.clone())).await;
    let late = close(&task, 1, Resolution::Withdrawn { at: world.now() });
    assert_eq!(world.refused_write(late).await, conflict, "closed before");
    let stored = world.store().questions(task.id()).await.unwrap();
    assert_eq!(stored[0].closed, Some(first));
    let zero = close(&task, 0, answered(&world));
    assert_eq!(world.refused_write(zero).await, Conflict::QuestionClosed(task.id(), 0));
}
