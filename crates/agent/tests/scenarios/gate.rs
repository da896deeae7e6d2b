//! Agents at the rate gate, and agents whose model fails.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{DeliveryMode, Outcome, TaskState, WaitingOn};
use offshoot_models::{ModelError, Provider, Turn};
use offshoot_runtime::{TaskRef, WhyReason};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::support::{Test, World, heard};

#[tokio::test(start_paused = true)]
async fn s8_4_a_message_to_an_agent_at_the_gate_is_in_its_next_call() -> Test {
    let mut calls = 0;
    let world = World::new(move |_| {
        calls += 1;
        let (provider, retry_after) = (Provider::OpenAi, Some(Duration::from_secs(300)));
        let limited = ModelError::RateLimited { provider, retry_after, message: String::new() };
        if calls == 1 { Turn::Fail(Vec::new(), limited) } else { Turn::say("blue it is") }
    })
    .await;
    let agent = world.agent("paint").await;
    until(&agent, |on| matches!(on, WaitingOn::RateGate(_))).await?;
    agent.send("do it in blue").await?;
    assert_eq!(agent.wait().await?.decode::<String>()?, "blue it is");
    let asked = world.model.asked();
    assert_eq!(heard(&asked[1]), ["paint", "do it in blue"]);
    Ok(())
}

/// A world in which the first call fails with this error and the next one succeeds.
async fn failing_once(error: ModelError) -> World {
    let mut error = Some(error);
    World::new(move |_| match error.take() {
        Some(error) => Turn::Fail(Vec::new(), error),
        None => Turn::say("through"),
    })
    .await
}

fn limited(retry_after: Duration) -> ModelError {
    let (provider, retry_after) = (Provider::OpenAi, Some(retry_after));
    ModelError::RateLimited { provider, retry_after, message: String::new() }
}

/// Waits until the task waits for this.
async fn until(task: &TaskRef, on: impl Fn(WaitingOn) -> bool) -> Test {
    let mut records = task.watch();
    while let Some(record) = records.next().await {
        let state = record?.state;
        assert!(!state.is_terminal(), "{state}");
        if matches!(state, TaskState::Waiting(waits) if on(waits)) {
            break;
        }
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s8_4_an_agent_waits_a_day_on_request_and_why_shows_the_end() -> Test {
    let day = Duration::from_secs(24 * 60 * 60);
    for told in [day, day * 1_000] {
        let world = failing_once(limited(told)).await;
        let (begun, agent) = (Instant::now(), world.agent("ask").await);
        until(&agent, |on| matches!(on, WaitingOn::RateGate(_))).await?;
        let why = agent.why().await?;
        let [WhyReason::RateGate(Some(until))] = why.reasons[..] else { panic!("{why:?}") };
        assert!(why.to_string().contains(&format!("closed until {until}")), "{why}");
        let closed = until.since(agent.record().await?.since);
        assert!(closed <= day + Duration::from_secs(60), "{closed:?}");
        assert!(closed > day - Duration::from_secs(60), "{closed:?}");
        assert_eq!(agent.wait().await?.decode::<String>()?, "through");
        assert!((day..day * 2).contains(&begun.elapsed()), "{:?}", begun.elapsed());
        assert_eq!(world.model.asked().len(), 2);
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s6_6_a_cancel_cuts_an_agent_at_the_gate_and_between_tries_at_once() -> Test {
    let cut = ModelError::Truncated { message: String::new() };
    for error in [limited(Duration::from_secs(80_000)), cut] {
        let world = failing_once(error.clone()).await;
        let agent = world.agent("ask").await;
        until(&agent, |on| matches!(on, WaitingOn::RateGate(_) | WaitingOn::Timer(_))).await?;
        let begun = Instant::now();
        agent.cancel("enough").await?;
        let ended = agent.wait().await?;
        let Some(Outcome::Cancelled { forced: false, .. }) = ended.outcome() else {
            panic!("{error}: {ended:?}");
        };
        assert_eq!(begun.elapsed(), Duration::ZERO, "{error}");
        assert_eq!(world.model.asked().len(), 1);
    }
    Ok(())
}

#[tokio::test]
async fn an_address_where_something_else_answers_is_asked_once() -> Test {
    let (provider, variable) = (Provider::OpenAi, "OPENAI_BASE_URL");
    let (address, came) = ("http://127.0.0.1:1".to_owned(), "a page came".to_owned());
    let world = failing_once(ModelError::Endpoint { provider, address, came, variable }).await;
    let ended = world.agent("ask").await.wait().await?;
    let Some(Outcome::Failed(failure)) = ended.outcome() else { panic!("{ended:?}") };
    for said in ["http://127.0.0.1:1", "a page came", variable] {
        assert!(failure.message.contains(said), "{failure:?}");
    }
    assert_eq!(world.model.asked().len(), 1);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s5_2_an_interrupt_does_not_shorten_the_time_between_tries_for_ever() -> Test {
    let times = Arc::new(Mutex::new(Vec::new()));
    let (seen, hung) = (times.clone(), Arc::new(tokio::sync::Notify::new()));
    let tell = hung.clone();
    let world = World::new(move |_| {
        let mut times = seen.lock();
        times.push(Instant::now());
        match times.len() {
            1 | 2 | 4 | 5 => {
                Turn::Fail(Vec::new(), ModelError::Truncated { message: String::new() })
            }
            3 => {
                tell.notify_one();
                Turn::Hang(Vec::new())
            }
            _ => Turn::say("at last"),
        }
    })
    .await;
    let agent = world.agent("try").await;
    hung.notified().await;
    agent.send("hurry").mode(DeliveryMode::Interrupt).await?;
    assert_eq!(agent.wait().await?.decode::<String>()?, "at last");
    let times = times.lock();
    for (at, least) in [(0, 1), (1, 2), (3, 4), (4, 8)] {
        let gap = times[at + 1] - times[at];
        assert!(gap >= Duration::from_secs(least), "after call {}: {gap:?}", at + 1);
    }
    Ok(())
}
