//! A body that follows its script.

mod stepping;

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{Caller, Owner, Resolution, TaskId, Wake};
use offshoot_runtime::{
    BodyError, BoxFuture, Context, Environment, Error, Kind, MessageRecipient, RuntimeBuilder,
    TaskRef,
};
use offshoot_store::OpenStore;

use crate::panics::PLANNED;
use crate::running_bodies::{BodyActivity, BodyEnd};
use crate::scenario::{RetentionPolicy, WorkerCount};
use crate::task_script::{ScriptEnd, ScriptStep, TaskScript};
use crate::violation::ensure;
use crate::worker_context::{WorkerContext, kinds, millis};
use crate::workload::body::stepping::Repeat;
use crate::workload::remote_backend::RemoteBackend;
use crate::workload::{messaging, reading, spawning, waiting};

/// One attempt of a task.
struct Attempt {
    world: Arc<WorkerContext>,
    cx: Context,
    epoch: u32,
    tag: u64,
    children: Vec<TaskRef>,
}

/// Registers the simulated kinds, whose bodies follow scripts.
pub fn register<S: OpenStore>(
    world: &Arc<WorkerContext>,
    builder: RuntimeBuilder<S>,
) -> RuntimeBuilder<S> {
    let kind = |name: &str| {
        let world = world.clone();
        Kind::<TaskScript, u64>::new(name, move |cx: Context, script: TaskScript| {
            perform(world.clone(), cx, script)
        })
    };
    builder
        .kind(&kind(kinds::RESUMABLE).resumable())
        .kind(&kind(kinds::IDEMPOTENT).idempotent())
        .kind(&kind(kinds::LOSSY))
        .kind(&kind(kinds::DEAF).idempotent().without_messages())
        .backend(kinds::REMOTE, RemoteBackend(world.clone()))
}

/// The body of an ephemeral task.
pub fn closure(
    world: &Arc<WorkerContext>,
    script: TaskScript,
) -> impl FnOnce(Context) -> BoxFuture<Result<u64, BodyError>> + Send + 'static {
    let world = world.clone();
    move |cx| Box::pin(perform(world, cx, script))
}

/// Follows the script to its end.
pub async fn perform(
    world: Arc<WorkerContext>,
    cx: Context,
    script: TaskScript,
) -> Result<u64, BodyError> {
    let worker = world.disk.worker();
    let epoch = world.model(|model| model.entered(cx.id(), script.tag, worker));
    let mut attempt = Attempt { world, cx, epoch, tag: script.tag, children: Vec::new() };
    for (at, step) in script.steps.iter().enumerate() {
        match attempt.act(at, step).await {
            Ok(()) => {}
            Err(Error::Cancelled) if attempt.cx.is_cancelled() => {
                attempt.returns(BodyEnd::Cancelled);
                return Err(BodyError::Cancelled);
            }
            Err(error @ (Error::LeaseLost(_) | Error::Closed)) => {
                attempt.returns(BodyEnd::Error);
                return Err(error.into());
            }
            // An occasional failure of the store does not end the body.
            Err(error) => attempt.world.model(|model| model.refused("a deed", &error)),
        }
    }
    attempt.end(script.end).await
}

impl Attempt {
    fn id(&self) -> TaskId {
        self.cx.id()
    }

    fn does(&self, doing: BodyActivity) {
        self.world.model(|model| model.bodies.does(self.id(), self.epoch, doing));
    }

    fn returns(&self, returned: BodyEnd) {
        self.world.model(|model| model.returning(self.id(), self.epoch, returned));
    }

    async fn act(&mut self, at: usize, step: &ScriptStep) -> Result<(), Error> {
        let done = self.take(at, step).await;
        self.does(BodyActivity::Working);
        done
    }

    async fn take(&mut self, at: usize, step: &ScriptStep) -> Result<(), Error> {
        let world = self.world.clone();
        match step {
            ScriptStep::Pause(times) => world.sim.pause(usize::from(*times)).await,
            ScriptStep::Nap(span) => world.sim.sleep(millis(*span)).await,
            ScriptStep::Sleep(span) => self.sleep(at, millis(*span)).await?,
            ScriptStep::Spawn(plan) => {
                let spawned = match world.request(plan.kind, &plan.script) {
                    Some(request) => spawning::spawn(&world, self.cx.spawn(request), plan).await?,
                    None => {
                        let body = closure(&world, plan.script.clone());
                        spawning::spawn(&world, self.cx.spawn_ephemeral(body), plan).await?
                    }
                };
                self.children.extend(spawned);
            }
            ScriptStep::Wait(patience) | ScriptStep::WaitAny(patience) => {
                let any = matches!(step, ScriptStep::WaitAny(_));
                let tasks = self.children.iter().map(TaskRef::id).collect();
                self.does(BodyActivity::Waiting { tasks, any });
                let wait = self.cx.wait(&self.children);
                let wait = if any { wait.any() } else { wait };
                waiting::wait(&world, wait, *patience).await?;
            }
            ScriptStep::TellOwner(letter) => {
                let sending = self.cx.send(MessageRecipient::Parent, letter.text());
                let from = Some(Caller::Task(self.id()));
                messaging::post(&world, sending, *letter, from).await?;
            }
            ScriptStep::TellAll(letter) => {
                let sending = self.cx.send(MessageRecipient::All, letter.text());
                messaging::tell_all(&world, sending, *letter, Owner::Task(self.id())).await?;
            }
            ScriptStep::Read(reading) => {
                let rows = self.cx.drain(8).await?;
                let owner = Owner::Task(self.id());
                let append = |blocks| self.cx.append(blocks);
                reading::settle(&world, &rows, owner, *reading, append).await?;
            }
            ScriptStep::Receive => {
                self.does(BodyActivity::Receiving);
                let rows = self.cx.receive(8).await?;
                self.does(BodyActivity::Working);
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
            ScriptStep::Idle => self.idle().await?,
            ScriptStep::Step => self.step(at, Repeat::Allowed).await?,
            ScriptStep::Once => self.step(at, Repeat::Never).await?,
            ScriptStep::Together => self.step_together(at).await?,
            ScriptStep::Ask => self.ask(at).await?,
            ScriptStep::Report => self.cx.progress(&at).await?,
            ScriptStep::CancelChild => {
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

    /// Waits for an event that is worth a turn, and reads it.
    async fn idle(&self) -> Result<(), Error> {
        let (world, owner) = (&self.world, Owner::Task(self.id()));
        self.does(BodyActivity::Idling(owner));
        let rows = self.cx.idle(8).await?;
        self.does(BodyActivity::Working);
        world.model(|model| {
            model.acknowledged("a reason to wake", |model| {
                // A report is a reason that leaves no trace; a row may have been read by
                // another attempt, or be past its retention.
                let mut others = model.shadow.tasks.values().map(|known| &known.task);
                let unsure = others
                    .any(|task| task.owner() == owner && task.spec.wake == Wake::OnActivity)
                    || model.workers != WorkerCount::One
                    || model.keeping != RetentionPolicy::Everything;
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
        self.does(BodyActivity::Asking);
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

    async fn end(&mut self, end: ScriptEnd) -> Result<u64, BodyError> {
        match end {
            ScriptEnd::Value => {}
            ScriptEnd::Error => {
                self.returns(BodyEnd::Error);
                return Err(BodyError::message("planned error"));
            }
            ScriptEnd::Panic => {
                self.returns(BodyEnd::Panic);
                std::panic::panic_any(PLANNED);
            }
            ScriptEnd::Obey => {
                self.does(BodyActivity::Hanging);
                self.cx.cancelled().await;
                self.returns(BodyEnd::Cancelled);
                return Err(BodyError::Cancelled);
            }
            ScriptEnd::Late => {
                self.does(BodyActivity::Hanging);
                self.cx.cancelled().await;
            }
            ScriptEnd::Never => {
                self.does(BodyActivity::Hanging);
                std::future::pending::<()>().await;
            }
        }
        self.returns(BodyEnd::Value(self.tag));
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
