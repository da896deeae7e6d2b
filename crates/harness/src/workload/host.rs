//! A program that does everything at random.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{Owner, Receipt};
use offshoot_runtime::{Environment, Error, MessageRecipient, Session};

use crate::running_bodies::BodyActivity;
use crate::task_script::ScriptMessage;
use crate::worker_context::WorkerContext;
use crate::workload::{
    cancelling, following, keeping, looking, messaging, reading, removing, spawning, waiting,
};

/// The session in which a host works, and its number.
#[derive(Clone, Debug)]
pub struct HostContext {
    /// The session.
    pub session: Session,
    /// Its number.
    pub number: usize,
}

/// One program.
struct Host {
    world: Arc<WorkerContext>,
    session: Session,
    number: usize,
    actor: usize,
    receipts: Vec<Receipt>,
}

/// Does this many random things.
pub async fn run(world: Arc<WorkerContext>, at: HostContext, actor: usize, actions: usize) {
    let HostContext { session, number } = at;
    let mut host = Host { world: world.clone(), session, number, actor, receipts: Vec::new() };
    for _ in 0..actions {
        world.does(actor, Some(BodyActivity::Working));
        match host.act().await {
            Ok(()) => {}
            Err(Error::Closed) => break,
            Err(error) => {
                world.model(|model| model.refused("a host's deed", &error));
                if matches!(error, Error::NoSession { .. }) {
                    host.move_on();
                }
            }
        }
    }
    world.does(actor, None);
}

impl Host {
    async fn act(&mut self) -> Result<(), Error> {
        let world = self.world.clone();
        let choice = world.draw(|rng| rng.below(27));
        match choice {
            0..=7 => {
                let plan = world.author.lock().plan(0);
                spawning::spawn_in(&world, &self.session, &plan).await?;
            }
            8..=10 => self.wait().await?,
            11..=12 => {
                if let Some(task) = world.any_known() {
                    let receipt = messaging::send(&world, &self.session, &task).await?;
                    self.receipts.extend(receipt);
                }
            }
            22 => {
                let letter = world.draw(ScriptMessage::draw);
                let sending = self.session.send(MessageRecipient::All, letter.text());
                let sender = Owner::Session(self.session.id());
                messaging::tell_all(&world, sending, letter, sender).await?;
            }
            13 => {
                let receipt = world.draw(|rng| rng.pick(&self.receipts).copied());
                if let Some(receipt) = receipt {
                    messaging::ask_receipt(&world, &self.session, receipt).await?;
                }
            }
            14..=15 => {
                let reading = world.author.lock().reading();
                let rows = self.session.drain(4).await?;
                let owner = Owner::Session(self.session.id());
                let append = |blocks| self.session.append(blocks);
                reading::settle(&world, &rows, owner, reading, append).await?;
            }
            16 => {
                if let Some(task) = world.any_known() {
                    cancelling::cancel(&world, &task).await?;
                }
            }
            17 if world.draw(|rng| rng.happens(400)) => {
                cancelling::sweep(&world, &self.session).await?;
            }
            17..=18 => messaging::answer(&world).await?,
            19 => {
                if let Some(task) = world.any_known() {
                    looking::inspect(&world, &task).await?;
                    looking::find(&world, &self.session, &task).await?;
                }
            }
            20 => looking::list(&world, &self.session).await?,
            21 => keeping::expire(&world).await?,
            23 => self.remove().await?,
            _ => {
                let span = world.draw(|rng| rng.below(800) as u64);
                world.sim.sleep(Duration::from_millis(span)).await;
            }
        }
        Ok(())
    }

    /// Moves to the session that has replaced this one, if another host has opened it;
    /// otherwise the runtime refuses the host's calls.
    fn move_on(&mut self) {
        if let Some(session) = self.world.session(self.number) {
            self.session = session;
        }
    }

    /// Removes the session and usually opens another one of its name.
    async fn remove(&mut self) -> Result<(), Error> {
        let world = self.world.clone();
        let removal = removing::remove(&world, &self.session).await?;
        if world.draw(|rng| rng.happens(800)) {
            let old = (self.session.id(), removal);
            self.session = removing::reopen(&world, self.number, old).await?;
            world.sim.go(following::follow(world.clone(), self.session.clone()));
        }
        Ok(())
    }

    async fn wait(&self) -> Result<(), Error> {
        let world = &self.world;
        let many = world.draw(|rng| rng.between(1, 3));
        let tasks: Vec<_> = (0..many).filter_map(|_| world.any_known()).collect();
        let any = world.draw(|rng| rng.happens(300));
        let patience = world.author.lock().patience();
        let ids = tasks.iter().map(|task| task.id()).collect();
        world.does(self.actor, Some(BodyActivity::Waiting { tasks: ids, any }));
        let wait = self.session.wait(&tasks);
        let wait = if any { wait.any() } else { wait };
        waiting::wait(world, wait, patience).await
    }
}
