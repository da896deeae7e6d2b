//! Concurrency: many writers get one order and one winner.

use std::sync::{Arc, Barrier};

use offshoot_core::{Caller, Caps, Ceiling, Cursor, Intent, Owner, RequeueReason, WaitingOn};
use tokio::sync::oneshot;

use super::cases::block_on;
use super::world::{StoreWorld, called, keyed, record, spawn, spawn_under};
use crate::batch::{Batch, Counter, CounterChange, Write};
use crate::error::{CommitError, Conflict};
use crate::query::{TaskQuery, TaskScope};
use crate::store::Store;

type CommitAnswers = Vec<Result<Cursor, CommitError>>;

/// Commits lists of batches concurrently, each list on its own thread and in order.
async fn race(store: Arc<dyn Store>, lists: Vec<Vec<Batch>>) -> CommitAnswers {
    let mut answers = Vec::new();
    for answer in start_race(store, lists) {
        answers.extend(answer.await.expect("a racing thread panicked"));
    }
    answers
}

fn start_race(
    store: Arc<dyn Store>,
    lists: Vec<Vec<Batch>>,
) -> Vec<oneshot::Receiver<CommitAnswers>> {
    let barrier = Arc::new(Barrier::new(lists.len()));
    let race = |batches: Vec<Batch>| {
        let (sender, receiver) = oneshot::channel();
        let (store, barrier) = (store.clone(), barrier.clone());
        std::thread::spawn(move || {
            barrier.wait();
            let answers = block_on(async move {
                let mut answers = Vec::new();
                for batch in batches {
                    answers.push(store.commit(batch).await);
                }
                answers
            });
            let _gone = sender.send(answers);
        });
        receiver
    };
    lists.into_iter().map(race).collect()
}

/// The conflicts of a race that exactly `winners` commits won.
fn losers(answers: CommitAnswers, winners: usize) -> Vec<Conflict> {
    let won = answers.iter().filter(|answer| answer.is_ok()).count();
    assert_eq!(won, winners, "{answers:?}");
    let conflict = |answer| match answer {
        Ok(_) => None,
        Err(CommitError::Conflict(conflict)) => Some(conflict),
        Err(other) => panic!("expected a conflict, got {other:?}"),
    };
    answers.into_iter().filter_map(conflict).collect()
}

pub(super) async fn s1_4_of_concurrent_spawns_with_one_name_one_succeeds(world: StoreWorld) {
    let session = world.session("main").await;
    for round in 0..5 {
        let name = format!("docs {round}");
        let racer = |_| record(called(world.spec(&session), &name));
        let tasks: Vec<_> = (0..8).map(racer).collect();
        let lists = tasks.iter().map(|task| vec![world.batch().write(spawn(task))]).collect();
        let losers = losers(race(world.store(), lists).await, 1);
        let winner = world.store().named(Owner::Session(session.id), &name).await.unwrap();
        let winner = winner.unwrap().id();
        assert!(losers.iter().all(|conflict| *conflict == Conflict::NameTaken(winner)));
        for task in &tasks {
            assert_eq!(world.task(task.id()).await.is_some(), task.id() == winner);
        }
    }
}

pub(super) async fn s9_4_concurrent_spawns_with_one_key_make_one_task(world: StoreWorld) {
    let session = world.session("main").await;
    let racer = |_| record(keyed(world.spec(&session), "step 1"));
    let tasks: Vec<_> = (0..8).map(racer).collect();
    let lists = tasks.iter().map(|task| vec![world.batch().write(spawn(task))]).collect();
    let losers = losers(race(world.store(), lists).await, 1);
    let winner = world.store().keyed(Owner::Session(session.id), "step 1").await.unwrap();
    let winner = winner.unwrap().id();
    assert!(losers.iter().all(|conflict| *conflict == Conflict::KeyUsed(winner)));
    assert_eq!(world.tasks(TaskScope::Everything).await.len(), 1);
}

pub(super) async fn s9_5_of_two_concurrent_recoveries_one_succeeds(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let recover = |_| {
        let (_, put) = world.decide(&task, Intent::Requeue(RequeueReason::Crashed));
        vec![world.batch().write(put)]
    };
    let losers = losers(race(world.store(), (0..6).map(recover).collect()).await, 1);
    assert!(losers.iter().all(|conflict| *conflict == Conflict::Stale(task.id())));
    let stored = world.task(task.id()).await.unwrap();
    assert_eq!((stored.crashes, stored.seq), (1, task.seq + 1));
}

pub(super) async fn s9_5_of_two_concurrent_starts_one_succeeds(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.spawn(world.spec(&session)).await;
    let start = |_| {
        let worker = offshoot_core::WorkerId::mint(world.now(), world.bits());
        let (_, put) = world.decide(&task, Intent::Start(worker));
        vec![world.batch().write(put)]
    };
    losers(race(world.store(), (0..6).map(start).collect()).await, 1);
    let stored = world.task(task.id()).await.unwrap();
    assert_eq!((stored.attempts, stored.lease.epoch), (1, 1));
}

pub(super) async fn s8_1_concurrent_spawns_never_exceed_a_cap(world: StoreWorld) {
    let session = world.session("main").await;
    let live = Ceiling { session: Some(5), ..Ceiling::NONE };
    let caps = || Caps { live, ..Caps::default() };
    let racer = |_| {
        let list = (0..4).map(|_| {
            let task = record(world.spec(&session));
            world.batch().write(spawn_under(&task, caps()))
        });
        list.collect()
    };
    let losers = losers(race(world.store(), (0..4).map(racer).collect()).await, 5);
    assert!(losers.iter().all(|conflict| matches!(conflict, Conflict::Cap(_))));
    assert_eq!(world.tasks(TaskScope::Everything).await.len(), 5);
}

pub(super) async fn s5_3_concurrent_sends_with_one_key_queue_one_message(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let racer = |_| {
        let message = world.message(Caller::Host, Some("once"));
        vec![world.batch().write(Write::Send { message, to: Owner::Task(task.id()), room: 9 })]
    };
    losers(race(world.store(), (0..6).map(racer).collect()).await, 1);
    assert_eq!(world.inbox(Owner::Task(task.id())).await.len(), 1);
}

pub(super) async fn s4_2_concurrent_readers_take_a_row_once(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    world.settle(&task).await;
    let owner = Owner::Session(session.id);
    let rows = world.inbox(owner).await;
    let strict = crate::batch::Strictness::MustBePending;
    let racer = |_| vec![world.batch().write(super::world::ack(owner, &rows, strict))];
    let losers = losers(race(world.store(), (0..6).map(racer).collect()).await, 1);
    assert!(losers.iter().all(|conflict| *conflict == Conflict::RowGone(task.id().into())));
}

pub(super) async fn s8_2_concurrent_changes_keep_a_counter_within_its_limit(world: StoreWorld) {
    let session = world.session("main").await;
    let counter = Counter { owner: Owner::Session(session.id), name: "tokens".into() };
    let racer = |_| {
        let count = CounterChange { counter: counter.clone(), by: 3, limit: Some(20) };
        (0..4).map(|_| world.batch().write(Write::Count(count.clone()))).collect()
    };
    losers(race(world.store(), (0..4).map(racer).collect()).await, 6);
    assert_eq!(world.store().counter(&counter).await.unwrap(), 18);
}

pub(super) async fn a_conflict_does_not_affect_concurrent_commits(world: StoreWorld) {
    let session = world.session("main").await;
    let taken = world.spawn(called(world.spec(&session), "docs")).await;
    // All commits are pending before the first answer is awaited.
    let mut answers = Vec::new();
    for n in 0..20 {
        let spec = world.spec(&session);
        let spec = if n % 3 == 0 { called(spec, "docs") } else { spec };
        answers.push((n, world.store().commit(world.batch().write(spawn(&record(spec))))));
    }
    for (n, answer) in answers {
        match answer.await {
            Ok(_) => assert_ne!(n % 3, 0),
            Err(CommitError::Conflict(conflict)) => {
                assert_eq!((n % 3, conflict), (0, Conflict::NameTaken(taken.id())));
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(world.tasks(TaskScope::Everything).await.len(), 14);
}

pub(super) async fn s3_7_a_watcher_sees_every_commit_of_many_writers(world: StoreWorld) {
    let session = world.session("main").await;
    let after = world.store().cursor();
    let racer = |_| {
        let list = (0..25).map(|_| {
            let (one, two) = (record(world.spec(&session)), record(world.spec(&session)));
            world.batch().write(spawn(&one)).write(spawn(&two))
        });
        list.collect()
    };
    let lists: Vec<Vec<Batch>> = (0..4).map(racer).collect();
    let spawned = |batch: &Batch| {
        let ids = batch.writes.iter().map(|write| match write {
            Write::Spawn(spawn) => spawn.task.id(),
            other => panic!("{other:?}"),
        });
        ids.collect::<Vec<_>>()
    };
    let mut wanted: Vec<_> = lists.iter().flatten().map(spawned).collect();
    let pending = start_race(world.store(), lists);
    let notifier = world.store().notifier(session.id);
    let (mut seen, mut after) = (Vec::new(), after);
    while seen.len() < 200 {
        let mut notified = std::pin::pin!(notifier.notified());
        notified.as_mut().enable();
        let page = world.store().events(Some(session.id), after, 16).await.unwrap().unwrap();
        assert!(page.events.iter().all(|event| event.cursor > after));
        assert!(page.events.is_sorted_by(|one, other| one.cursor < other.cursor));
        after = page.next;
        if page.events.is_empty() {
            notified.await;
        }
        seen.extend(page.events.into_iter().map(|event| event.task.unwrap()));
    }
    for answer in pending {
        losers(answer.await.unwrap(), 25);
    }
    // The events of each commit are adjacent, and each commit is there once.
    let mut pairs: Vec<_> = seen.chunks(2).map(<[_]>::to_vec).collect();
    pairs.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(pairs, wanted);
}

pub(super) async fn a_read_sees_whole_commits(world: StoreWorld) {
    let session = world.session("main").await;
    let (mut one, mut two) = (world.running(&session).await, world.running(&session).await);
    let mut list = Vec::new();
    for n in 0..60 {
        let intent = || if n % 2 == 0 { Intent::Park(WaitingOn::Message) } else { Intent::Resume };
        let (next_one, put_one) = world.decide(&one, intent());
        let (next_two, put_two) = world.decide(&two, intent());
        list.push(world.batch().write(put_one).write(put_two));
        (one, two) = (next_one, next_two);
    }
    let mut pending = start_race(world.store(), vec![list]);
    loop {
        let query = TaskQuery::new(TaskScope::Session(session.id));
        let page = world.store().tasks(query).await.unwrap();
        assert_eq!(page.items.len(), 2);
        assert_eq!(page.items[0].seq, page.items[1].seq, "half a commit was seen");
        match pending[0].try_recv() {
            Ok(answers) => break drop(losers(answers, 60)),
            Err(oneshot::error::TryRecvError::Empty) => {}
            Err(closed) => panic!("{closed}"),
        }
    }
}

pub(super) async fn s2_3_no_reader_sees_a_row_without_its_result(world: StoreWorld) {
    let session = world.session("main").await;
    let mut list = Vec::new();
    for _ in 0..40 {
        let task = world.running(&session).await;
        list.push(world.settling(&task).1);
    }
    let owner = Owner::Session(session.id);
    let mut pending = start_race(world.store(), vec![list]);
    loop {
        for row in world.inbox(owner).await {
            let task = row.task.expect("a result row has its record");
            assert!(task.ended().is_some(), "a row was seen before its result");
        }
        match pending[0].try_recv() {
            Ok(answers) => break drop(losers(answers, 40)),
            Err(oneshot::error::TryRecvError::Empty) => {}
            Err(closed) => panic!("{closed}"),
        }
    }
    assert_eq!(world.inbox(owner).await.len(), 40);
}

pub(super) async fn s1_5_dropping_the_future_does_not_undo_the_commit(world: StoreWorld) {
    let session = world.session("main").await;
    let task = record(world.spec(&session));
    let notifier = world.store().notifier(session.id);
    drop(world.store().commit(world.batch().write(spawn(&task))));
    loop {
        let mut notified = std::pin::pin!(notifier.notified());
        notified.as_mut().enable();
        if world.task(task.id()).await.is_some() {
            break;
        }
        notified.await;
    }
}
