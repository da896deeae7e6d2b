//! `offshoot tasks ls`

use clap::Args;
use clap::builder::PossibleValuesParser;
use offshoot_client::Error;
use offshoot_client::wire::{ListTasks, Reply, Request, Scope, State, Tasks};

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::number;
use crate::cli::show::table::{Column, Table, TableCell};
use crate::cli::show::{Format, Part, task, text, time, tree};

/// The number of tasks on a page without `--limit`.
const PAGE: usize = 100;

/// The widest cell when the output is not a terminal.
const WIDEST: usize = 200;

/// List tasks
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot tasks ls                       # live tasks
  offshoot tasks ls --all --limit 20      # the latest 20, finished or not
  offshoot tasks ls --state failed --state lost

The newest task comes first, children below their parent. If there are more
tasks than --limit, the command for the next page is printed on the standard
error; with --json, `next` holds its cursor.")]
pub(crate) struct Ls {
    /// Include finished tasks
    #[arg(long)]
    all: bool,
    /// Only tasks in this state; repeat for several states
    #[arg(long = "state", value_name = "STATE", value_parser = states())]
    states: Vec<String>,
    /// Continue after the previous page
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    /// Maximum number of tasks
    #[arg(long, value_name = "N", default_value_t = PAGE, value_parser = number::at_least_one)]
    #[arg(allow_negative_numbers = true)]
    limit: usize,
    /// Include the tasks of all sessions
    #[arg(long)]
    all_sessions: bool,
}

fn states() -> PossibleValuesParser {
    PossibleValuesParser::new(State::ALL.map(State::word))
}

impl Ls {
    pub(crate) async fn run(self, cx: &CommandContext) -> Result<Exit, CliError> {
        let page = self.read(cx).await?;
        if cx.screen.format == Format::Json {
            cx.screen.json(&page)?;
            return Ok(Exit::Done);
        }
        if page.tasks.is_empty() {
            cx.screen.tell(&self.nothing(cx));
            return Ok(Exit::Done);
        }
        cx.screen.say(&self.table(&page).render(cx.screen.width, cx.screen.out))?;
        if let Some(next) = &page.next {
            cx.screen.remark(&format!("more: {}", self.next(cx, next)));
        }
        Ok(Exit::Done)
    }

    /// Reads as many tasks as requested; the daemon sends them in pages.
    async fn read(&self, cx: &CommandContext) -> Result<Tasks, CliError> {
        let mut read = Tasks { tasks: Vec::new(), next: self.cursor.clone() };
        loop {
            let cursor = read.next.take();
            let limit = self.limit - read.tasks.len();
            let list = ListTasks { cursor, limit, ..self.request(cx) };
            let page = match cx.ask(&Request::List(list)).await? {
                Reply::Tasks(page) => page,
                _ => return Err(Error::WrongAnswer.into()),
            };
            read.tasks.extend(page.tasks);
            read.next = page.next;
            if read.next.is_none() || read.tasks.len() >= self.limit {
                return Ok(read);
            }
        }
    }

    fn request(&self, cx: &CommandContext) -> ListTasks {
        // To ask for a finished state is to ask for finished tasks.
        let finished = |word: &String| State::of(word).is_some_and(State::is_terminal);
        let all = self.all || self.states.iter().any(finished);
        ListTasks {
            session: (!self.all_sessions).then(|| cx.session.clone()),
            scope: if all { Scope::All } else { Scope::Live },
            states: self.states.clone(),
            cursor: self.cursor.clone(),
            limit: self.limit,
        }
    }

    fn nothing(&self, cx: &CommandContext) -> String {
        let place = match self.all_sessions {
            true => "any session".to_owned(),
            false => format!("session {}", text::line(&cx.session)),
        };
        match (self.all, self.states.is_empty()) {
            (true, true) => format!("no tasks in {place}"),
            (false, true) => {
                format!(
                    "no live tasks in {place}; finished ones: {}",
                    cx.command("tasks ls", &["--all"])
                )
            }
            (_, false) => format!("no task in {place} has such a state"),
        }
    }

    /// Formats the command that shows the next page.
    fn next(&self, cx: &CommandContext, next: &str) -> String {
        let limit = self.limit.to_string();
        let mut words = Vec::new();
        if self.all {
            words.push("--all");
        }
        if self.all_sessions {
            words.push("--all-sessions");
        }
        for state in &self.states {
            words.extend(["--state", state]);
        }
        if self.limit != PAGE {
            words.extend(["--limit", &limit]);
        }
        words.extend(["--cursor", next]);
        cx.command("tasks ls", &words)
    }

    fn table(&self, page: &Tasks) -> Table {
        let mut columns = vec![
            Column::firm("HANDLE"),
            Column::stiff("STATE"),
            Column::stiff("AGE"),
            Column::elastic("COMMAND"),
            Column::elastic("STATUS"),
        ];
        if self.all_sessions {
            columns.insert(0, Column::firm("SESSION"));
        }
        let mut table = Table::new(columns);
        for branch in tree::arrange(&page.tasks) {
            let found = branch.task;
            let mut cells = vec![
                TableCell::new(branch.handle()).part(Part::Name),
                TableCell::new(found.state.word()).part(Part::State(found.state)),
                TableCell::new(time::age(found.age_ms)),
                TableCell::new(text::cut(&task::executes(found), WIDEST)),
                TableCell::new(text::cut(&task::what(found), WIDEST)),
            ];
            if self.all_sessions {
                cells.insert(0, TableCell::new(&found.session).part(Part::Faint));
            }
            table.row(cells);
        }
        table
    }
}
