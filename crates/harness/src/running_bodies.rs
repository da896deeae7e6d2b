//! The running bodies, and the result of each ended one.

use hashbrown::{HashMap, HashSet};
use offshoot_core::{Owner, TaskId, WorkerId};

use crate::rng::Rng;
use crate::violation::{Checked, ensure};

/// The running bodies, and the result of each ended one.
#[derive(Debug, Default)]
pub struct RunningBodies {
    inside: HashMap<(TaskId, u32), RunningBody>,
    begun: HashSet<(TaskId, u32)>,
    returned: HashMap<(TaskId, u32), BodyEnd>,
    entered: HashSet<u64>,
    failed: HashSet<u64>,
    tried: HashMap<u64, u32>,
    computed: HashMap<(TaskId, String), u32>,
    working: HashSet<(TaskId, u32, String)>,
    found: HashMap<(TaskId, u32), BackendFinding>,
}

/// A running body.
#[derive(Clone, Debug)]
pub struct RunningBody {
    /// The worker that runs it.
    pub worker: Option<WorkerId>,
    /// Its current activity.
    pub doing: BodyActivity,
}

/// The current activity of a body or an actor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BodyActivity {
    /// An activity that ends by itself.
    #[default]
    Working,
    /// Hanging until it is asked, or forced, to stop.
    Hanging,
    /// Waiting for these tasks.
    Waiting {
        /// The tasks.
        tasks: Vec<TaskId>,
        /// Whether one of them is enough.
        any: bool,
    },
    /// Waiting for a row to read.
    Receiving,
    /// Waiting for an event in this inbox that is worth a turn.
    Idling(Owner),
    /// Waiting for an answer.
    Asking,
}

/// The result of an ended body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyEnd {
    /// A value, by its tag.
    Value(u64),
    /// An error.
    Error,
    /// A cancel that it obeyed.
    Cancelled,
    /// None: it panicked.
    Panic,
}

/// The finding of a backend for a task whose worker died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendFinding {
    /// It ended with this value.
    Value(u64),
    /// It failed.
    Error,
    /// It cannot be resumed.
    Lost,
    /// Nothing: the policy of its kind decides.
    Nothing,
    /// Nothing, because the lookup fails.
    Panic,
}

impl BackendFinding {
    /// A random finding.
    pub fn draw(rng: &mut Rng) -> Self {
        match rng.below(8) {
            0..=1 => Self::Value(rng.bits()),
            2 => Self::Error,
            3 => Self::Lost,
            4 => Self::Panic,
            _ => Self::Nothing,
        }
    }

    /// Whether the finding is an end.
    pub fn is_end(self) -> bool {
        matches!(self, Self::Value(_) | Self::Error | Self::Lost)
    }
}

impl RunningBodies {
    /// The body of this epoch, if it runs.
    pub fn inside(&self, task: TaskId, epoch: u32) -> Option<&RunningBody> {
        self.inside.get(&(task, epoch))
    }

    /// The running bodies, with their epochs.
    pub fn running(&self) -> impl Iterator<Item = (&(TaskId, u32), &RunningBody)> {
        self.inside.iter()
    }

    /// The result of the body of this epoch.
    pub fn returned(&self, task: TaskId, epoch: u32) -> Option<&BodyEnd> {
        self.returned.get(&(task, epoch))
    }

    /// Records the start of a body at a worker. A body that another worker takes for dead may
    /// run on there, but never beside another body of the same worker.
    pub fn enter(&mut self, (task, epoch): (TaskId, u32), at: WorkerId, tag: u64) -> Checked {
        let worker = Some(at);
        let before = (1..epoch)
            .find(|epoch| self.inside(task, *epoch).is_some_and(|it| it.worker == worker));
        ensure(before.is_none(), "S9.5 no body runs twice at once", || {
            format!("{task} runs under {before:?} and {epoch} at {at}")
        })?;
        self.inside.insert((task, epoch), RunningBody { worker, doing: BodyActivity::Working });
        self.entered.insert(tag);
        let again = self.tried.get(&tag).is_some_and(|times| *times > 1);
        ensure(
            again || !self.failed.contains(&tag),
            "S2.4 if the write fails the body never runs",
            || format!("{task} runs although its spawn was refused"),
        )?;
        ensure(self.begun.insert((task, epoch)), "S9.5 of all workers exactly one wins", || {
            format!("{task} runs again under {epoch}")
        })
    }

    /// Records the next activity of a body.
    pub fn does(&mut self, task: TaskId, epoch: u32, doing: BodyActivity) {
        if let Some(inside) = self.inside.get_mut(&(task, epoch)) {
            inside.doing = doing;
        }
    }

    /// Records the result with which a body is about to end.
    pub fn returns(&mut self, task: TaskId, epoch: u32, returned: BodyEnd) {
        self.returned.insert((task, epoch), returned);
    }

    /// Records that a body is gone.
    pub fn leave(&mut self, task: TaskId, epoch: u32) {
        self.inside.remove(&(task, epoch));
    }

    /// Records that every body is gone, with its process.
    pub fn clear(&mut self) {
        self.inside.clear();
    }

    /// Records the start of a spawn; an earlier answer to it becomes void.
    pub fn spawning(&mut self, tag: u64) {
        *self.tried.entry(tag).or_default() += 1;
        self.failed.remove(&tag);
    }

    /// Records a refused spawn. A later attempt may be refused a spawn that an earlier one was
    /// granted.
    pub fn spawn_failed(&mut self, tag: u64) -> Checked {
        self.failed.insert(tag);
        let again = self.tried.get(&tag).is_some_and(|times| *times > 1);
        ensure(
            again || !self.entered.contains(&tag),
            "S2.4 if the write fails the body never runs",
            || format!("the spawn of {tag} was refused although its body ran"),
        )
    }

    /// The fate of an attempt as a backend finds it: the same for every caller.
    pub fn finds(&mut self, task: TaskId, epoch: u32, drawn: BackendFinding) -> BackendFinding {
        *self.found.entry((task, epoch)).or_insert(drawn)
    }

    /// The finding of a backend for an attempt, if it was asked.
    pub fn found(&self, task: TaskId, epoch: u32) -> Option<BackendFinding> {
        self.found.get(&(task, epoch)).copied()
    }

    /// Records that the work of a step begins.
    pub fn work_begins(&mut self, (task, epoch): (TaskId, u32), key: &str) -> Checked {
        let alone = self.working.insert((task, epoch, key.to_owned()));
        ensure(alone, "S9.6 steps of one key take turns", || {
            format!("step {key:?} of {task} is computed twice at once")
        })
    }

    /// Records that the work of a step has ended, or was dropped.
    pub fn work_ends(&mut self, (task, epoch): (TaskId, u32), key: &str) {
        self.working.remove(&(task, epoch, key.to_owned()));
    }

    /// Records the computation of a step. Returns the number of earlier ones.
    pub fn computes(&mut self, task: TaskId, key: &str) -> u32 {
        let times = self.computed.entry((task, key.to_owned())).or_default();
        *times += 1;
        *times - 1
    }
}
