//! Notices: how what comes home enters a conversation.
//!
//! A notice reads as text of the user's, for no protocol has a place of its own
//! for it. So it stands in an envelope whose attributes the runtime alone
//! writes, and nothing in its body can close that envelope or open another.

use std::fmt::Write;

use offshoot_core::{Caller, Message, Outcome, Question, RowBody, Task, TaskId, digest, text};
use offshoot_runtime::InboxRow;

use crate::conversation::entry::Entry;
use crate::dialect::ToolMap;
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

/// What a row of an inbox leaves to be looked up.
#[derive(Debug, Default)]
pub(crate) struct RowDetails<'a> {
    /// How much of what a task says is shown, if not all.
    pub(crate) shown: Option<String>,
    /// What the agent calls whoever sent the message.
    pub(crate) sender: Option<String>,
    /// What the question is.
    pub(crate) question: Option<Question>,
    /// The text of the approval request, if it is one.
    pub(crate) request: Option<String>,
    /// The agent's dialect, if not the default one.
    pub(crate) dialect: Option<&'a dyn ToolMap>,
}

/// What is said by a row of the agent's inbox. What a person says is no notice:
/// it is said to the agent.
pub(crate) fn entry(row: InboxRow<'_>, allowance: usize, names: &RowDetails<'_>) -> Entry {
    match row.body() {
        RowBody::Result(_) => match row.task() {
            Some(task) => Entry::Notice { text: result_in(task, allowance, names.dialect) },
            None => notice("result", &[], "A task has ended, and its record is gone."),
        },
        RowBody::Message(message) => said(message, names),
        // To somebody before the agent, who has not read it.
        RowBody::Returned(message) if !matches!(message.from, Caller::Task(_)) => {
            said(message, names)
        }
        RowBody::Returned(message) => {
            let said = names.shown.as_deref().unwrap_or(&message.text);
            let body = format!("Your message was not read: the task had ended. It said:\n{said}");
            notice("returned", &[], &body)
        }
        RowBody::Question { number, .. } => {
            let (handle, number) =
                (row.task().map_or("", |task| task.handle()), number.to_string());
            if let Some(request) = &names.request {
                return notice(REQUEST, &[("task", handle), ("request", &number)], request);
            }
            let asked = names.question.as_ref();
            let text = asked.map_or("(the question is gone)", |asked| &asked.text);
            let open = match asked.is_some_and(|asked| asked.closed.is_some()) {
                true => "The task has withdrawn it or has its answer: it waits for no answer now.",
                false => {
                    let open = format!(
                        "The task waits for your answer: give it with send_message, to {handle:?}."
                    );
                    &names.dialect.map_or(open.clone(), |dialect| dialect.reword(&open))
                }
            };
            let body = format!("{}\n\n{open}", text::cut(text, allowance));
            notice("question", &[("task", handle), ("number", &number)], &body)
        }
    }
}

fn said(message: &Message, names: &RowDetails<'_>) -> Entry {
    match message.from {
        Caller::Task(from) => {
            let from = names.sender.clone().unwrap_or_else(|| from.to_string());
            let said = names.shown.as_deref().unwrap_or(&message.text);
            notice("message", &[("from", &from)], said)
        }
        _ => Entry::User { text: message.text.to_string(), images: Vec::new() },
    }
}

fn notice(kind: &str, attributes: &[(&str, &str)], body: &str) -> Entry {
    Entry::Notice { text: envelope(kind, attributes, body) }
}

/// How the end of a task reads: which task, how it ended, what it did, and a
/// bounded text.
pub(crate) fn result(task: &Task, allowance: usize) -> String {
    result_in(task, allowance, None)
}

/// The same for an agent to which tasks are called so.
fn result_in(task: &Task, allowance: usize, dialect: Option<&dyn ToolMap>) -> String {
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
    let other = dialect.and_then(|dialect| dialect.task_id(task));
    if let Some(other) = &other {
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
