//! The entries of a conversation that inbox rows become.

use offshoot_core::{Caller, InboxMessage, Question, RowBody, text};
use offshoot_runtime::InboxRow;

use crate::conversation::entry::Entry;
use crate::notice::{Notice, NoticeKind, OWNER};
use crate::tool::ToolMap;

/// The details of an inbox row that have to be looked up.
#[derive(Debug, Default)]
pub(super) struct RowDetails<'a> {
    /// The digest of an ended task.
    pub(super) digest: Option<String>,
    /// The shown part of a long message.
    pub(super) shown: Option<String>,
    /// The name by which the agent knows the sender.
    pub(super) sender: Option<String>,
    /// The question.
    pub(super) question: Option<Question>,
    /// The text of the approval request, if it is one.
    pub(super) request: Option<String>,
    /// The agent's dialect, if not the default one.
    pub(super) dialect: Option<&'a dyn ToolMap>,
}

/// The entry for a row of the agent's inbox. A person's message becomes a user message,
/// and anything else a notice.
pub(super) fn row_entry(row: InboxRow<'_>, allowance: usize, details: &RowDetails<'_>) -> Entry {
    match row.body() {
        RowBody::Result(_) => match row.task() {
            Some(task) => {
                let other_id = details.dialect.and_then(|dialect| dialect.task_id(task));
                let digest = details.digest.as_deref().unwrap_or_default();
                Entry::Notice(Notice::of_result(task, digest, other_id.as_deref()))
            }
            None => notice(NoticeKind::Result, &[], "A task has ended, and its record is gone."),
        },
        RowBody::Message(message) => message_entry(message, details),
        // Sent to the task that this one continues, which did not read it.
        RowBody::Returned(message) if !matches!(message.from, Caller::Task(_)) => {
            message_entry(message, details)
        }
        RowBody::Returned(message) => {
            let text = details.shown.as_deref().unwrap_or(&message.text);
            let body = format!("Your message was not read: the task had ended. It said:\n{text}");
            notice(NoticeKind::Returned, &[], &body)
        }
        RowBody::Question { number, .. } => {
            let (handle, number) =
                (row.task().map_or("", |task| task.handle()), number.to_string());
            let task = row.task().map(|task| task.id());
            if let Some(request) = &details.request {
                return Entry::Notice(
                    Notice::new(
                        NoticeKind::Request,
                        &[("task", handle), ("request", &number)],
                        request,
                    )
                    .about(task),
                );
            }
            let asked = details.question.as_ref();
            let text = asked.map_or("(the question is gone)", |asked| &asked.text);
            let open = match asked.is_some_and(|asked| asked.closed.is_some()) {
                true => "The task has withdrawn it or has its answer: it waits for no answer now.",
                false => {
                    let open = format!(
                        "The task waits for your answer: give it with send_message, to {handle:?}."
                    );
                    &details.dialect.map_or(open.clone(), |dialect| dialect.reword(&open))
                }
            };
            let body = format!("{}\n\n{open}", text::cut(text, allowance));
            Entry::Notice(
                Notice::new(NoticeKind::Question, &[("task", handle), ("number", &number)], &body)
                    .about(task),
            )
        }
    }
}

fn message_entry(message: &InboxMessage, details: &RowDetails<'_>) -> Entry {
    match message.from {
        Caller::Task(from) => {
            let sender = details.sender.clone().unwrap_or_else(|| from.to_string());
            let text = details.shown.as_deref().unwrap_or(&message.text);
            let notice =
                Notice::new(NoticeKind::Message, &[("from", &sender)], text).about(Some(from));
            Entry::Notice(Notice { is_from_owner: sender == OWNER, ..notice })
        }
        _ => Entry::User { text: message.text.to_string(), images: Vec::new() },
    }
}

fn notice(kind: NoticeKind, attributes: &[(&str, &str)], body: &str) -> Entry {
    Entry::Notice(Notice::new(kind, attributes, body))
}
