//! What a runtime can be told before it opens.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{Caps, DEFAULT_GRACE, Retention, Sizes, Space};

/// The settings of a runtime.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) space: Space,
    pub(crate) caps: Arc<Caps>,
    pub(crate) sizes: Sizes,
    pub(crate) retention: Retention,
    pub(crate) restarts: Restarts,
    pub(crate) grace: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            space: Space::default(),
            caps: Arc::new(Caps::default()),
            sizes: Sizes::default(),
            retention: Retention::default(),
            restarts: Restarts::default(),
            grace: DEFAULT_GRACE,
        }
    }
}

/// How often a task whose worker dies is taken up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restarts {
    /// How many attempts may end without settling before the task fails.
    pub max_attempts: u32,
    /// How long the second attempt waits; each further one waits twice as
    /// long.
    pub back_off: Duration,
    /// The longest wait.
    pub max_back_off: Duration,
}

impl Default for Restarts {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            back_off: Duration::from_secs(1),
            max_back_off: Duration::from_secs(60),
        }
    }
}

impl Restarts {
    /// How long to wait after this many crashes.
    pub(crate) fn delay(&self, crashes: u32) -> Duration {
        let doublings = crashes.saturating_sub(1).min(31);
        self.back_off.saturating_mul(1 << doublings).min(self.max_back_off)
    }
}
