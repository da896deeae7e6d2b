//! A look at a data folder that nobody holds.

use offshoot_client::Place;
use offshoot_client::wire::Fault;
use offshoot_sqlite::Sqlite;

use crate::fault::unusable;

/// Why no daemon could hold this folder, as far as a look at it tells. Nothing
/// is changed.
pub fn look(place: &Place) -> Result<(), Fault> {
    Sqlite::at(place.data()).look().map_err(|error| unusable(&error.into()))
}
