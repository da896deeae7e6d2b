//! Whether every call of a history has its result, right after it.
//!
//! rig would invent what is missing and drop what is too much. Both are mistakes
//! of ours, and a model must not receive invented results.

use crate::message::{Message, Part, Role};

/// What is wrong with a history.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unpaired {
    /// A call without a result.
    #[error("the call {id:?} of {tool} has no result in the message after it")]
    NoResult { id: String, tool: String },
    /// A result of nothing, or a second one.
    #[error("the result {id:?} of {tool} answers no open call of the message before it")]
    NoCall { id: String, tool: String },
    /// A part where it cannot be.
    #[error("message {at} holds {what}, which {role} cannot say")]
    Misplaced { at: usize, what: &'static str, role: &'static str },
}

/// Checks a history.
pub(super) fn check(messages: &[Message]) -> Result<(), Unpaired> {
    let mut open: Vec<(&str, &str)> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        match message.role {
            Role::Assistant => {
                none_left(&open)?;
                open.clear();
                for part in &message.parts {
                    match part {
                        Part::ToolCall(call) => open.push((&call.id, &call.name)),
                        Part::ToolResult(_) => {
                            return Err(misplaced(at, "a result", "a model"));
                        }
                        _ => {}
                    }
                }
            }
            Role::User => {
                for part in &message.parts {
                    match part {
                        Part::ToolResult(result) => {
                            let found = open.iter().position(|(id, _)| *id == result.call);
                            let Some(found) = found else {
                                let (id, tool) = (result.call.clone(), result.name.clone());
                                return Err(Unpaired::NoCall { id, tool });
                            };
                            open.remove(found);
                        }
                        Part::ToolCall(_) => return Err(misplaced(at, "a call", "a user")),
                        Part::Thought(_) => return Err(misplaced(at, "a thought", "a user")),
                        _ => {}
                    }
                }
                none_left(&open)?;
            }
        }
    }
    none_left(&open)
}

fn none_left(open: &[(&str, &str)]) -> Result<(), Unpaired> {
    match open.first() {
        Some((id, tool)) => {
            Err(Unpaired::NoResult { id: (*id).to_owned(), tool: (*tool).to_owned() })
        }
        None => Ok(()),
    }
}

fn misplaced(at: usize, what: &'static str, role: &'static str) -> Unpaired {
    Unpaired::Misplaced { at, what, role }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::message::{ToolCall, ToolResult};

    fn calls(ids: &[&str]) -> Message {
        let call = |id: &&str| {
            let (id, name) = ((*id).to_owned(), "look".to_owned());
            Part::ToolCall(ToolCall { id, name, arguments: "{}".to_owned(), item: Value::Null })
        };
        Message::assistant(ids.iter().map(call).collect())
    }

    fn results(ids: &[&str]) -> Message {
        let result = |id: &&str| ToolResult {
            call: (*id).to_owned(),
            name: "look".to_owned(),
            text: "seen".to_owned(),
            images: Vec::new(),
            failed: false,
        };
        Message::results(ids.iter().map(result))
    }

    #[test]
    fn ids_may_come_again_in_a_later_answer() {
        let twice = [calls(&["a", "b"]), results(&["a", "b"]), calls(&["a"]), results(&["a"])];
        assert_eq!(check(&twice), Ok(()));
        assert_eq!(check(&[calls(&["a", "a"]), results(&["a", "a"])]), Ok(()));
    }

    #[test]
    fn what_is_missing_or_too_much_is_named() {
        let told = |messages: &[Message]| check(messages).unwrap_err().to_string();
        assert!(told(&[calls(&["a", "b"]), results(&["a"])]).contains("the call \"b\" of look"));
        assert!(told(&[calls(&["a"])]).contains("has no result"));
        assert!(told(&[calls(&["a"]), Message::user("hm"), results(&["a"])]).contains("no result"));
        assert!(told(&[results(&["a"])]).contains("answers no open call"));
        assert!(told(&[calls(&["a"]), results(&["a", "a"])]).contains("answers no open call"));
        let stray = Message { role: Role::User, ..calls(&["a"]) };
        assert!(told(&[stray]).contains("message 0 holds a call"));
    }
}
