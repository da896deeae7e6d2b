//! The fault harness of Offshoot: four programs that try to make it lose a task.
//!
//! * The simulation ([`simulate`]) runs the runtime in one thread and decides the
//!   order of execution, the time, the faults and the crashes from one seed, so
//!   that every failure can be replayed.
//! * The crash harness ([`crash`]) kills real processes on a real disk and compares
//!   the store with the acknowledged operations.
//! * The shell harness ([`shell`]) drives the real binary as a script does, and
//!   kills its daemon.
//! * The agent harness ([`agents`]) kills agents at every commit they make.

pub mod agents;
pub mod crash;
pub mod disk;
pub mod executor;
pub mod figures;
pub mod model;
pub mod panics;
pub mod planted;
pub mod process;
pub mod rng;
pub mod running_bodies;
pub mod scenario;
pub mod seeds;
pub mod shell;
pub mod simulate;
pub mod task_script;
pub mod trace;
pub mod violation;
pub mod worker;
pub mod worker_context;
pub mod workload;
