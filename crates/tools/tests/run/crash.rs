//! Commands whose runtime dies.

use offshoot_models::{Call, Turn};
use serde_json::json;

use crate::support::{Confined, Test, TestDirs, World, answers, notices, results, until_written};

fn script(call: &Call) -> Turn {
    match answers(call) {
        0 => {
            let command = "echo ran >> ran; echo > begun; sleep 1000";
            Turn::call([("run_command", json!({"command": command, "name": "long"}))])
        }
        _ => Turn::say("over"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s9_4_a_call_that_is_repeated_finds_its_command_and_runs_nothing_twice() -> Test {
    let place = TestDirs::new();
    let world = World::open(&place, Confined::No, script).await;
    let agent = world.agent().await.id();
    until_written(&place.at("work/begun")).await;
    drop(world);
    let world = World::open(&place, Confined::No, script).await;
    let agent = world.runtime.task(&agent.to_string()).await?;
    assert_eq!(agent.wait().await?.decode::<String>()?, "over");
    let result = results(world.model.asked().last().unwrap()).remove(0);
    assert!(
        result.failed && result.text.starts_with("LOST: whether it took effect is unknown"),
        "{result:?}"
    );
    assert_eq!(place.read("work/ran"), "ran\n", "it ran once");
    assert_eq!(notices(&world.told(), "long"), 0, "its end is told once");
    let tasks = world.runtime.tasks().kind("command").await?.items;
    assert_eq!(tasks.len(), 1, "{tasks:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn s9_4_a_repeated_call_finds_its_command_despite_other_settings() -> Test {
    let place = TestDirs::new();
    let world = World::open(&place, Confined::No, script).await;
    let agent = world.agent().await.id();
    until_written(&place.at("work/begun")).await;
    drop(world);
    // A sandboxed command would be another one.
    let world = World::open(&place, Confined::Yes, script).await;
    let agent = world.runtime.task(&agent.to_string()).await?;
    assert_eq!(agent.wait().await?.decode::<String>()?, "over");
    let result = results(world.model.asked().last().unwrap()).remove(0);
    assert!(result.text.starts_with("LOST"), "{result:?}");
    assert_eq!(place.read("work/ran"), "ran\n", "it ran once");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn s9_3_a_result_from_before_a_crash_is_reported_after_it() -> Test {
    let script = |call: &Call| match answers(call) {
        0 => Turn::call([
            ("run_command", json!({"command": "echo quick | tee -a ran", "name": "quick"})),
            ("run_command", json!({"command": "sleep 1000", "name": "long"})),
        ]),
        _ => Turn::say("over"),
    };
    let place = TestDirs::new();
    let world = World::open(&place, Confined::No, script).await;
    let agent = world.agent().await.id();
    world.task("agent/quick").await.wait().await?;
    world.task("agent/long").await;
    drop(world);
    let world = World::open(&place, Confined::No, script).await;
    let agent = world.runtime.task(&agent.to_string()).await?;
    assert_eq!(agent.wait().await?.decode::<String>()?, "over");
    let results = results(world.model.asked().last().unwrap());
    assert!(results[0].text.starts_with("Exit code 0"), "{results:?}");
    assert!(results[0].text.ends_with("It wrote:\nquick\n"), "{results:?}");
    assert!(results[1].failed, "{results:?}");
    assert_eq!(place.read("work/ran"), "quick\n", "it ran once");
    let told = world.told();
    assert_eq!(notices(&told, "quick") + notices(&told, "long"), 0, "{told}");
    Ok(())
}
