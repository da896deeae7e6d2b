//! `offshoot approvals show`

use clap::Args;
use jiff::Timestamp;
use offshoot_client::Error;
use offshoot_client::wire::{ApprovalRef, ApprovalRequest, Reply, Request};

use crate::cli::completions;
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::show::approval::{self, ApprovalView};
use crate::cli::show::{Part, text};

/// Show an approval request in full
#[derive(Debug, Args)]
#[command(after_help = "Example:
  offshoot approvals show 9f3c1a-1

Every character of the arguments is shown; control and invisible characters are
written as escapes, such as \\x1b or \\u{202e}. For a decided request, the
decision is shown.")]
pub(crate) struct Show {
    /// Id of the request, or the task if it has one open request
    #[arg(value_name = "ID", add = completions::approvals())]
    id: String,
}

impl Show {
    pub(crate) async fn run(self, cx: &CommandContext) -> Result<Exit, CliError> {
        let sought = ApprovalRef { session: cx.session.clone(), id: self.id };
        let found = match cx.ask(&Request::Approval(sought)).await? {
            Reply::Approval(found) => *found,
            _ => return Err(Error::WrongAnswer.into()),
        };
        cx.answer(&found, |found| shown(found, cx))?;
        Ok(Exit::Done)
    }
}

fn shown(found: &ApprovalRequest, cx: &CommandContext) -> String {
    let colour = cx.screen.out;
    let look = ApprovalView { width: cx.screen.width, colour, most: None, whole: "" };
    let mut shown = approval::asked(found, look);
    let label = |name: &str| colour.paint(Part::Head, name);
    let now = Timestamp::now();
    let since = approval::since(found, now);
    let session = text::line(&found.session);
    shown.push_str(&format!("  {}: {since}, in session {session}\n", label("requested")));
    match &found.closed {
        Some(closing) => {
            let closed = approval::closed(closing);
            shown.push_str(&format!("  {}: {closed}\n", label("closed")));
        }
        None => {
            let [approve, deny] =
                ["approve", "deny"].map(|word| cx.command_anywhere(word, &[&found.id]));
            shown.push_str(&format!("  {}: {approve}, or {deny}\n", label("decide")));
            if let Some(covers) = approval::covers(found) {
                shown.push_str(&format!("  {}: {covers}\n", label("--always would allow")));
            }
        }
    }
    shown
}
