//! A body that follows its script.

mod stepping;

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{Block, BlockKind, Caller, Owner, Resolution, TaskId, Wake};
use offshoot_runtime::{BodyError, Context, Environment, Error, MessageRecipient, TaskRef};

use crate::actors::{messaging, reading, spawning, waiting};
use crate::bodies::{Doing, Returned};
use crate::body::stepping::Repeat;
use crate::life::{Keeping, Workers};
use crate::script::{Deed, End, Script};
use crate::violation::ensure;
use crate::world::{World, millis};

/// What a planned panic says, so that it is not mistaken for another.
pub const PLANNED: &str = "planned panic";

/// One attempt of a task.
struct Attempt {
    world: Arc<World>,
    cx: Context,
    epoch: u32,
    tag: u64,
    children: Vec<TaskRef>,
}

/// Follows the script to its end.
pub async fn perform(world: Arc<World>, cx: Context, script: Script) -> Result<u64, BodyError> {
    let worker = world.disk.worker();
    let epoch = world.model(|model| model.entered(cx.id(), script.tag, worker));
    let mut attempt = Attempt { world, cx, epoch, tag: script.tag, children: Vec::new() };
    for (at, deed) in script.deeds.iter().enumerate() {
        match attempt.act(at, deed).await {
            Ok(()) => {}
            Err(Error::Cancelled) if attempt.cx.is_cancelled() => {
                attempt.returns(Returned::Cancelled);
                return Err(BodyError::Cancelled);
            }
            Err(error @ (Error::LeaseLost(_) | Error::Closed)) => {
                attempt.returns(Returned::Error);
                return Err(error.into());
            }
            // A store that fails now and then is no reason to give up.
            Err(error) => attempt.world.model(|model| model.refused("a deed", &error)),
        }
    }
    attempt.end(script.end).await
}

impl Attempt {
    fn id(&self) -> TaskId {
        self.cx.id()
    }

    fn does(&self, doing: Doing) {
        self.world.model(|model| model.bodies.does(self.id(), self.epoch, doing));
    }

    fn returns(&self, returned: Returned) {
        self.world.model(|model| model.returning(self.id(), self.epoch, returned));
    }

    async fn act(&mut self, at: usize, deed: &Deed) -> Result<(), Error> {
        let done = self.deed(at, deed).await;
        self.does(Doing::Working);
        done
    }

    async fn deed(&mut self, at: usize, deed: &Deed) -> Result<(), Error> {
        let world = self.world.clone();
        match deed {
            Deed::Pause(times) => world.sim.pause(usize::from(*times)).await,
            Deed::Nap(span) => world.sim.sleep(millis(*span)).await,
            Deed::Sleep(span) => self.sleep(at, millis(*span)).await?,
            Deed::Spawn(plan) => {
                let spawned = match world.request(plan.kind, &plan.script) {
                    Some(request) => spawning::spawn(&world, self.cx.spawn(request), plan).await?,
                    None => {
                        let body = world.closure(plan.script.clone());
                        spawning::spawn(&world, self.cx.spawn_ephemeral(body), plan).await?
                    }
                };
                self.children.extend(spawned);
            }
            Deed::Wait(patience) | Deed::WaitAny(patience) => {
                let any = matches!(deed, Deed::WaitAny(_));
                let tasks = self.children.iter().map(TaskRef::id).collect();
                self.does(Doing::Waiting { tasks, any });
                let wait = self.cx.wait(&self.children);
                let wait = if any { wait.any() } else { wait };
                waiting::wait(&world, wait, *patience).await?;
            }
            Deed::TellOwner(letter) => {
                let sending = self.cx.send(MessageRecipient::Parent, letter.text());
                let from = Some(Caller::Task(self.id()));
                messaging::post(&world, sending, *letter, from).await?;
            }
            Deed::TellAll(letter) => {
                let sending = self.cx.send(MessageRecipient::All, letter.text());
                messaging::tell_all(&world, sending, *letter, Owner::Task(self.id())).await?;
            }
            Deed::Read(reading) => {
                let rows = self.cx.drain(8).await?;
                let owner = Owner::Task(self.id());
                let append = |blocks| self.cx.append(blocks);
                reading::settle(&world, &rows, owner, *reading, append).await?;
            }
            Deed::Receive => {
                self.does(Doing::Receiving);
                let rows = self.cx.receive(8).await?;
                self.does(Doing::Working);
                let owner = Owner::Task(self.id());
                world.model(|model| {
                    model.acknowledged("received rows", |model| model.drained(&rows, owner));
                });
                world.model(|model| model.acking(&rows));
                rows.ack().await?;
                world.model(|model| {
                    model.acknowledged("acked rows", |model| model.acked(&rows, owner));
                });
            }
            Deed::Idle => self.idle().await?,
            Deed::Step => self.step(at, Repeat::Allowed).await?,
            Deed::Once => self.step(at, Repeat::Never).await?,
            Deed::Together => self.step_together(at).await?,
            Deed::Ask => self.ask(at).await?,
            Deed::Report => self.cx.progress(&at).await?,
            Deed::CancelChild => {
                let which = world.draw(|rng| rng.below(self.children.len()));
                if let Some(child) = self.children.get(which) {
                    let grace = Duration::from_millis(world.draw(|rng| rng.below(500) as u64));
                    child.cancel("the parent has enough").grace(grace).await?;
                    world.model(|model| {
                        model.acknowledged("a cancel", |model| model.cancelled(child.id()));
                    });
                }
            }
        }
        Ok(())
    }

    /// Waits for something worth a turn, and reads it.
    async fn idle(&self) -> Result<(), Error> {
        let (world, owner) = (&self.world, Owner::Task(self.id()));
        self.does(Doing::Idling(owner));
        let rows = self.cx.idle(8).await?;
        self.does(Doing::Working);
        world.model(|model| {
            model.acknowledged("a reason to wake", |model| {
                // A report is a reason that leaves no trace; a row may have been
                // read by another attempt, or be past its retention.
                let mut others = model.shadow.tasks.values().map(|known| &known.task);
                let unsure = others
                    .any(|task| task.owner() == owner && task.spec.wake == Wake::OnActivity)
                    || model.workers != Workers::One
                    || model.keeping != Keeping::Everything;
                let reason = unsure || model.shadow.has_reason(owner);
                ensure(reason, "S4.4 silent ends are no reason to wake", || {
                    format!("{owner} woke for {:?}", model.shadow.pending(owner))
                })?;
                model.drained(&rows, owner)
            });
        });
        Ok(())
    }

    async fn ask(&self, at: usize) -> Result<(), Error> {
        self.does(Doing::Asking);
        let answer = self.cx.ask("which?").key(&format!("q{at}")).await?;
        self.world.model(|model| {
            model.acknowledged("an answer", |model| {
                let asked = model.shadow.questions.get(&self.id());
                let known = asked.into_iter().flatten().flatten().any(|closed| {
                    matches!(closed, Resolution::Answered { answer: given, .. } if *given == answer)
                });
                ensure(known, "S5.5 the answer is the one that was given", || {
                    format!("{} got {answer:?}, given were {asked:?}", self.id())
                })
            });
        });
        Ok(())
    }

    async fn end(&mut self, end: End) -> Result<u64, BodyError> {
        match end {
            End::Value => {}
            End::Error => {
                self.returns(Returned::Error);
                return Err(BodyError::message("planned error"));
            }
            End::Panic => {
                self.returns(Returned::Panic);
                std::panic::panic_any(PLANNED);
            }
            End::Obey => {
                self.does(Doing::Hanging);
                self.cx.cancelled().await;
                self.returns(Returned::Cancelled);
                return Err(BodyError::Cancelled);
            }
            End::Late => {
                self.does(Doing::Hanging);
                self.cx.cancelled().await;
            }
            End::Never => {
                self.does(Doing::Hanging);
                std::future::pending::<()>().await;
            }
        }
        self.returns(Returned::Value(self.tag));
        Ok(self.tag)
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let id = self.id();
        self.world.model(|model| {
            model.trace.note(|| format!("body of {id} is gone"));
            model.bodies.leave(id, self.epoch);
        });
    }
}

/// A block that says `text`.
pub fn notice(world: &World, text: &str) -> Block {
    Block::new(BlockKind::Notice, text, world.sim.wall())
}
