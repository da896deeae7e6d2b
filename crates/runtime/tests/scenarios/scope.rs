//! Scope: which tasks a caller may see and touch.

use std::time::Duration;

use offshoot_core::{
    MessageState, Owner, Receipt, RowBody, Stamp, Task, TaskId, TaskState, Visibility,
};
use offshoot_runtime::{BodyError, Context, Error, MessageRecipient, Runtime, Session, TaskRef};
use tokio::sync::oneshot;

use crate::support::{Polls, Test, all_tasks, events_so_far, never, obedient, session};

/// `lead` owns `child`, which owns `grandchild`; `sibling` is beside `lead`;
/// `stranger` is in another session.
struct Family {
    runtime: Runtime,
    session: Session,
    lead: TaskRef,
    sibling: TaskRef,
    child: TaskRef,
    grandchild: TaskRef,
    stranger: TaskRef,
    of_lead: Context,
    of_child: Context,
}

async fn family(visibility: Visibility) -> Result<Family, Error> {
    let (runtime, session) = session().await;
    let (leads, lead_runs) = oneshot::channel();
    let (childs, child_runs) = oneshot::channel();
    let child = move |cx: Context| async move {
        let grandchild = cx.spawn_ephemeral(obedient).name("grandchild").await?;
        childs.send((cx.clone(), grandchild)).ok();
        cx.cancelled().await;
        Err::<(), _>(BodyError::Cancelled)
    };
    let lead = session
        .spawn_ephemeral(move |cx: Context| async move {
            let child = cx.spawn_ephemeral(child).name("child").visibility(visibility).await?;
            leads.send((cx.clone(), child)).ok();
            cx.cancelled().await;
            Err::<(), _>(BodyError::Cancelled)
        })
        .name("lead")
        .visibility(visibility)
        .await?;
    let sibling = session.spawn_ephemeral(never).name("sibling").await?;
    let other = runtime.session("other").await?;
    let stranger = other.spawn_ephemeral(never).name("stranger").await?;
    let (of_lead, child) = lead_runs.await.expect("the lead runs");
    let (of_child, grandchild) = child_runs.await.expect("the child runs");
    Ok(Family { runtime, session, lead, sibling, child, grandchild, stranger, of_lead, of_child })
}

fn id(task: &TaskRef) -> String {
    task.id().to_string()
}

fn ids(tasks: &[Task]) -> Vec<TaskId> {
    tasks.iter().map(Task::id).collect()
}

#[tokio::test]
async fn s7_1_the_host_sees_and_touches_everything() -> Test {
    let family = family(Visibility::Children).await?;
    for task in [&family.lead, &family.child, &family.grandchild, &family.stranger] {
        assert_eq!(family.runtime.task(&id(task)).await?.id(), task.id());
    }
    assert_eq!(all_tasks(&family.runtime).await.len(), 5);
    let stranger = family.runtime.task("stranger").await?;
    assert_eq!(stranger.cancel("by the host").grace(Duration::ZERO).await?, 1);
    Ok(())
}

#[tokio::test]
async fn s7_1_a_session_sees_and_touches_its_own_tasks() -> Test {
    let family = family(Visibility::Children).await?;
    let session = &family.session;
    assert_eq!(session.task(&id(&family.lead)).await?.id(), family.lead.id());
    for task in [&family.child, &family.grandchild, &family.stranger] {
        let refused = session.task(&id(task)).await;
        assert!(matches!(refused, Err(Error::Forbidden(of)) if of == task.id()), "{refused:?}");
    }
    assert!(matches!(session.task("child").await, Err(Error::NotFound { .. })));
    let listed = ids(&session.tasks().await?.items);
    assert_eq!(listed, [family.lead.id(), family.sibling.id()]);
    Ok(())
}

#[tokio::test]
async fn s7_1_a_task_sees_and_touches_itself_and_its_children() -> Test {
    let family = family(Visibility::Children).await?;
    let cx = &family.of_lead;
    for task in [&family.lead, &family.child] {
        assert_eq!(cx.task(&id(task)).await?.id(), task.id());
    }
    for task in [&family.sibling, &family.grandchild, &family.stranger] {
        assert!(matches!(cx.task(&id(task)).await, Err(Error::Forbidden(of)) if of == task.id()));
    }
    assert_eq!(ids(&cx.tasks().await?.items), [family.child.id()]);
    Ok(())
}

#[tokio::test]
async fn s7_1_a_task_touches_no_ancestor() -> Test {
    for visibility in [Visibility::Children, Visibility::Subtree] {
        let family = family(visibility).await?;
        for task in [&family.lead, &family.sibling, &family.stranger] {
            let refused = family.of_child.task(&id(task)).await;
            assert!(matches!(refused, Err(Error::Forbidden(_))), "{visibility:?}");
        }
        assert!(matches!(family.of_child.task("lead").await, Err(Error::NotFound { .. })));
    }
    Ok(())
}

#[tokio::test]
async fn s7_1_subtree_visibility_widens_to_descendants_and_no_further() -> Test {
    let family = family(Visibility::Subtree).await?;
    let cx = &family.of_lead;
    for task in [&family.lead, &family.child, &family.grandchild] {
        assert_eq!(cx.task(&id(task)).await?.id(), task.id());
    }
    assert_eq!(cx.task("grandchild").await?.id(), family.grandchild.id());
    for task in [&family.sibling, &family.stranger] {
        assert!(matches!(cx.task(&id(task)).await, Err(Error::Forbidden(_))));
    }
    let listed = ids(&cx.tasks().await?.items);
    assert_eq!(listed, [family.lead.id(), family.child.id(), family.grandchild.id()]);
    let wide = family.session.clone().with_visibility(Visibility::Subtree);
    assert_eq!(wide.task(&id(&family.grandchild)).await?.id(), family.grandchild.id());
    assert!(matches!(wide.task(&id(&family.stranger)).await, Err(Error::Forbidden(_))));
    assert_eq!(wide.tasks().await?.items.len(), 4);
    Ok(())
}

#[tokio::test]
async fn s7_2_a_suggestion_names_nothing_out_of_scope() -> Test {
    let near = |found: Result<TaskRef, Error>| match found {
        Err(Error::NotFound { nearest, .. }) => nearest,
        other => panic!("found: {other:?}"),
    };
    for visibility in [Visibility::Children, Visibility::Subtree] {
        let family = family(visibility).await?;
        for hidden in ["siblin", "strange", "leed"] {
            assert_eq!(near(family.of_child.task(hidden).await), None, "{visibility:?} {hidden}");
        }
        let within_reach = near(family.of_child.task("grandchil").await);
        assert_eq!(within_reach.as_deref(), Some("grandchild"), "{visibility:?}");
        let wide = family.session.clone().with_visibility(visibility);
        assert_eq!(near(wide.task("strange").await), None, "{visibility:?}");
        assert_eq!(near(family.runtime.task("strange").await).as_deref(), Some("stranger"));
    }
    Ok(())
}

#[tokio::test]
async fn s1_3_words_with_a_meaning_are_compared_as_names_are() -> Test {
    let family = family(Visibility::Children).await?;
    for word in ["self", " Self ", "SELF"] {
        assert_eq!(family.of_child.task(word).await?.id(), family.child.id(), "{word}");
    }
    for (word, reached) in [("Parent", family.lead.id()), (" ALL ", family.grandchild.id())] {
        let receipts = family.of_child.send(MessageRecipient::Handle(word), "hello").await?;
        assert_eq!(receipts.first().map(|one| one.task), Some(reached), "{word}");
    }
    Ok(())
}

#[tokio::test]
async fn s7_1_a_detached_task_is_its_sessions_and_no_descendant() -> Test {
    let family = family(Visibility::Subtree).await?;
    let cx = &family.of_child;
    let detached = cx.spawn_ephemeral(never).detached().name("free").await?;
    for cx in [&family.of_child, &family.of_lead] {
        assert!(matches!(cx.task(&id(&detached)).await, Err(Error::Forbidden(_))));
    }
    assert_eq!(family.session.task("free").await?.id(), detached.id());
    Ok(())
}

#[tokio::test]
async fn s7_1_a_list_with_any_filter_shows_nothing_out_of_scope() -> Test {
    let family = family(Visibility::Children).await?;
    let stranger = family.stranger.spec().owner();
    for owner in [stranger, Owner::Task(family.child.id())] {
        assert!(family.session.tasks().owner(owner).await?.items.is_empty());
        assert!(family.of_lead.tasks().owner(owner).await?.items.is_empty());
    }
    let wide = family.session.clone().with_visibility(Visibility::Subtree);
    assert!(wide.tasks().owner(stranger).await?.items.is_empty());
    assert_eq!(family.runtime.tasks().owner(stranger).await?.items.len(), 1, "the host sees it");
    let siblings = Owner::Session(family.session.id());
    let seen = family.of_lead.tasks().owner(siblings).await?.items;
    assert_eq!(ids(&seen), [family.lead.id()], "of its siblings a task sees itself");
    Ok(())
}

#[tokio::test]
async fn s7_1_messages_and_questions_reach_the_owner_all_the_same() -> Test {
    let family = family(Visibility::Children).await?;
    family.of_child.send(MessageRecipient::Parent, "news").await?;
    family.of_lead.send(MessageRecipient::Handle("parent"), "news").await?;
    let asker = family.of_child.clone();
    let asking = tokio::spawn(async move { asker.ask("which?").await });
    let rows = loop {
        let rows = family.of_lead.receive(10).await?;
        if rows.len() == 2 {
            break rows;
        }
        tokio::task::yield_now().await;
    };
    let bodies: Vec<_> = rows.iter().map(|row| row.body().clone()).collect();
    assert!(matches!(&bodies[0], RowBody::Message(message) if &*message.text == "news"));
    assert!(matches!(bodies[1], RowBody::Question { number: 1, .. }));
    family.of_lead.task("child").await?.answer(1, &"this").await?;
    let answer = asking.await.expect("no panic")?;
    assert_eq!(answer.decode::<String>()?, "this");
    let told = family.session.drain(10).await?;
    assert!(matches!(told.iter().next().expect("a row").body(), RowBody::Message(_)));
    Ok(())
}

#[tokio::test]
async fn s7_1_a_permitted_cancel_reaches_the_whole_subtree() -> Test {
    let family = family(Visibility::Children).await?;
    let lead = family.session.task("lead").await?;
    assert_eq!(lead.cancel("enough").await?, 3);
    lead.wait().await?;
    for task in [&family.child, &family.grandchild] {
        let record = family.runtime.task(&id(task)).await?.record().await?;
        assert_eq!(record.state, TaskState::Cancelled);
    }
    assert!(family.sibling.record().await?.is_live());
    Ok(())
}

#[tokio::test]
async fn s7_2_unknown_is_not_found() -> Test {
    let family = family(Visibility::Children).await?;
    let unknown = TaskId::mint(Stamp::from_millis(1), 42).to_string();
    for name in [unknown.as_str(), "nobody"] {
        let errors = [
            family.runtime.task(name).await.expect_err("unknown"),
            family.session.task(name).await.expect_err("unknown"),
            family.of_lead.task(name).await.expect_err("unknown"),
            family
                .session
                .send(MessageRecipient::Handle(name), "hello")
                .await
                .expect_err("unknown"),
        ];
        for error in errors {
            let Error::NotFound { what, .. } = &error else { panic!("{error:?}") };
            assert_eq!(what, name);
        }
    }
    Ok(())
}

#[tokio::test]
async fn s7_2_out_of_scope_is_forbidden_and_has_no_effect_at_all() -> Test {
    let family = family(Visibility::Children).await?;
    let other = family.runtime.session("other").await?;
    let before = family.child.record().await?;
    let log = events_so_far(&family.session).await.len();
    let (child, handle) = (&family.child, id(&family.child));
    let refused = [
        other.task(&handle).await.map(|_| ()),
        other.send(MessageRecipient::Task(child), "hello").await.map(|_| ()),
        other.send(MessageRecipient::Handle(&handle), "hello").await.map(|_| ()),
        other.wait([child]).timeout(Duration::ZERO).await.map(|_| ()),
        other.cancel_children(child.id(), "not yours").await.map(|_| ()),
        family.session.cancel_children(child.id(), "not yours").await.map(|_| ()),
        family.of_child.send(MessageRecipient::Task(&family.sibling), "hello").await.map(|_| ()),
        family.of_child.wait([&family.lead]).timeout(Duration::ZERO).await.map(|_| ()),
    ];
    for (number, refused) in refused.into_iter().enumerate() {
        assert!(matches!(refused, Err(Error::Forbidden(_))), "{number}: {refused:?}");
    }
    assert_eq!(family.child.record().await?, before);
    assert!(family.of_child.drain(10).await?.is_empty(), "no message came through");
    // The name that ends the first query is in the second.
    assert_eq!(events_so_far(&family.session).await.len(), log + 1);
    Ok(())
}

#[tokio::test]
async fn s7_2_forbidden_names_the_task_and_the_way_out() -> Test {
    let family = family(Visibility::Children).await?;
    let refused = family.session.task(&id(&family.child)).await.expect_err("out of scope");
    let text = refused.to_string();
    assert!(text.contains(&id(&family.child)) && text.contains("ask its owner"), "{text}");
    Ok(())
}

#[tokio::test]
async fn s7_1_a_spawn_under_a_task_that_is_not_the_callers_is_forbidden() -> Test {
    let family = family(Visibility::Children).await?;
    let other = family.runtime.session("other").await?;
    let before = all_tasks(&family.runtime).await.len();
    let host = family.runtime.task("lead").await?;
    let polls = Polls::default();
    let refused = [
        other.spawn_ephemeral(polls.body()).under(&family.lead).await,
        other.spawn_ephemeral(polls.body()).under(&host).await,
        other.spawn_ephemeral(polls.body()).detached().under(&family.lead).await,
        family.session.spawn_ephemeral(polls.body()).under(&family.child).await,
        family.of_lead.spawn_ephemeral(polls.body()).under(&family.grandchild).await,
        family.of_child.spawn_ephemeral(polls.body()).under(&family.lead).await,
        family.of_child.spawn_ephemeral(polls.body()).under(&family.sibling).await,
    ];
    for (number, refused) in refused.into_iter().enumerate() {
        assert!(matches!(refused, Err(Error::Forbidden(_))), "{number}: {refused:?}");
    }
    assert_eq!(all_tasks(&family.runtime).await.len(), before);
    assert_eq!(polls.count(), 0);
    Ok(())
}

#[tokio::test]
async fn s7_1_a_spawn_under_a_task_within_sight_is_fine() -> Test {
    let family = family(Visibility::Subtree).await?;
    let wide = family.session.clone().with_visibility(Visibility::Subtree);
    // The spawner's visibility counts, whichever caller found the parent.
    let found = family.runtime.task(&id(&family.grandchild)).await?;
    let spawned = [
        (family.session.spawn_ephemeral(never).under(&family.lead).await?, &family.lead),
        (wide.spawn_ephemeral(never).under(&family.child).await?, &family.child),
        (family.of_lead.spawn_ephemeral(never).under(&family.lead).await?, &family.lead),
        (family.of_lead.spawn_ephemeral(never).under(&found).await?, &family.grandchild),
    ];
    for (task, parent) in spawned {
        assert_eq!(task.spec().owner(), Owner::Task(parent.id()));
    }
    let detached = family.of_child.spawn_ephemeral(never).detached().await?;
    let refused = family.of_child.spawn_ephemeral(never).under(&detached).await;
    assert!(matches!(refused, Err(Error::Forbidden(of)) if of == detached.id()), "{refused:?}");
    Ok(())
}

#[tokio::test]
async fn s7_2_a_receipt_is_visible_to_callers_that_may_touch_its_task() -> Test {
    let family = family(Visibility::Children).await?;
    let receipt = family.lead.send("hello").await?.first().expect("one");
    assert_eq!(family.session.receipt(receipt).await?, MessageState::Queued);
    let other = family.runtime.session("other").await?;
    let deep = family.of_lead.task("child").await?.send("hello").await?.first().expect("one");
    for (session, receipt) in [(&other, receipt), (&family.session, deep)] {
        let refused = session.receipt(receipt).await;
        assert!(matches!(refused, Err(Error::Forbidden(of)) if of == receipt.task), "{refused:?}");
    }
    let unknown = Receipt { task: TaskId::mint(Stamp::from_millis(1), 42), ..receipt };
    let refused = family.session.receipt(unknown).await;
    assert!(matches!(refused, Err(Error::NotFound { .. })), "{refused:?}");
    Ok(())
}
