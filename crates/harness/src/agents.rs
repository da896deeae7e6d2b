//! The crash harness over agents: a lead and three children, killed at every
//! commit.
//!
//! A worker process runs the agents on SQLite; their model is a server in this
//! process, which is never killed and counts its requests, and their
//! tools write what they do into a file. The worker kills itself before a
//! commit or after it, and another one takes its work up and goes on to the
//! end; so with each commit that there is. What is left on the disk is compared with
//! what a life without a crash leaves: nothing is asked, done or told twice,
//! and nothing is lost.

pub mod audit;
pub mod case;
pub mod kill_point;
pub mod kill_switch;
pub mod late;
pub mod model_script;
pub mod records;
pub mod report;
pub mod sweep;
pub mod tools;
pub mod transcript;
pub mod work;
pub mod worker;
