//! The reports of an agent whose model does not answer, and of questions without an answer.

use std::time::Duration;

use offshoot_agent::{AgentReport, ModelDelay};
use offshoot_core::{Outcome, Task};
use offshoot_models::{Answer, ModelError, Part, Provider, Stop, Turn, Usage};
use offshoot_runtime::TaskRef;
use serde_json::json;
use tokio::time::Instant;

use crate::support::{Test, World, answers, purpose};

fn limited(seconds: u64) -> Turn {
    let (provider, message) = (Provider::OpenAi, "slow down".to_owned());
    let retry_after = Some(Duration::from_secs(seconds));
    Turn::Fail(Vec::new(), ModelError::RateLimited { provider, retry_after, message })
}

fn cut_off(text: &str) -> Turn {
    let (parts, stop, usage) = (vec![Part::text(text)], Stop::Length, Usage::default());
    Turn::Answer(Answer { parts, stop, usage })
}

fn delay(task: &Task) -> Option<ModelDelay> {
    AgentReport::of(task).and_then(|report| report.model_delay)
}

/// The delays that the task reports until it ends, each once.
async fn delays(task: &TaskRef) -> Result<Vec<ModelDelay>, Box<dyn std::error::Error>> {
    let mut told: Vec<ModelDelay> = Vec::new();
    let mut records = task.watch();
    while let Some(record) = records.next().await {
        told.extend(delay(&record?));
        told.dedup();
    }
    Ok(told)
}

#[tokio::test(start_paused = true)]
async fn s8_4_an_agent_at_the_gate_reports_each_closing() -> Test {
    let mut calls = 0;
    let world = World::new(move |_| {
        calls += 1;
        match calls {
            1 => limited(300),
            2 => limited(200),
            _ => Turn::say("done"),
        }
    })
    .await;
    let (one, other) = (world.agent("one").await, world.agent("other").await);
    let (told, others) = tokio::join!(delays(&one), delays(&other));
    for told in [told?, others?] {
        assert!(told.len() >= 2, "{told:?}");
        for delay in told {
            assert_eq!(delay.held.as_deref(), Some("openai: it limits the rate of calls"));
            assert_eq!((delay.failed, delay.tries), (0, 6));
            assert!(delay.until.is_some(), "{delay:?}");
        }
    }
    // The delay is over.
    assert_eq!((delay(&one.record().await?), delay(&other.record().await?)), (None, None));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s4_7_the_error_of_one_agent_is_not_reported_by_another() -> Test {
    let mut calls = 0;
    let world = World::new(move |call| {
        calls += 1;
        match (purpose(call), calls) {
            ("own", 1) => {
                Turn::Fail(Vec::new(), ModelError::Truncated { message: "no end".into() })
            }
            ("other", 2) => limited(300),
            _ => Turn::say("done"),
        }
    })
    .await;
    let own = world.agent("own").await;
    let mut records = own.watch();
    while let Some(record) = records.next().await {
        if delay(&record?).is_some() {
            break;
        }
    }
    // The agent waits before its next attempt while the failure of another agent has closed the
    // gate.
    let other = world.agent("other").await;
    let (told, others) = tokio::join!(delays(&own), delays(&other));
    let (told, others) = (told?, others?);
    assert!(told.iter().any(|delay| delay.held.is_some()), "{told:?}");
    for delay in told {
        assert!(delay.error.contains("no end"), "{delay:?}");
        assert_eq!(delay.failed, 1);
    }
    for delay in others {
        assert!(delay.error.contains("slow down"), "{delay:?}");
        assert_eq!(delay.failed, 0);
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s8_4_a_retry_after_of_zero_still_waits_and_is_reported() -> Test {
    let mut calls = 0;
    let world = World::new(move |_| {
        calls += 1;
        if calls <= 6 { limited(0) } else { Turn::say("done") }
    })
    .await;
    let (begun, agent) = (Instant::now(), world.agent("ask").await);
    let told = delays(&agent).await?;
    assert!(!told.is_empty(), "it is told");
    assert!(told.iter().all(|delay| delay.held.is_some()), "{told:?}");
    // The waits are at least half of 1, 2, 4, 8, 16 and 32 seconds.
    assert!(begun.elapsed() >= Duration::from_secs(31), "{:?}", begun.elapsed());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s8_4_a_call_that_always_fails_holds_up_its_agent_alone() -> Test {
    for retry_after in [None, Some(Duration::ZERO)] {
        let world = World::new(move |call| match purpose(call) {
            "poisoned" => {
                let (provider, message) = (Provider::OpenAi, "out of order".to_owned());
                Turn::Fail(Vec::new(), ModelError::Overloaded { provider, retry_after, message })
            }
            _ => Turn::say("done"),
        })
        .await;
        let (begun, poisoned) = (Instant::now(), world.agent("poisoned").await);
        let mut records = poisoned.watch();
        let mut failed = 0;
        while let Some(record) = records.next().await {
            let Some(delay) = delay(&record?).filter(|delay| delay.failed > failed) else {
                continue;
            };
            failed = delay.failed;
            assert_eq!(delay.held, None);
            let begun = Instant::now();
            world.agent("innocent").await.wait().await?;
            assert!(begun.elapsed() < Duration::from_millis(500), "{:?}", begun.elapsed());
        }
        assert_eq!(failed, 5);
        // The waits are at least half of 2, 4, 8, 16 and 32 seconds, regardless of the answers
        // to other agents.
        assert!(begun.elapsed() >= Duration::from_secs(31), "{:?}", begun.elapsed());
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s10_3_each_failed_attempt_is_reported_until_one_succeeds() -> Test {
    let mut calls = 0;
    let world = World::new(move |_| {
        calls += 1;
        match calls {
            1..=3 => Turn::Fail(Vec::new(), ModelError::Truncated { message: "no end".into() }),
            _ => Turn::say("done"),
        }
    })
    .await;
    let agent = world.agent("try").await;
    let told: Vec<u32> = delays(&agent).await?.iter().map(|delay| delay.failed).collect();
    assert_eq!(told, [1, 2, 3]);
    assert_eq!(delay(&agent.record().await?), None);
    Ok(())
}

#[tokio::test]
async fn s2_7_the_text_of_an_answer_cut_twice_is_kept() -> Test {
    let world = World::new(|call| match answers(call) {
        0 => cut_off("half of it"),
        _ => cut_off("a shorter half"),
    })
    .await;
    let ended = world.agent("tell").await.wait().await?;
    let Some(Outcome::Failed(failure)) = ended.outcome() else { panic!("{ended:?}") };
    assert!(failure.message.contains("cut off"), "{failure}");
    assert!(failure.message.ends_with("a shorter half"), "{failure}");
    Ok(())
}

#[tokio::test]
async fn s5_5_an_agent_that_leaves_questions_unanswered_says_so() -> Test {
    let world = World::new(|call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"name": "kid", "task": "ask"}))]),
        ("lead", _) => Turn::say("I leave it at that."),
        (_, 0) => Turn::call([("ask", json!({"question": "Which?"}))]),
        _ => Turn::say("done"),
    })
    .await;
    let lead = world.agent("lead").await;
    let unanswered = |task: &Task| AgentReport::of(task).map_or(0, |report| report.unanswered);
    let mut records = lead.watch();
    while let Some(record) = records.next().await {
        if unanswered(&record?) == 1 {
            break;
        }
    }
    world.child("kid").await.answer(1, &"this").await?;
    let ended = lead.wait().await?;
    assert_eq!(ended.decode::<String>()?, "I leave it at that.");
    assert_eq!(unanswered(&lead.record().await?), 0);
    Ok(())
}
