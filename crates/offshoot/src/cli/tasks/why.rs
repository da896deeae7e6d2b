//! `offshoot tasks why`

use std::borrow::Cow;

use clap::Args;
use jiff::Timestamp;
use offshoot_client::Error;
use offshoot_client::wire::{self, Reply, Request};

use crate::cli::completions;
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::show::{Colour, Format, Part, approval, text, time};

/// Show what a task waits on
#[derive(Debug, Args)]
#[command(after_help = "Example:
  offshoot tasks why build-1")]
pub(crate) struct Why {
    /// Handle, `<parent>/<name>` or id of the task
    #[arg(value_name = "TASK", add = completions::live_handles())]
    task: String,
}

impl Why {
    pub(crate) async fn run(self, cx: &CommandContext) -> Result<Exit, CliError> {
        match cx.ask(&Request::Why(cx.named(&self.task))).await? {
            Reply::Why(mut why) => {
                self.add_way_out(cx, &mut why).await;
                cx.answer(&why, |why| render(why, Timestamp::now(), cx.screen.out))?;
                Ok(Exit::Done)
            }
            _ => Err(Error::WrongAnswer.into()),
        }
    }
}

impl Why {
    /// Adds the command that answers a waiting task.
    async fn add_way_out(&self, cx: &CommandContext, why: &mut wire::TaskWhy) {
        if cx.screen.format == Format::Json {
            return;
        }
        for reason in &mut why.reasons {
            if !matches!(reason.is.as_str(), "approval" | "input") {
                continue;
            }
            // The task may have ended in between.
            let Ok(task) = cx.show(&why.id).await else { return };
            if let Some(asked) = &task.approval {
                let how = approval::answer_hint(cx, &asked.id);
                reason.text = format!("waits for approval: it {}; {how}", asked.wants());
            } else if task.question.is_some() {
                let answer = cx.command("tasks send", &[&task.id, "ANSWER"]);
                reason.text.push_str(&format!("; to answer: {answer}"));
            }
        }
    }
}

fn render(why: &wire::TaskWhy, now: Timestamp, colour: Colour) -> String {
    let handle = colour.paint(Part::Name, text::line(&why.handle));
    let state = colour.paint(Part::State(why.state), why.state.word());
    let mut shown = format!("{handle} is {state}, since {}\n", time::ago(&why.since, now));
    for reason in &why.reasons {
        shown.push_str(&format!("  {}\n", text::line(&told(reason, now))));
    }
    if why.reasons.is_empty() && !why.state.is_terminal() {
        shown.push_str("  it waits for nothing\n");
    }
    shown
}

/// Formats a reason with durations instead of timestamps.
fn told(reason: &wire::Reason, now: Timestamp) -> Cow<'_, str> {
    let lasting = || {
        let (said, since) = reason.text.rsplit_once(" since ")?;
        Some(format!("{said} for {}", time::since(since.parse().ok()?, now)))
    };
    let due = || {
        let (said, due) = reason.text.rsplit_once(" is due at ")?;
        due.parse::<Timestamp>().ok()?;
        Some(format!("{said} is due {}", time::due(due, now)))
    };
    let more = || {
        let (said, until) = reason.text.rsplit_once(" until ")?;
        Some(format!("{said} for {} more", time::since(now, until.parse().ok()?)))
    };
    let past = || {
        let (said, at) = reason.text.rsplit_once(" to stop at ")?;
        at.parse::<Timestamp>().ok()?;
        Some(format!("{said} to stop {}", time::ago(at, now)))
    };
    lasting()
        .or_else(due)
        .or_else(more)
        .or_else(past)
        .map_or(Cow::Borrowed(&reason.text), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use offshoot_client::wire::{Reason, State};

    #[test]
    fn reasons_are_printed_below_the_state() {
        let reason = Reason { is: "queue".into(), text: "2 tasks stand before it\u{1b}[2J".into() };
        let text = "runs, silent since 2026-01-02T03:04:03.053586Z".into();
        let silent = Reason { is: "silent".into(), text };
        let timed = |text: &str| Reason { is: "timer".into(), text: text.into() };
        let until = timed("waits until 2026-01-02T03:06:15Z");
        let stop = timed("was asked to stop at 2026-01-02T03:04:05Z");
        let why = wire::TaskWhy {
            id: "id".into(),
            handle: "build-1".into(),
            state: State::Queued,
            since: "2026-01-02T03:04:05Z".into(),
            reasons: vec![reason, silent, until, stop],
        };
        let now = "2026-01-02T03:04:15Z".parse().unwrap();
        assert_eq!(
            render(&why, now, Colour::Plain),
            "build-1 is queued, since 10s ago\n  2 tasks stand before it\n  \
             runs, silent for 11s\n  waits for 2m more\n  was asked to stop 10s ago\n"
        );
    }
}
