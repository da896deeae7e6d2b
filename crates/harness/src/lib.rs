//! The fault harness of Offshoot.
//!
//! Four machines try to break the promise that nothing sent off is ever lost.
//! The simulation owns every choice of one thread: who goes next, what time it
//! is, what fails, when the process dies; one number decides them all, so what
//! it finds can be seen again. The crash harness owns nothing: it kills real
//! processes on a real disk, and compares what is left with what was
//! acknowledged. The shell harness does the same to the whole thing: it drives
//! the real binary as a script does, and kills its daemon. And agents are killed
//! at every commit they make.

pub mod actors;
pub mod agents;
pub mod bodies;
pub mod body;
pub mod crash;
pub mod disk;
pub mod executor;
pub mod figures;
pub mod invariants;
pub mod life;
pub mod model;
pub mod panics;
pub mod planted;
pub mod process;
pub mod remote;
pub mod rng;
pub mod script;
pub mod seeds;
pub mod shadow;
pub mod shell;
pub mod simulate;
pub mod trace;
pub mod violation;
pub mod worker;
pub mod world;
