//! Agents before the gate, and those whose model fails.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{Mode, State, WaitingOn};
use offshoot_models::{ModelError, Provider, Turn};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::support::{Test, World, heard};

#[tokio::test(start_paused = true)]
async fn s8_4_what_is_said_to_one_that_waits_at_the_gate_is_in_its_next_call() -> Test {
    let mut calls = 0;
    let world = World::new(move |_| {
        calls += 1;
        let (provider, retry_after) = (Provider::OpenAi, Some(Duration::from_secs(300)));
        let limited = ModelError::RateLimited { provider, retry_after, message: String::new() };
        if calls == 1 { Turn::Fail(Vec::new(), limited) } else { Turn::say("blue it is") }
    })
    .await;
    let agent = world.agent("paint").await;
    let mut records = agent.watch();
    while let Some(record) = records.next().await {
        if record?.state == State::Waiting(WaitingOn::RateGate) {
            break;
        }
    }
    agent.send("do it in blue").await?;
    assert_eq!(agent.wait().await?.decode::<String>()?, "blue it is");
    let asked = world.model.asked();
    assert_eq!(heard(&asked[1]), ["paint", "do it in blue"]);
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
    agent.send("hurry").mode(Mode::Interrupt).await?;
    assert_eq!(agent.wait().await?.decode::<String>()?, "at last");
    let times = times.lock();
    for (at, least) in [(0, 1), (1, 2), (3, 4), (4, 8)] {
        let gap = times[at + 1] - times[at];
        assert!(gap >= Duration::from_secs(least), "after call {}: {gap:?}", at + 1);
    }
    Ok(())
}
