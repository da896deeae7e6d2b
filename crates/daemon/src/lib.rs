//! The daemon: the process that holds a data directory, executes its tasks and
//! serves every client of its user on the machine.
//!
//! The first client that needs a daemon starts it. It ends by itself when there is
//! nothing left to do, and recovers what the daemon before it left, however that
//! ended.
//!
//! | room | contents |
//! |---|---|
//! | `lifecycle` | [`run`]: start, recover, listen, and end in good order |
//! | `listener` | the Unix socket: the first transport of the service |
//! | `service` | the requests, one file each, without a transport |
//! | `host` | the state: store, runtime, commands, agents, keys, grants |
//!
//! Each room uses those below it, and all use `errors`, `disk`, `limits`,
//! `log_file` and `config`.

mod config;
mod disk;
mod errors;
mod host;
mod lifecycle;
mod limits;
mod listener;
mod log_file;
mod service;
mod store_check;

pub use config::{CommandConfig, Config, ConfigError};
pub use lifecycle::{DaemonOptions, fail, run};
pub use offshoot_backends::belong_to_no_task;
pub use store_check::{StoreCheck, check_store, repair};
