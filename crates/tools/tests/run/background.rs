//! Commands in the background: started at once, and reported once.

use offshoot_models::Turn;
use serde_json::json;

use crate::support::{Test, World, answers, notices, results, whole};

#[tokio::test(flavor = "multi_thread")]
async fn s11_1_a_background_command_returns_its_handle_and_reports_its_end_once() -> Test {
    let world = World::new(|call| match answers(call) {
        0 => {
            let command = "read x < gate; echo made; exit 4";
            Turn::call([(
                "run_command",
                json!({"command": command, "background": true, "name": "build"}),
            )])
        }
        1 => Turn::call([("run_command", json!({"command": "echo > gate"}))]),
        _ if !whole(call).contains("<notice") => Turn::say("waiting"),
        _ => Turn::say("over"),
    })
    .await;
    let made = std::process::Command::new("mkfifo").arg(world.place.at("work/gate")).status()?;
    assert!(made.success());
    assert_eq!(world.agent().await.wait().await?.decode::<String>()?, "over");
    let told = world.told();
    assert_eq!(notices(&told, "build"), 1, "{told}");
    let notice = told.split_once("<notice kind=\"result\" task=\"build\"").unwrap().1;
    assert!(
        notice.contains("outcome=\"failed\"") && notice.contains("exited with code 4"),
        "{notice}"
    );
    let begun = &results(world.model.asked().last().unwrap())[0];
    assert!(
        !begun.failed
            && begun.text.starts_with("Started in the background: build. IT HAS NOT ENDED"),
        "{begun:?}"
    );
    assert!(begun.text.contains("as a notice with task=\"build\""), "{begun:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_notice_of_a_completed_command_is_in_words() -> Test {
    let world = World::new(|call| match answers(call) {
        0 => {
            let asked = json!({"command": "echo one; echo two", "background": true, "name": "b"});
            Turn::call([("run_command", asked)])
        }
        _ if !whole(call).contains("<notice") => Turn::say("waiting"),
        _ => Turn::say("over"),
    })
    .await;
    assert_eq!(world.agent().await.wait().await?.decode::<String>()?, "over");
    let told = world.told();
    let notice = told.split_once("<notice kind=\"result\" task=\"b\"").unwrap().1;
    assert!(notice.contains("b completed\nExit code 0 after "), "{notice}");
    assert!(notice.contains("It wrote 8 bytes, of which the last line is:\ntwo"), "{notice}");
    assert!(!notice.contains("\"pid\""), "{notice}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_9_an_agent_does_not_end_before_its_commands() -> Test {
    let world = World::new(|call| match answers(call) {
        0 => Turn::call([(
            "run_command",
            json!({"command": "read x < gate; echo > done", "background": true}),
        )]),
        _ => Turn::say("over"),
    })
    .await;
    let made = std::process::Command::new("mkfifo").arg(world.place.at("work/gate")).status()?;
    assert!(made.success());
    let agent = world.agent().await;
    world.task("agent/command-1").await;
    assert!(!agent.wait().timeout(std::time::Duration::ZERO).await?.is_ended());
    let gate = world.place.at("work/gate");
    tokio::task::spawn_blocking(move || std::fs::write(gate, "\n")).await??;
    agent.wait().await?.decode::<String>()?;
    assert!(world.place.at("work/done").exists());
    Ok(())
}
