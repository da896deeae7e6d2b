//! Progress and questions: what a child reports and asks.

use std::time::Duration;

use offshoot_core::{
    Change, Payload, Phase, QuestionKind, Resolution, RowBody, TaskState, WaitingOn,
};
use offshoot_runtime::{BodyError, Context, Error, WaitEnd};
use serde::{Deserialize, Serialize};

use crate::support::{Done, Gate, changes_of, end_of, session, until, until_in};

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Report {
    files: u32,
}

#[tokio::test(start_paused = true)]
async fn s5_5_progress_is_structured_and_the_latest_counts() {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let body = gate.clone();
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            for files in 1..=50 {
                cx.progress(&Report { files }).await?;
            }
            body.pass().await;
            Done::Ok(())
        })
        .await
        .unwrap();
    gate.arrived().await;
    let stands = |task: &offshoot_core::Task| {
        let progress = task.progress.as_ref().map(|said| said.value.decode::<Report>().unwrap());
        progress == Some(Report { files: 50 })
    };
    until(&task, stands).await;
    gate.admit(1);
    assert!(stands(&task.wait().await.unwrap().task), "it survives the end");
    let log = changes_of(&session, &task);
    let writes = log.await.into_iter().filter(|change| *change == Change::Progress).count();
    assert_eq!(writes, 2, "the first at once, the rest after a second");
}

#[tokio::test(start_paused = true)]
async fn s5_5_the_last_report_before_the_end_is_kept() {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            for files in 1..=3 {
                cx.progress(&Report { files }).await?;
            }
            Err::<(), _>(BodyError::message("broke"))
        })
        .await
        .unwrap();
    let end = task.wait().await.unwrap().task;
    assert_eq!(end.state, TaskState::Failed);
    let last = end.progress.as_ref().unwrap().value.decode::<Report>().unwrap();
    assert_eq!(last, Report { files: 3 });
}

#[tokio::test]
async fn s5_5_a_question_that_is_given_up_is_withdrawn_and_its_task_goes_on() {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let body = gate.clone();
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            let given_up = async move { body.pass().await };
            let answer = cx.ask("which one?").unless(given_up).await;
            assert!(matches!(answer, Err(Error::Cancelled)), "{answer:?}");
            assert!(!cx.is_cancelled());
            Done::Ok(())
        })
        .await
        .unwrap();
    assert_eq!(task.wait().await.unwrap().end, WaitEnd::NeedsInput);
    gate.admit(1);
    until(&task, |task| task.state == TaskState::Completed).await;
    let asked = task.questions().await.unwrap();
    assert!(matches!(asked[0].closed, Some(Resolution::Withdrawn { .. })), "{asked:?}");
}

#[tokio::test]
async fn s5_5_a_question_puts_the_task_in_waiting_and_before_its_owner() {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            let about = Payload::encode(&"rm")?;
            let answer = cx.ask("which one?").about(about).await?;
            Ok::<_, BodyError>(answer.decode::<String>()?)
        })
        .await
        .unwrap();
    let waited = task.wait().await.unwrap();
    assert_eq!(waited.end, WaitEnd::NeedsInput);
    assert_eq!(waited.task.state, TaskState::Waiting(WaitingOn::Input(1)));
    let rows = session.receive(8).await.unwrap();
    let row = rows.iter().next().unwrap();
    assert_eq!(*row.body(), RowBody::Question { task: task.id(), number: 1 });
    assert_eq!(row.task().unwrap().id(), task.id());
    let question = task.questions().await.unwrap().remove(0);
    assert_eq!((&*question.text, question.wants), ("which one?", QuestionKind::Input));
    assert_eq!(question.about.decode::<String>().unwrap(), "rm");

    task.answer(1, &"the left").await.unwrap();
    assert_eq!(task.wait().await.unwrap().decode::<String>().unwrap(), "the left");
}

#[tokio::test]
async fn s5_5_the_answer_resumes_the_task() {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let body = gate.clone();
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.ask("go on?").approval().await?;
            body.pass().await;
            Done::Ok(())
        })
        .await
        .unwrap();
    let record = until_in(&task, Phase::Waiting).await;
    assert_eq!(record.state, TaskState::Waiting(WaitingOn::Approval(1)));
    task.answer(1, &true).await.unwrap();
    gate.arrived().await;
    assert_eq!(task.record().await.unwrap().state, TaskState::Running);
    gate.admit(1);
    assert_eq!(task.wait().await.unwrap().task.state, TaskState::Completed);
}

#[tokio::test]
async fn s5_5_the_first_answer_wins() {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let body = gate.clone();
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            let answer = cx.ask("one?").await?.decode::<u32>()?;
            body.pass().await;
            Ok::<_, BodyError>(answer)
        })
        .await
        .unwrap();
    until_in(&task, Phase::Waiting).await;
    task.answer(1, &1).await.unwrap();
    let refused = task.answer(1, &2).await.unwrap_err();
    assert!(matches!(refused, Error::QuestionClosed { number: 1, .. }), "{refused}");
    let refused = task.answer(7, &2).await.unwrap_err();
    assert!(matches!(refused, Error::QuestionClosed { number: 7, .. }), "{refused}");
    gate.admit(1);
    assert_eq!(task.wait().await.unwrap().decode::<u32>().unwrap(), 1);
    let refused = task.answer(1, &2).await.unwrap_err();
    assert!(matches!(refused, Error::Ended { .. }), "{refused}");
}

#[tokio::test]
async fn s5_5_a_child_asks_its_parent_task() {
    let (_runtime, session) = session().await;
    let lead = session
        .spawn_ephemeral(|cx: Context| async move {
            let child = |cx: Context| async move {
                Ok::<_, BodyError>(cx.ask("how many?").await?.decode::<u32>()?)
            };
            let child = cx.spawn_ephemeral(child).await?;
            let rows = cx.receive(1).await?;
            let asked = matches!(rows.iter().next().unwrap().body(), RowBody::Question { .. });
            rows.ack().await?;
            child.answer(1, &7).await?;
            Ok::<_, BodyError>((asked, child.wait().await?.decode::<u32>()?))
        })
        .await
        .unwrap();
    let end = end_of(&lead).await;
    let value = match end.ended() {
        Some(offshoot_core::Outcome::Completed { value, .. }) => value.decode::<(bool, u32)>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(value.unwrap(), (true, 7));
    assert!(!has_question(&session.drain(8).await.unwrap()));
}

fn has_question(rows: &offshoot_runtime::InboxRows) -> bool {
    rows.iter().any(|row| matches!(row.body(), RowBody::Question { .. }))
}

#[tokio::test(start_paused = true)]
async fn s5_5_a_cancel_withdraws_the_question() {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.ask("anybody?").await?;
            Done::Ok(())
        })
        .await
        .unwrap();
    until_in(&task, Phase::Waiting).await;
    task.cancel("no").grace(Duration::from_secs(3600)).await.unwrap();
    assert_eq!(end_of(&task).await.state, TaskState::Cancelled);
    assert!(task.questions().await.unwrap()[0].closed.is_some());
}
