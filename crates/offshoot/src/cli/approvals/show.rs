//! `offshoot approvals show`

use clap::Args;
use jiff::Timestamp;
use offshoot_client::Error;
use offshoot_client::wire::{ApprovalRef, ApprovalRequest, Reply, Request};

use crate::cli::completions;
use crate::cli::desk::Desk;
use crate::cli::exit::Exit;
use crate::cli::show::approval::{self, Look};
use crate::cli::show::{Part, text};
use crate::cli::trouble::Trouble;

/// Show an approval request in full
#[derive(Debug, Args)]
#[command(after_help = "Example:
  offshoot approvals show 9f3c1a-1

Every character of the arguments is shown: what a terminal would obey and what
nobody would see is written as an escape, such as \\x1b or \\u{202e}. It also
shows what became of one that was answered before.")]
pub(crate) struct Show {
    /// Its id, or the task that asks if it asks for one thing only
    #[arg(value_name = "ID", add = completions::approvals())]
    id: String,
}

impl Show {
    pub(crate) async fn run(self, desk: &Desk) -> Result<Exit, Trouble> {
        let sought = ApprovalRef { session: desk.session.clone(), id: self.id };
        let found = match desk.ask(&Request::Approval(sought)).await? {
            Reply::Approval(found) => *found,
            _ => return Err(Error::WrongAnswer.into()),
        };
        desk.answer(&found, |found| shown(found, desk))?;
        Ok(Exit::Done)
    }
}

fn shown(found: &ApprovalRequest, desk: &Desk) -> String {
    let colour = desk.screen.out;
    let look = Look { width: desk.screen.width, colour, most: None, whole: "" };
    let mut shown = approval::asked(found, look);
    let label = |name: &str| colour.paint(Part::Head, name);
    let now = Timestamp::now();
    let since = approval::since(found, now);
    let session = text::line(&found.session);
    shown.push_str(&format!("  {}: {since}, in session {session}\n", label("asked")));
    match &found.closed {
        Some(closing) => {
            let closed = approval::closed(closing);
            shown.push_str(&format!("  {}: {closed}\n", label("closed")));
        }
        None => {
            let [approve, deny] =
                ["approve", "deny"].map(|word| desk.command_anywhere(word, &[&found.id]));
            shown.push_str(&format!("  {}: {approve}, or {deny}\n", label("answer")));
            if let Some(covers) = approval::covers(found) {
                shown.push_str(&format!("  {}: {covers}\n", label("--always would allow")));
            }
        }
    }
    shown
}
