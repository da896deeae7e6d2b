//! What is said of leave: to the model whose call waits for it, and to the one
//! that is asked.

use offshoot_core::permissions::{Access, PermissionMode, Permissions};
use offshoot_core::{Question, text};

use super::{GaveUp, Stop, may_give};
use crate::approval::Approval;
use crate::budget::Budget;
use crate::conversation::refusal::Refusal;
use crate::tool::Output;

/// How much of a reason is told.
const REASON: usize = 2_000;

fn not_made(why: &str) -> Output {
    Output::failure(format!("The call was not made: {why}"))
}

/// Why a call is refused, in words for the model and for a person.
type Why = (String, String);

/// In the same words for both.
fn alike(why: String) -> Why {
    (why.clone(), why)
}

/// Nobody was asked, so a person is told, too.
fn refused((why, told): Why, advice: &str) -> Output {
    let mut output = not_made(format!("{why}. {advice}").trim_end());
    output.beside().refused = Some(Box::new(Refusal { why: told, nobody: false }));
    output
}

/// What may not be done at all.
pub(super) fn forbidden(authority: Option<&Permissions>, wish: &Access) -> Output {
    let tool = &wish.tool;
    let offered = authority.is_none_or(|authority| authority.offers(tool));
    let plans = authority.is_some_and(|authority| authority.mode() == PermissionMode::Plan);
    match (offered, plans && wish.action.changes()) {
        (false, _) => refused(
            (
                format!("the tool {tool} is not among those that you may use"),
                format!("the tool {tool} is not among those that it may use"),
            ),
            "Nobody can be asked for it. Do it in another way, or say what you could not do.",
        ),
        (true, true) => refused(
            (
                format!("you only look and plan here, and {tool} would do more than that"),
                format!("it only looks and plans here, and {tool} would do more than that"),
            ),
            "Nothing is to be changed, in whatever way: say instead what you would do.",
        ),
        (true, false) => refused(
            alike(format!("a rule forbids that {tool} does this, and nobody can be asked")),
            "Do not try the same in another way: go on without it, or say what you could not do.",
        ),
    }
}

/// Why a command is asked about that no rule names, if a rule is the reason.
pub(super) fn doubt(authority: &Permissions, wish: &Access) -> Option<String> {
    let command = authority.possibly_broken(wish)?.command.as_ref()?.join(" ");
    Some(format!("it may run `{command}`, which a rule denies or asks about"))
}

/// What would have to be asked, where nobody is.
pub(super) fn nobody(wish: &Access, doubt: Option<String>) -> Output {
    let why = wish.guarded.as_deref().map(str::to_owned).or(doubt);
    let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
    let why = format!(
        "{} needs leave for this{why}, and there is nobody to give it, so it is denied",
        wish.tool
    );
    let mut output = refused(alike(why), "Go on without it, or say what you could not do.");
    if let Some(refused) = &mut output.beside().refused {
        refused.nobody = true;
    }
    output
}

/// A tool that cannot say what it would do.
pub(super) fn broken(tool: &str) -> Output {
    refused(alike(format!("the tool {tool} broke when it was asked what it would do")), "")
}

/// A call that is too long to be asked for.
pub(super) fn unaskable(error: &str) -> Output {
    let why = format!("it needs leave, and it is too long for anybody to be asked: {error}");
    refused(alike(why), "Do it in smaller pieces.")
}

/// Somebody has denied it.
pub(super) fn denied(reason: Option<&str>) -> Output {
    let said = match reason.map(str::trim) {
        None | Some("") => "No reason was given".to_owned(),
        Some(reason) => format!("The reason: {}", text::cut(reason, REASON)),
    };
    not_made(&format!(
        "leave for it was asked and denied. {said}. Do not make it again, and do not try the same \
         in another way."
    ))
}

/// What came as an answer says nothing about leave.
pub(super) fn no_leave() -> Output {
    not_made("leave for it was asked, and what was answered gives none, so it counts as denied.")
}

/// Whoever answered cannot give leave.
pub(super) fn not_theirs() -> Output {
    not_made("leave for it was asked, and whoever answered cannot give it, so it counts as denied.")
}

/// Nobody has answered.
pub(super) fn unanswered(why: GaveUp) -> Output {
    const AGAIN: &str = "Make it again if you still need it: leave is asked again then.";
    not_made(&match why {
        GaveUp::Interrupted => {
            format!(
                "a message to you came while leave for it was asked, which was withdrawn. {AGAIN}"
            )
        }
        GaveUp::Overdue(limit) => format!(
            "leave for it was asked, and nobody answered within {}, so it counts as denied. Go \
             on without it, or say what you could not do.",
            Budget { time: Some(limit), ..Budget::default() }
        ),
        GaveUp::Stopped(Stop::Cancelled) => {
            "the agent was asked to stop while leave for it was asked, which was withdrawn."
                .to_owned()
        }
        GaveUp::Stopped(Stop::Late) => {
            "the agent's time was over while leave for it was asked, which was withdrawn."
                .to_owned()
        }
        GaveUp::Granted | GaveUp::Forgotten => {
            format!("the request for leave was withdrawn before anybody answered. {AGAIN}")
        }
    })
}

/// How a request reads to the owner of the agent that asks, which may have this
/// authority.
pub(crate) fn request(
    (handle, question): (&str, &Question),
    authority: Option<&Permissions>,
    longest: usize,
) -> String {
    let number = question.number;
    let Some(approval) = Approval::of(question) else {
        return format!("{handle} asks for leave, but for what cannot be read any more.");
    };
    let asked = format!("{handle} asks for leave to call {}", approval.shown(longest));
    if question.closed.is_some() {
        return format!("{asked}\n\nIt has its answer, or has withdrawn the request.");
    }
    let how = match may_give(authority, question) {
        true => format!(
            "It waits. Give or deny leave with answer_request, task {handle:?}, request {number}. \
             Nothing else that you say is an answer."
        ),
        false => unmet(handle, number),
    };
    format!("{asked}\n\n{how}")
}

/// What an owner is told that cannot give leave.
pub(crate) fn unmet(handle: &str, number: u32) -> String {
    format!(
        "You cannot give leave for it, because you may not do it unasked yourself. A person is \
         asked instead, and {handle} waits for the answer. With answer_request, task {handle:?}, \
         request {number}, you can deny it."
    )
}
