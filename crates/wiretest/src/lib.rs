//! A model server for tests, on a real socket of this machine.
//!
//! A [`Server`] answers each request with a [`ScriptedReply`]: an answer in one of the
//! providers' languages, or a fault down to the byte. Before that it holds every
//! request against what the provider demands ([`strict`]): calls and results in
//! pairs and in order, ids that are unique, nothing between a call and its
//! results, thoughts as they were sent. A request that breaks a rule is answered
//! with 400, and fails the test. An [`Emulator`] is a second opinion, and the same
//! check stands [before](Server::before) it. A [`HostileServer`] sends answers that
//! try to cost their reader too much.

mod answer;
mod emulator;
mod hostile;
mod protocol;
mod relay;
mod reply;
mod request;
mod server;
pub mod strict;

pub use emulator::{AIMOCK, Emulator, NODE};
pub use hostile::{HostileAnswer, HostileServer, HostileWire};
pub use protocol::{ReplyPart, Tokens, WireProtocol};
pub use reply::ScriptedReply;
pub use request::ReceivedRequest;
pub use server::Server;
