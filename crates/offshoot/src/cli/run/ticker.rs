//! What an agent and those it sent off are doing, one line at a time.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use offshoot_client::Followed;
use offshoot_client::wire::{Reply, Request, State, Task};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::cli::desk::Desk;
use crate::cli::show::{Form, Part, Screen, task, text, time};

/// How many columns of what a task is for are shown.
const SHOWN: usize = 60;

/// How many that are still running are told by name.
const NAMED: usize = 8;

/// How long the last of it is waited for once the lead has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Tells on the standard error what happens in a session.
pub(super) struct Ticker {
    screen: Screen,
    lead: String,
    events: Option<Receiver<Task>>,
    seen: HashMap<String, State>,
    /// Whether the lead has, by what was told.
    has_ended: bool,
    /// Those that have not ended, by their ids, which sort by age.
    live: BTreeMap<String, String>,
}

impl Ticker {
    /// Tells of the session of this task, for people.
    pub(super) fn new(desk: &Desk, lead: &Task) -> Self {
        let events = (desk.screen.form == Form::People).then(|| {
            let (told, events) = channel(64);
            tokio::spawn(watch(desk.clone(), lead.id.clone(), told));
            events
        });
        let (screen, lead) = (desk.screen, lead.id.clone());
        Self { screen, lead, events, seen: HashMap::new(), has_ended: false, live: BTreeMap::new() }
    }

    /// Tells what happens next, and goes on for ever.
    pub(super) async fn next(&mut self) {
        let told = match &mut self.events {
            Some(events) => events.recv().await,
            None => None,
        };
        match told {
            Some(task) => self.tell(&task),
            None => std::future::pending().await,
        }
    }

    /// Tells what happened before the lead ended, as far as it is known.
    pub(super) async fn rest(mut self) {
        let Some(mut events) = self.events.take() else { return };
        let told = async {
            while !self.has_ended {
                let Some(task) = events.recv().await else { return };
                self.tell(&task);
            }
        };
        tokio::time::timeout(LAST_WORDS, told).await.ok();
    }

    fn tell(&mut self, task: &Task) {
        if self.seen.insert(task.id.clone(), task.state) == Some(task.state) {
            return;
        }
        if task.id == self.lead {
            self.has_ended |= task.outcome.is_some();
            return self.tell_of_lead(task);
        }
        let handle = text::line(&task.handle);
        match task.outcome {
            None => self.live.insert(task.id.clone(), handle.to_string()),
            Some(_) => self.live.remove(&task.id),
        };
        let state = self.screen.err.paint(Part::State(task.state), task.state.word());
        let what = match task.state {
            State::Running if task.attempts > 1 => format!("attempt {}", task.attempts),
            State::Queued | State::Running => task::executes(task),
            State::Waiting => return,
            _ => format!("after {}", time::long(task.age_ms)),
        };
        let what = self.screen.err.paint(Part::Faint, text::cut(&text::line(&what), SHOWN));
        self.screen.remark(&format!("  {handle} {state} {what}"));
    }
}

impl Ticker {
    /// Its answer tells of the lead; when it waits, what it waits for is told here
    /// and not left to its model.
    fn tell_of_lead(&self, lead: &Task) {
        if lead.state != State::Waiting || self.live.is_empty() {
            return;
        }
        let named: Vec<_> = self.live.values().take(NAMED).map(String::as_str).collect();
        let more = match self.live.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let what = format!("still running: {}{more}", named.join(", "));
        let what = self.screen.err.paint(Part::Faint, text::cut(&what, SHOWN));
        self.screen.remark(&format!("  {} waits; {what}", text::line(&lead.handle)));
    }
}

/// Tells of what happens below the lead, as long as somebody listens. The log is
/// read from its start, since some of it has happened already.
async fn watch(desk: Desk, lead: String, told: Sender<Task>) {
    let mut place = 0;
    loop {
        let asked = Request::Events { session: desk.session.clone(), cursor: Some(place) };
        let Ok(mut stream) = desk.client.follow(&asked).await else { return };
        loop {
            let happened = match stream.next().await {
                Ok(Some(Followed::Said(Reply::Happened(happened)))) => happened,
                Ok(Some(_)) => continue,
                Err(error) if error.is_broken_off() => break,
                Ok(None) | Err(_) => return,
            };
            place = happened.cursor;
            if let Some(task) = happened.task.filter(|task| task.lineage.root == lead)
                && told.send(task).await.is_err()
            {
                return;
            }
        }
    }
}
