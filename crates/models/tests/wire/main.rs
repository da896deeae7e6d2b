//! The providers, against a strict server on a real socket.

mod answers;
mod aside;
mod faults;
mod histories;
mod requests;
mod support;
