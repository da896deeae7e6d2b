//! Prints the progress of an agent and its children, one line per event.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use jiff::Timestamp;
use offshoot_agent::ModelDelay;
use offshoot_client::wire::{State, Task};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::Instant;

use super::refusals::{Refusal, Refusals};
use super::snapshots::TaskSnapshots;
use super::watch::{RunEvent, watch};
use crate::cli::context::CommandContext;
use crate::cli::show::{Format, Part, size, task, text, time};

/// The width of a task's purpose.
const SHOWN: usize = 60;

/// The width of an error.
const WRONG: usize = 300;

/// The maximum length of a question, in characters.
const ASKED: usize = 2_000;

/// The hint that is printed once when requests are denied without a terminal.
const ADVICE: &str = "requests are denied here: with --ask person they wait for `offshoot \
                      approve`, and --mode auto allows all but guarded actions";

/// The time to wait for the remaining events once the lead has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The first silence after which the running agents are listed.
const SILENCE: Duration = Duration::from_secs(30);

/// The time for which the same model delay of other tasks is not repeated.
const SAME: Duration = Duration::from_secs(2);

/// The number of ended tasks that are remembered as printed.
const ENDED: usize = 1_024;

/// Prints the events of a session on the standard error.
pub(super) struct Ticker {
    cx: CommandContext,
    lead: String,
    events: Receiver<RunEvent>,
    /// Whether the stream of events has ended.
    is_over: bool,
    seen: HashMap<String, LastSeen>,
    /// The ended tasks, oldest first.
    ended: VecDeque<String>,
    /// Whether the end of the lead was printed.
    has_ended: bool,
    /// Whether events are missing since the last one of the lead.
    has_missed: bool,
    live: TaskSnapshots,
    /// The spent part of the lead's budget, if it has one.
    spent: Option<String>,
    /// The last printed model delay.
    delay: Option<DelayNotice>,
    /// Whether the hint about approvals was printed.
    has_advised: bool,
    began: Instant,
    /// The time at which the running agents are listed.
    due: Instant,
    silence: Duration,
}

/// The last printed state of a task.
#[derive(Clone, Debug, Default)]
struct LastSeen {
    state: Option<State>,
    delay: Option<ModelDelay>,
    question: Option<u32>,
}

/// A model delay that was printed, with its task and time.
#[derive(Debug)]
struct DelayNotice {
    task: String,
    delay: ModelDelay,
    at: Instant,
}

impl DelayNotice {
    /// Whether another task reports the same delay, because it uses the same provider.
    fn is_same(&self, task: &str, delay: &ModelDelay) -> bool {
        let until = self.delay.until.zip(delay.until);
        let together = until.is_some_and(|(a, b)| a.max(b).since(a.min(b)) <= SAME);
        self.task != task
            && self.delay.held == delay.held
            && (delay.held.is_some() || self.delay.error == delay.error)
            && (together || self.at.elapsed() <= SAME)
    }
}

/// Whether the run can progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunStatus {
    /// The run can progress.
    Progressing,
    /// Every task waits for an answer of the user.
    Standstill,
}

impl Ticker {
    /// Follows the run of this task, whose conversation had `before` blocks.
    ///
    /// With `--json`, only delays and refused calls are printed.
    pub(super) fn new(cx: &CommandContext, lead: &Task, before: u64) -> Self {
        let (told, events) = channel(64);
        let refusals = Refusals::after(&lead.id, before);
        tokio::spawn(watch(cx.clone(), lead.id.clone(), refusals, told));
        Self::of(cx, lead, events)
    }

    /// Makes a ticker for a stream of events.
    fn of(cx: &CommandContext, lead: &Task, events: Receiver<RunEvent>) -> Self {
        let began = Instant::now();
        Self {
            cx: cx.clone(),
            lead: lead.id.clone(),
            events,
            is_over: false,
            seen: HashMap::new(),
            ended: VecDeque::new(),
            has_ended: false,
            has_missed: false,
            live: TaskSnapshots::default(),
            spent: None,
            delay: None,
            has_advised: false,
            began,
            due: began + SILENCE,
            silence: SILENCE,
        }
    }

    /// Prints the next event.
    pub(super) async fn next(&mut self) -> RunStatus {
        tokio::select! {
            told = self.events.recv(), if !self.is_over => match told {
                Some(event) => self.take(event),
                None => self.is_over = true,
            },
            () = tokio::time::sleep_until(self.due) => self.tell_at_work(),
        }
        match self.live.is_at_a_standstill() {
            true => RunStatus::Standstill,
            false => RunStatus::Progressing,
        }
    }

    /// Prints the remaining events up to the end of the lead, or that they are missing.
    pub(super) async fn rest(&mut self) {
        while !self.has_ended {
            match tokio::time::timeout(LAST_WORDS, self.events.recv()).await {
                Ok(Some(event)) => self.take(event),
                // The reason was printed.
                Ok(None) => return,
                Err(_) if self.has_missed => return,
                Err(_) => {
                    let all = self.cx.command_in(&self.cx.session, "tasks ls", &["--all"]);
                    let said = "the last events are missing; for all results";
                    return self.remark(&format!("offshoot: {said}: {all}"));
                }
            }
        }
    }

    fn take(&mut self, event: RunEvent) {
        match event {
            RunEvent::Changed(task) => self.tell(&task),
            RunEvent::Refused(task, refusal) => self.tell_refusal(&task, &refusal),
            RunEvent::TurnEnded(lead, running) => self.tell_running(&lead, &running),
            RunEvent::Ended(lead) => {
                self.tell(&lead);
                self.has_ended = true;
            }
            RunEvent::Missed(changes) => {
                // The live tasks follow.
                self.live = TaskSnapshots::default();
                self.has_missed = true;
                let changes = size::count(changes, "change");
                let all = self.cx.command_in(&self.cx.session, "tasks ls", &["--all"]);
                self.remark(&format!(
                    "offshoot: up to {changes} are not shown, too many at once; for all results: \
                     {all}"
                ));
            }
            RunEvent::Broke(why) => {
                let why = text::line(&why);
                self.remark(&format!("offshoot: progress is no longer shown: {why}"));
                self.live = TaskSnapshots::default();
            }
        }
    }

    fn tell(&mut self, task: &Task) {
        self.live.note(task);
        self.has_missed &= task.id != self.lead;
        if task.id == self.lead {
            self.spent = task.spent.as_ref().map(|spent| spent.text.clone());
        }
        let question = task.question.as_ref().map(|question| question.number);
        let now = LastSeen { state: Some(task.state), delay: task::delay(task), question };
        let before = self.seen.insert(task.id.clone(), now.clone()).unwrap_or_default();
        if task.outcome.is_some() && !before.state.is_some_and(State::is_terminal) {
            self.ended.push_back(task.id.clone());
            if self.ended.len() > ENDED
                && let Some(oldest) = self.ended.pop_front()
            {
                self.seen.remove(&oldest);
            }
        }
        // A task that resumes after a wait was printed when it started.
        let resumed = before.state == Some(State::Waiting) && task.state == State::Running;
        if before.state != now.state && !resumed && self.cx.screen.format == Format::Text {
            self.tell_state(task);
        }
        if before.question != now.question {
            self.tell_question(task);
        }
        if before.delay != now.delay
            && let Some(delay) = now.delay
        {
            self.tell_delay(task, delay);
        }
    }

    fn tell_state(&mut self, task: &Task) {
        // The lead's answer is printed at the end.
        if task.id == self.lead {
            return;
        }
        let err = self.cx.screen.err;
        let what = match task.state {
            State::Running if task.attempts > 1 => format!("attempt {}", task.attempts),
            State::Queued | State::Running => task::executes(task),
            State::Waiting => return,
            State::Failed | State::Lost => {
                let how = task.outcome.as_ref().map(task::ending).unwrap_or_default();
                format!("after {}: {}", time::long(task.age_ms), text::first_line(&how))
            }
            _ => format!("after {}", time::long(task.age_ms)),
        };
        let what = err.paint(Part::Faint, text::cut(&text::line(&what), SHOWN));
        let state = err.paint(Part::State(task.state), task.state.word());
        self.remark(&format!("  {} {state} {what}", text::line(&task.handle)));
    }

    /// Prints the tasks that still run when the lead ends its turn.
    fn tell_running(&mut self, lead: &Task, running: &str) {
        if self.cx.screen.format != Format::Text {
            return;
        }
        let mut running = text::line(running);
        if let Some(first) = running.get_mut(..1) {
            first.make_ascii_lowercase();
        }
        let running = self.cx.screen.err.paint(Part::Faint, text::cut(&running, WRONG));
        self.remark(&format!("  {} waits; {running}", text::line(&lead.handle)));
    }

    /// Prints the question of a task and the command that answers it.
    fn tell_question(&mut self, task: &Task) {
        let Some(question) = &task.question else { return };
        // Deeper in the tree, a handle may be ambiguous.
        let to = match (self.live.parent_of(task), task.lineage.depth) {
            (Some(parent), 1) => format!("{parent}/{}", task.handle),
            _ => task.id.clone(),
        };
        let command = self.cx.command_in(&task.session, "tasks send", &[&to, "ANSWER"]);
        let asked = offshoot_core::text::cut(&question.text, ASKED);
        let asked = text::lines(&asked).trim().replace('\n', "\n    ");
        let asks = self.cx.screen.err.paint(Part::Hint, "asks");
        let owner = self.live.parent_of(task).unwrap_or("its owner").to_owned();
        self.remark(&format!("  {} {asks} {owner}: {asked}", text::line(&task.handle)));
        self.remark(&format!("    to answer: {command}"));
    }

    /// Prints a refused call, also with `--json`.
    fn tell_refusal(&mut self, task: &Task, refusal: &Refusal) {
        let may_not = self.cx.screen.err.paint(Part::Bad, "may not use");
        let (tool, why) =
            (text::line(&refusal.tool), text::cut(&text::line(&refusal.refused.why), WRONG));
        let what = refusal.what.as_ref().map(|what| format!(" ({})", text::cut(what, SHOWN)));
        let (agent, what) = (text::line(&task.handle), what.unwrap_or_default());
        self.remark(&format!("  {agent} {may_not} {tool}{what}: {why}"));
        if self.cx.screen.format == Format::Text
            && refusal.refused.no_approver
            && !std::mem::replace(&mut self.has_advised, true)
        {
            self.remark(&format!("    {ADVICE}"));
        }
    }

    /// Prints a model delay once for all the tasks that it affects.
    fn tell_delay(&mut self, task: &Task, delay: ModelDelay) {
        if self.delay.as_ref().is_some_and(|told| told.is_same(&task.id, &delay)) {
            return;
        }
        let said = text::cut(&task::delay_text(&delay, Timestamp::now()), WRONG);
        let said = self.cx.screen.err.paint(Part::Bad, text::line(&said));
        self.remark(&format!("  {}: {said}", text::line(&task.handle)));
        self.delay = Some(DelayNotice { task: task.id.clone(), delay, at: Instant::now() });
    }

    /// Lists the running agents after a long silence.
    fn tell_at_work(&mut self) {
        let silence = self.silence;
        if let Some(busy) = self.live.at_work(Timestamp::now()) {
            let since = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
            let spent = self.spent.as_ref().map(|spent| format!("; spent: {}", text::line(spent)));
            let spent = spent.unwrap_or_default();
            let said = format!("after {} still at work: {busy}{spent}", time::age(since));
            let said = self.cx.screen.err.paint(Part::Faint, said);
            self.remark(&format!("  {said}"));
        }
        self.silence = silence.saturating_mul(2);
        self.due = Instant::now() + self.silence;
    }

    fn remark(&mut self, said: &str) {
        self.cx.screen.remark(said);
        self.silence = SILENCE;
        self.due = Instant::now() + SILENCE;
    }
}

#[cfg(test)]
mod tests {
    use offshoot_core::Stamp;
    use tokio::sync::mpsc::Sender;

    use super::*;
    use crate::cli::globals::Globals;
    use crate::cli::show::{Screen, example};

    /// A ticker, and the sender of its events.
    fn told() -> (Sender<RunEvent>, Ticker) {
        let folder = tempfile::tempdir().unwrap();
        let globals = Globals::of(Some(folder.path().to_owned()), Some("s".to_owned()));
        let cx = CommandContext::new(&globals, Screen::new(Format::Json)).unwrap();
        let (told, events) = channel(64);
        (told, Ticker::of(&cx, &example::task("lead", State::Running), events))
    }

    #[tokio::test(start_paused = true)]
    async fn the_rest_is_told_as_long_as_more_of_it_comes() {
        let (told, mut ticker) = told();
        let tells = async {
            for number in 0..30 {
                tokio::time::sleep(LAST_WORDS * 9 / 10).await;
                let bee = example::task(&format!("bee-{number}"), State::Completed);
                told.send(RunEvent::Changed(Box::new(bee))).await.unwrap();
                // The record is newer than the event.
                let lead = example::task("lead", State::Completed);
                told.send(RunEvent::Changed(Box::new(lead))).await.unwrap();
            }
            let lead = Box::new(example::task("lead", State::Completed));
            told.send(RunEvent::Ended(lead)).await.unwrap();
        };
        tokio::join!(ticker.rest(), tells);
        assert_eq!(ticker.seen.len(), 31);
    }

    #[tokio::test(start_paused = true)]
    async fn a_rest_that_stays_away_is_not_waited_for() {
        let (_told, mut ticker) = told();
        ticker.rest().await;
        assert!(!ticker.has_ended);
        assert_eq!(ticker.began.elapsed(), LAST_WORDS);
    }

    #[tokio::test(start_paused = true)]
    async fn all_who_wait_for_the_same_are_told_of_once() {
        let delay = |error: &str, until: i64| ModelDelay {
            error: error.to_owned(),
            failed: 0,
            tries: 6,
            until: Some(Stamp::from_millis(until)),
            held: None,
        };
        let first = delay("slow down", 600_000);
        let told = DelayNotice { task: "a".into(), delay: first.clone(), at: Instant::now() };
        assert!(told.is_same("b", &delay("slow down", 601_000)));
        assert!(!told.is_same("a", &first), "the same task has a new delay");
        assert!(!told.is_same("b", &delay("no route", 600_000)));
        // A held-back task waits for the provider, whatever its own error was.
        let held = |error: &str| ModelDelay { held: Some("x".into()), ..delay(error, 600_000) };
        let waits = DelayNotice { task: "a".into(), delay: held("slow down"), at: Instant::now() };
        assert!(waits.is_same("b", &held("")) && !waits.is_same("b", &first));
        tokio::time::advance(SAME + SAME).await;
        assert!(told.is_same("b", &delay("slow down", 601_000)));
        assert!(!told.is_same("b", &delay("slow down", 900_000)));
    }
}
