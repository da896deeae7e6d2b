//! The daemon: the one process that holds a data folder, executes its tasks and
//! serves every other process of its user on the machine.
//!
//! It is started by whoever needs it first, and ends by itself when nothing is
//! left to do. Its life is a [`run`]: take the folder, recover, listen, and
//! serve each connection until it closes. It may die at any moment; the next
//! one recovers.

mod accept;
mod asked;
mod config;
mod fault;
mod grants;
mod house;
mod idle;
mod inherited;
mod keyring;
mod limits;
mod logfile;
mod look;
mod origin;
mod passed_env;
mod post;
mod reserve;
mod run;
mod secrets;
mod serve;
mod tools;
mod turns;
mod view;
mod waiters;
mod waiting;

pub use config::{CommandConfig, Config, ConfigError};
pub use look::{StoreCheck, check_store, repair};
pub use offshoot_backends::belong_to_no_task;
pub use run::{DaemonOptions, fail, run};
