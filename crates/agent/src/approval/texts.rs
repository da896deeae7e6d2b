//! Texts about approvals: results for the model whose call waits, and requests for the owner that
//! decides.

use std::time::Duration;

use offshoot_core::permissions::{Access, PermissionMode, Permissions};
use offshoot_core::{Question, text};

use super::judge::may_approve;
use super::request::ApprovalRequest;
use crate::budget::Budget;
use crate::conversation::refusal::CallRefusal;
use crate::tool::Output;

/// The longest reason of a denial in a result, in characters.
const LONGEST_REASON: usize = 2_000;

fn not_made(why: &str) -> Output {
    Output::failure(format!("The call was not made: {why}"))
}

/// Why a call is refused.
struct RefusalReason {
    for_model: String,
    for_person: String,
}

impl RefusalReason {
    /// The same words for the model and for a person.
    fn same(why: String) -> Self {
        Self { for_model: why.clone(), for_person: why }
    }
}

/// The result of a call that is refused without a request. A person sees the refusal, too.
fn refused(why: RefusalReason, advice: &str) -> Output {
    let mut output = not_made(format!("{}. {advice}", why.for_model).trim_end());
    let refusal = CallRefusal { why: why.for_person, no_approver: false };
    output.beside().refused = Some(Box::new(refusal));
    output
}

/// The result of a call that the permissions forbid.
pub(super) fn forbidden(permissions: Option<&Permissions>, access: &Access) -> Output {
    let tool = &access.tool;
    let offered = permissions.is_none_or(|permissions| permissions.offers(tool));
    let plans = permissions.is_some_and(|permissions| permissions.mode() == PermissionMode::Plan);
    match (offered, plans && access.action.changes()) {
        (false, _) => refused(
            RefusalReason {
                for_model: format!("the tool {tool} is not among those that you may use"),
                for_person: format!("the tool {tool} is not among those that it may use"),
            },
            "No approval can be asked for it. Do it in another way, or say what you could not do.",
        ),
        (true, true) => refused(
            RefusalReason {
                for_model: format!(
                    "you only look and plan here, and {tool} would do more than that"
                ),
                for_person: format!(
                    "it only looks and plans here, and {tool} would do more than that"
                ),
            },
            "Nothing is to be changed, in whatever way: say instead what you would do.",
        ),
        (true, false) => refused(
            RefusalReason::same(format!(
                "a rule forbids that {tool} does this, and no approval can be asked for it"
            )),
            "Do not try the same in another way: go on without it, or say what you could not do.",
        ),
    }
}

/// Why a command that no rule names needs an approval, if a rule is the reason.
pub(super) fn doubt(permissions: &Permissions, access: &Access) -> Option<String> {
    let command = permissions.possibly_broken(access)?.command.as_ref()?.join(" ");
    Some(format!("it may run `{command}`, which a rule denies or asks about"))
}

/// The result of a call that needs an approval where there is no approver.
pub(super) fn no_approver(access: &Access, doubt: Option<String>) -> Output {
    let why = access.guarded.as_deref().map(str::to_owned).or(doubt);
    let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
    let why = format!(
        "{} needs approval for this{why}, and there is no approver, so it is denied",
        access.tool
    );
    let mut output =
        refused(RefusalReason::same(why), "Go on without it, or say what you could not do.");
    if let Some(refusal) = &mut output.beside().refused {
        refusal.no_approver = true;
    }
    output
}

/// The result of a call whose tool panicked when it described the call.
pub(super) fn tool_panicked(tool: &str) -> Output {
    let why = format!("the tool {tool} broke when it was asked what it would do");
    refused(RefusalReason::same(why), "")
}

/// The result of a call that is too long for a request.
pub(super) fn too_long(error: &str) -> Output {
    let why = format!("it needs approval, and it is too long for a request: {error}");
    refused(RefusalReason::same(why), "Do it in smaller pieces.")
}

/// The result of a call that the approver denied.
pub(super) fn denied(reason: Option<&str>) -> Output {
    let reason = match reason.map(str::trim) {
        None | Some("") => "No reason was given".to_owned(),
        Some(reason) => format!("The reason: {}", text::cut(reason, LONGEST_REASON)),
    };
    not_made(&format!(
        "approval for it was asked and denied. {reason}. Do not make it again, and do not try the \
         same in another way."
    ))
}

/// The result of a call whose answer is no decision.
pub(super) fn no_decision() -> Output {
    not_made("approval for it was asked, and the answer is no approval, so it is denied.")
}

/// The result of a call that an agent decided which may not.
pub(super) fn not_the_approver() -> Output {
    not_made(
        "approval for it was asked, and the answer came from an agent that cannot approve it, so \
         it is denied.",
    )
}

/// Why an agent stops while its calls wait for an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopCause {
    /// The agent was cancelled.
    Cancelled,
    /// The agent's time is over.
    Late,
}

/// The event that ended a wait without a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoDecision {
    /// A message that interrupts.
    Interrupted,
    /// The deadline, after this time.
    Overdue(Duration),
    /// The agent stops.
    Stopped(StopCause),
    /// A standing grant covers the call now.
    Granted,
    /// An earlier attempt withdrew the request. Its reason is not stored.
    Unknown,
}

/// The result of a call whose wait ended without a decision.
pub(super) fn undecided(why: NoDecision) -> Output {
    const AGAIN: &str = "Make it again if you still need it: approval is asked again then.";
    not_made(&match why {
        NoDecision::Interrupted => format!(
            "a message to you came while approval for it was asked, which was withdrawn. {AGAIN}"
        ),
        NoDecision::Overdue(limit) => format!(
            "approval for it was asked, and no answer came within {}, so it is denied. Go on \
             without it, or say what you could not do.",
            Budget { time: Some(limit), ..Budget::default() }
        ),
        NoDecision::Stopped(StopCause::Cancelled) => {
            "the agent was asked to stop while approval for it was asked, which was withdrawn."
                .to_owned()
        }
        NoDecision::Stopped(StopCause::Late) => {
            "the agent's time was over while approval for it was asked, which was withdrawn."
                .to_owned()
        }
        NoDecision::Granted | NoDecision::Unknown => {
            format!("the approval request was withdrawn before it was answered. {AGAIN}")
        }
    })
}

/// An approval request as its agent's owner reads it, which has these permissions.
pub(crate) fn request_text(
    (handle, question): (&str, &Question),
    permissions: Option<&Permissions>,
    longest: usize,
) -> String {
    let number = question.number;
    let Some(request) = ApprovalRequest::of(question) else {
        return format!("{handle} asks for approval, but the request cannot be read any more.");
    };
    let asked = format!("{handle} asks for approval to call {}", request.call_text(longest));
    if question.closed.is_some() {
        return format!("{asked}\n\nIt has its answer, or has withdrawn the request.");
    }
    let how = match may_approve(permissions, question) {
        true => format!(
            "It waits. Approve or deny it with answer_request, task {handle:?}, request {number}. \
             Nothing else that you say is an answer."
        ),
        false => cannot_approve(handle, number),
    };
    format!("{asked}\n\n{how}")
}

/// The text for an owner that cannot approve a request.
pub(crate) fn cannot_approve(handle: &str, number: u32) -> String {
    format!(
        "You cannot approve it, because you may not do it unasked yourself. A person is asked \
         instead, and {handle} waits for the answer. With answer_request, task {handle:?}, request \
         {number}, you can deny it."
    )
}
