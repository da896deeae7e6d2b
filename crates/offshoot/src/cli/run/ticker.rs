//! What an agent and those it sent off are doing, one line at a time.

use std::collections::HashMap;

use offshoot_client::Followed;
use offshoot_client::wire::{Reply, Request, State, Task};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::cli::desk::Desk;
use crate::cli::show::{Form, Part, Screen, task, text, time};

/// How many columns of what a task is for are shown.
const SHOWN: usize = 60;

/// Tells on the standard error what happens in a session.
pub(super) struct Ticker {
    screen: Screen,
    lead: String,
    events: Option<Receiver<Task>>,
    seen: HashMap<String, State>,
}

impl Ticker {
    /// Tells of the session of this task, for people.
    pub(super) fn new(desk: &Desk, lead: &Task) -> Self {
        let events = (desk.screen.form == Form::People).then(|| {
            let (told, events) = channel(64);
            tokio::spawn(watch(desk.clone(), told));
            events
        });
        Self { screen: desk.screen, lead: lead.id.clone(), events, seen: HashMap::new() }
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

    fn tell(&mut self, task: &Task) {
        // Its answer tells of the lead.
        if task.id == self.lead || self.seen.insert(task.id.clone(), task.state) == Some(task.state)
        {
            return;
        }
        let handle = text::line(&task.handle);
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

/// Tells of what happens in the session, as long as somebody listens.
async fn watch(desk: Desk, told: Sender<Task>) {
    let asked = Request::Events { session: desk.session.clone(), cursor: None };
    while let Ok(mut stream) = desk.client.follow(&asked).await {
        while let Ok(Some(item)) = stream.next().await {
            if let Followed::Said(Reply::Happened(happened)) = item
                && let Some(task) = happened.task
                && told.send(task).await.is_err()
            {
                return;
            }
        }
    }
}
