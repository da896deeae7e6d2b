//! The promises, one noun a file. Each is checked at the commit that could
//! break it, or at rest.

pub mod births;
pub mod endings;
pub mod leases;
pub mod rest;
pub mod slots;
pub mod transitions;
