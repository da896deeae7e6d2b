//! The actions of people during a run.

use offshoot_core::{DeliveryMode, TaskId};
use offshoot_runtime::{Runtime, TaskRef};

use super::deliveries;
use super::dice::Dice;
use super::seen::Seen;

/// A person who watches.
pub(super) struct Person<'a> {
    pub(super) runtime: &'a Runtime,
    pub(super) seen: &'a Seen,
}

impl Person<'_> {
    /// Does one thing to the agents, or nothing. A task may have ended meanwhile; a message may
    /// then continue it or fail, and both are correct.
    pub(super) async fn meddle(&self, dice: &mut Dice, lead: &TaskRef) -> Option<TaskId> {
        match dice.below(6) {
            0 | 1 => {
                let mode = *dice.one_of(&[
                    DeliveryMode::Steer,
                    DeliveryMode::Interrupt,
                    DeliveryMode::FollowUp,
                ]);
                let receipts = lead.send("a word").mode(mode).await.ok()?;
                receipts.first().map(|receipt| receipt.task)
            }
            2 => {
                let children: Vec<_> = self.tasks(Whose::Live).await;
                let child = children.iter().rfind(|child| child.id() != lead.id())?;
                if child.cancel("enough").await.is_ok() {
                    self.seen.cancelled.add();
                }
                None
            }
            3 => {
                let ended = self.tasks(Whose::Ended).await;
                if !ended.is_empty() && dice.one_of(&ended).send("once more").await.is_ok() {
                    self.seen.continued.add();
                }
                None
            }
            _ => None,
        }
    }

    /// Interrupts every live agent.
    pub(super) async fn interrupt_all(&self) {
        for task in self.tasks(Whose::Live).await {
            let _ended_meanwhile = task.send("listen").mode(DeliveryMode::Interrupt).await;
        }
    }

    async fn tasks(&self, whose: Whose) -> Vec<TaskRef> {
        let mut found = Vec::new();
        let Ok(all) = deliveries::all(self.runtime).await else { return found };
        for task in all.iter().filter(|task| task.is_live() == (whose == Whose::Live)) {
            found.extend(self.runtime.task(&task.id().to_string()).await.ok());
        }
        found
    }
}

/// Which tasks to select.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    Live,
    Ended,
}
