//! The wire form of agents: brief, activity, missing keys and budget use.

use std::time::Duration;

use offshoot_agent::{Brief, Budget, BudgetUsage, ModelDelay};
use offshoot_client::wire::{self, WireError};
use offshoot_core::{ActivityKind, Task, TaskState};
use offshoot_models::{EndpointMismatch, MissingKey};
use offshoot_runtime::Error;

use super::word;
use crate::host::{self, Daemon};

/// The brief of an agent.
pub(super) fn agent(task: &Task) -> Option<wire::AgentBrief> {
    if *task.spec.kind != *offshoot_agent::KIND {
        return None;
    }
    let brief: Brief = task.spec.input.decode().ok()?;
    let authority = brief.authority.as_deref();
    Some(wire::AgentBrief {
        task: brief.task,
        model: brief.model.to_string(),
        profile: brief.profile.map(String::from),
        mode: authority.map(|authority| word(authority.mode())),
        asks: authority.map(|authority| word(authority.approver())),
    })
}

/// The current budget use of an agent and all agents below it, if it is limited.
pub(super) async fn spent_now(
    daemon: &Daemon,
    task: &Task,
) -> Result<Option<wire::BudgetUse>, WireError> {
    let sent = |error| crate::errors::wire_error(&error);
    match daemon.runtime()?.task(&task.id().to_string()).await {
        Ok(found) => Ok(daemon.agents.spent(&found).await.map_err(sent)?.map(|one| spent(&one))),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(sent(error)),
    }
}

/// The budget use that the agent last reported.
pub(super) fn reported_spent(task: &Task) -> Option<wire::BudgetUse> {
    let report = offshoot_agent::AgentReport::of(task)?;
    report.spent.map(|one| spent(&one))
}

/// A duration in whole seconds, as budgets are written.
fn whole(time: Duration) -> String {
    let time = Some(Duration::from_secs(time.as_secs()));
    Budget { time, ..Budget::default() }.to_string()
}

fn noun(number: u64, one: &str) -> String {
    if number == 1 { one.to_owned() } else { format!("{one}s") }
}

fn spent(spent: &BudgetUsage) -> wire::BudgetUse {
    let BudgetUsage { limits, tokens, money, steps, time } = spent;
    let parts = [
        limits.money.map(|limit| format!("{money} of {limit}")),
        limits.tokens.map(|limit| format!("{tokens} of {limit} {}", noun(limit, "token"))),
        limits.time.map(|limit| format!("{} of {}", whole(*time), whole(limit))),
        limits.steps.map(|limit| format!("{steps} of {limit} {}", noun(limit, "step"))),
    ];
    wire::BudgetUse {
        budget: limits.to_string(),
        tokens: *tokens,
        nanodollars: money.0,
        steps: *steps,
        time_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
        text: parts.into_iter().flatten().collect::<Vec<_>>().join(", "),
    }
}

/// The state of an agent's request to its model: the model, and the last error.
pub(crate) fn asking(task: &Task) -> Option<wire::Reason> {
    if !matches!(task.state, TaskState::Running | TaskState::Waiting(_)) {
        return None;
    }
    let report = offshoot_agent::AgentReport::of(task);
    let Some(delay) = report.and_then(|report| report.model_delay) else {
        let activity = task.activity.as_deref().filter(|_| task.state == TaskState::Running)?;
        let (model, step) = (agent(task)?.model, activity.step);
        let text = format!("step {step}: asks {model}");
        let asks = activity.doing == ActivityKind::Model;
        return asks.then(|| wire::Reason { is: "model".to_owned(), text });
    };
    let ModelDelay { error, failed, tries, until, held } = &delay;
    let mut text = match (held, failed) {
        (Some(held), _) => {
            let failing = delay.failing().map(|failing| format!("; {failing}"));
            format!("it is held back by {held}{}", failing.unwrap_or_default())
        }
        (None, 0) => error.clone(),
        (None, _) => format!("its model failed {failed} of {tries} tries, the last time: {error}"),
    };
    if let Some(until) = until.filter(|until| *until > host::now()) {
        text = format!("{text}; the next try is due at {until}");
    }
    Some(wire::Reason { is: "model".to_owned(), text })
}

/// What an agent lacks, for a caller that only looks: the daemon has not tried the
/// caller's keys.
pub(super) fn absent(what: &EndpointMismatch) -> String {
    const ABSENT: &str = "which the daemon does not have";
    match what {
        EndpointMismatch::MissingKey(MissingKey { provider, variable }) => {
            format!("the daemon has no key for {provider}: set {variable}")
        }
        EndpointMismatch::NoKey(key) => format!("it began with {key}, {ABSENT}"),
        EndpointMismatch::Unset { variable, began } => {
            format!("it began with {variable}={began}, {ABSENT}")
        }
        EndpointMismatch::Neither { variable, began, key } => {
            format!("it began with {variable}={began} and {key}, {ABSENT}")
        }
        EndpointMismatch::Elsewhere { variable, began, now } => {
            format!("it began with {variable}={began}, and what the daemon was given is {now}")
        }
        EndpointMismatch::Set { variable, now } => {
            format!("it began without {variable}, and the daemon was given {variable}={now}")
        }
    }
}

#[cfg(test)]
mod tests {
    use offshoot_models::{Keys, Provider};

    use super::*;

    #[test]
    fn what_is_spent_is_told_as_budgets_are_written() {
        let limits = "10m, 1 step, 200k tokens".parse().unwrap();
        let time = Duration::from_millis(75_900);
        let sent = spent(&BudgetUsage { limits, tokens: 7, time, ..BudgetUsage::default() }).text;
        assert_eq!(sent, "7 of 200000 tokens, 1m15s of 10m, 0 of 1 step");
    }

    #[test]
    fn whoever_only_looks_is_told_what_the_daemon_lacks_and_nothing_of_here() {
        let (variable, began, now) = ("OPENAI_BASE_URL", "http://x/v1", "http://y/v1");
        let [began, now] = [began, now].map(str::to_owned);
        let key = "OPENAI_API_KEY".to_owned();
        let missing = Keys::default().access(Provider::OpenAi).unwrap_err();
        for (lacks, said) in [
            (missing.into(), "the daemon has no key for openai: set OPENAI_API_KEY"),
            (
                EndpointMismatch::NoKey(key.clone()),
                "it began with OPENAI_API_KEY, which the daemon does not have",
            ),
            (
                EndpointMismatch::Unset { variable, began: began.clone() },
                "it began with OPENAI_BASE_URL=http://x/v1, which the daemon does not have",
            ),
            (
                EndpointMismatch::Neither { variable, began: began.clone(), key },
                "it began with OPENAI_BASE_URL=http://x/v1 and OPENAI_API_KEY, which the daemon \
                 does not have",
            ),
            (
                EndpointMismatch::Elsewhere { variable, began, now: now.clone() },
                "it began with OPENAI_BASE_URL=http://x/v1, and what the daemon was given is \
                 http://y/v1",
            ),
            (
                EndpointMismatch::Set { variable, now },
                "it began without OPENAI_BASE_URL, and the daemon was given \
                 OPENAI_BASE_URL=http://y/v1",
            ),
        ] {
            assert_eq!(absent(&lacks), said);
        }
    }
}
