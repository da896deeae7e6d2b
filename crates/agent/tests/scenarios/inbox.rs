//! Messages to agents.

use std::sync::Arc;

use offshoot_core::{DeliveryMode, Outcome};
use offshoot_models::{AnswerEvent, Turn};
use serde_json::json;
use tokio::sync::Notify;

use crate::support::{Test, World, answers, heard, purpose};

#[tokio::test]
async fn s5_2_an_interrupt_cuts_the_model_and_is_read_next() -> Test {
    let begun = Arc::new(Notify::new());
    let tell = begun.clone();
    let world = World::new(move |call| {
        if heard(call).len() > 1 {
            return Turn::say("turned around");
        }
        tell.notify_one();
        Turn::Hang(vec![AnswerEvent::Text("half a".into())])
    })
    .await;
    let agent = world.agent("walk").await;
    begun.notified().await;
    agent.send("turn around").mode(DeliveryMode::Interrupt).await?;
    assert_eq!(agent.wait().await?.decode::<String>()?, "turned around");
    let asked = world.model.asked();
    assert_eq!(heard(&asked[1]), ["walk", "turn around"]);
    let kept = agent.peek().await?.blocks;
    assert!(kept.iter().any(|block| block.text.as_deref() == Some("half a")), "{kept:?}");
    Ok(())
}

#[tokio::test]
async fn s5_2_a_follow_up_is_read_when_the_turn_has_ended() -> Test {
    let begun = Arc::new(Notify::new());
    let tell = begun.clone();
    let go = Arc::new(Notify::new());
    let world = World::new(move |call| match answers(call) {
        0 => {
            tell.notify_one();
            Turn::call([("list_tasks", json!({}))])
        }
        1 => {
            assert_eq!(heard(call).len(), 1, "{:?}", heard(call));
            Turn::say("first turn")
        }
        _ => Turn::say(format!("then: {}", heard(call).join(" "))),
    })
    .await;
    drop(go);
    let agent = world.session.spawn(world.agents.request(&world.brief("walk"))?).await?;
    agent.send("and then?").mode(DeliveryMode::FollowUp).await?;
    begun.notified().await;
    assert_eq!(agent.wait().await?.decode::<String>()?, "then: and then?");
    Ok(())
}

#[tokio::test]
async fn s6_6_a_cancel_cuts_the_model_at_once_and_keeps_its_text() -> Test {
    let begun = Arc::new(Notify::new());
    let tell = begun.clone();
    let world = World::new(move |_| {
        tell.notify_one();
        Turn::Hang(vec![AnswerEvent::Text("so far".into())])
    })
    .await;
    let agent = world.agent("walk").await;
    begun.notified().await;
    // The chunk is taken right after the call.
    tokio::task::yield_now().await;
    agent.cancel("enough").await?;
    let ended = agent.wait().await?;
    let Some(Outcome::Cancelled { forced, .. }) = ended.outcome() else { panic!("{ended:?}") };
    assert!(!forced);
    let kept = agent.peek().await?.blocks;
    assert!(kept.iter().any(|block| block.text.as_deref() == Some("so far")), "{kept:?}");
    Ok(())
}

#[tokio::test]
async fn s5_5_a_message_to_an_agent_that_asks_is_the_answer() -> Test {
    let world = World::new(|call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"name": "a", "task": "child"}))]),
        ("lead", _) => {
            let whole = format!("{:?}", call.messages);
            let has = |words: &str| whole.contains(words);
            if has("it was told yes") {
                Turn::say("it is home")
            } else if has("kind=\\\"question\\\"") && !has("Answered question 1 of a.") {
                Turn::call([("send_message", json!({"to": "a", "text": "yes"}))])
            } else {
                Turn::say("waiting")
            }
        }
        (_, 0) => Turn::call([("ask", json!({"question": "may I?"}))]),
        (_, _) => Turn::say(format!("it was told {}", heard(call).join(" "))),
    })
    .await;
    assert_eq!(world.answer("lead").await, "it is home");
    Ok(())
}
