//! Messages as a command's standard input.

use offshoot_core::{MessageState, RowBody, TaskState};
use offshoot_runtime::Error;

use crate::support::{Test, World, bytes};

#[tokio::test]
async fn each_message_is_a_line_and_one_closes_the_input() -> Test {
    let world = World::open().await;
    let request = world.request(world.command("cat"));
    let task = world.session.spawn(request).message("first").await?;
    task.send("second\n").await?;
    task.send("").await?;
    task.send("third\nfourth").await?;
    task.send("").last().await?;
    let task = task.wait().await?.task;
    assert_eq!(task.state, TaskState::Completed);
    assert_eq!(bytes(&world.log(&task)).await, b"first\nsecond\n\nthird\nfourth\n");
    Ok(())
}

#[tokio::test]
async fn s5_1_unwritten_messages_return_to_their_sender() -> Test {
    let world = World::open().await;
    let task = world.spawn("exec <&-; echo closed; until test -e go; do sleep 0.01; done").await;
    world.until_line(&task, "closed").await;
    task.send("never read").await?;
    task.send("nor this").await?;
    std::fs::write(world.folder.path().join("go"), "")?;
    task.wait().await?;
    let rows = world.session.drain(10).await?;
    let returned: Vec<_> = rows
        .iter()
        .filter_map(|row| match row.body() {
            RowBody::Returned(message) | RowBody::Message(message) => {
                Some(message.text.to_string())
            }
            _ => None,
        })
        .collect();
    assert_eq!(returned, ["never read", "nor this"]);
    Ok(())
}

#[tokio::test]
async fn a_command_that_does_not_read_delays_no_other() -> Test {
    let world = World::open().await;
    let task = world.spawn("echo on; until test -e go; do sleep 0.01; done; echo off").await;
    world.until_line(&task, "on").await;
    // More than any pipe takes.
    for _ in 0..40 {
        task.send(&"x".repeat(60_000)).await?;
    }
    std::fs::write(world.folder.path().join("go"), "")?;
    let task = task.wait().await?.task;
    assert_eq!(task.state, TaskState::Completed);
    assert_eq!(bytes(&world.log(&task)).await, b"on\noff\n");
    Ok(())
}

#[tokio::test]
async fn results_of_tasks_below_stay_unread() -> Test {
    let world = World::open().await;
    let task = world.spawn("while read line; do echo got $line; done").await;
    let below = world.request(world.script("exit 0"));
    let below = world.session.spawn(below).under(&task).await?;
    below.wait().await?;
    task.send("a").await?;
    task.send("b").await?;
    world.until_line(&task, "got b").await;
    task.send("").last().await?;
    assert_eq!(task.wait().await?.task.state, TaskState::Completed);
    let rows = world.session.drain(10).await?;
    let results: Vec<_> =
        rows.iter().filter_map(|row| row.result()).map(|task| task.id()).collect();
    assert!(results.contains(&below.id()), "its owner did not read it, so its recipient gets it");
    Ok(())
}

#[tokio::test]
async fn s5_1_unread_messages_of_a_child_are_no_input_of_its_owner() -> Test {
    let world = World::open().await;
    let task = world.spawn("while read line; do echo got $line; done").await;
    let below = world.request(world.script("exec <&-; echo closed; exec sleep 1000"));
    let below = world.session.spawn(below).under(&task).await?;
    // From outside, so that there is no sender to give them back to.
    let host = world.runtime.task(&below.id().to_string()).await?;
    world.until_line(&below, "closed").await;
    host.send("for the one below").await?;
    host.send("").last().await?;
    host.cancel("enough").await?;
    host.wait().await?;
    task.send("for the owner").await?;
    task.send("").last().await?;
    let task = task.wait().await?.task;
    assert_eq!(bytes(&world.log(&task)).await, b"got for the owner\n");
    Ok(())
}

#[tokio::test]
async fn only_the_last_message_ends_the_input_whatever_others_say() -> Test {
    let world = World::open().await;
    let task = world.session.spawn(world.request(world.command("cat"))).await?;
    task.send("\u{4}").await?;
    task.send("the end").last().await?;
    let task = task.wait().await?.task;
    assert_eq!(task.state, TaskState::Completed);
    assert_eq!(bytes(&world.log(&task)).await, b"\x04\nthe end\n");
    Ok(())
}

#[tokio::test]
async fn s5_4_behind_the_last_message_there_is_room_for_no_other() -> Test {
    let world = World::open().await;
    let task = world.spawn("cat; echo over; until test -e go; do sleep 0.01; done").await;
    let last = task.send("").last().key("once").await?.first().unwrap();
    let refused = task.send("too late").await.unwrap_err();
    assert!(matches!(refused, Error::InputEnded(id) if id == task.id()), "{refused}");
    world.until_line(&task, "over").await;
    let refused = task.send("too late").await.unwrap_err();
    assert!(matches!(refused, Error::InputEnded(_)), "read or not: {refused}");
    let again = task.send("").last().key("once").await?.first().unwrap();
    assert_eq!(again.message, last.message, "one that was sent before is found again");
    assert_ne!(again.state, MessageState::Returned);
    std::fs::write(world.folder.path().join("go"), "")?;
    task.wait().await?;
    let refused = task.send("too late").await.unwrap_err();
    assert!(matches!(refused, Error::Ended { .. }), "the end goes first: {refused}");
    Ok(())
}
