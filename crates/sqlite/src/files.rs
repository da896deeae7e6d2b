//! The files of a data directory: the database with its log, the lock, the
//! marker and the blobs.

pub(crate) mod blobs;
pub(crate) mod connection;
pub(crate) mod inspect;
pub(crate) mod lock;
pub(crate) mod marker;
pub(crate) mod migrate;
pub(crate) mod presence;
mod regular;
mod wal;
