//! A program that does everything at random, until its process ends.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{Caller, Owner, TaskId};
use offshoot_runtime::{BodyError, Error, MessageRecipient, Session, TaskRef};

use crate::crash::job::{Job, Keyed, note_receipts, note_spawn, take_in};
use crate::crash::ledger::{Entry, Ledger};
use crate::rng::Rng;
use crate::task_script::RUNS;
use crate::worker_context::run;

/// The number of its latest tasks that a program uses.
const KNOWN: usize = 64;

/// One program.
pub struct Host {
    session: Session,
    ledger: Arc<Ledger>,
    rng: Rng,
    known: Vec<TaskRef>,
}

/// The reason that a program stops.
enum Halt {
    Refused(Error),
    Failed(BodyError),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<std::io::Error> for Halt {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl Host {
    /// A program with choices from `rng`.
    pub fn new(session: Session, ledger: Arc<Ledger>, rng: Rng) -> Self {
        Self { session, ledger, rng, known: Vec::new() }
    }

    /// Runs until an operation fails.
    pub async fn run(mut self) -> Result<(), BodyError> {
        loop {
            match self.act().await {
                Ok(()) => {}
                // The task has ended or is being cancelled, or another caller was faster.
                Err(Halt::Refused(
                    Error::NameTaken { .. }
                    | Error::Ended { .. }
                    | Error::OwnerClosed(_)
                    | Error::QuestionClosed { .. },
                )) => {}
                Err(Halt::Refused(error)) => return Err(error.into()),
                Err(Halt::Failed(error)) => return Err(error),
            }
        }
    }

    async fn act(&mut self) -> Result<(), Halt> {
        match self.rng.below(26) {
            0..=9 => self.spawn().await,
            10..=13 => self.wait().await,
            14..=16 => self.send().await,
            17..=18 => self.cancel().await,
            19 => self.sweep().await,
            20..=21 => self.answer().await,
            22..=23 => {
                let rows = self.session.drain(2).await?;
                self.ledger.note(&Entry::Acking(rows.iter().map(|row| row.id()).collect()))?;
                Ok(rows.ack().await?)
            }
            _ => {
                let owner = Owner::Session(self.session.id());
                let rows = self.session.drain(8).await?;
                let append = |blocks| self.session.append(blocks);
                take_in(&self.ledger, &rows, owner, append).await.map(drop).map_err(Halt::Failed)
            }
        }
    }

    fn any(&mut self) -> Option<TaskRef> {
        self.rng.pick(&self.known).cloned()
    }

    async fn spawn(&mut self) -> Result<(), Halt> {
        let job = Job::draw(&mut self.rng, 0);
        let name = self.rng.happens(700).then(|| format!("name-{}", self.rng.below(2)));
        let mut spawn = self.session.spawn(job.request()?);
        if let Some(name) = &name {
            spawn = spawn.name(name);
        }
        if self.rng.happens(500) {
            spawn = spawn.run(run(self.rng.below(RUNS) as u8));
        }
        let task = spawn.await?;
        note_spawn(&self.ledger, &task, name, None)?;
        if self.known.len() == KNOWN {
            self.known.remove(0);
        }
        self.known.push(task);
        Ok(())
    }

    async fn wait(&mut self) -> Result<(), Halt> {
        let Some(task) = self.any() else { return Ok(()) };
        let waited = task.wait().timeout(Duration::from_millis(2)).await?;
        if waited.is_ended() {
            self.ledger.note(&Entry::Ended(waited.task))?;
        }
        Ok(())
    }

    /// Sends a message, perhaps under a key that others use, too. An ended task is continued by
    /// another.
    async fn send(&mut self) -> Result<(), Halt> {
        let Some(task) = self.any() else { return Ok(()) };
        if self.rng.happens(400) {
            let receipts = task.send("faster").await?;
            return Ok(note_receipts(&self.ledger, &receipts, None)?);
        }
        let from = Caller::Session(self.session.id());
        let keyed = Keyed { from, to: MessageRecipient::Task(&task), key: "on-it" };
        for _ in 0..2 {
            let receipts = task.send("steadily").key(keyed.key).await?;
            note_receipts(&self.ledger, &receipts, Some(keyed))?;
        }
        Ok(())
    }

    async fn cancel(&mut self) -> Result<(), Halt> {
        // The newest task is the one most likely to be ending just now.
        let newest = self.rng.happens(600);
        let task = if newest { self.known.last().cloned() } else { self.any() };
        let Some(task) = task else { return Ok(()) };
        task.cancel("enough").await?;
        Ok(self.ledger.note(&Entry::Cancelled(task.id()))?)
    }

    /// Cancels several tasks at once; the tasks this program knows must be among them.
    async fn sweep(&mut self) -> Result<(), Halt> {
        let number = run(self.rng.below(RUNS) as u8);
        let (sweep, known): (_, Vec<TaskId>) = match self.rng.below(12) {
            0 => {
                let known = self.known.iter().map(TaskRef::id).collect();
                (self.session.cancel("all of it"), known)
            }
            1 => {
                let known = self.known.iter().map(TaskRef::id).collect();
                (self.session.cancel_owned("all that is mine"), known)
            }
            2..=8 => {
                let of_run = |task: &&TaskRef| task.spec().lineage.origin.run == Some(number);
                let known = self.known.iter().filter(of_run).map(TaskRef::id).collect();
                (self.session.cancel_run(number, "the run is over"), known)
            }
            _ => {
                let Some(task) = self.any() else { return Ok(()) };
                (self.session.cancel_children(task.id(), "no more children"), Vec::new())
            }
        };
        sweep.await?;
        Ok(self.ledger.note(&Entry::Swept(known))?)
    }

    async fn answer(&mut self) -> Result<(), Halt> {
        let Some(task) = self.any() else { return Ok(()) };
        let asked = task.questions().await?;
        let Some(open) = asked.iter().find(|question| question.closed.is_none()) else {
            return Ok(());
        };
        let answer = self.rng.bits() >> 12;
        task.answer(open.number, &answer).await?;
        let (task, number) = (task.id(), open.number);
        Ok(self.ledger.note(&Entry::Answered { task, number, answer })?)
    }
}
