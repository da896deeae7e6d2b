//! Notices: how what comes home enters a conversation.
//!
//! A notice reads as text of the user's, for no protocol has a place of its own
//! for it. So it stands in an envelope whose attributes the runtime alone
//! writes, and nothing in its body can close that envelope or open another.

use std::fmt::Write;

use offshoot_core::{Outcome, Task, TaskId, digest, text};

use crate::report::AgentReport;

/// The tag of the envelope.
const TAG: &str = "notice";

/// The kind of notice for an approval request.
pub(crate) const REQUEST: &str = "request";

/// The kind of notice that repeats open questions.
pub(crate) const REMINDER: &str = "reminder";

/// The kind of notice that asks for a missing part of the result.
pub(crate) const REPAIR: &str = "repair";

/// The kind of notice that asks for last words.
pub(crate) const LIMIT: &str = "limit";

/// What an agent calls its owner.
pub(crate) const OWNER: &str = "parent";

/// How the end of a task reads: which task, how it ended, what it did, and a
/// bounded text.
pub(crate) fn result(task: &Task, allowance: usize) -> String {
    result_named(task, allowance, None)
}

/// The notice of the end of a task that the agent's dialect gives another id.
pub(crate) fn result_named(task: &Task, allowance: usize, other_id: Option<&str>) -> String {
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
    let said = command(task, allowance).unwrap_or_else(|| digest(task, allowance));
    envelope("result", &attributes, &said)
}

/// The end of a command that completed. What it returns is a record for programs,
/// of which a model needs little.
fn command(task: &Task, allowance: usize) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Ended {
        exit: i32,
        duration_ms: u64,
        output: Written,
        last_line: Option<String>,
    }
    #[derive(serde::Deserialize)]
    struct Written {
        bytes: u64,
    }
    let Some(Outcome::Completed { value, cancel_requested: false }) = task.ended() else {
        return None;
    };
    let ended: Ended = (&*task.spec.kind == "command").then(|| value.decode().ok())??;
    let (seconds, tenths) = (ended.duration_ms / 1_000, ended.duration_ms % 1_000 / 100);
    let mut said = format!(
        "{} completed\nExit code {} after {seconds}.{tenths} s.",
        task.handle(),
        ended.exit
    );
    match (ended.output.bytes, ended.last_line) {
        (0, _) => said.push_str(" It wrote nothing."),
        (bytes, None) => write!(said, " It wrote {bytes} bytes.").ok()?,
        (bytes, Some(line)) => {
            let line = text::cut(&line, allowance);
            write!(said, " It wrote {bytes} bytes, of which the last line is:\n{line}").ok()?;
        }
    }
    Some(said)
}

/// Whether a notice is of this kind.
pub(crate) fn is_of(notice: &str, kind: &str) -> bool {
    let rest = notice.strip_prefix('<').and_then(|rest| rest.strip_prefix(TAG));
    let kind = rest.and_then(|rest| rest.strip_prefix(" kind=\"")?.strip_prefix(kind));
    kind.is_some_and(|rest| rest.starts_with('"'))
}

/// Whether a notice is what the agent's owner says to it.
pub(crate) fn is_from_owner(notice: &str) -> bool {
    notice.starts_with(&format!("<{TAG} kind=\"message\" from=\"{OWNER}\""))
}

/// A text in its envelope.
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

/// Whether a text tells the end of a task.
pub(crate) fn tells(text: &str, task: TaskId) -> bool {
    let (begins, id) = (format!("<{TAG} kind=\"result\""), format!(" id=\"{task}\""));
    let envelopes = text.split(&begins).skip(1);
    let mut attributes = envelopes.filter_map(|rest| rest.split_once('>'));
    attributes.any(|(attributes, _)| attributes.contains(&id))
}

/// A body in which no tag of an envelope is left.
pub(crate) fn closed(body: &str) -> String {
    closed_with(body, "&lt;")
}

/// The same with this in the place of the bracket of each.
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

/// Whether what follows a bracket is the tag, however it is dressed up.
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

    proptest! {
        #[test]
        fn s4_6_whatever_a_body_says_there_is_one_envelope(body in "[</>a-zA-Z \u{200b}]{0,40}") {
            let written = envelope("result", &[], &body);
            let lower = written.to_lowercase();
            prop_assert_eq!(lower.matches("<notice").count(), 1);
            prop_assert_eq!(lower.matches("</notice").count(), 1);
            prop_assert!(lower.ends_with("</notice>"));
        }
    }
}
