//! `offshoot approvals ls`

use clap::Args;
use jiff::Timestamp;
use offshoot_client::Error;
use offshoot_client::wire::{Approvals, ListApprovals, Reply, Request};

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::globals::SessionSource;
use crate::cli::number;
use crate::cli::show::table::{Column, Table, TableCell};
use crate::cli::show::{Format, Part, approval, text};

/// The number of requests on a page without `--limit`.
const PAGE: usize = 100;

/// The widest cell when the output is not a terminal.
const WIDEST: usize = 200;

/// List approval requests
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot approvals ls
  offshoot approvals show 9f3c1a-1        # the full request
  offshoot approve 9f3c1a-1
  offshoot deny 9f3c1a-1 --reason 'not on a Friday'

The list has the requests of all sessions, unless --session or OFFSHOOT_SESSION
names one. With --json, arguments are complete.")]
pub(crate) struct Ls {
    /// Continue after the previous page
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    /// Maximum number of requests
    #[arg(long, value_name = "N", default_value_t = PAGE, value_parser = number::at_least_one)]
    #[arg(allow_negative_numbers = true)]
    limit: usize,
}

impl Ls {
    pub(crate) async fn run(self, cx: &CommandContext) -> Result<Exit, CliError> {
        let session = (cx.session_source != SessionSource::Default).then(|| cx.session.clone());
        let page = read(cx, session.clone(), (self.cursor.clone(), self.limit)).await?;
        if cx.screen.format == Format::Json {
            cx.screen.json(&page)?;
            return Ok(Exit::Done);
        }
        if page.approvals.is_empty() {
            let place = session.map(|name| format!(" in session {}", text::line(&name)));
            let place = place.unwrap_or_default();
            cx.screen.tell(&format!("no approval requests{place}"));
            return Ok(Exit::Done);
        }
        cx.screen.say(&table(&page).render(cx.screen.width, cx.screen.out))?;
        if let Some(next) = &page.next {
            let limit = self.limit.to_string();
            let mut words = vec!["--cursor", next];
            if self.limit != PAGE {
                words.extend(["--limit", &limit]);
            }
            cx.screen.remark(&format!("more: {}", cx.command("approvals ls", &words)));
        }
        Ok(Exit::Done)
    }
}

/// Reads as many requests as requested; the daemon sends them in pages.
pub(super) async fn read(
    cx: &CommandContext,
    session: Option<String>,
    (cursor, limit): (Option<String>, usize),
) -> Result<Approvals, CliError> {
    let mut read = Approvals { approvals: Vec::new(), next: cursor };
    loop {
        let request = Request::Approvals(ListApprovals {
            session: session.clone(),
            below: Vec::new(),
            cursor: read.next.take(),
            limit: limit.saturating_sub(read.approvals.len()).max(1),
        });
        let page = match cx.ask(&request).await? {
            Reply::Approvals(page) => page,
            _ => return Err(Error::WrongAnswer.into()),
        };
        read.approvals.extend(page.approvals);
        read.next = page.next;
        if read.next.is_none() || read.approvals.len() >= limit {
            return Ok(read);
        }
    }
}

fn table(page: &Approvals) -> Table {
    let mut table = Table::new([
        Column::stiff("ID"),
        Column::firm("SESSION"),
        Column::firm("AGENT"),
        Column::stiff("TOOL"),
        Column::stiff("SINCE"),
        Column::elastic("CALL"),
    ]);
    let now = Timestamp::now();
    for asked in &page.approvals {
        table.row([
            TableCell::new(&asked.id).part(Part::Name),
            TableCell::new(&asked.session).part(Part::Faint),
            TableCell::new(&asked.agent),
            TableCell::new(&asked.tool),
            TableCell::new(approval::since(asked, now)),
            TableCell::new(text::cut(&approval::in_short(asked), WIDEST)),
        ]);
    }
    table
}
