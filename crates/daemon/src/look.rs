//! A look at a data directory that no process holds, and its repair.

use offshoot_client::Place;
use offshoot_client::wire::Fault;
use offshoot_sqlite::{Repaired, Sqlite};

use crate::fault::unusable;

/// Reads the whole store of a directory: why no daemon could use it, else how
/// many values that its records refer to are missing. Nothing is changed.
pub fn look(place: &Place) -> Result<u64, Fault> {
    Sqlite::at(place.data()).check().map_err(|error| unusable(&error.into()))
}

/// Saves what can be read of a damaged store into a new one. Refused while a
/// process holds the directory.
pub async fn repair(place: &Place) -> Result<Repaired, Fault> {
    let repaired = Sqlite::at(place.data()).repair().await;
    repaired.map_err(|error| unusable(&error.into()))
}
