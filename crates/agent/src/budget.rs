//! Budgets: the limits of agents, and the ledger that enforces them.
//!
//! The budget of an agent is a pool. The agent and all its descendants draw on it. Before a model
//! call, the ledger reserves the most that the call can cost, from every pool in one commit. So no
//! pool is overdrawn, however many agents draw on it and wherever a process dies. The commit of
//! the answer replaces the reservation by the actual cost.
//!
//! | module | contents |
//! |---|---|
//! | `limits` | a [`Budget`], and how it is written |
//! | `pool` | a pool and the resources it limits |
//! | `reservation` | the reservations of this process |
//! | `ledger` | the ledger of one agent |
//! | `usage` | the part of a budget that is used |

mod ledger;
mod limits;
mod pool;
mod reservation;
mod usage;

pub(crate) use ledger::{BudgetLedger, CallCost, LEAST_ANSWER, ReserveResult, correct, fit};
pub use limits::{Budget, BudgetError};
pub use pool::BudgetPool;
pub(crate) use pool::{Resource, Shortage};
pub(crate) use reservation::Reservations;
pub(crate) use usage::price;
pub use usage::{BudgetUsage, UnknownPrice};
