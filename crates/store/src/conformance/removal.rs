//! Removal of sessions: only without live tasks, in bounded steps, and completely.

use std::pin::pin;

use offshoot_core::{
    Addressee, Block, BlockKind, Caller, Change, Cursor, Intent, Owner, Payload, Question,
    QuestionKind, Row, RowBody, SessionRecord, Step, StepState, Task, Timer,
};

use super::world::{StoreWorld, ack, called, keyed, record, spawn};
use crate::batch::{Batch, Counter, CounterChange, Guard, Strictness, Write};
use crate::error::{CommitError, Conflict};
use crate::query::{TaskQuery, TaskScope};

/// The number of items deleted at a time.
const SOME: usize = 4;

/// The batch that begins the removal of a session.
fn removal(world: &StoreWorld, session: &SessionRecord) -> Batch {
    let next = session.remove(0, world.now()).unwrap();
    let put = Write::PutSession(Box::new(next), Change::RemovalBegan);
    world.batch().guard(Guard::Idle(session.id)).write(put)
}

/// Removes a session without live tasks.
async fn remove(world: &StoreWorld, session: &SessionRecord) {
    world.commit(removal(world, session)).await.unwrap();
    while world.store().remove(session.id, SOME).await.unwrap() > 0 {}
}

/// A session with the ids of its content.
struct FullSession {
    session: SessionRecord,
    parent: Task,
    child: Task,
    blob: offshoot_core::Blob,
}

/// A session with one item of each kind and no live tasks.
async fn full(world: &StoreWorld, name: &str) -> FullSession {
    let session = world.session(name).await;
    let owner = Owner::Session(session.id);
    let parent = world.spawn(keyed(called(world.spec(&session), "docs"), "step 1")).await;
    let parent = world.put(&parent, Intent::Start(world.worker)).await;
    let child = world.spawn(keyed(called(world.child_spec(&parent), "docs"), "step 1")).await;
    let child = world.put(&child, Intent::Start(world.worker)).await;
    let blob = world.store().put_blob(child.id(), "[1]".into()).await.unwrap();
    let block = || Block::new(BlockKind::User, "go", world.now());
    for of in [owner, Owner::Task(parent.id())] {
        let counter = Counter { owner: of, name: "tokens".into() };
        world.write(Write::Append { owner: of, blocks: vec![block(), block()] }).await;
        world.write(Write::Count(CounterChange { counter, by: 3, limit: None })).await;
        let message = world.message(Caller::Host, Some("sent"));
        world.write(Write::Send { message, to: of, room: 9 }).await;
        let message = world.message(Caller::Task(child.id()), Some("sent"));
        world.write(Write::Send { message, to: of, room: 9 }).await;
    }
    let state = StepState::Committed(Payload::Null);
    world.write(Write::Step(Step { task: child.id(), key: "fetch".into(), state })).await;
    let timer = Timer { task: child.id(), key: "due".into(), due: world.now() };
    world.write(Write::Arm(timer)).await;
    let question = Question {
        task: child.id(),
        number: 1,
        wants: QuestionKind::Input,
        addressee: Addressee::Owner,
        text: "which?".into(),
        about: Payload::Null,
        key: None,
        at: world.now(),
        closed: None,
    };
    world.write(Write::Ask(Box::new(question))).await;
    let asked = RowBody::Question { task: child.id(), number: 1 };
    let id = world.message(Caller::Host, None).id.into();
    let row = Row { id, owner: Owner::Task(parent.id()), at: world.now(), body: asked };
    world.write(Write::Deliver(Box::new(row))).await;
    let child = world.settle(&child).await;
    let parent = world.settle(&parent).await;
    for _ in 0..3 {
        let other = world.running(&session).await;
        world.settle(&other).await;
    }
    let rows = world.inbox(owner).await;
    world.write(ack(owner, &rows[..1], Strictness::MustBePending)).await;
    FullSession { session, parent, child, blob }
}

impl FullSession {
    /// Asserts that nothing of the session can be found.
    async fn is_gone(&self, world: &StoreWorld) {
        let (store, session) = (world.store(), &self.session);
        assert_eq!(store.session(session.id).await.unwrap(), None);
        assert_eq!(store.remove(session.id, SOME).await.unwrap(), 0, "it is gone once");
        assert_eq!(store.blob(self.blob).await.unwrap(), None);
        assert_eq!(store.counts_within(Some(session.id)).await.unwrap(), Default::default());
        assert_eq!(world.events(Some(session.id), Cursor::START).await, []);
        assert_eq!(world.tasks(TaskScope::Session(session.id)).await, []);
        for task in [&self.parent, &self.child] {
            let id = task.id();
            assert_eq!(world.task(id).await, None);
            assert_eq!(store.named(task.owner(), "docs").await.unwrap(), None);
            assert_eq!(store.keyed(task.owner(), "step 1").await.unwrap(), None);
            assert_eq!(store.result_row(id).await.unwrap(), None);
            assert_eq!(store.step(id, "fetch").await.unwrap(), None);
            assert_eq!(store.questions(id).await.unwrap(), []);
            assert_eq!(store.timers(id).await.unwrap(), []);
        }
        let tasks = [self.parent.id(), self.child.id()].map(Owner::Task);
        for owner in tasks.into_iter().chain([Owner::Session(session.id)]) {
            assert_eq!(world.inbox(owner).await, []);
            assert_eq!(store.unread(owner, 9).await.unwrap(), 0);
            assert_eq!(store.history(owner, 0, 9).await.unwrap().total, 0);
            assert_eq!(store.counts(owner).await.unwrap(), Default::default());
            let counter = Counter { owner, name: "tokens".into() };
            assert_eq!(store.counter(&counter).await.unwrap(), 0);
        }
    }
}

pub(super) async fn a_session_with_live_tasks_is_not_removed(world: StoreWorld) {
    let session = world.session("main").await;
    let parent = world.running(&session).await;
    let child = world.running_child(&parent).await;
    let busy = |live| Conflict::SessionBusy { session: session.id, live };
    assert_eq!(world.refused(removal(&world, &session)).await, busy(2));
    world.settle(&child).await;
    assert_eq!(world.refused(removal(&world, &session)).await, busy(1));
    world.settle(&parent).await;
    let other = world.session("other").await;
    world.running(&other).await;
    let after = world.store().cursor();
    world.commit(removal(&world, &session)).await.unwrap();
    assert_eq!(world.changes(&session, after).await, [Change::RemovalBegan]);
    let stored = world.store().session(session.id).await.unwrap().unwrap();
    assert!(stored.is_removing());
}

pub(super) async fn a_session_that_is_being_removed_takes_nothing_new(world: StoreWorld) {
    let session = world.session("main").await;
    let ended = world.running(&session).await;
    let ended = world.settle(&ended).await;
    world.commit(removal(&world, &session)).await.unwrap();
    let owner = Owner::Session(session.id);
    let refused = world.refused_write(spawn(&record(world.spec(&session)))).await;
    assert_eq!(refused, Conflict::OwnerClosed(owner));
    for write in new_things(&world, owner, &ended) {
        assert_eq!(world.refused_write(write).await, Conflict::NoSession(session.id));
    }
}

/// Writes that an existing session accepts.
fn new_things(world: &StoreWorld, owner: Owner, ended: &Task) -> Vec<Write> {
    let block = Block::new(BlockKind::User, "go", world.now());
    let counter = Counter { owner, name: "tokens".into() };
    vec![
        Write::Send { message: world.message(Caller::Host, None), to: owner, room: 9 },
        Write::Deliver(Box::new(Row::result(ended.id(), owner, world.now()))),
        Write::Append { owner, blocks: vec![block] },
        Write::Count(CounterChange { counter, by: 1, limit: None }),
    ]
}

pub(super) async fn a_session_is_deleted_only_after_its_removal_began(world: StoreWorld) {
    let full = full(&world, "main").await;
    let before = world.snapshot().await;
    let store = world.store();
    assert_eq!(store.remove(full.session.id, SOME).await.unwrap(), 0);
    assert_eq!(store.remove(world.new_session("unknown").id, SOME).await.unwrap(), 0);
    assert_eq!(world.snapshot().await, before);
}

pub(super) async fn a_removal_deletes_all_of_one_session_and_nothing_of_another(world: StoreWorld) {
    let other = full(&world, "other").await;
    world.running(&other.session).await;
    let before = world.snapshot().await;
    let gone = full(&world, "main").await;
    remove(&world, &gone.session).await;
    gone.is_gone(&world).await;
    assert_eq!(world.snapshot().await, before);
    assert_eq!(world.store().blob(other.blob).await.unwrap().as_deref(), Some("[1]"));
    world.reopen().await;
    gone.is_gone(&world).await;
    assert_eq!(world.snapshot().await, before);
    assert_eq!(world.store().blob(other.blob).await.unwrap().as_deref(), Some("[1]"));
}

pub(super) async fn writes_to_a_removed_session_are_refused(world: StoreWorld) {
    let gone = full(&world, "main").await;
    remove(&world, &gone.session).await;
    let (session, owner) = (&gone.session, Owner::Session(gone.session.id));
    let none = Conflict::NoSession(session.id);
    assert_eq!(world.refused_write(spawn(&record(world.spec(session)))).await, none);
    for write in new_things(&world, owner, &gone.child) {
        assert_eq!(world.refused_write(write).await, none);
    }
    assert_eq!(world.refused(removal(&world, session)).await, none);
    // The parent is gone, and so is its session.
    assert_eq!(world.refused_write(spawn(&record(world.child_spec(&gone.parent)))).await, none);
    gone.is_gone(&world).await;
}

pub(super) async fn a_removal_deletes_at_most_the_limit_at_a_time(world: StoreWorld) {
    let gone = full(&world, "main").await;
    world.commit(removal(&world, &gone.session)).await.unwrap();
    let store = world.store();
    let mut steps = Vec::new();
    loop {
        match store.remove(gone.session.id, 2).await.unwrap() {
            0 => break,
            some => steps.push(some),
        }
        let stored = store.session(gone.session.id).await.unwrap();
        let left = world.tasks(TaskScope::Session(gone.session.id)).await;
        assert!(stored.is_some() || left.is_empty(), "the record is the last to go");
    }
    assert!(steps.iter().all(|some| *some <= 2), "{steps:?}");
    assert!(steps.len() >= 3, "it has five tasks and more: {steps:?}");
    gone.is_gone(&world).await;
}

pub(super) async fn an_interrupted_removal_continues(world: StoreWorld) {
    let before = world.snapshot().await;
    let gone = full(&world, "main").await;
    world.commit(removal(&world, &gone.session)).await.unwrap();
    for _ in 0..64 {
        world.reopen().await;
        let stored = world.store().session(gone.session.id).await.unwrap();
        let Some(stored) = stored else { break };
        assert!(stored.is_removing(), "it is on its way until it is gone");
        assert_eq!(world.store().remove(gone.session.id, 1).await.unwrap(), 1);
    }
    gone.is_gone(&world).await;
    assert_eq!(world.snapshot().await, before);
}

pub(super) async fn a_session_name_is_free_after_the_removal_and_not_before(world: StoreWorld) {
    let gone = full(&world, "main").await;
    world.commit(removal(&world, &gone.session)).await.unwrap();
    let next = world.new_session("main");
    let open = Write::OpenSession(Box::new(next.clone()));
    let taken = Conflict::SessionExists(gone.session.id);
    assert_eq!(world.refused_write(open.clone()).await, taken);
    let store = world.store();
    while store.remove(gone.session.id, SOME).await.unwrap() > 0 {}
    assert_eq!(store.session_named(&next.space, &next.name).await.unwrap(), None);
    world.write(open).await;
    assert_eq!(store.session_named(&next.space, &next.name).await.unwrap(), Some(next.clone()));
    assert_eq!(store.sessions(None, 9).await.unwrap().items, std::slice::from_ref(&next));
    let spec = || keyed(called(world.spec(&next), "docs"), "step 1");
    let task = world.spawn(spec()).await;
    assert_eq!(world.tasks(TaskScope::Everything).await, [task]);
    assert_eq!(world.events(Some(next.id), Cursor::START).await.len(), 2);
}

pub(super) async fn a_removal_subtracts_the_counts_of_the_session(world: StoreWorld) {
    let other = full(&world, "other").await;
    let before = world.store().counts_within(None).await.unwrap();
    let gone = full(&world, "main").await;
    assert_eq!(world.store().counts_within(None).await.unwrap().spawned(), 2 * before.spawned());
    remove(&world, &gone.session).await;
    assert_eq!(world.store().counts_within(None).await.unwrap(), before);
    world.reopen().await;
    assert_eq!(world.store().counts_within(None).await.unwrap(), before);
    remove(&world, &other.session).await;
    assert_eq!(world.store().counts_within(None).await.unwrap(), Default::default());
}

pub(super) async fn a_session_opened_after_a_removal_starts_empty(world: StoreWorld) {
    let mut open = Vec::new();
    for round in 0..4 {
        for _ in 0..2 {
            let number = open.len();
            let session = world.session(&format!("session {round} {number}")).await;
            let task = world.spawn(called(world.spec(&session), "docs")).await;
            open.push((session, task));
        }
        let (session, task) = open.remove(round);
        let task = world.put(&task, Intent::Start(world.worker)).await;
        world.settle(&task).await;
        remove(&world, &session).await;
        if round % 2 == 1 {
            world.reopen().await;
        }
        let store = world.store();
        for (session, task) in &open {
            let stored = world.tasks(TaskScope::Session(session.id)).await;
            assert_eq!(stored, std::slice::from_ref(task), "in round {round}");
            let owner = Owner::Session(session.id);
            assert_eq!(store.named(owner, "docs").await.unwrap().as_ref(), Some(task));
            assert_eq!(world.events(Some(session.id), Cursor::START).await.len(), 2);
            assert_eq!(store.counts(owner).await.unwrap().live(), 1);
        }
        let mut called = TaskQuery::new(TaskScope::Everything);
        called.name = Some("docs".into());
        let found = world.list(called).await;
        let wanted: Vec<_> = open.iter().map(|(_, task)| task.clone()).collect();
        assert_eq!(found, wanted, "in round {round}");
    }
}

pub(super) async fn watchers_of_a_log_are_notified_of_the_removal(world: StoreWorld) {
    let gone = full(&world, "main").await;
    world.commit(removal(&world, &gone.session)).await.unwrap();
    let notifier = world.store().notifier(gone.session.id);
    let mut notified = pin!(notifier.notified());
    notified.as_mut().enable();
    while world.store().remove(gone.session.id, SOME).await.unwrap() > 0 {}
    notified.await;
    let page = world.store().events(Some(gone.session.id), Cursor::START, 9).await.unwrap();
    assert!(page.is_ok_and(|page| page.events.is_empty()));
}

pub(super) async fn a_concurrent_spawn_or_removal_is_refused(world: StoreWorld) {
    for round in 0..20 {
        let session = world.session(&format!("session {round}")).await;
        let task = record(world.spec(&session));
        let spawned = world.store().commit(world.batch().write(spawn(&task)));
        let removed = world.store().commit(removal(&world, &session));
        let (spawned, removed) = match round % 2 {
            0 => (spawned.await, removed.await),
            _ => {
                let removed = removed.await;
                (spawned.await, removed)
            }
        };
        let stored = world.task(task.id()).await;
        match (spawned, removed) {
            (Ok(_), Err(CommitError::Conflict(Conflict::SessionBusy { live: 1, .. }))) => {
                assert_eq!(stored, Some(task));
            }
            (Err(CommitError::Conflict(Conflict::OwnerClosed(_))), Ok(_)) => {
                assert_eq!(stored, None);
            }
            both => panic!("one of them must be refused: {both:?}"),
        }
    }
}

pub(super) async fn unread_rows_are_counted_up_to_a_limit(world: StoreWorld) {
    let session = world.session("main").await;
    let owner = Owner::Session(session.id);
    let store = world.store();
    assert_eq!(store.unread(owner, 9).await.unwrap(), 0);
    for _ in 0..5 {
        let task = world.running(&session).await;
        world.settle(&task).await;
    }
    let message = world.message(Caller::Host, None);
    world.write(Write::Send { message, to: owner, room: 9 }).await;
    for (limit, counted) in [(9, 6), (6, 6), (4, 4), (0, 0)] {
        assert_eq!(store.unread(owner, limit).await.unwrap(), counted);
    }
    let rows = world.inbox(owner).await;
    world.write(ack(owner, &rows[1..4], Strictness::MustBePending)).await;
    assert_eq!(store.unread(owner, 9).await.unwrap(), 3);
    world.drain(owner).await;
    assert_eq!(store.unread(owner, 9).await.unwrap(), 0);
}
