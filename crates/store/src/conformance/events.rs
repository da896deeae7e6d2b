//! Events: every commit, in order, readable from a cursor.

use std::pin::pin;

use offshoot_core::{Change, Cursor, Intent, Owner, Retention, SessionRecord, WaitingOn};

use super::world::{StoreWorld, record, spawn};
use crate::batch::Write;

pub(super) async fn s3_7_the_log_has_commit_order(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let mut task = task;
    let mut last = world.store().cursor();
    for _ in 0..10 {
        let intent = match task.state.phase() {
            offshoot_core::Phase::Running => Intent::Park(WaitingOn::Message),
            _ => Intent::Resume,
        };
        let decision = offshoot_core::decide(&task, intent, world.now()).unwrap();
        let batch = world.batch().write(Write::Put(decision.task.clone(), decision.change.clone()));
        let at = batch.at;
        let cursor = world.commit(batch).await.unwrap();
        let events = world.events(Some(session.id), last).await;
        assert_eq!(events.len(), 1, "one commit, one event");
        let event = &events[0];
        assert_eq!((event.session, event.task), (session.id, Some(task.id())));
        assert_eq!((event.at, &event.change), (at, &decision.change));
        assert!(last < event.cursor && event.cursor <= cursor);
        assert!(world.events(Some(session.id), cursor).await.is_empty());
        (task, last) = (decision.task, cursor);
    }
    let all = world.events(Some(session.id), Cursor::START).await;
    assert!(all.is_sorted_by(|one, other| one.cursor < other.cursor));
    assert_eq!(all.len(), 13);
}

pub(super) async fn s3_7_the_events_of_a_commit_have_the_order_of_its_writes(world: StoreWorld) {
    let session = world.session("main").await;
    let after = world.store().cursor();
    let tasks: Vec<_> = (0..5).map(|_| record(world.spec(&session))).collect();
    let batch = tasks.iter().fold(world.batch(), |batch, task| batch.write(spawn(task)));
    world.commit(batch).await.unwrap();
    let events = world.events(Some(session.id), after).await;
    let task_ids: Vec<_> = events.iter().map(|event| event.task.unwrap()).collect();
    assert_eq!(task_ids, tasks.iter().map(|task| task.id()).collect::<Vec<_>>());
    assert!(events.is_sorted_by(|one, other| one.cursor < other.cursor));
}

pub(super) async fn s4_7_events_never_cross_sessions(world: StoreWorld) {
    let (one, other) = (world.session("one").await, world.session("other").await);
    for _ in 0..3 {
        world.running(&one).await;
        world.running(&other).await;
    }
    let of_one = world.events(Some(one.id), Cursor::START).await;
    let of_other = world.events(Some(other.id), Cursor::START).await;
    assert!(of_one.iter().all(|event| event.session == one.id));
    assert!(of_other.iter().all(|event| event.session == other.id));
    assert_eq!((of_one.len(), of_other.len()), (7, 7));
    let mut both = [of_one, of_other].concat();
    both.sort_by_key(|event| event.cursor);
    assert_eq!(world.events(None, Cursor::START).await, both, "the log of all");
}

pub(super) async fn s3_7_a_page_of_the_log_has_the_cursor_to_continue_from(world: StoreWorld) {
    let session = world.session("main").await;
    for _ in 0..5 {
        world.running(&session).await;
    }
    let all = world.events(None, Cursor::START).await;
    assert_eq!(all.len(), 11);
    for (limit, of) in [(1, None), (4, Some(session.id)), (11, None), (50, Some(session.id))] {
        let (mut read, mut after) = (Vec::new(), Cursor::START);
        loop {
            let page = world.store().events(of, after, limit).await.unwrap().unwrap();
            assert!(page.events.len() <= limit);
            if page.events.is_empty() {
                assert!(page.next >= after);
                break;
            }
            assert_eq!(page.next, page.events.last().unwrap().cursor);
            assert!(page.next > after, "the log does not go on");
            after = page.next;
            read.extend(page.events);
        }
        assert_eq!(read, all, "in pages of {limit}");
    }
}

pub(super) async fn s3_7_a_future_cursor_reads_nothing_yet(world: StoreWorld) {
    let session = world.session("main").await;
    let cursor = world.store().cursor();
    assert!(world.events(Some(session.id), cursor).await.is_empty());
    world.running(&session).await;
    assert_eq!(world.events(Some(session.id), cursor).await.len(), 2);
}

pub(super) async fn s3_6_watchers_are_notified_after_a_commit(world: StoreWorld) {
    let session = world.session("main").await;
    let notifier = world.store().notifier(session.id);
    for _ in 0..3 {
        let mut notified = pin!(notifier.notified());
        notified.as_mut().enable();
        let after = world.store().cursor();
        world.spawn(world.spec(&session)).await;
        notified.await;
        assert_eq!(world.changes(&session, after).await, [Change::Spawned]);
    }
}

async fn chatter(world: &StoreWorld, session: &SessionRecord, events: usize) {
    for n in 0..events {
        let block = offshoot_core::Block::new(
            offshoot_core::BlockKind::Assistant,
            format!("{n}"),
            world.now(),
        );
        let owner = Owner::Session(session.id);
        world.write(Write::Append { owner, blocks: vec![block] }).await;
    }
}

pub(super) async fn s3_7_a_cursor_older_than_the_log_is_expired(world: StoreWorld) {
    let session = world.session("main").await;
    world.store().set_retention(Retention { events: 4, ..Retention::default() });
    let early = world.store().cursor();
    chatter(&world, &session, 20).await;
    world.expire(world.now()).await;
    for old in [Cursor::START, early] {
        let answer = world.store().events(Some(session.id), old, 100).await.unwrap();
        let expired = answer.expect_err("the events after this cursor are gone");
        // From the oldest cursor on, no event is missing.
        let changes = world.changes(&session, expired.oldest).await;
        assert!(changes.len() >= 4, "the newest events are kept");
        let first = 21 - changes.len() as u64;
        let wanted: Vec<_> = (first..=20).map(Change::HistoryGrew).collect();
        assert_eq!(changes, wanted);
    }
    let now = world.store().cursor();
    assert!(world.events(Some(session.id), now).await.is_empty(), "a fresh cursor is fine");
}

pub(super) async fn s3_7_a_busy_session_does_not_expire_the_log_of_another(world: StoreWorld) {
    let (quiet, loud) = (world.session("quiet").await, world.session("loud").await);
    world.store().set_retention(Retention { events: 4, ..Retention::default() });
    chatter(&world, &loud, 20).await;
    world.expire(world.now()).await;
    assert_eq!(world.changes(&quiet, Cursor::START).await, [Change::SessionOpened]);
}

pub(super) async fn s3_7_the_log_of_all_sessions_has_one_oldest_cursor(world: StoreWorld) {
    let sessions =
        [world.session("one").await, world.session("two").await, world.session("three").await];
    world.store().set_retention(Retention { events: 4, ..Retention::default() });
    for session in &sessions {
        chatter(&world, session, 10).await;
    }
    world.expire(world.now()).await;
    let expired = world.store().events(None, Cursor::START, 100).await.unwrap().unwrap_err();
    let events = world.events(None, expired.oldest).await;
    let newest = world.events(Some(sessions[2].id), expired.oldest).await;
    assert!(!newest.is_empty(), "the newest events are kept");
    assert!(events.ends_with(&newest));
}
