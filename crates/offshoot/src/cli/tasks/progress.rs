//! The progress line of `tasks wait`, on the standard error of a terminal.

use std::io::Write;
use std::time::{Duration, Instant};

use offshoot_client::StreamItem;
use offshoot_client::wire::{Reply, Request, Task};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::cli::context::CommandContext;
use crate::cli::show::screen::{Screen, StreamKind};
use crate::cli::show::{Format, Part, task, text, time};

/// The interval at which the line is drawn again.
const TICK: Duration = Duration::from_secs(1);

/// Clears the line and moves the cursor to its start.
const CLEAR: &str = "\r\u{1b}[K";

/// The progress line: the tasks still awaited.
pub(super) struct Progress {
    screen: Screen,
    began: Instant,
    open: Vec<Task>,
    /// Events of the session; none without a terminal.
    events: Option<Receiver<Task>>,
    drawn: LineState,
}

/// Whether the line is on the screen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineState {
    Shown,
    Hidden,
}

impl Progress {
    /// Makes the line for these tasks. Without a terminal it is never drawn.
    pub(super) fn new(cx: &CommandContext, tasks: &[Task]) -> Self {
        let screen = cx.screen;
        let shown = screen.err_kind == StreamKind::Terminal
            && screen.format == Format::Text
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let events = shown.then(|| {
            let (told, events) = channel(16);
            tokio::spawn(watch(cx.clone(), told));
            events
        });
        let open = tasks.iter().filter(|task| !task.state.is_terminal()).cloned().collect();
        Self { screen, began: Instant::now(), open, events, drawn: LineState::Hidden }
    }

    /// Updates the line while a future runs.
    pub(super) async fn beside<T>(&mut self, wait: impl Future<Output = T>) -> T {
        if self.events.is_none() {
            return wait.await;
        }
        let mut wait = std::pin::pin!(wait);
        let mut tick = tokio::time::interval_at(tokio::time::Instant::now() + TICK, TICK);
        loop {
            tokio::select! {
                biased;
                waited = &mut wait => {
                    self.clear();
                    return waited;
                }
                _ = tick.tick() => {}
                seen = next(&mut self.events) => self.update(seen),
            }
            self.draw();
        }
    }

    fn update(&mut self, seen: Task) {
        if let Some(open) = self.open.iter_mut().find(|open| open.id == seen.id) {
            *open = seen;
        }
    }

    /// Removes a task from the line.
    pub(super) fn over(&mut self, task: &Task) {
        self.open.retain(|open| open.id != task.id);
    }

    fn draw(&mut self) {
        let Some(first) = self.open.first() else { return };
        let waited = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut line = format!("waiting for {} ({}", first.handle, first.state.word());
        let what = task::what(first);
        if !what.is_empty() {
            line.push_str(&format!(": {what}"));
        }
        line.push(')');
        if let more @ 1.. = self.open.len() - 1 {
            line.push_str(&format!(" and {more} more"));
        }
        line.push_str(&format!(", {}", time::age(waited)));
        let width = columns().saturating_sub(1);
        let line = self.screen.err.paint(Part::Faint, text::cut(&text::line(&line), width));
        // The line is a convenience: ignore errors.
        write!(std::io::stderr(), "{CLEAR}{line}").ok();
        self.drawn = LineState::Shown;
    }

    /// Clears the line, so that something else can be printed.
    pub(super) fn clear(&mut self) {
        if std::mem::replace(&mut self.drawn, LineState::Hidden) == LineState::Shown {
            write!(std::io::stderr(), "{CLEAR}").ok();
        }
    }
}

fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok();
    size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(80)
}

/// Waits for the next task that changes.
async fn next(events: &mut Option<Receiver<Task>>) -> Task {
    let told = match events {
        Some(events) => events.recv().await,
        None => None,
    };
    match told {
        Some(task) => task,
        None => std::future::pending().await,
    }
}

/// Sends the changed tasks of the session until the receiver is gone.
///
/// The death of the daemon ends it; the line then only counts the time.
async fn watch(cx: CommandContext, told: Sender<Task>) {
    let asked = Request::Events { session: cx.session.clone(), cursor: None };
    let Ok(mut stream) = cx.client.follow(&asked).await else { return };
    while let Ok(Some(item)) = stream.next().await {
        if let StreamItem::Reply(Reply::Event(happened)) = item
            && let Some(task) = happened.task
            && told.send(task).await.is_err()
        {
            return;
        }
    }
}
