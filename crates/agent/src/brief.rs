//! What an agent is asked to do, frozen when it is sent off.

use std::path::PathBuf;
use std::time::Duration;

use offshoot_models::{Endpoint, ModelName};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What an agent is asked to do. It is stored with the task, so an attempt that
/// comes later follows the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Brief {
    /// What to do, in words.
    pub task: String,
    /// The model that does it.
    pub model: ModelName,
    /// Where the model's provider is asked: only there, whatever is set later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// How it shall behave.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub system: String,
    /// The folder in which it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// What it knows of its owner's conversation.
    #[serde(default)]
    pub context: Context,
    /// What its result must look like, as a JSON Schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_schema: Option<Value>,
    /// How many answers its model may give; as many as agents usually may if
    /// nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// How long it may take from its start, what it waits for included; as long
    /// as agents usually may if nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Duration>,
}

/// What an agent knows of its owner's conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Context {
    /// Nothing.
    #[default]
    Fresh,
    /// A part of it.
    Fork {
        /// Where the part begins: 0 for all of it.
        #[serde(default)]
        from: u64,
        /// The block before which it ends.
        blocks: u64,
    },
}

impl Brief {
    /// Has this model do this.
    pub fn new(model: ModelName, task: impl Into<String>) -> Self {
        Self {
            task: task.into(),
            model,
            endpoint: None,
            system: String::new(),
            folder: None,
            context: Context::Fresh,
            result_schema: None,
            steps: None,
            time: None,
        }
    }

    /// Where the model's provider is asked, and nowhere else.
    #[must_use]
    pub fn endpoint(mut self, endpoint: Endpoint) -> Self {
        self.endpoint = Some(endpoint);
        self
    }

    /// How it shall behave.
    #[must_use]
    pub fn system(mut self, system: impl Into<String>) -> Self {
        self.system = system.into();
        self
    }

    /// The folder in which it works.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// What its result must look like, as a JSON Schema.
    #[must_use]
    pub fn result_schema(mut self, schema: Value) -> Self {
        self.result_schema = Some(schema);
        self
    }

    /// How many answers its model may give.
    #[must_use]
    pub fn steps(mut self, steps: u64) -> Self {
        self.steps = Some(steps);
        self
    }

    /// How long it may take. Then its model says how far it has come, and it
    /// ends.
    #[must_use]
    pub fn time(mut self, time: Duration) -> Self {
        self.time = Some(time);
        self
    }
}
