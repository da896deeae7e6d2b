//! The promises, one noun a file. Each is checked at the commit that could break it, or at
//! rest.

pub mod births;
pub mod crashes;
pub mod endings;
pub mod leases;
pub mod messages;
pub mod quiescence;
pub mod removal;
pub mod retention;
pub mod slots;
pub mod sweeps;
pub mod transitions;
