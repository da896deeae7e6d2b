//! `offshoot sessions ls`

use clap::Args;
use jiff::Timestamp;
use offshoot_client::Error;
use offshoot_client::wire::{Reply, Request, Sessions};

use crate::cli::desk::Desk;
use crate::cli::exit::Exit;
use crate::cli::show::table::{Cell, Column, Table};
use crate::cli::show::{Form, Part, time};
use crate::cli::trouble::Trouble;

/// How many sessions a page has unless somebody says otherwise.
const PAGE: usize = 100;

/// List sessions
#[derive(Debug, Args)]
pub(crate) struct Ls {
    /// Go on where the page before ended
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    /// How many at the most
    #[arg(long, value_name = "N", default_value_t = PAGE)]
    limit: usize,
}

impl Ls {
    pub(crate) async fn run(self, desk: &Desk) -> Result<Exit, Trouble> {
        if self.limit == 0 {
            return Err(Trouble::usage("--limit 0 lists nothing: write 1 or more"));
        }
        let request = Request::Sessions { cursor: self.cursor, limit: self.limit };
        let page = match desk.ask(&request).await? {
            Reply::Sessions(page) => page,
            _ => return Err(Error::WrongAnswer.into()),
        };
        if desk.screen.form == Form::Json {
            desk.screen.json(&page)?;
            return Ok(Exit::Done);
        }
        if page.sessions.is_empty() {
            desk.screen.tell("no sessions yet; `offshoot spawn` opens one");
            return Ok(Exit::Done);
        }
        desk.screen.say(&table(&page).render(desk.screen.width, desk.screen.out))?;
        if let Some(next) = &page.next {
            let limit = self.limit.to_string();
            let mut words = vec!["--cursor", next];
            if self.limit != PAGE {
                words.extend(["--limit", &limit]);
            }
            desk.screen.remark(&format!("more: {}", desk.command("sessions ls", &words)));
        }
        Ok(Exit::Done)
    }
}

fn table(page: &Sessions) -> Table {
    let mut table = Table::new([
        Column::firm("SESSION"),
        Column::stiff("LIVE"),
        Column::stiff("FINISHED"),
        Column::stiff("UNREAD"),
        Column::stiff("OPENED"),
    ]);
    let now = Timestamp::now();
    for session in &page.sessions {
        table.row([
            Cell::new(&session.name).part(Part::Name),
            Cell::new(session.live.to_string()),
            Cell::new(session.finished.to_string()),
            Cell::new(session.unread.to_string()),
            Cell::new(time::ago(&session.opened_at, now)),
        ]);
    }
    table
}
