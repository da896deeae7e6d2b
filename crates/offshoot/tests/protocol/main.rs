//! How a client and a daemon meet: greetings, hand-overs, and strangers at the
//! door. The daemon is the real program.

mod door;
mod support;
mod taking_over;
