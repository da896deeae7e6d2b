//! What a simulated task does, written down before it does it.
//!
//! A script is a task's input, so an attempt that comes later does the same:
//! what it has committed must not be done again.

use offshoot_core::Wake;
use serde::{Deserialize, Serialize};

use crate::rng::Rng;
use crate::world::RUNS;

/// What a task does, and how it ends.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Script {
    /// Its number: no other script has it.
    pub tag: u64,
    /// What it does, in order.
    pub deeds: Vec<Deed>,
    /// How it ends.
    pub end: End,
}

/// One thing a task does.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Deed {
    /// Lets others go first.
    Pause(u8),
    /// Sleeps, with nothing stored.
    Nap(u16),
    /// Sleeps by a stored timer.
    Sleep(u16),
    /// Spawns a child.
    Spawn(Box<Plan>),
    /// Waits for its children.
    Wait(Patience),
    /// Waits for the first of its children.
    WaitAny(Patience),
    /// Sends its owner a message.
    TellOwner(Letter),
    /// Sends all its children a message.
    TellAll(Letter),
    /// Reads its inbox.
    Read(Reading),
    /// Waits for something to read.
    Receive,
    /// Waits for something worth a turn.
    Idle,
    /// Takes a step.
    Step,
    /// Takes a step that must not be repeated.
    Once,
    /// Takes two steps of one key side by side.
    Together,
    /// Asks its owner.
    Ask,
    /// Reports.
    Report,
    /// Cancels one of its children.
    CancelChild,
}

/// A message to be sent.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Letter {
    /// Its text: one of two.
    pub text: u8,
    /// Its key, if it has one.
    pub key: Option<u8>,
}

impl Letter {
    /// A letter, whose key others may have used for something else.
    pub fn draw(rng: &mut Rng) -> Self {
        let key = rng.happens(500).then(|| rng.below(3) as u8);
        Self { text: rng.below(2) as u8, key }
    }

    /// What it says.
    pub fn text(self) -> &'static str {
        if self.text == 0 { "left" } else { "right" }
    }

    /// The key as it is sent.
    pub fn key(self) -> Option<String> {
        self.key.map(|key| format!("m{key}"))
    }
}

/// How long a wait lasts.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Patience {
    /// As long as it takes.
    Endless,
    /// So many milliseconds.
    Limited(u16),
    /// It is dropped after so many polls.
    Fickle(u8),
}

/// What a reader does with what it has read.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Reading {
    /// Nothing.
    Look,
    /// Acknowledges it.
    Ack,
    /// Appends it to its history.
    Append,
}

/// How a task ends.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum End {
    /// With a value.
    Value,
    /// With an error.
    Error,
    /// With a panic.
    Panic,
    /// When it is asked to, and says so.
    Obey,
    /// When it is asked to, with a value.
    Late,
    /// When it is forced to.
    Never,
}

/// A task to be spawned.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// What executes it.
    pub kind: KindOf,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its key, if it has one.
    pub key: Option<String>,
    /// The run it is spawned in, if it does not inherit it.
    pub run: Option<u8>,
    /// Whether it outlives its parent.
    pub detached: bool,
    /// How long it may run, in milliseconds.
    pub timeout: Option<u16>,
    /// What of it wakes its owner.
    pub wake: Wake,
    /// Whether it gets a message with its spawn.
    pub message: bool,
    /// Whether the spawn is dropped after so many polls.
    pub fickle: Option<u8>,
    /// What it does.
    pub script: Script,
}

/// What executes a task, and what becomes of it when its worker dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KindOf {
    /// A closure.
    Ephemeral,
    /// A kind that goes on.
    Resumable,
    /// A kind that starts again.
    Idempotent,
    /// A kind that is lost.
    Lossy,
    /// A kind that starts again and reads no messages.
    Deaf,
    /// A kind that is executed somewhere else.
    Remote,
}

/// Writes scripts.
#[derive(Debug)]
pub struct Author {
    rng: Rng,
    tags: u64,
    /// How likely a script waits for something that only others bring.
    patient: u32,
}

impl Author {
    /// An author who draws from `rng`.
    pub fn new(mut rng: Rng) -> Self {
        let patient = *rng.pick(&[0, 60, 200]).unwrap_or(&0);
        Self { rng, tags: 0, patient }
    }

    /// An author whose tags are not those of `before` others.
    pub fn resume(rng: Rng, before: u64) -> Self {
        let author = Self::new(rng);
        Self { tags: before << 32, ..author }
    }

    /// A task to be spawned at this depth.
    pub fn plan(&mut self, depth: u32) -> Plan {
        let rng = &mut self.rng;
        let kind = match rng.below(20) {
            0..=6 => KindOf::Ephemeral,
            7..=12 => KindOf::Resumable,
            13..=15 => KindOf::Idempotent,
            16 => KindOf::Deaf,
            17..=18 => KindOf::Remote,
            _ => KindOf::Lossy,
        };
        let name = rng.happens(350).then(|| format!("n{}", rng.below(3)));
        let key = match depth {
            0 => rng.happens(250).then(|| format!("k{}", rng.below(3))),
            // A body that is resumed finds the child again.
            _ => rng.happens(700).then(|| format!("c{}", rng.bits())),
        };
        let run = rng.happens(250).then(|| rng.below(RUNS) as u8);
        let detached = depth > 0 && rng.happens(150);
        let timeout = rng.happens(80).then(|| rng.between(1, 3_000) as u16);
        let message = kind != KindOf::Deaf && rng.happens(100);
        let wake = *rng
            .pick(&[Wake::OnTerminal, Wake::Silent, Wake::OnActivity])
            .unwrap_or(&Wake::OnTerminal);
        let fickle = rng.happens(40).then(|| rng.below(3) as u8);
        Plan {
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

    fn script(&mut self, depth: u32) -> Script {
        self.tags += 1;
        let tag = self.tags;
        let most = if depth == 0 { 6 } else { 4 };
        let deeds = (0..self.rng.below(most + 1)).map(|_| self.deed(depth)).collect();
        let end = match self.rng.below(20) {
            0..=12 => End::Value,
            13..=14 => End::Error,
            15 => End::Panic,
            16..=17 if self.rng.happens(self.patient * 3) => End::Obey,
            18 if self.rng.happens(self.patient * 3) => End::Late,
            19 if self.rng.happens(self.patient * 3) => End::Never,
            _ => End::Value,
        };
        Script { tag, deeds, end }
    }

    fn deed(&mut self, depth: u32) -> Deed {
        let patient = self.rng.happens(self.patient);
        match self.rng.below(30) {
            0..=1 => Deed::Pause(self.rng.between(1, 4) as u8),
            2..=3 => Deed::Nap(self.rng.between(1, 2_000) as u16),
            4 => Deed::Sleep(self.rng.between(1, 2_000) as u16),
            5..=10 if depth < 3 => Deed::Spawn(Box::new(self.plan(depth + 1))),
            5..=10 => Deed::Pause(1),
            11..=13 => Deed::Wait(self.patience()),
            14 => Deed::WaitAny(self.patience()),
            15 => Deed::TellOwner(Letter::draw(&mut self.rng)),
            16 => Deed::TellAll(Letter::draw(&mut self.rng)),
            17 => Deed::Read(self.reading()),
            18 if patient => Deed::Idle,
            18 => Deed::Read(self.reading()),
            19 if patient => Deed::Receive,
            19 => Deed::Read(self.reading()),
            20..=22 => Deed::Step,
            23..=24 => Deed::Once,
            25 if patient => Deed::Ask,
            25..=26 => Deed::Report,
            27 => Deed::CancelChild,
            28 => Deed::Together,
            _ => Deed::Step,
        }
    }

    /// How long to wait.
    pub fn patience(&mut self) -> Patience {
        match self.rng.below(4) {
            0 => Patience::Limited(self.rng.below(3_000) as u16),
            1 => Patience::Fickle(self.rng.below(6) as u8),
            _ => Patience::Endless,
        }
    }

    /// What to do with what is read.
    pub fn reading(&mut self) -> Reading {
        match self.rng.below(4) {
            0 => Reading::Look,
            1 => Reading::Ack,
            _ => Reading::Append,
        }
    }
}
