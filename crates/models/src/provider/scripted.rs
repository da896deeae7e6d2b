//! The models that a test scripts.

use super::{ProviderSpec, offline};

pub(super) const SPEC: ProviderSpec = ProviderSpec { name: "scripted", ..offline::SPEC };
