//! The settings of a runtime.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{Caps, DEFAULT_GRACE, Retention, Sizes, Space};

/// The settings of a runtime, except for its kinds and environment.
#[derive(Clone, Debug)]
pub(crate) struct RuntimeConfig {
    pub(crate) space: Space,
    pub(crate) caps: Arc<Caps>,
    pub(crate) sizes: Sizes,
    pub(crate) retention: Retention,
    pub(crate) restarts: RestartPolicy,
    pub(crate) grace: Duration,
}

impl Default for RuntimeConfig {
    fn default() -> Self {
        Self {
            space: Space::default(),
            caps: Arc::new(Caps::default()),
            sizes: Sizes::default(),
            retention: Retention::default(),
            restarts: RestartPolicy::default(),
            grace: DEFAULT_GRACE,
        }
    }
}

/// The policy for new attempts at a task whose worker died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartPolicy {
    /// The number of crashed attempts after which the task fails.
    pub max_attempts: u32,
    /// The delay of the second attempt. Each further one is delayed twice as long.
    pub back_off: Duration,
    /// The longest delay.
    pub max_back_off: Duration,
}

impl Default for RestartPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            back_off: Duration::from_secs(1),
            max_back_off: Duration::from_secs(60),
        }
    }
}

impl RestartPolicy {
    /// The delay after this many crashes.
    pub(crate) fn delay(&self, crashes: u32) -> Duration {
        let doublings = crashes.saturating_sub(1).min(31);
        self.back_off.saturating_mul(1 << doublings).min(self.max_back_off)
    }
}
