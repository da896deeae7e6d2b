//! The ends of commands, and their texts.

use offshoot_agent::Brief;
use offshoot_models::Turn;
use serde_json::json;

use crate::support::{
    Confined, Test, TestDirs, World, answers, calls, notices, results, run, runs, until_written,
};

#[tokio::test(flavor = "multi_thread")]
async fn s2_6_an_exit_and_a_signal_are_reported() {
    let good = run("echo fine").await;
    assert!(!good.failed, "{good:?}");
    assert!(
        good.text.starts_with("Exit code 0 after ") && good.text.ends_with("It wrote:\nfine\n"),
        "{good:?}"
    );
    let quiet = run("true").await;
    assert!(!quiet.failed && quiet.text.ends_with("It wrote nothing."), "{quiet:?}");
    let bad = run("echo no >&2; exit 3").await;
    assert!(bad.failed && bad.text.starts_with("FAILED: exit code 3 after "), "{bad:?}");
    assert!(bad.text.ends_with("It wrote:\nno\n"), "{bad:?}");
    let killed = run("kill -9 $$").await;
    assert!(
        killed.failed && killed.text.starts_with("FAILED: it was ended by signal 9 (SIGKILL)"),
        "{killed:?}"
    );
    let unknown = run("no-such-program-here").await;
    assert!(unknown.failed && unknown.text.starts_with("FAILED: exit code 127"), "{unknown:?}");
    let wrong = run("if").await;
    assert!(wrong.failed && wrong.text.contains("Syntax error"), "{wrong:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_reads_input_gets_its_end_and_a_hint() {
    for command in ["read x", "python3 -c 'input(\"Name: \")'"] {
        let result = run(command).await;
        assert!(result.failed && result.text.contains("Commands get no input"), "{result:?}");
    }
    let copied = run("cat; echo $?").await;
    assert!(!copied.failed && copied.text.ends_with("It wrote:\n0\n"), "{copied:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn s11_1_the_end_of_a_foreground_command_is_reported_once() -> Test {
    let world = World::new(|call| match answers(call) {
        0 => Turn::call([
            ("run_command", json!({"command": "echo one", "name": "one"})),
            ("run_command", json!({"command": "exit 2", "name": "two"})),
        ]),
        1 => Turn::call([("list_tasks", json!({}))]),
        _ => Turn::say("over"),
    })
    .await;
    world.agent().await.wait().await?.decode::<String>()?;
    let told = world.told();
    assert_eq!(notices(&told, "one") + notices(&told, "two"), 0, "{told}");
    let results = results(world.model.asked().last().unwrap());
    assert!(results[0].text.contains("one") && results[1].failed, "{results:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn s6_1_a_cancel_ends_all_processes_of_a_command() -> Test {
    let command = "(sleep 1000 & echo $! > child; wait) & echo $$ > leader; wait";
    let world = World::calling(json!({"command": command})).await;
    let agent = world.agent().await;
    let child = until_written(&world.place.at("work/child")).await;
    let leader = until_written(&world.place.at("work/leader")).await;
    assert!(runs(&child) && runs(&leader));
    agent.cancel("enough").await?;
    agent.wait().await?;
    assert!(!runs(&child) && !runs(&leader), "nothing is left");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_command_is_reported_as_cancelled() -> Test {
    let world =
        World::calling(json!({"command": "echo $$ > pid; sleep 1000", "name": "long"})).await;
    let agent = world.agent().await;
    until_written(&world.place.at("work/pid")).await;
    world.task("agent/long").await.cancel("not needed").await?;
    agent.wait().await?.decode::<String>()?;
    let result = results(world.model.asked().last().unwrap()).remove(0);
    assert!(result.failed && result.text.starts_with("CANCELLED"), "{result:?}");
    assert!(result.text.contains("not needed"), "{result:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_call_is_refused_and_runs_no_command() {
    for (arguments, said) in [
        (json!({"command": "  "}), "the command is empty"),
        (json!({"command": "touch x", "folder": ".."}), "is not inside of the one you work in"),
        (json!({"command": "touch x", "folder": "/"}), "is not inside of the one you work in"),
        (json!({"command": "touch x", "folder": "out"}), "is reached over a link"),
        (json!({"command": "touch x", "folder": "none"}), "is not there"),
        (
            json!({"command": "touch x", "background": true, "timeout_seconds": 3}),
            "is not waited for",
        ),
        (json!({"command": "touch x", "cwd": "/"}), "there is no field \"cwd\""),
        (json!({"command": "touch x", "name": "a/b"}), "must not contain '/'"),
        (json!({"command": "touch x\u{0}"}), "zero byte"),
        (json!({}), "command"),
    ] {
        let place = TestDirs::new();
        std::os::unix::fs::symlink(place.at("data"), place.at("work/out")).unwrap();
        let world = World::open(&place, Confined::No, calls(arguments.clone())).await;
        let result = world.result().await;
        assert!(result.failed && result.text.contains(said), "{arguments}: {result:?}");
        assert!(!place.at("work/x").exists() && !place.at("data/x").exists(), "{arguments}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_starts_where_it_is_told() -> Test {
    let world = World::calling(json!({"command": "pwd; echo $PWD", "folder": "a/b"})).await;
    std::fs::create_dir_all(world.place.at("work/a/b"))?;
    let folder = world.place.at("work/a/b").display().to_string();
    let text = world.result().await.text;
    assert!(text.ends_with(&format!("It wrote:\n{folder}\n{folder}\n")), "{text}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_without_a_folder_or_in_one_over_a_link_runs_nothing() -> Test {
    let world = World::calling(json!({"command": "true"})).await;
    let link = world.place.at("link");
    std::os::unix::fs::symlink(world.place.at("work"), &link)?;
    let model = |folder: Option<&std::path::Path>| {
        let brief = Brief::new("scripted/model".parse().unwrap(), "work");
        folder.map_or(brief.clone(), |folder| brief.folder(folder))
    };
    for (brief, said) in
        [(model(None), "you work in no folder"), (model(Some(&link)), "over a link")]
    {
        let agent = world.session.spawn(world.agents.request(&brief)?).await?;
        agent.wait().await?.decode::<String>()?;
        let told = world.told();
        assert!(told.contains(said), "{told}");
    }
    Ok(())
}
