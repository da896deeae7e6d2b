//! The verdict about a tool call, before the call is made.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use offshoot_core::Question;
use offshoot_core::permissions::{Access, Approver, Permissions, Verdict};

use super::request::ApprovalRequest;
use super::texts;
use super::wait::ApprovalWait;
use crate::grants::can_grant;
use crate::tool::{Output, Tool, ToolContext};

/// The verdict about a call.
pub(crate) enum Judgement {
    /// The call is made.
    Allowed,
    /// The call is not made, and the model gets this result.
    Refused(Output),
    /// The call waits for an approval.
    NeedsApproval(Box<ApprovalWait>),
}

/// Judges a call by what it would access and by the agent's permissions.
pub(crate) fn judge(tool: &Arc<dyn Tool>, cx: ToolContext, arguments: &str) -> Judgement {
    let access = match catch_unwind(AssertUnwindSafe(|| tool.wish(&cx, arguments))) {
        Ok(Ok(access)) => access,
        Ok(Err(error)) => return Judgement::Refused(Output::failure(error.to_string())),
        Err(_) => return Judgement::Refused(texts::tool_panicked(&tool.spec().name)),
    };
    let permissions = cx.brief.authority.as_deref();
    match verdict(permissions, &access) {
        Verdict::Allow => Judgement::Allowed,
        Verdict::Deny => Judgement::Refused(texts::forbidden(permissions, &access)),
        Verdict::Ask => {
            let doubt = permissions.and_then(|permissions| texts::doubt(permissions, &access));
            if approver(permissions) == Approver::None && !can_grant(&access) {
                return Judgement::Refused(texts::no_approver(&access, doubt));
            }
            let wait = ApprovalWait::new(cx, access, doubt, arguments);
            Judgement::NeedsApproval(Box::new(wait))
        }
    }
}

/// Whether an agent may approve the call in a question: only a call that it may make itself
/// without an approval.
pub(crate) fn may_approve(permissions: Option<&Permissions>, question: &Question) -> bool {
    let access = ApprovalRequest::of(question).map(|request| request.access());
    access.map(|access| verdict(permissions, &access)) == Some(Verdict::Allow)
}

/// The approver of an agent with these permissions.
pub(super) fn approver(permissions: Option<&Permissions>) -> Approver {
    permissions.map(Permissions::approver).unwrap_or_default()
}

/// The verdict of these permissions about an access. Without permissions, only a guarded access
/// needs an approval.
fn verdict(permissions: Option<&Permissions>, access: &Access) -> Verdict {
    match (permissions, &access.guarded) {
        (Some(permissions), _) => permissions.judge(access),
        (None, Some(_)) => Verdict::Ask,
        (None, None) => Verdict::Allow,
    }
}
