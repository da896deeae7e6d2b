//! Speaks to the daemon of a data folder, and starts it when it is needed.
//!
//! A [`Place`] is a data folder and where its daemon is found. A [`Client`]
//! sends requests there; [`wire`] has what travels. A connection carries one
//! request at a time, so that the back-pressure of a stream is the socket's own
//! and a slow reader holds up nobody else.
//!
//! If the daemon dies, the request is sent again to the next one: every request
//! may be repeated, because it reads, is idempotent, or carries a key.

mod client;
mod connection;
mod error;
mod frame;
mod input;
mod place;
mod room;
mod start;
mod stream;
mod vigil;
pub mod wire;

pub use client::Client;
pub use connection::{Connection, Greeting};
pub use error::Error;
pub use frame::{Frame, FrameError, read_frame, read_frame_within, read_short_frame, write_frame};
pub use input::Input;
pub use place::{Place, PlaceError, Sought, Whereabouts};
pub use room::{Room, Taken};
pub use start::{Ready, Start};
pub use stream::{Followed, Following};
pub use vigil::LONGEST_END;
