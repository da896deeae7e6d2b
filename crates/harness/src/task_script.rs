//! The scripts that simulated tasks follow.
//!
//! A script is the input of its task, so every attempt follows the same one and must not repeat
//! a committed step.

use offshoot_core::Wake;
use serde::{Deserialize, Serialize};

use crate::rng::Rng;

/// The number of runs.
pub const RUNS: usize = 3;

/// The operations of a task, and its end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TaskScript {
    /// Its number, which is unique.
    pub tag: u64,
    /// Its operations, in order.
    pub steps: Vec<ScriptStep>,
    /// Its end.
    pub end: ScriptEnd,
}

/// One operation of a task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ScriptStep {
    /// Yields.
    Pause(u8),
    /// Sleeps without a stored timer.
    Nap(u16),
    /// Sleeps by a stored timer.
    Sleep(u16),
    /// Spawns a child.
    Spawn(Box<SpawnPlan>),
    /// Waits for its children.
    Wait(WaitLimit),
    /// Waits for the first of its children.
    WaitAny(WaitLimit),
    /// Sends its owner a message.
    TellOwner(ScriptMessage),
    /// Sends all its children a message.
    TellAll(ScriptMessage),
    /// Reads its inbox.
    Read(ReadMode),
    /// Waits for a row to read.
    Receive,
    /// Waits for an event that is worth a turn.
    Idle,
    /// Takes a step.
    Step,
    /// Takes a step that must not be repeated.
    Once,
    /// Takes two steps of one key side by side.
    Together,
    /// Asks its owner.
    Ask,
    /// Reports progress.
    Report,
    /// Cancels one of its children.
    CancelChild,
}

/// A message to send.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct ScriptMessage {
    /// Its text: one of two.
    pub text: u8,
    /// Its key, if it has one.
    pub key: Option<u8>,
}

impl ScriptMessage {
    /// A letter whose key may belong to another message already.
    pub fn draw(rng: &mut Rng) -> Self {
        let key = rng.happens(500).then(|| rng.below(3) as u8);
        Self { text: rng.below(2) as u8, key }
    }

    /// Its text.
    pub fn text(self) -> &'static str {
        if self.text == 0 { "left" } else { "right" }
    }

    /// The key as it is sent.
    pub fn key(self) -> Option<String> {
        self.key.map(|key| format!("m{key}"))
    }
}

/// The patience of a wait.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum WaitLimit {
    /// Unlimited.
    Endless,
    /// This many milliseconds.
    Limited(u16),
    /// The wait is dropped after this many polls.
    Fickle(u8),
}

/// The action of a reader after a read.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum ReadMode {
    /// None.
    Look,
    /// Acknowledges the rows.
    Ack,
    /// Appends the rows to its history.
    Append,
}

/// The end of a task.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum ScriptEnd {
    /// With a value.
    Value,
    /// With an error.
    Error,
    /// With a panic.
    Panic,
    /// On a cancel, as cancelled.
    Obey,
    /// On a cancel, with a value.
    Late,
    /// When it is forced.
    Never,
}

/// A task to spawn.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SpawnPlan {
    /// Its kind.
    pub kind: SimulatedKind,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its key, if it has one.
    pub key: Option<String>,
    /// The run it is spawned in, if it does not inherit it.
    pub run: Option<u8>,
    /// Whether it outlives its parent.
    pub detached: bool,
    /// Its time limit, in milliseconds.
    pub timeout: Option<u16>,
    /// The events that wake its owner.
    pub wake: Wake,
    /// Whether it gets a message with its spawn.
    pub message: bool,
    /// The number of polls after which the spawn is dropped, if it is.
    pub fickle: Option<u8>,
    /// Its script.
    pub script: TaskScript,
}

/// The kind of a task, with its recovery after the death of its worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SimulatedKind {
    /// A closure.
    Ephemeral,
    /// A kind that resumes.
    Resumable,
    /// A kind that restarts.
    Idempotent,
    /// A kind that is lost.
    Lossy,
    /// A kind that restarts and reads no messages.
    Deaf,
    /// A kind that is executed elsewhere.
    RemoteBackend,
}

/// Writes scripts.
#[derive(Debug)]
pub struct ScriptGenerator {
    rng: Rng,
    tags: u64,
    /// The odds that a script waits for an event that only others cause.
    patient: u32,
}

impl ScriptGenerator {
    /// An author with choices from `rng`.
    pub fn new(mut rng: Rng) -> Self {
        let patient = *rng.pick(&[0, 60, 200]).unwrap_or(&0);
        Self { rng, tags: 0, patient }
    }

    /// An author whose tags differ from those of `before` others.
    pub fn resume(rng: Rng, before: u64) -> Self {
        let author = Self::new(rng);
        Self { tags: before << 32, ..author }
    }

    /// A task to spawn at this depth.
    pub fn plan(&mut self, depth: u32) -> SpawnPlan {
        let rng = &mut self.rng;
        let kind = match rng.below(20) {
            0..=6 => SimulatedKind::Ephemeral,
            7..=12 => SimulatedKind::Resumable,
            13..=15 => SimulatedKind::Idempotent,
            16 => SimulatedKind::Deaf,
            17..=18 => SimulatedKind::RemoteBackend,
            _ => SimulatedKind::Lossy,
        };
        let name = rng.happens(350).then(|| format!("n{}", rng.below(3)));
        let key = match depth {
            0 => rng.happens(250).then(|| format!("k{}", rng.below(3))),
            // A resumed body finds the child again.
            _ => rng.happens(700).then(|| format!("c{}", rng.bits())),
        };
        let run = rng.happens(250).then(|| rng.below(RUNS) as u8);
        let detached = depth > 0 && rng.happens(150);
        let timeout = rng.happens(80).then(|| rng.between(1, 3_000) as u16);
        let message = kind != SimulatedKind::Deaf && rng.happens(100);
        let wake = *rng
            .pick(&[Wake::OnTerminal, Wake::Silent, Wake::OnActivity])
            .unwrap_or(&Wake::OnTerminal);
        let fickle = rng.happens(40).then(|| rng.below(3) as u8);
        SpawnPlan {
            kind,
            name,
            key,
            run,
            detached,
            timeout,
            wake,
            message,
            fickle,
            script: self.script(depth),
        }
    }

    fn script(&mut self, depth: u32) -> TaskScript {
        self.tags += 1;
        let tag = self.tags;
        let most = if depth == 0 { 6 } else { 4 };
        let steps = (0..self.rng.below(most + 1)).map(|_| self.step(depth)).collect();
        let end = match self.rng.below(20) {
            0..=12 => ScriptEnd::Value,
            13..=14 => ScriptEnd::Error,
            15 => ScriptEnd::Panic,
            16..=17 if self.rng.happens(self.patient * 3) => ScriptEnd::Obey,
            18 if self.rng.happens(self.patient * 3) => ScriptEnd::Late,
            19 if self.rng.happens(self.patient * 3) => ScriptEnd::Never,
            _ => ScriptEnd::Value,
        };
        TaskScript { tag, steps, end }
    }

    fn step(&mut self, depth: u32) -> ScriptStep {
        let patient = self.rng.happens(self.patient);
        match self.rng.below(30) {
            0..=1 => ScriptStep::Pause(self.rng.between(1, 4) as u8),
            2..=3 => ScriptStep::Nap(self.rng.between(1, 2_000) as u16),
            4 => ScriptStep::Sleep(self.rng.between(1, 2_000) as u16),
            5..=10 if depth < 3 => ScriptStep::Spawn(Box::new(self.plan(depth + 1))),
            5..=10 => ScriptStep::Pause(1),
            11..=13 => ScriptStep::Wait(self.patience()),
            14 => ScriptStep::WaitAny(self.patience()),
            15 => ScriptStep::TellOwner(ScriptMessage::draw(&mut self.rng)),
            16 => ScriptStep::TellAll(ScriptMessage::draw(&mut self.rng)),
            17 => ScriptStep::Read(self.reading()),
            18 if patient => ScriptStep::Idle,
            18 => ScriptStep::Read(self.reading()),
            19 if patient => ScriptStep::Receive,
            19 => ScriptStep::Read(self.reading()),
            20..=22 => ScriptStep::Step,
            23..=24 => ScriptStep::Once,
            25 if patient => ScriptStep::Ask,
            25..=26 => ScriptStep::Report,
            27 => ScriptStep::CancelChild,
            28 => ScriptStep::Together,
            _ => ScriptStep::Step,
        }
    }

    /// The patience of a wait.
    pub fn patience(&mut self) -> WaitLimit {
        match self.rng.below(4) {
            0 => WaitLimit::Limited(self.rng.below(3_000) as u16),
            1 => WaitLimit::Fickle(self.rng.below(6) as u8),
            _ => WaitLimit::Endless,
        }
    }

    /// The action after a read.
    pub fn reading(&mut self) -> ReadMode {
        match self.rng.below(4) {
            0 => ReadMode::Look,
            1 => ReadMode::Ack,
            _ => ReadMode::Append,
        }
    }
}
