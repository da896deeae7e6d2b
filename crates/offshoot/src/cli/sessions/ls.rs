//! `offshoot sessions ls`

use clap::Args;
use jiff::Timestamp;
use offshoot_client::Error;
use offshoot_client::wire::{Reply, Request, Sessions};

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::number;
use crate::cli::show::table::{Column, Table, TableCell};
use crate::cli::show::{Format, Part, time};

/// The number of sessions on a page without `--limit`.
const PAGE: usize = 100;

/// List sessions
#[derive(Debug, Args)]
#[command(after_help = "\
The oldest session comes first. UNREAD is the number of results that no command
such as `offshoot tasks wait` has read, up to 1000. ABOUT is the first task.")]
pub(crate) struct Ls {
    /// Continue after the previous page
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    /// Maximum number of sessions
    #[arg(long, value_name = "N", default_value_t = PAGE, value_parser = number::at_least_one)]
    #[arg(allow_negative_numbers = true)]
    limit: usize,
}

impl Ls {
    pub(crate) async fn run(self, cx: &CommandContext) -> Result<Exit, CliError> {
        let page = self.read(cx).await?;
        if cx.screen.format == Format::Json {
            cx.screen.json(&page)?;
            return Ok(Exit::Done);
        }
        if page.sessions.is_empty() {
            cx.screen.tell("no sessions yet; `offshoot spawn` opens one");
            return Ok(Exit::Done);
        }
        cx.screen.say(&table(&page).render(cx.screen.width, cx.screen.out))?;
        if let Some(next) = &page.next {
            let limit = self.limit.to_string();
            let mut words = vec!["--cursor", next];
            if self.limit != PAGE {
                words.extend(["--limit", &limit]);
            }
            cx.screen.remark(&format!("more: {}", cx.command("sessions ls", &words)));
        }
        Ok(Exit::Done)
    }

    /// Reads as many sessions as requested; the daemon sends them in pages.
    async fn read(&self, cx: &CommandContext) -> Result<Sessions, CliError> {
        let mut read = Sessions { sessions: Vec::new(), next: self.cursor.clone() };
        loop {
            let limit = self.limit - read.sessions.len();
            let request = Request::Sessions { cursor: read.next.take(), limit };
            let page = match cx.ask(&request).await? {
                Reply::Sessions(page) => page,
                _ => return Err(Error::WrongAnswer.into()),
            };
            read.sessions.extend(page.sessions);
            read.next = page.next;
            if read.next.is_none() || read.sessions.len() >= self.limit {
                return Ok(read);
            }
        }
    }
}

fn table(page: &Sessions) -> Table {
    let mut table = Table::new([
        Column::firm("SESSION"),
        Column::stiff("LIVE"),
        Column::stiff("FINISHED"),
        Column::stiff("UNREAD"),
        Column::stiff("OPENED"),
        Column::elastic("ABOUT"),
    ]);
    let now = Timestamp::now();
    for session in &page.sessions {
        table.row([
            TableCell::new(&session.name).part(Part::Name),
            TableCell::new(session.live.to_string()),
            TableCell::new(session.finished.to_string()),
            TableCell::new(session.unread.to_string()),
            TableCell::new(time::ago(&session.opened_at, now)),
            TableCell::new(session.about.as_deref().unwrap_or_default()),
        ]);
    }
    table
}
