//! The client of the Offshoot daemon: finds it, starts it when needed, and sends it requests.
//!
//! A [`DaemonDir`] is a data directory and the address of its daemon. A [`Client`] sends requests to that daemon; [`wire`]
//! holds the types that travel. A connection carries one request at a time, so the back-pressure of a stream is the
//! socket's own and a slow reader delays no other request.
//!
//! If the daemon dies, the client repeats the request to the next daemon. Every request may be repeated: it reads, is
//! idempotent, or carries a key.

mod client;
mod connection;
mod daemon_dir;
mod error;
mod frame;
mod start;
pub mod wire;

pub use client::Client;
pub use connection::input::InputSender;
pub use connection::replies::{ReplyStream, StreamItem};
pub use connection::{Connection, Greeting};
pub use daemon_dir::{DaemonAddress, DaemonDir, DaemonDirError, DirLookup};
pub use error::Error;
pub use frame::memory::{FrameMemory, FramePermit};
pub use frame::{Frame, FrameError, read_frame, read_frame_within, read_short_frame, write_frame};
pub use start::wait::LONGEST_SHUTDOWN;
pub use start::{Ready, Start};
