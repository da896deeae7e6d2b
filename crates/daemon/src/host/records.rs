//! Sessions, tasks and their records, looked up by the names that callers use.

use std::sync::Arc;

use offshoot_client::wire::{Code, TaskName, WireError};
use offshoot_core::{Blob, Name, Question, SessionId, Task, TaskId};
use offshoot_models::EndpointMismatch;
use offshoot_runtime::{Session, TaskRef};

use super::Daemon;
use crate::errors::{no_session_error, wire_error};

impl Daemon {
    /// The session of this name, opened if it is new.
    pub(crate) async fn open_session(&self, name: &str) -> Result<Session, WireError> {
        self.runtime()?.session(name).await.map_err(|error| wire_error(&error))
    }

    /// The session of this name, if there is one.
    pub(crate) async fn find_session(&self, name: &str) -> Result<Option<Session>, WireError> {
        self.runtime()?.find_session(name).await.map_err(|error| wire_error(&error))
    }

    /// The session of this name, or the error that there is none.
    pub(crate) async fn existing_session(&self, name: &str) -> Result<Session, WireError> {
        self.find_session(name).await?.ok_or_else(|| no_session_error(name))
    }

    /// The name of a session.
    pub(crate) async fn session_name(&self, id: SessionId) -> Result<Arc<str>, WireError> {
        if let Some(name) = self.session_names.lock().get(&id) {
            return Ok(name.clone());
        }
        let record =
            self.runtime()?.session_record(id).await.map_err(|error| wire_error(&error))?;
        let name: Arc<str> = match record {
            Some(record) => Name::as_str(&record.name).into(),
            None => id.to_string().into(),
        };
        self.session_names.lock().insert(id, name.clone());
        Ok(name)
    }

    /// Forgets the name of a removed session.
    pub(crate) fn forget_session_name(&self, id: SessionId) {
        self.session_names.lock().remove(&id);
    }

    /// The task of this name or id.
    pub(crate) async fn task(&self, named: &TaskName) -> Result<TaskRef, WireError> {
        let runtime = self.runtime()?;
        let found = match named.task.trim().parse::<TaskId>() {
            Ok(_) => runtime.task(&named.task).await,
            Err(_) => match self.find_session(&named.session).await? {
                Some(session) => runtime.task_within(session.id(), &named.task).await,
                None => {
                    let text = format!(
                        "there is no task {:?} here: session {:?} has none",
                        named.task, named.session
                    );
                    return Err(WireError::new(Code::NotFound, text));
                }
            },
        };
        found.map_err(|error| wire_error(&error))
    }

    /// What a live agent lacks to be executed by this daemon, such as a key.
    pub(crate) fn missing_requirement(&self, task: &Task) -> Option<EndpointMismatch> {
        let is_agent = *task.spec.kind == *offshoot_agent::KIND;
        (is_agent && task.is_live()).then(|| self.agents.backend().missing(task)).flatten()
    }

    /// The questions of a task, open and closed.
    pub(crate) async fn questions(&self, task: TaskId) -> Result<Vec<Question>, WireError> {
        self.store.questions(task).await.map_err(|error| wire_error(&error.into()))
    }

    /// A value that is stored outside of its record because of its size.
    pub(crate) async fn blob(&self, blob: Blob) -> Result<Option<serde_json::Value>, WireError> {
        let kept = self.store.blob(blob).await.map_err(|error| wire_error(&error.into()))?;
        Ok(kept.and_then(|json| serde_json::from_str(&json).ok()))
    }
}
