//! Atomicity: every write beside every precondition that can fail.

use offshoot_core::{Change, Phase};

use super::populated::PopulatedStore;
use super::world::StoreWorld;
use crate::batch::{Batch, Counter, Guard, Write};

fn with(batch: Batch, writes: impl IntoIterator<Item = Write>) -> Batch {
    writes.into_iter().fold(batch, Batch::write)
}

pub(super) async fn a_batch_with_one_refused_write_writes_nothing(world: StoreWorld) {
    let stage = PopulatedStore::new(&world).await;
    for impossible in stage.impossible(&world) {
        let last = stage.everything(&world).into_iter().chain([impossible.clone()]);
        world.refused(with(world.batch(), last)).await;
        let first = [impossible].into_iter().chain(stage.everything(&world));
        world.refused(with(world.batch(), first)).await;
    }
    world.commit(with(world.batch(), stage.everything(&world))).await.unwrap();
}

pub(super) async fn a_batch_with_a_failed_guard_writes_nothing(world: StoreWorld) {
    let stage = PopulatedStore::new(&world).await;
    for forbidden in stage.forbidden(&world) {
        world.refused(with(forbidden, stage.everything(&world))).await;
    }
    world.commit(with(world.batch(), stage.everything(&world))).await.unwrap();
}

pub(super) async fn a_batch_with_one_of_every_write_is_one_commit(world: StoreWorld) {
    let stage = PopulatedStore::new(&world).await;
    let after = world.store().cursor();
    let writes = stage.everything(&world);
    let sent = writes.iter().find_map(|write| match write {
        Write::Send { message, .. } => Some(message.id),
        _ => None,
    });
    world.commit(with(world.batch(), writes)).await.unwrap();
    let expected = [
        Change::SweepEnded,
        Change::Spawned,
        Change::Waiting(offshoot_core::WaitingOn::Message),
        Change::MessageQueued(sent.unwrap()),
        Change::Acknowledged { rows: 1 },
        Change::Ended(Phase::Lost),
        Change::HistoryGrew(2),
        Change::StepCommitted("fetch".into()),
        Change::Asked(2),
        Change::QuestionClosed(1),
    ];
    assert_eq!(world.changes(&stage.session, after).await, expected);
    let events = world.events(None, after).await;
    assert_eq!(events[0].change, Change::SessionOpened, "the other session's comes first");
    assert!(events.iter().all(|event| event.at == events[0].at));
}

pub(super) async fn an_empty_batch_changes_nothing(world: StoreWorld) {
    let stage = PopulatedStore::new(&world).await;
    let before = world.snapshot().await;
    world.commit(world.batch()).await.unwrap();
    let guarded = world.batch().guard(Guard::HasChildren(stage.lead.id()));
    world.commit(guarded).await.unwrap();
    assert_eq!(world.snapshot().await, before);
    let counter = Counter { owner: stage.owner, name: "tokens".into() };
    assert_eq!(world.store().counter(&counter).await.unwrap(), 0);
}
