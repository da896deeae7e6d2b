//! The stop of commands, which leaves no process behind.

use std::time::Duration;

use offshoot_core::{FailureKind, Outcome, TaskState};

use crate::support::{Records, Test, World, bytes, failure, forced, report, reported, runs};
use offshoot_backends::LogLimits;

#[tokio::test]
async fn s6_1_a_cancelled_command_is_asked_to_end_and_does() -> Test {
    for records in [Records::Memory, Records::Sqlite] {
        let world = World::on(records, LogLimits::default()).await;
        let task = world.spawn("echo on; exec sleep 1000").await;
        world.until_line(&task, "on").await;
        task.cancel("enough").await?;
        let task = task.wait().await?.task;
        assert!(!forced(&task), "it ended when it was asked");
        assert_eq!(report(&task).signal, Some(15));
        assert!(!runs(&report(&task).pid.unwrap().to_string()));
    }
    Ok(())
}

#[tokio::test]
async fn s2_6_another_exit_after_our_own_term_is_cancelled() -> Test {
    let world = World::open().await;
    let task =
        world.spawn("trap 'echo bye; exit 5' TERM; echo on; while :; do sleep 0.01; done").await;
    world.until_line(&task, "on").await;
    task.cancel("enough").await?;
    let task = task.wait().await?.task;
    assert!(!forced(&task));
    assert_eq!(report(&task).exit, Some(5));
    let said = String::from_utf8(bytes(&world.log(&task)).await)?;
    assert!(said.contains("bye\n"), "what it says at last is kept: {said}");
    Ok(())
}

#[tokio::test]
async fn s2_6_exit_zero_after_our_own_term_is_completed() -> Test {
    let world = World::open().await;
    let task = world.spawn("trap 'exit 0' TERM; echo on; while :; do sleep 0.01; done").await;
    world.until_line(&task, "on").await;
    task.cancel("enough").await?;
    let task = task.wait().await?.task;
    assert!(matches!(task.ended(), Some(Outcome::Completed { cancel_requested: true, .. })));
    Ok(())
}

#[tokio::test]
async fn s6_1_a_command_that_ignores_term_is_killed_after_its_grace() -> Test {
    let world = World::open().await;
    let task = world.spawn("trap '' TERM; echo on; while :; do sleep 0.01; done").await;
    world.until_line(&task, "on").await;
    task.cancel("enough").grace(Duration::from_millis(50)).await?;
    let task = task.wait().await?.task;
    assert!(forced(&task));
    assert_eq!(report(&task).signal, Some(9), "the last report is written, too");
    assert!(report(&task).duration_ms.is_some());
    Ok(())
}

#[tokio::test]
async fn s6_1_members_that_left_the_group_are_ended_too() -> Test {
    let world = World::open().await;
    let script =
        "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 0.01; done' &
        until test -s pid; do :; done; echo on; while :; do sleep 0.01; done";
    let task = world.spawn(script).await;
    world.until_line(&task, "on").await;
    let pid = std::fs::read_to_string(world.folder.path().join("pid"))?;
    assert!(runs(&pid));
    task.cancel("enough").grace(Duration::from_millis(50)).await?;
    assert!(forced(&task.wait().await?.task));
    assert!(!runs(&pid), "`cancelled` is said only once everything is gone");
    Ok(())
}

#[tokio::test]
async fn s6_1_a_member_that_left_its_group_its_parents_and_its_environment_is_ended_too() -> Test {
    let world = World::open().await;
    std::fs::write(world.folder.path().join("leave"), "setsid sh stray &")?;
    std::fs::write(world.folder.path().join("stray"), "echo $$ > pid; exec sleep 1000")?;
    let script = "env -i PATH=\"$PATH\" sh leave; until test -s pid; do :; done; echo on; read end";
    let task = world.spawn(script).await;
    world.until_line(&task, "on").await;
    let pid = std::fs::read_to_string(world.folder.path().join("pid"))?;
    assert!(runs(&pid));
    task.cancel("enough").await?;
    task.wait().await?;
    assert!(!runs(&pid));
    Ok(())
}

#[tokio::test]
async fn s6_1_a_stray_that_heeds_term_gets_it_with_the_cancel() -> Test {
    let world = World::open().await;
    let script = "setsid sh -c 'trap \"echo told >> heard; exit\" TERM; echo on; while :; do sleep 0.01; done' & wait";
    let task = world.spawn(script).await;
    world.until_line(&task, "on").await;
    task.cancel("enough").await?;
    task.wait().await?;
    assert!(std::fs::read_to_string(world.folder.path().join("heard"))?.starts_with("told"));
    Ok(())
}

#[tokio::test]
async fn a_stopped_command_hears_the_request_to_end() -> Test {
    let world = World::open().await;
    let task = world.spawn("echo on; kill -STOP $$; echo never").await;
    world.until_line(&task, "on").await;
    task.cancel("enough").await?;
    assert!(!forced(&task.wait().await?.task));
    Ok(())
}

#[tokio::test]
async fn s2_6_a_command_that_takes_too_long_fails_and_is_gone() -> Test {
    let world = World::open().await;
    let request = world.request(world.script("trap 'exit 15' TERM; while :; do sleep 0.01; done"));
    let task = world.session.spawn(request).timeout(Duration::from_millis(300)).await?;
    let task = task.wait().await?.task;
    assert_eq!(failure(&task).kind, FailureKind::Timeout);
    let told = report(&task);
    assert_eq!(told.exit.or(told.signal), Some(15), "it was asked, not killed: {told:?}");
    Ok(())
}

#[tokio::test]
async fn s2_6_a_command_that_takes_too_long_and_does_not_heed_is_killed() -> Test {
    let world = World::open().await;
    let request = world.request(world.script("trap '' TERM; while :; do sleep 0.01; done"));
    let spawn = world.session.spawn(request).timeout(Duration::from_millis(100));
    let task = spawn.grace(Duration::from_millis(50)).await?.wait().await?.task;
    assert_eq!(failure(&task).kind, FailureKind::Timeout);
    assert_eq!(report(&task).signal, Some(9));
    Ok(())
}

#[tokio::test]
async fn s6_8_a_shutdown_ends_commands_and_says_so() -> Test {
    let world = World::on(Records::Sqlite, LogLimits::default()).await;
    let task = world.spawn("echo on; exec sleep 1000").await;
    world.until_line(&task, "on").await;
    let pid = reported(&task).await.pid.unwrap().to_string();
    let (folder, id) = (world.folder.clone(), task.id());
    assert_eq!(world.runtime.shutdown(Duration::from_secs(20)).await?, 0);
    assert!(!runs(&pid));
    let world = World::again(folder, Records::Sqlite, LogLimits::default()).await;
    let task = world.runtime.get(id).await?.unwrap();
    assert_eq!(task.state, TaskState::Cancelled);
    assert_eq!(report(&task).signal, Some(15));
    Ok(())
}
