//! Turns: the text of an agent, and its end.

use offshoot_agent::{AgentReport, Limits};
use offshoot_core::{FailureKind, Outcome};
use offshoot_models::{ModelError, Provider, Turn};
use serde_json::json;

use crate::support::{Test, World, answers, heard};

#[tokio::test]
async fn s12_2_the_answer_is_the_final_text() -> Test {
    let world = World::new(|_| Turn::say("four")).await;
    assert_eq!(world.answer("what is 2 + 2?").await, "four");
    let asked = world.model.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(heard(&asked[0]), ["what is 2 + 2?"]);
    Ok(())
}

#[tokio::test]
async fn s12_2_steps_are_counted() -> Test {
    let world = World::new(|call| match answers(call) {
        0 => Turn::call([("list_tasks", json!({}))]),
        _ => Turn::say("done"),
    })
    .await;
    let agent = world.agent("look").await;
    agent.wait().await?;
    let report = AgentReport::of(&agent.record().await?).unwrap();
    assert_eq!((report.steps, report.tool_calls), (2, 1));
    assert!(report.usage.input > 0 && report.cost.is_some(), "{report:?}");
    Ok(())
}

#[tokio::test]
async fn s11_3_an_empty_answer_is_requested_again_once_and_then_fails() -> Test {
    let world = World::new(|_| Turn::say("  ")).await;
    let ended = world.agent("speak").await.wait().await?;
    let Some(Outcome::Failed(failure)) = ended.outcome() else { panic!("{ended:?}") };
    assert_eq!(failure.message, "ended without an answer");
    assert_eq!(world.model.asked().len(), 2);
    Ok(())
}

#[tokio::test]
async fn s11_3_a_result_fits_its_schema_or_is_repaired_once() -> Test {
    let schema = json!({
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": false,
    });
    let world = World::new(|call| match answers(call) {
        0 => Turn::call([("finish", json!({"n": "three"}))]),
        1 => Turn::say("It is three."),
        _ => Turn::call([("finish", json!({"n": 3}))]),
    })
    .await;
    let agent = world.agent_of(&world.brief("count").result_schema(schema.clone())).await;
    assert_eq!(agent.wait().await?.decode::<serde_json::Value>()?, json!({"n": 3}));
    let asked = world.model.asked();
    assert!(heard(&asked[1])[0].contains("does not fit its schema"), "{:?}", heard(&asked[1]));
    assert!(heard(&asked[2])[0].contains("without a result"), "{:?}", heard(&asked[2]));

    let world = World::new(|_| Turn::say("never")).await;
    let brief = world.brief("count").result_schema(schema.clone());
    let ended = world.agent_of(&brief).await.wait().await?;
    let Some(Outcome::Failed(failure)) = ended.outcome() else { panic!("{ended:?}") };
    assert_eq!(failure.kind, FailureKind::InvalidResult);

    let world = World::new(|_| Turn::call([("finish", json!({"n": "many"}))])).await;
    let ended = world.agent_of(&world.brief("count").result_schema(schema)).await.wait().await?;
    let Some(Outcome::Failed(failure)) = ended.outcome() else { panic!("{ended:?}") };
    assert_eq!(failure.kind, FailureKind::InvalidResult);
    assert_eq!(world.model.asked().len(), 2, "it was told once what is wrong");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn temporary_errors_are_retried_and_other_errors_fail() -> Test {
    let cut = || ModelError::Truncated { message: "no end".into() };
    let mut tries = 0;
    let world = World::new(move |_| {
        tries += 1;
        if tries < 3 { Turn::Fail(Vec::new(), cut()) } else { Turn::say("at last") }
    })
    .await;
    assert_eq!(world.answer("try").await, "at last");

    let (provider, message) = (Provider::OpenAi, "no such model".to_owned());
    let bad = ModelError::BadRequest { provider, message };
    let world = World::new(move |_| Turn::Fail(Vec::new(), bad.clone())).await;
    let ended = world.agent("try").await.wait().await?;
    assert!(format!("{:?}", ended.outcome()).contains("no such model"));
    assert_eq!(world.model.asked().len(), 1);

    let always = move |_: &_| Turn::Fail(Vec::new(), cut());
    let limits = Limits { tries: 3, ..Limits::default() };
    let world = World::with(always, |agents| agents.limits(limits)).await;
    let ended = world.agent("try").await.wait().await?;
    assert!(format!("{:?}", ended.outcome()).contains("in 3 tries"));
    Ok(())
}
