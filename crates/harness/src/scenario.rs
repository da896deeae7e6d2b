//! The settings of one simulation, drawn from its seed.

use std::time::Duration;

use offshoot_core::{Caps, Ceiling, Retention, Sizes};
use offshoot_store::Memory;

use crate::planted::PlantedBug;
use crate::rng::Rng;

/// The number of attempts after which a crashing task fails.
pub const MAX_ATTEMPTS: u32 = 3;

/// The settings of one simulation.
#[derive(Debug)]
pub struct Scenario {
    /// The bug in its store, if there is one.
    pub bug: Option<PlantedBug>,
    /// The maximum number of tasks.
    pub caps: Caps,
    /// The odds of faults.
    pub odds: FaultRates,
    /// The number of processes, one after another.
    pub processes: usize,
    /// Whether several workers may hold the store at once.
    pub workers: WorkerCount,
    /// The number of sessions.
    pub sessions: usize,
    /// The number of programs that use each runtime.
    pub hosts: usize,
    /// The maximum number of actions of a program.
    pub actions: usize,
    /// The time that a cancelled body has to end.
    pub grace: Duration,
    /// The retention of ended tasks.
    pub keeping: RetentionPolicy,
    /// The size limits.
    pub sizes: Sizes,
}

/// The number of workers that hold the store at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerCount {
    /// One: every other recorded worker is dead.
    One,
    /// Two, each of which takes the other for dead when it opens.
    Two,
}

/// The worker that opens beside the first one of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondWorker {
    /// None.
    None,
    /// Another, at the same time: both recover the remaining tasks.
    AtOnce,
    /// Another, after a while: it takes the first for dead while that lives.
    After(Duration),
}

/// The retention of ended tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetentionPolicy {
    /// Everything is kept, for a full comparison at the end.
    Everything,
    /// This much is kept.
    Some(Retention),
}

/// The odds of faults, in a thousand, and the delays of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultRates {
    /// A commit is refused before it writes.
    pub before: u32,
    /// A commit writes and reports an unknown outcome.
    pub after: u32,
    /// A commit writes and its answer is lost.
    pub lost: u32,
    /// The process dies at a commit, before or after it writes.
    pub crash: u32,
    /// A read fails.
    pub unread: u32,
    /// An operation is answered at once, as the memory store does.
    pub prompt: u32,
    /// The longest pause before and after an operation, in steps.
    pub pause: usize,
}

impl FaultRates {
    /// Whether the only fault is the death of the process.
    pub fn is_reliable(&self) -> bool {
        self.before + self.after + self.lost + self.unread == 0
    }

    /// No fault.
    pub fn calm(pause: usize) -> Self {
        Self { before: 0, after: 0, lost: 0, crash: 0, unread: 0, prompt: 300, pause }
    }
}

impl Scenario {
    /// Draws a scenario.
    pub fn draw(rng: &mut Rng, bug: Option<PlantedBug>) -> Self {
        let mut caps = Caps { depth: 4, ..Caps::default() };
        let small = |rng: &mut Rng| rng.happens(400).then(|| rng.between(1, 3) as u64);
        if rng.happens(500) {
            caps.executing = Ceiling { owner: small(rng), session: small(rng), space: small(rng) };
        }
        if rng.happens(200) {
            let live = rng.between(2, 8) as u64;
            caps.live = Ceiling { owner: Some(live), session: None, space: Some(live * 3) };
        }
        let stormy = rng.below(3) as u32;
        let pause = rng.below(4);
        let odds = FaultRates {
            before: 8 * stormy,
            after: 8 * stormy,
            lost: 4 * stormy,
            crash: if rng.happens(500) { 10 } else { 0 },
            unread: 4 * stormy,
            prompt: *rng.pick(&[0, 300, 900]).unwrap_or(&0),
            pause,
        };
        Self {
            bug,
            caps,
            odds,
            processes: rng.between(1, 4),
            workers: if rng.happens(300) { WorkerCount::Two } else { WorkerCount::One },
            sessions: rng.between(1, 2),
            hosts: rng.between(1, 4),
            actions: rng.between(3, 12),
            grace: Duration::from_millis(rng.below(3_000) as u64),
            keeping: RetentionPolicy::draw(rng),
            sizes: match rng.happens(250) {
                true => Sizes { inbox: rng.between(1, 3), ..Sizes::default() },
                false => Sizes::default(),
            },
        }
    }

    /// The disk of the simulation.
    pub fn memory(&self) -> Memory {
        match self.workers {
            WorkerCount::One => Memory::new(),
            WorkerCount::Two => Memory::for_many_workers(),
        }
    }

    /// The worker that opens beside the first one of the process of this number. The last
    /// process has one worker: a worker beside another does not hear of the other's work, so
    /// only a single one must bring everything to rest.
    pub fn company(&self, number: usize, rng: &mut Rng) -> SecondWorker {
        if self.workers == WorkerCount::One || number == self.processes {
            return SecondWorker::None;
        }
        match rng.below(4) {
            0 => SecondWorker::None,
            1..=2 => SecondWorker::AtOnce,
            _ => SecondWorker::After(Duration::from_millis(rng.below(3_000) as u64)),
        }
    }
}

impl RetentionPolicy {
    fn draw(rng: &mut Rng) -> Self {
        if rng.happens(750) {
            return Self::Everything;
        }
        let delivered = Duration::from_secs(rng.between(20, 400) as u64);
        Self::Some(Retention {
            in_memory: rng.between(1, 6),
            delivered,
            undelivered: delivered * rng.between(1, 3) as u32,
            events: 1 << 20,
        })
    }

    /// The retention for the store.
    pub fn retention(self) -> Retention {
        match self {
            Self::Everything => {
                Retention { in_memory: 1 << 20, events: 1 << 20, ..Retention::default() }
            }
            Self::Some(retention) => retention,
        }
    }
}
