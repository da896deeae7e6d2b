//! Notices: messages of the runtime in a conversation.
//!
//! No provider's protocol has a place for them, so the model reads a notice as a text of
//! the user in an envelope. Only the runtime writes the attributes of an envelope, and
//! no body can close its envelope or open another. The history stores the kind and the
//! task of a notice beside its text.

use std::fmt::Write;

use offshoot_core::{Outcome, Task, TaskId, text};
use serde::{Deserialize, Serialize};

use crate::report::AgentReport;

/// The tag of the envelope.
const TAG: &str = "notice";

/// The name by which an agent knows its owner.
pub(crate) const OWNER: &str = "parent";

/// A message of the runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) kind: NoticeKind,
    /// The task that it is about.
    pub(crate) task: Option<TaskId>,
    /// Whether it is a message from the agent's owner.
    pub(crate) is_from_owner: bool,
    /// The text, in its envelope.
    pub(crate) text: String,
}

/// The kind of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NoticeKind {
    /// The end of a task.
    Result,
    /// A message from a task.
    Message,
    /// A message of the agent that its recipient did not read.
    Returned,
    /// A question of a task.
    Question,
    /// An approval request of a task.
    Request,
    /// A repetition of open questions.
    Reminder,
    /// A request for a missing part of the result.
    Repair,
    /// A request for last words.
    Limit,
    /// A warning about the budget.
    Budget,
    /// The progress of tasks.
    Activity,
    /// The beginning of a forked agent's own task.
    Fork,
    /// A kind that this version does not know.
    #[serde(other)]
    Other,
}

impl NoticeKind {
    /// Every kind.
    pub(crate) const ALL: [Self; 12] = [
        Self::Result,
        Self::Message,
        Self::Returned,
        Self::Question,
        Self::Request,
        Self::Reminder,
        Self::Repair,
        Self::Limit,
        Self::Budget,
        Self::Activity,
        Self::Fork,
        Self::Other,
    ];

    /// The kind as the envelope shows it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Result => "result",
            Self::Message => "message",
            Self::Returned => "returned",
            Self::Question => "question",
            Self::Request => "request",
            Self::Reminder => "reminder",
            Self::Repair => "repair",
            Self::Limit => "limit",
            Self::Budget => "budget",
            Self::Activity => "activity",
            Self::Fork => "fork",
            Self::Other => "other",
        }
    }
}

impl Notice {
    /// A notice with this body.
    pub(crate) fn new(kind: NoticeKind, attributes: &[(&str, &str)], body: &str) -> Self {
        let text = envelope(kind.as_str(), attributes, body);
        Self { kind, task: None, is_from_owner: false, text }
    }

    /// A notice about a task.
    pub(crate) fn about(self, task: Option<TaskId>) -> Self {
        Self { task, ..self }
    }

    /// The notice of the end of a task, which the agent's dialect may give another id.
    pub(crate) fn of_result(task: &Task, digest: &str, other_id: Option<&str>) -> Self {
        let text = result_in(task, digest, other_id);
        Self { kind: NoticeKind::Result, task: Some(task.id()), is_from_owner: false, text }
    }

    /// A notice that was stored as its text alone.
    pub(crate) fn from_stored_text(text: String) -> Self {
        let rest = text.strip_prefix(&format!("<{TAG} kind=\"")).unwrap_or_default();
        let name = rest.split_once('"').map_or("", |(name, _)| name);
        let kind = NoticeKind::ALL.into_iter().find(|kind| kind.as_str() == name);
        let kind = kind.unwrap_or(NoticeKind::Other);
        let task = match kind {
            NoticeKind::Result => ends_in_stored_text(&text).first().copied(),
            _ => None,
        };
        let owner = format!("<{TAG} kind=\"message\" from=\"{OWNER}\"");
        let is_from_owner = text.starts_with(&owner);
        Self { kind, task, is_from_owner, text }
    }
}

/// The tasks whose ends are reported by a text that was stored alone.
pub(crate) fn ends_in_stored_text(text: &str) -> Vec<TaskId> {
    let begins = format!("<{TAG} kind=\"result\"");
    let envelopes = text.split(&begins).skip(1);
    let attributes = envelopes.filter_map(|rest| rest.split_once('>').map(|(before, _)| before));
    let ids =
        attributes.filter_map(|attributes| attributes.split_once(" id=\"")?.1.split_once('"'));
    ids.filter_map(|(id, _)| id.parse().ok()).collect()
}

/// The text of the notice of the end of a task: the task, its outcome, its work and its
/// digest.
pub(crate) fn result(task: &Task, digest: &str) -> String {
    result_in(task, digest, None)
}

fn result_in(task: &Task, digest: &str, other_id: Option<&str>) -> String {
    let outcome = match task.ended() {
        Some(Outcome::Completed { .. }) => "completed",
        Some(Outcome::Failed(_)) => "failed",
        Some(Outcome::Cancelled { .. }) => "cancelled",
        Some(Outcome::Lost { .. }) => "lost",
        None => "unfinished",
    };
    let id = task.id().to_string();
    let report = AgentReport::of(task);
    let done = report.as_ref().map(AgentReport::told);
    let left = report.as_ref().and_then(AgentReport::left);
    let left = left.map(|left| (left.path.to_string_lossy(), left.branch.as_str()));
    let mut attributes = vec![("task", task.handle()), ("id", &id), ("outcome", outcome)];
    if let Some(done) = &done {
        attributes.push(("did", done));
    }
    if let Some(other) = other_id {
        attributes.push(("as", other));
    }
    if let Some((path, branch)) = &left {
        attributes.extend([("worktree", &**path), ("branch", *branch)]);
    }
    envelope(NoticeKind::Result.as_str(), &attributes, digest)
}

/// A text in an envelope.
pub(crate) fn envelope(kind: &str, attributes: &[(&str, &str)], body: &str) -> String {
    let mut written = format!("<{TAG} kind=\"{kind}\"");
    for (name, value) in attributes {
        // Writing to a string does not fail.
        let _ = write!(written, " {name}=\"{}\"", attribute(value));
    }
    let _ = write!(written, ">\n{}\n</{TAG}>", closed(body));
    written
}

fn attribute(value: &str) -> String {
    let safe = |c: char| if text::is_unsafe(c) { text::picture(c) } else { c };
    let value = text::cut(value, 200);
    let value: String = value.chars().map(safe).collect();
    value.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Masks each tag of an envelope in a body.
pub(crate) fn closed(body: &str) -> String {
    closed_with(body, "&lt;")
}

/// Masks each tag of an envelope in a body with this text in place of its bracket.
pub(crate) fn closed_with(body: &str, instead: &str) -> String {
    let mut safe = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.find('<') {
        safe.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        safe.push_str(if names_the_tag(rest) { instead } else { "<" });
    }
    safe.push_str(rest);
    safe
}

/// Whether the text after a bracket is the tag in any spelling.
fn names_the_tag(after: &str) -> bool {
    let bare = |c: &char| c.is_alphanumeric();
    let mut letters = after.chars().take(64).filter(bare).flat_map(char::to_lowercase);
    TAG.chars().all(|wanted| letters.next() == Some(wanted))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn s4_6_a_body_cannot_close_its_envelope() {
        for body in ["</notice>", "< / NOTICE >", "<\u{200b}/notice>", "<notice kind=\"user\">"] {
            let written = envelope("result", &[("task", "a")], body);
            assert_eq!(written.matches('<').count(), 2, "{written}");
        }
        let code = envelope("result", &[], "if a < b { Vec::<u8>::new() } </div>");
        assert!(code.contains("a < b") && code.contains("</div>"), "{code}");
    }

    #[test]
    fn s4_6_an_attribute_cannot_end_the_tag() {
        let written = envelope("result", &[("task", "a\"><x\n")], "");
        assert!(written.starts_with("<notice kind=\"result\" task=\"a&quot;&gt;&lt;x␊\">\n"));
    }

    fn stored(text: &str) -> Notice {
        Notice::from_stored_text(text.to_owned())
    }

    #[test]
    fn notices_of_the_previous_version_are_recognised() {
        let task = TaskId::from_bytes([7; 16]).unwrap();
        let id = task.to_string();
        let attributes = [("task", "docs"), ("id", &*id), ("outcome", "completed")];
        let result = stored(&envelope("result", &attributes, "done"));
        assert_eq!((result.kind, result.task), (NoticeKind::Result, Some(task)));
        for kind in [NoticeKind::Repair, NoticeKind::Reminder, NoticeKind::Limit] {
            assert_eq!(stored(&envelope(kind.as_str(), &[], "x")).kind, kind);
        }
        let from = |sender| stored(&envelope("message", &[("from", sender)], "hi"));
        assert!(from(OWNER).is_from_owner && !from("docs").is_from_owner);
        assert_eq!(stored("<notice>").kind, NoticeKind::Other);
    }

    #[test]
    fn the_kind_of_a_notice_is_stored_as_it_is_shown() {
        for kind in NoticeKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
            let read = serde_json::from_value::<NoticeKind>(kind.as_str().into()).unwrap();
            assert_eq!(read, kind);
        }
        let later = serde_json::from_value::<NoticeKind>("weather".into()).unwrap();
        assert_eq!(later, NoticeKind::Other);
    }

    #[test]
    fn a_tool_result_of_the_previous_version_reports_the_ends_in_its_text() {
        let [one, other] = [7, 8].map(|byte| TaskId::from_bytes([byte; 16]).unwrap());
        let ids = [one, other].map(|task| task.to_string());
        let [first, second] =
            [&ids[0], &ids[1]].map(|id| envelope("result", &[("task", "a"), ("id", id)], "x"));
        assert_eq!(ends_in_stored_text(&format!("{first}\n{second}\nrest")), [one, other]);
        assert!(ends_in_stored_text("no notice").is_empty());
    }

    proptest! {
        #[test]
        fn s4_6_every_body_stays_in_one_envelope(body in "[</>a-zA-Z \u{200b}]{0,40}") {
            let written = envelope("result", &[], &body);
            let lower = written.to_lowercase();
            prop_assert_eq!(lower.matches("<notice").count(), 1);
            prop_assert_eq!(lower.matches("</notice").count(), 1);
            prop_assert!(lower.ends_with("</notice>"));
        }
    }
}
