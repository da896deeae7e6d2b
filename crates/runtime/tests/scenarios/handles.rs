//! Handles across owners: for the host, and for callers that see a subtree.

use std::ops::Range;
use std::time::Duration;

use offshoot_core::{Retention, TaskId, Visibility};
use offshoot_runtime::{Context, Error, Runtime, Session, TaskRef, WaitEnd};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::support::{
    Disk, Gate, Reads, Test, VirtualWorld, end_of, events_so_far, never, on_every_store, open,
    reopen, returns, session,
};

// In virtual time the minutely expiry would be counted as well.
on_every_store!(in real time:
    s1_7_a_handle_means_the_last_finished_task_of_any_owner,
    s1_7_a_live_task_is_meant_before_all_that_ended,
    s1_2_the_host_looks_within_a_session_at_any_depth,
    s10_1_other_live_tasks_do_not_matter_to_a_look_up,
);

fn wide(session: &Session) -> Session {
    session.clone().with_visibility(Visibility::Subtree)
}

fn found(found: Result<TaskRef, Error>) -> TaskId {
    found.expect("it is found").id()
}

/// The ids in the error for an ambiguous handle, first spawned first.
fn ambiguous(found: Result<TaskRef, Error>) -> Vec<TaskId> {
    match found {
        Err(Error::Ambiguous { ids, .. }) => ids,
        other => panic!("not ambiguous: {other:?}"),
    }
}

/// A task that sees its subtree, and the context of its body.
async fn lead(session: &Session, name: &str) -> (TaskRef, Context) {
    let (says, told) = oneshot::channel();
    let body = |cx: Context| async move {
        says.send(cx.clone()).ok();
        never(cx).await
    };
    let lead = session.spawn_ephemeral(body).name(name).visibility(Visibility::Subtree);
    (lead.await.expect("a lead"), told.await.expect("its body runs"))
}

#[tokio::test]
async fn s1_2_an_ambiguous_handle_lists_every_live_task_of_that_name_and_no_other() -> Test {
    let runtime = open().await;
    let mut live = Vec::new();
    for name in ["one", "two", "three"] {
        let session = runtime.session(name).await?;
        let ended = session.spawn_ephemeral(returns(())).name("docs").await?;
        end_of(&ended).await;
        let (lead, _cx) = lead(&session, "lead").await;
        live.push(session.spawn_ephemeral(never).name("Docs").await?.id());
        live.push(session.spawn_ephemeral(never).name("docs").under(&lead).await?.id());
        assert_eq!(ambiguous(wide(&session).task("docs").await), live[live.len() - 2..]);
    }
    assert_eq!(ambiguous(runtime.task("DOCS").await), live);
    Ok(())
}

#[tokio::test]
async fn s1_2_a_counted_handle_is_found_across_owners_as_a_given_one_is() -> Test {
    let runtime = open().await;
    let (one, two) = (runtime.session("one").await?, runtime.session("two").await?);
    let (lead, cx) = lead(&two, "lead").await;
    let of_one = one.spawn_ephemeral(never).await?;
    let of_lead = two.spawn_ephemeral(never).under(&lead).await?;
    let given = two.spawn_ephemeral(never).name("function-7").await?;
    assert_eq!((of_one.handle(), of_lead.handle()), ("function-1", "function-1"));
    assert_eq!(found(wide(&one).task("function-1").await), of_one.id());
    assert_eq!(found(wide(&two).task("function-1").await), of_lead.id());
    assert_eq!(found(cx.task("function-1").await), of_lead.id());
    assert_eq!(ambiguous(runtime.task("function-1").await), [of_one.id(), of_lead.id()]);
    assert_eq!(found(runtime.task("function-7").await), given.id());
    assert_eq!(found(runtime.task("lead/function-1").await), of_lead.id());
    Ok(())
}

#[tokio::test]
async fn s7_1_a_subtree_is_all_that_a_handle_reaches_into() -> Test {
    let (runtime, session) = session().await;
    let (left, of_left) = lead(&session, "left").await;
    let (right, of_right) = lead(&session, "right").await;
    let mut leaves = Vec::new();
    for parent in [&left, &right] {
        let child = session.spawn_ephemeral(never).name("child").under(parent).await?;
        let leaf = wide(&session).spawn_ephemeral(never).name("leaf").under(&child).await?;
        leaves.push(leaf.id());
    }
    assert_eq!(found(of_left.task("leaf").await), leaves[0]);
    assert_eq!(found(of_right.task("leaf").await), leaves[1]);
    assert_eq!(ambiguous(wide(&session).task("leaf").await), leaves);
    for narrow in [session.task("leaf").await, of_left.task("right").await] {
        assert!(matches!(narrow, Err(Error::NotFound { .. })), "{narrow:?}");
    }
    let other = wide(&runtime.session("other").await?);
    assert!(matches!(other.task("leaf").await, Err(Error::NotFound { .. })));
    Ok(())
}

#[tokio::test]
async fn s7_2_a_task_out_of_scope_is_forbidden_by_id_and_untouched() -> Test {
    let (runtime, session) = session().await;
    let (_left, of_left) = lead(&session, "left").await;
    let (right, _of_right) = lead(&session, "right").await;
    let leaf = session.spawn_ephemeral(never).name("leaf").under(&right).await?;
    let before = leaf.record().await?;
    let log = events_so_far(&session).await.len();
    let other = wide(&runtime.session("other").await?);
    let id = leaf.id().to_string();
    for refused in [of_left.task(&id).await, other.task(&id).await] {
        assert!(matches!(refused, Err(Error::Forbidden(of)) if of == leaf.id()), "{refused:?}");
    }
    for missed in [of_left.task("leaf").await, other.task("leaf").await] {
        assert!(matches!(missed, Err(Error::NotFound { nearest: None, .. })), "{missed:?}");
    }
    assert_eq!(leaf.record().await?, before);
    // The name that ends the first query is in the second.
    assert_eq!(events_so_far(&session).await.len(), log + 1);
    Ok(())
}

async fn s1_7_a_handle_means_the_last_finished_task_of_any_owner(disk: &impl Disk) {
    let world = VirtualWorld::new();
    // A durable store keeps ended tasks out of memory.
    let retention = Retention { in_memory: 0, ..Retention::default() };
    let builder = || Runtime::builder(disk.store()).retention(retention);
    let runtime = builder().environment(world.clone()).open().await.unwrap();
    let (one, two) = (runtime.session("one").await.unwrap(), runtime.session("two").await.unwrap());
    let gate = Gate::new();
    let long = one.spawn_ephemeral(gate.then(())).name("docs").await.unwrap();
    gate.arrived().await;
    let mut last = Vec::new();
    for session in [&two, &two, &two] {
        let short = session.spawn_ephemeral(returns(())).name("docs").await.unwrap();
        end_of(&short).await;
        last.push(short.id());
        world.jump_ahead(Duration::from_secs(1));
    }
    assert_eq!(found(runtime.task("docs").await), long.id(), "it lives");
    gate.open();
    end_of(&long).await;
    assert_eq!(found(runtime.task("docs").await), long.id(), "spawned first, finished last");
    assert_eq!(found(wide(&two).task("docs").await), last[2], "the last within reach");
    drop((one, two, runtime));
    let runtime = Runtime::builder(reopen(disk).await).open().await.unwrap();
    assert_eq!(found(runtime.task("docs").await), long.id());
}

async fn s1_7_a_live_task_is_meant_before_all_that_ended(disk: &impl Disk) {
    let runtime = Runtime::builder(disk.store()).open().await.unwrap();
    let (one, two) = (runtime.session("one").await.unwrap(), runtime.session("two").await.unwrap());
    let (first, cx) = lead(&one, "lead").await;
    let live = wide(&one).spawn_ephemeral(never).name("docs").under(&first).await.unwrap();
    for session in [&one, &two] {
        let later = session.spawn_ephemeral(returns(())).name("docs").await.unwrap();
        end_of(&later).await;
    }
    for found_by in [runtime.task("docs").await, wide(&one).task("docs").await] {
        assert_eq!(found(found_by), live.id());
    }
    assert_eq!(found(cx.task("docs").await), live.id());
    assert!(!wide(&two).task("docs").await.unwrap().record().await.unwrap().is_live());
}

/// Spawns tasks that never end: numbered, named, and deeper ones.
async fn crowd(session: &Session, parent: &TaskRef, numbers: Range<usize>) {
    let mut spawns = JoinSet::new();
    for number in numbers {
        let spawn = session.spawn_ephemeral(never);
        let spawn = match number % 3 {
            0 => spawn,
            1 => spawn.name(&format!("other {number}")),
            _ => spawn.under(parent),
        };
        spawns.spawn(spawn.into_future());
    }
    while let Some(spawned) = spawns.join_next().await {
        spawned.expect("no panic").expect("a task");
    }
}

/// How many reads each way takes to find a live task, an ended one, and none,
/// while this many others live.
async fn reads_among(others: usize, disk: &impl Disk) -> Vec<usize> {
    let reads = Reads::of(reopen(disk).await);
    let runtime = Runtime::builder(reads.store()).open().await.unwrap();
    runtime.recovered().await;
    let session = runtime.session("main").await.unwrap();
    let (parent, cx) = lead(&session, "lead").await;
    crowd(&session, &parent, 0..others / 2).await;
    let docs = session.spawn_ephemeral(never).name("docs").under(&parent).await.unwrap();
    let done = session.spawn_ephemeral(returns(())).name("done").under(&parent).await.unwrap();
    end_of(&done).await;
    crowd(&session, &parent, others / 2..others).await;
    let wide = wide(&session);
    let mut counted = Vec::new();
    for (name, wanted) in [("docs", Some(docs.id())), ("done", Some(done.id())), ("nil", None)] {
        let looks = [
            reads.until(runtime.task(name)).await,
            reads.until(wide.task(name)).await,
            reads.until(cx.task(name)).await,
        ];
        for (count, answer) in looks {
            assert_eq!(answer.ok().map(|task| task.id()), wanted, "{name}");
            counted.push(count);
        }
        let list = runtime.tasks().name(name);
        let (count, listed) = reads.until(list.into_future()).await;
        let listed = listed.unwrap();
        let ids: Vec<_> = listed.items.iter().map(|task| task.id()).collect();
        assert_eq!((ids, listed.next), (wanted.into_iter().collect(), None));
        counted.push(count);
    }
    counted
}

async fn s10_1_other_live_tasks_do_not_matter_to_a_look_up<D: Disk + Default>(disk: &D) {
    let alone = reads_among(0, disk).await;
    assert!(alone.iter().all(|reads| *reads <= 4), "{alone:?}");
    assert_eq!(reads_among(10_000, &D::default()).await, alone);
}

async fn s1_2_the_host_looks_within_a_session_at_any_depth(disk: &impl Disk) {
    let runtime = Runtime::builder(disk.store()).open().await.unwrap();
    let (ours, theirs) =
        (runtime.session("ours").await.unwrap(), runtime.session("theirs").await.unwrap());
    let lead = ours.spawn_ephemeral(never).name("lead").await.unwrap();
    let docs = ours.spawn_ephemeral(never).name("docs").under(&lead).await.unwrap();
    let other = theirs.spawn_ephemeral(never).name("docs").await.unwrap();
    for (text, session, wanted) in [
        ("docs".to_owned(), &ours, docs.id()),
        ("lead/docs".to_owned(), &ours, docs.id()),
        ("docs".to_owned(), &theirs, other.id()),
        (other.id().to_string(), &ours, other.id()),
    ] {
        let found = runtime.task_within(session.id(), &text).await.unwrap();
        assert_eq!(found.id(), wanted, "{text}");
    }
    let missing = runtime.task_within(theirs.id(), "lead").await;
    assert!(matches!(missing, Err(Error::NotFound { .. })), "{missing:?}");
    let waited = runtime.wait([&docs, &other]).any().timeout(Duration::ZERO).await.unwrap();
    assert!(waited.iter().all(|waited| waited.end == WaitEnd::TimedOut));
}
