//! The origin of a request: a person, or a process of a task.
//!
//! What an agent runs must not answer for the person who is asked about it. So
//! requests that only a person may make are refused from a process of a task, and
//! from a process that the daemon cannot see.

use offshoot_client::wire::{Code, WireError};
use offshoot_core::TaskId;

/// The caller of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    /// The task of whose command the caller is a process, if it says so. A wait of
    /// the caller is a wait of this task.
    pub(crate) task: Option<TaskId>,
    /// The origin of the request, as the transport has seen it.
    pub(crate) origin: RequestOrigin,
}

/// The origin of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestOrigin {
    /// A person, as far as the daemon can see.
    Person,
    /// A process of this task.
    Task(TaskId),
    /// A process of a task that does not say which, or names another one.
    Masked,
    /// A process that the daemon cannot see.
    Unseen,
}

impl RequestOrigin {
    /// Refuses what only a person may do.
    pub(crate) fn must_be_person(self, what: &str) -> Result<(), WireError> {
        match self {
            Self::Person => Ok(()),
            Self::Task(_) | Self::Masked => {
                let text = format!("{what} is for a person, and this is a process of a task");
                let hint = "type it in a terminal of your own: what an agent runs cannot answer \
                            for you";
                Err(WireError::new(Code::NotAPerson, text).hint(hint))
            }
            Self::Unseen => {
                let text = format!("{what} is for a person, and who asks cannot be seen from here");
                let hint = "its process has gone, or is in another namespace than the daemon: type \
                            it where the daemon was started";
                Err(WireError::new(Code::NotAPerson, text).hint(hint))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use offshoot_core::Stamp;

    use super::*;

    #[test]
    fn only_a_person_may_do_what_is_for_a_person() {
        let task = TaskId::mint(Stamp::from_micros(1), 1);
        assert!(RequestOrigin::Person.must_be_person("this").is_ok());
        for process in [RequestOrigin::Task(task), RequestOrigin::Masked, RequestOrigin::Unseen] {
            let error = process.must_be_person("this").unwrap_err();
            assert_eq!(error.code, Code::NotAPerson);
        }
    }
}
