//! Calls that return before their command has ended.

use offshoot_core::DeliveryMode;
use offshoot_models::Turn;
use serde_json::json;

use crate::support::{Test, World, answers, notices, results, until_written, whole};

const GATED: &str = "echo begun; echo > begun; read x < gate; echo ran >> ran";

async fn world(arguments: serde_json::Value) -> World {
    let world = World::new(move |call| match answers(call) {
        0 => Turn::call([("run_command", arguments.clone())]),
        1 => Turn::call([("run_command", json!({"command": "echo > gate"}))]),
        _ if !whole(call).contains("<notice") => Turn::say("waiting"),
        _ => Turn::say("over"),
    })
    .await;
    let made =
        std::process::Command::new("mkfifo").arg(world.place.at("work/gate")).status().unwrap();
    assert!(made.success());
    world
}

/// Checks that the command continued, and that its end was reported once.
fn went_on(world: &World, why: &str) {
    let told = world.told();
    let first = &results(world.model.asked().last().unwrap())[0];
    assert!(first.text.starts_with(why), "{first:?}");
    assert!(
        first.text.contains("HAS NOT ENDED: it goes on in the background as long"),
        "{first:?}"
    );
    assert!(!first.failed, "{first:?}");
    assert_eq!(notices(&told, "long"), 1, "{told}");
    assert_eq!(world.place.read("work/ran"), "ran\n", "it ran once, to its end");
}

#[tokio::test(flavor = "multi_thread")]
async fn s11_4_a_message_leaves_the_command_running_in_the_background() -> Test {
    for mode in [DeliveryMode::Interrupt, DeliveryMode::Steer] {
        let world = world(json!({"command": GATED, "name": "long"})).await;
        let agent = world.agent().await;
        until_written(&world.place.at("work/begun")).await;
        agent.send("how is it going?").mode(mode).await?;
        assert_eq!(agent.wait().await?.decode::<String>()?, "over");
        went_on(&world, "A message for you came before it had ended.");
        assert!(world.told().contains("how is it going?"));
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn s11_1_a_command_that_takes_too_long_continues_in_the_background() -> Test {
    let world = world(json!({"command": GATED, "name": "long", "timeout_seconds": 1})).await;
    assert_eq!(world.agent().await.wait().await?.decode::<String>()?, "over");
    went_on(&world, "1 s are over.");
    let first = &results(world.model.asked().last().unwrap())[0];
    assert!(first.text.ends_with("So far it has written:\nbegun\n"), "{first:?}");
    Ok(())
}
