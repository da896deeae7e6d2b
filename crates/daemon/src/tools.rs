//! What the agents of a daemon have: their models, tools, profiles and leave.

use offshoot_agent::Agents;
use offshoot_client::Place;

use crate::grants::Grants;
use crate::keyring::KeyRing;

/// The agents of a daemon of this place.
pub(crate) fn agents(place: &Place, keys: &KeyRing, grants: &Grants) -> Agents {
    let agents = Agents::new(keys.clone()).tool(offshoot_agent::survey());
    agents.worktrees(place.worktrees()).grants(grants.clone())
}
