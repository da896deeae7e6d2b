//! The crash harness over agents: a lead and three children, killed at every commit.
//!
//! A worker process runs the agents on SQLite. Their model is a server in this process, which
//! is never killed and counts its requests; their tools record their effects in a file. The
//! worker kills itself before a commit or after it, and the next worker resumes its work and
//! finishes it; the harness repeats this for every commit. It compares the disk with the result
//! of a run without a crash: no request, effect or notice occurs twice, and none is lost.

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
