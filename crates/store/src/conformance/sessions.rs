//! Sessions: found, unique, and changed one record at a time.

use offshoot_core::{Change, Cursor, Name, SessionRecord, Space, Sweep, SweepId, SweepScope};

use super::fixture::WorkerLimit;
use super::world::{StoreWorld, cancel};
use crate::batch::Write;
use crate::error::{Conflict, StoreError};

fn next(world: &StoreWorld, session: &SessionRecord) -> SessionRecord {
    let mut next = session.clone();
    next.seq += 1;
    let cancel = (*cancel(world.now())).clone();
    let id = Some(SweepId::mint(world.now(), u128::from(next.seq)));
    next.sweeps.push(Sweep { id, cancel, reach: SweepScope::Everything });
    next
}

pub(super) async fn an_opened_session_is_found_by_id_and_by_name(world: StoreWorld) {
    let session = world.session("Main").await;
    let store = world.store();
    assert_eq!(store.session(session.id).await.unwrap(), Some(session.clone()));
    let name = Name::new(" mAIN ").unwrap();
    let found = store.session_named(&session.space, &name).await.unwrap().unwrap();
    assert_eq!((found.id, found.name.as_str()), (session.id, "Main"));
    let events = world.events(Some(session.id), Cursor::START).await;
    assert_eq!(events.len(), 1);
    assert_eq!((events[0].task, &events[0].change), (None, &Change::SessionOpened));
}

pub(super) async fn a_read_of_an_unknown_session_is_none(world: StoreWorld) {
    let unknown = world.new_session("unknown");
    let store = world.store();
    assert_eq!(store.session(unknown.id).await.unwrap(), None);
    assert_eq!(store.session_named(&unknown.space, &unknown.name).await.unwrap(), None);
}

pub(super) async fn a_session_name_is_unique_in_its_space(world: StoreWorld) {
    let session = world.session("main").await;
    let conflict =
        world.refused_write(Write::OpenSession(Box::new(world.new_session("MAIN")))).await;
    assert_eq!(conflict, Conflict::SessionExists(session.id));
    let mut elsewhere = world.new_session("main");
    elsewhere.space = Space::new("elsewhere");
    world.write(Write::OpenSession(Box::new(elsewhere.clone()))).await;
    let found = world.store().session_named(&elsewhere.space, &elsewhere.name).await.unwrap();
    assert_eq!(found.map(|found| found.id), Some(elsewhere.id));
}

pub(super) async fn a_session_id_is_used_once(world: StoreWorld) {
    let session = world.session("main").await;
    let mut again = world.new_session("other");
    again.id = session.id;
    let conflict = world.refused_write(Write::OpenSession(Box::new(again))).await;
    assert_eq!(conflict, Conflict::SessionExists(session.id));
}

pub(super) async fn s6_4_a_sweep_is_part_of_the_session_record(world: StoreWorld) {
    let session = world.session("main").await;
    let swept = next(&world, &session);
    let after = world.store().cursor();
    world.write(Write::PutSession(Box::new(swept.clone()), Change::SweepBegan)).await;
    assert_eq!(world.store().session(session.id).await.unwrap(), Some(swept));
    assert_eq!(world.changes(&session, after).await, [Change::SweepBegan]);
}

pub(super) async fn a_session_record_replaces_only_its_predecessor(world: StoreWorld) {
    let session = world.session("main").await;
    let first = next(&world, &session);
    world.write(Write::PutSession(Box::new(first.clone()), Change::SweepBegan)).await;
    let conflict =
        world.refused_write(Write::PutSession(Box::new(first), Change::SweepBegan)).await;
    assert_eq!(conflict, Conflict::StaleSession(session.id));
    let unknown = next(&world, &world.new_session("unknown"));
    let id = unknown.id;
    let conflict =
        world.refused_write(Write::PutSession(Box::new(unknown), Change::SweepBegan)).await;
    assert_eq!(conflict, Conflict::NoSession(id));
}

pub(super) async fn sessions_are_listed_oldest_first_and_once(world: StoreWorld) {
    let mut opened = Vec::new();
    for n in 0..7 {
        opened.push(world.session(&format!("session {n}")).await.id);
    }
    let store = world.store();
    for limit in [1, 3, 7, 100] {
        let (mut listed, mut after) = (Vec::new(), None);
        loop {
            let page = store.sessions(after, limit).await.unwrap();
            assert!(page.items.len() <= limit);
            listed.extend(page.items.iter().map(|session| session.id));
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        assert_eq!(listed, opened, "in pages of {limit}");
    }
}

pub(super) async fn an_exclusive_store_refuses_a_second_claim(world: StoreWorld) {
    let store = world.store();
    let other = offshoot_core::WorkerId::mint(world.now(), world.bits());
    let tenure = store.claim(world.worker).unwrap();
    let second = store.claim(other);
    match world.fixture().worker_limit() {
        WorkerLimit::OneWorker => assert!(matches!(second, Err(StoreError::Locked { .. }))),
        WorkerLimit::ManyWorkers => assert!(second.is_ok()),
    }
    drop(second);
    drop(tenure);
    assert!(store.claim(other).is_ok(), "a dropped claim is free");
}
