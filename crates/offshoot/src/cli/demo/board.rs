//! The board of the demo, which shows the tasks while they change.
//!
//! On a terminal it is a tree that is redrawn in place. In a pipe it is a line
//! per change of state, and with `--json` the changed record.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use offshoot_client::StreamItem;
use offshoot_client::wire::{ListTasks, Reply, Request, Scope, State, Task};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::PATIENCE;
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::show::{Format, Part, Screen, task, text, time, tree};

/// The interval at which the tree is redrawn.
const TICK: Duration = Duration::from_millis(250);

/// The width of the state column.
const STATES: usize = 11;

/// The tasks on the board.
#[derive(Debug)]
pub(super) struct Board {
    screen: Screen,
    tasks: Vec<Task>,
    /// The time of the last event of each task.
    heard: HashMap<String, Instant>,
    told: HashMap<String, (State, u32)>,
    following: Option<(JoinHandle<()>, mpsc::Receiver<Task>)>,
    /// The number of lines drawn on the terminal.
    drawn: usize,
}

/// Finds a task by name.
pub(super) fn find<'a>(tasks: &'a [Task], name: &str) -> Option<&'a Task> {
    tasks.iter().find(|task| task.handle == name)
}

/// The number of bytes that a command has reported as written.
pub(super) fn written(task: &Task) -> u64 {
    let report = task.progress.as_ref().map(|progress| &progress.value);
    report.and_then(|report| report["output"]["bytes"].as_u64()).unwrap_or(0)
}

impl Board {
    pub(super) fn new(screen: Screen) -> Self {
        let (tasks, heard, told) = (Vec::new(), HashMap::new(), HashMap::new());
        Self { screen, tasks, heard, told, following: None, drawn: 0 }
    }

    /// The number of live tasks.
    pub(super) fn live(&self) -> usize {
        self.tasks.iter().filter(|task| !task.state.is_terminal()).count()
    }

    /// Clears the board.
    pub(super) fn clear(&mut self) {
        self.close();
        self.tasks.clear();
        self.heard.clear();
        self.told.clear();
    }

    /// Follows the tasks of a session.
    pub(super) fn follow(&mut self, cx: &CommandContext) {
        self.close();
        let (tell, told) = mpsc::channel(64);
        let following = tokio::spawn(watch(cx.clone(), tell));
        self.following = Some((following, told));
    }

    /// Stops following.
    pub(super) fn close(&mut self) {
        if let Some((following, _)) = self.following.take() {
            following.abort();
        }
    }

    /// Shows the tasks until a condition holds.
    pub(super) async fn until(&mut self, so: impl Fn(&[Task]) -> bool) -> Result<(), CliError> {
        self.drawn = 0;
        self.still_until(so).await
    }

    /// Shows the tasks in the same place until a condition holds.
    pub(super) async fn still_until(
        &mut self,
        so: impl Fn(&[Task]) -> bool,
    ) -> Result<(), CliError> {
        let patience = tokio::time::sleep(PATIENCE);
        let mut patience = std::pin::pin!(patience);
        let mut tick = tokio::time::interval(TICK);
        loop {
            self.draw()?;
            if so(&self.tasks) {
                return Ok(());
            }
            let Some((_, told)) = &mut self.following else {
                return Err(CliError::failed("the board follows no session"));
            };
            tokio::select! {
                seen = told.recv() => match seen {
                    Some(seen) => self.note(seen),
                    None => return Err(CliError::failed("the daemon died unexpectedly")),
                },
                _ = tick.tick() => {}
                () = &mut patience => {
                    let waited = PATIENCE.as_secs();
                    return Err(CliError::failed(format!("this step did not finish within {waited} seconds"))
                        .hint("try again when the machine is less busy"));
                }
            }
        }
    }

    fn note(&mut self, seen: Task) {
        self.heard.insert(seen.id.clone(), Instant::now());
        match self.tasks.iter_mut().find(|task| task.id == seen.id) {
            Some(task) => *task = seen,
            None => self.tasks.push(seen),
        }
        self.tasks.sort_by(|a, b| a.id.cmp(&b.id));
    }

    fn draw(&mut self) -> Result<(), CliError> {
        match (self.screen.format, self.screen.width) {
            (Format::Text, Some(width)) => self.draw_tree(width),
            (Format::Text, None) => self.draw_changes(),
            (Format::Json, _) => {
                let screen = self.screen;
                let mut changed = self.changed().into_iter();
                changed.try_for_each(|task| screen.json_line(&serde_json::json!({ "task": task })))
            }
        }
    }

    /// The tasks whose state differs from the printed one.
    fn changed(&mut self) -> Vec<&Task> {
        let mut changed = Vec::new();
        for task in &self.tasks {
            let now = (task.state, task.attempts);
            if self.told.insert(task.id.clone(), now) != Some(now) {
                changed.push(task);
            }
        }
        changed
    }

    fn draw_tree(&mut self, width: usize) -> Result<(), CliError> {
        let mut shown = match self.drawn {
            0 => String::new(),
            lines => format!("\u{1b}[{lines}A"),
        };
        let branches = tree::arrange(&self.tasks);
        for branch in &branches {
            shown.push_str(&format!(
                "\u{1b}[K   {}\n",
                self.line(branch.task, &branch.handle(), width)
            ));
        }
        self.drawn = branches.len();
        self.screen.say(&shown)
    }

    fn line(&self, task: &Task, handle: &str, width: usize) -> String {
        let colour = self.screen.out;
        let state = format!("{:<STATES$}", task.state.word());
        let state = colour.paint(Part::State(task.state), state);
        let age = time::age(self.age(task));
        let what = match task.attempts {
            0 | 1 => self.what(task),
            _ if task.agent.is_some() && task.state.is_terminal() => self.what(task),
            attempt => format!("attempt {attempt}, {}", self.what(task)),
        };
        let room = width.saturating_sub(3 + 10 + STATES + 2 + 8);
        let what = text::cut(&what, room);
        format!("{handle:<10}{state}{age:>6}  {}", colour.paint(Part::Faint, what))
    }

    /// The status of a task; for a waiting agent, the number of its live children.
    fn what(&self, task: &Task) -> String {
        let child = |other: &&Task| other.lineage.parent.as_ref() == Some(&task.id);
        let out = self.tasks.iter().filter(child).filter(|child| !child.state.is_terminal());
        match (&task.agent, task.state, out.count()) {
            (Some(_), State::Waiting, 1) => "waits for 1 child".to_owned(),
            (Some(_), State::Waiting, out @ 2..) => format!("waits for {out} children"),
            _ => what(task),
        }
    }

    /// The current age of a task, in milliseconds.
    fn age(&self, task: &Task) -> u64 {
        let heard = self.heard.get(&task.id).filter(|_| !task.state.is_terminal());
        let since = heard.map_or(0, |heard| heard.elapsed().as_millis());
        task.age_ms.saturating_add(u64::try_from(since).unwrap_or(u64::MAX))
    }

    fn draw_changes(&mut self) -> Result<(), CliError> {
        let screen = self.screen;
        let mut shown = String::new();
        for task in self.changed() {
            let again = match task.attempts {
                0 | 1 => String::new(),
                attempt => format!(", attempt {attempt}"),
            };
            let line = format!("   {:<10}{}{again}", task.handle, task.state.word());
            let what = if task.state.is_terminal() { what(task) } else { String::new() };
            match what.as_str() {
                "" => shown.push_str(&format!("{line}\n")),
                what => shown.push_str(&format!("{line}: {what}\n")),
            }
        }
        screen.say(&shown)
    }
}

/// The status or the result of a task.
fn what(task: &Task) -> String {
    let wrote = || {
        let report = task.progress.as_ref().map(|progress| &progress.value);
        let line = report.and_then(|report| report["last_line"].as_str()).unwrap_or_default();
        text::line(line)
    };
    match (task.state, wrote()) {
        (State::Running | State::Completed, wrote) if !wrote.is_empty() => wrote,
        _ => task::what(task),
    }
}

/// Sends the record of every task, now and after each event.
async fn watch(cx: CommandContext, tell: mpsc::Sender<Task>) {
    let events = Request::Events { session: cx.session.clone(), cursor: None };
    let Ok(mut events) = cx.client.follow(&events).await else { return };
    // Events cover the time from here on; the list covers the time before.
    let list = ListTasks {
        session: Some(cx.session.clone()),
        scope: Scope::All,
        states: Vec::new(),
        cursor: None,
        limit: 100,
    };
    if let Ok(Reply::Tasks(listed)) = cx.client.ask(&Request::List(list)).await {
        for task in listed.tasks.into_iter().rev() {
            if tell.send(task).await.is_err() {
                return;
            }
        }
    }
    while let Ok(Some(item)) = events.next().await {
        if let StreamItem::Reply(Reply::Event(happened)) = item
            && let Some(task) = happened.task
            && tell.send(task).await.is_err()
        {
            return;
        }
    }
}
