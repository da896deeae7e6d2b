//! What may fail: whatever happens to a write, it is there whole or not at
//! all, and a caller that reads and decides again comes to the same end.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use offshoot_core::Cursor;
use parking_lot::Mutex;

use super::script::{SCENES, Script};
use super::snapshot::Snapshot;
use super::world::World;
use crate::batch::Batch;
use crate::error::{CommitError, StoreError};
use crate::faulty::{At, Fault, Faults, Faulty};
use crate::ready::Commit;

/// A telling of the story on a store that fails.
struct Telling {
    world: World,
    script: Script,
    faulty: Option<Faulty>,
    faults: Arc<dyn Faults>,
}

/// One set of decisions for every store that is opened during a telling.
struct Shared(Arc<dyn Faults>);

impl Faults for Shared {
    fn at_commit(&self, number: u64, batch: &Batch) -> Option<Fault> {
        self.0.at_commit(number, batch)
    }
}

impl Telling {
    async fn new(world: &World, faults: impl Faults + 'static) -> Self {
        let world = world.another().await;
        let script = Script::new(&world);
        let mut telling = Self { world, script, faulty: None, faults: Arc::new(faults) };
        telling.wrap();
        telling
    }

    fn wrap(&mut self) {
        self.world.wrap(|store| {
            let faulty = Faulty::new(store, Shared(self.faults.clone()));
            self.faulty = Some(faulty.clone());
            Arc::new(faulty)
        });
    }

    /// What can be seen now; a store that crashed is opened again first.
    async fn look(&mut self) -> Snapshot {
        if self.faulty.as_ref().is_some_and(Faulty::has_crashed) {
            self.faulty = None;
            self.world.reopen().await;
            self.wrap();
        }
        Snapshot::take(&*self.world.store(), &self.script.messages()).await.unwrap()
    }

    async fn commit(&self, batch: Batch) -> Result<Cursor, CommitError> {
        let commit = self.world.store().commit(batch);
        answer_or_silence(commit, self.faulty.as_ref().unwrap()).await
    }

    /// Tells one scene until it has happened; what was seen after each failure.
    async fn tell(&mut self, scene: usize) -> Vec<Snapshot> {
        let mut seen = Vec::new();
        loop {
            let store = self.world.store();
            let Some(batch) = SCENES[scene](&self.script, &*store).await else { return seen };
            drop(store);
            match self.commit(batch).await {
                Ok(_) => return seen,
                Err(CommitError::Store(
                    StoreError::NotWritten(_) | StoreError::Unknown(_) | StoreError::Closed,
                )) => seen.push(self.look().await),
                Err(other) => panic!("scene {scene}: {other:?}"),
            }
        }
    }
}

/// The answer to a commit, or that it will never come: an injected silence
/// says so, since nothing else could without a clock.
async fn answer_or_silence(commit: Commit, faulty: &Faulty) -> Result<Cursor, CommitError> {
    let mut commit = pin!(commit);
    let mut silence = pin!(faulty.withheld());
    poll_fn(|context| {
        if let Poll::Ready(answer) = commit.as_mut().poll(context) {
            return Poll::Ready(answer);
        }
        let gave_up = || Err(StoreError::Unknown("no answer came".into()).into());
        silence.as_mut().poll(context).map(|()| gave_up())
    })
    .await
}

/// What can be seen before the story and after each scene when nothing fails.
async fn undisturbed(world: &World) -> Vec<Snapshot> {
    let mut telling = Telling::new(world, |_: u64, _: &Batch| None).await;
    let mut seen = vec![telling.look().await];
    for scene in 0..SCENES.len() {
        assert!(telling.tell(scene).await.is_empty());
        seen.push(telling.look().await);
    }
    assert_eq!(telling.faulty.unwrap().commits(), SCENES.len() as u64);
    seen
}

/// Tells the story once per scene, with `fault` striking in that scene.
async fn strikes_everywhere(world: World, fault: Fault) {
    let wanted = undisturbed(&world).await;
    for struck in 0..SCENES.len() {
        let at = At { commit: struck as u64 + 1, fault };
        let mut telling = Telling::new(&world, once(at)).await;
        for scene in 0..SCENES.len() {
            let seen = telling.tell(scene).await;
            if scene != struck {
                assert!(seen.is_empty(), "scene {scene} was not to fail");
                continue;
            }
            let whole = if fault.writes() { &wanted[scene + 1] } else { &wanted[scene] };
            assert_eq!(seen.len(), 1, "{fault:?} strikes scene {scene}");
            assert_eq!(&seen[0], whole, "{fault:?} at scene {scene} left half of it");
        }
        let end = telling.look().await;
        assert_eq!(Some(&end), wanted.last(), "after {fault:?} at scene {struck}");
        telling.faulty = None;
        telling.world.reopen().await;
        let end = telling.look_plain().await;
        assert_eq!(Some(&end), wanted.last(), "reopened after {fault:?} at scene {struck}");
    }
}

impl Telling {
    async fn look_plain(&self) -> Snapshot {
        Snapshot::take(&*self.world.store(), &self.script.messages()).await.unwrap()
    }
}

/// `at`, but only once: a store that is opened again counts from 1 again.
fn once(at: At) -> impl Faults {
    let left = Mutex::new(Some(at));
    move |number: u64, _: &Batch| {
        let mut left = left.lock();
        left.filter(|at| at.commit == number).inspect(|_| *left = None).map(|at| at.fault)
    }
}

pub(super) async fn s4_3_an_error_before_a_write_leaves_nothing_of_it(world: World) {
    strikes_everywhere(world, Fault::Before).await;
}

pub(super) async fn s4_3_an_error_after_a_write_leaves_all_of_it(world: World) {
    strikes_everywhere(world, Fault::After).await;
}

pub(super) async fn s4_3_a_lost_reply_leaves_all_of_the_write(world: World) {
    strikes_everywhere(world, Fault::LostReply).await;
}

pub(super) async fn s4_3_an_answer_that_never_comes_leaves_all_of_the_write(world: World) {
    strikes_everywhere(world, Fault::NoReply).await;
}

pub(super) async fn s4_3_a_crash_before_a_write_leaves_nothing_of_it(world: World) {
    strikes_everywhere(world, Fault::CrashBefore).await;
}

pub(super) async fn s4_3_a_crash_after_a_write_leaves_all_of_it(world: World) {
    strikes_everywhere(world, Fault::CrashAfter).await;
}

pub(super) async fn s4_3_any_run_of_faults_comes_to_the_same_end(world: World) {
    let wanted = undisturbed(&world).await;
    for seed in 1..=8u64 {
        let random = Mutex::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let faults = move |_: u64, _: &Batch| {
            let mut random = random.lock();
            *random ^= *random << 13;
            *random ^= *random >> 7;
            *random ^= *random << 17;
            let choice = (*random >> 32) as usize % (2 * Fault::ALL.len());
            Fault::ALL.get(choice).copied()
        };
        let mut telling = Telling::new(&world, faults).await;
        for scene in 0..SCENES.len() {
            for seen in telling.tell(scene).await {
                let whole = seen == wanted[scene] || seen == wanted[scene + 1];
                assert!(whole, "seed {seed}: half of scene {scene} was left: {seen:#?}");
            }
        }
        let end = telling.look().await;
        assert_eq!(Some(&end), wanted.last(), "seed {seed}");
    }
}

/// Something goes wrong with the first blob.
struct FirstBlob(Fault);

impl Faults for FirstBlob {
    fn at_commit(&self, _number: u64, _batch: &Batch) -> Option<Fault> {
        None
    }

    fn at_blob(&self, number: u64) -> Option<Fault> {
        (number == 1).then_some(self.0)
    }
}

pub(super) async fn s8_5_a_blob_that_failed_is_put_again(world: World) {
    // One whose answer never comes is not among them: nothing tells of it.
    for fault in Fault::ALL.into_iter().filter(|fault| *fault != Fault::NoReply) {
        let world = world.another().await;
        let session = world.session("main").await;
        let task = world.running(&session).await;
        let before = world.snapshot().await;
        world.wrap(|store| Arc::new(Faulty::new(store, FirstBlob(fault))));
        assert!(world.store().put_blob(task.id(), "[1]".into()).await.is_err());
        if fault.crashes() {
            world.reopen().await;
        }
        let blob = world.store().put_blob(task.id(), "[2]".into()).await.unwrap();
        assert_eq!(world.store().blob(blob).await.unwrap().as_deref(), Some("[2]"));
        assert_eq!(world.snapshot().await, before, "{fault:?}");
    }
}

pub(super) async fn a_store_that_crashed_answers_nothing(world: World) {
    let script = Script::new(&world);
    let faulty = Mutex::new(None);
    world.wrap(|store| {
        let store = Faulty::new(store, At { commit: 1, fault: Fault::CrashBefore });
        *faulty.lock() = Some(store.clone());
        Arc::new(store)
    });
    let store = world.store();
    let batch = SCENES[0](&script, &*store).await.unwrap();
    assert!(store.commit(batch.clone()).await.is_err());
    let again = store.commit(batch).await;
    assert!(matches!(again, Err(CommitError::Store(StoreError::Closed))));
    assert!(matches!(store.sessions(None, 1).await, Err(StoreError::Closed)));
    assert_eq!(faulty.lock().as_ref().map(Faulty::commits), Some(1));
    drop(store);
    faulty.lock().take();
    world.reopen().await;
    assert!(world.store().sessions(None, 1).await.unwrap().items.is_empty());
}
