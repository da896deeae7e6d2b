//! Input that is passed on to a command, byte for byte.

use offshoot_backends::{
    Attach, Command, CommandError, Commands, CommandsError, Input, InputClosed, InputFeed, Restart,
    StartError, Surroundings,
};
use offshoot_core::{Caps, Ceiling, TaskState};
use offshoot_runtime::{Error, Runtime, TaskRequest};
use offshoot_store::Memory;

use crate::support::{Test, World, bytes, report};

/// Returns bytes of every value, the same each time.
fn noise(length: usize) -> Vec<u8> {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let next = std::iter::repeat_with(move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed.to_le_bytes()
    });
    next.flatten().take(length).collect()
}

fn fed(world: &World, command: Command) -> (InputFeed, TaskRequest) {
    let (feed, input) = Input::new();
    let around = Surroundings::own().with_input(input);
    (feed, world.commands.request(command, Some(around), Attach::No).unwrap())
}

#[tokio::test]
async fn a_command_reads_exactly_its_passed_input() -> Test {
    let world = World::open().await;
    let whole = noise(3_000_001);
    let (feed, request) = fed(&world, world.script("cat >copy; echo over"));
    let task = world.session.spawn(request).await?;
    for (piece, length) in whole.chunks(40_000).zip((1..).step_by(997)) {
        // Pieces of all lengths.
        let (left, right) = piece.split_at(length.min(piece.len()));
        feed.pass(left.to_vec()).await?;
        feed.pass(right.to_vec()).await?;
    }
    drop(feed);
    let task = task.wait().await?.task;
    assert_eq!(task.state, TaskState::Completed);
    assert_eq!(bytes(&world.log(&task)).await, b"over\n");
    assert!(std::fs::read(world.folder.path().join("copy"))? == whole, "no byte more or less");
    Ok(())
}

#[tokio::test]
async fn an_input_that_ends_at_once_is_an_empty_one() -> Test {
    let world = World::open().await;
    let (feed, request) = fed(&world, world.command("cat"));
    drop(feed);
    let task = world.session.spawn(request).await?.wait().await?.task;
    assert_eq!((task.state, report(&task).output.bytes), (TaskState::Completed, 0));
    Ok(())
}

#[tokio::test]
async fn the_sender_learns_that_the_command_reads_no_more() -> Test {
    let world = World::open().await;
    let until_unread =
        |feed: InputFeed| async move { while feed.pass(vec![0; 60_000]).await.is_ok() {} };
    let (feed, request) = fed(&world, world.script("head -c 1 >/dev/null"));
    let task = world.session.spawn(request).await?;
    until_unread(feed).await;
    assert_eq!(task.wait().await?.task.state, TaskState::Completed);

    let script = "exec <&-; until test -e go; do sleep 0.01; done";
    let (feed, request) = fed(&world, world.script(script));
    let task = world.session.spawn(request).await?;
    until_unread(feed).await;
    std::fs::write(world.folder.path().join("go"), "")?;
    assert_eq!(task.wait().await?.task.state, TaskState::Completed, "it goes on all the same");

    let (feed, request) = fed(&world, world.command("no-such-command"));
    let task = world.session.spawn(request).await?.wait().await?.task;
    assert_eq!(report(&task).start_error, Some(StartError::NotFound));
    assert_eq!(feed.pass(vec![0]).await, Err(InputClosed));
    Ok(())
}

#[tokio::test]
async fn s5_4_a_command_whose_input_is_passed_on_takes_no_messages() -> Test {
    let world = World::open().await;
    let (feed, request) = fed(&world, world.command("cat"));
    let refused = world.session.spawn(request.clone()).message("first").await.unwrap_err();
    assert!(matches!(refused, Error::Incapable { .. }), "{refused}");
    let task = world.session.spawn(request).await?;
    feed.pass(b"half a ".to_vec()).await?;
    let refused = task.send("in between").await.unwrap_err();
    assert!(matches!(refused, Error::TakesNoMessages(_)), "{refused}");
    feed.pass(b"line".to_vec()).await?;
    drop(feed);
    let task = task.wait().await?.task;
    assert_eq!(bytes(&world.log(&task)).await, b"half a line");
    Ok(())
}

#[tokio::test]
async fn a_command_with_passed_input_is_not_restarted() -> Test {
    let world = World::open().await;
    let (_feed, input) = Input::new();
    let around = Some(Surroundings::own().with_input(input));
    let command = world.command("cat").restart(Restart::OnCrash);
    let refused = world.commands.request(command, around, Attach::No).unwrap_err();
    assert!(matches!(refused, CommandsError::Command(CommandError::InputTwice)), "{refused}");
    Ok(())
}

/// A runtime on these records in which one command executes at a time.
async fn one_at_a_time(memory: &Memory, commands: &Commands) -> Result<Runtime, Error> {
    let executing = Ceiling { space: Some(1), ..Ceiling::NONE };
    let builder = Runtime::builder(memory.clone()).caps(Caps { executing, ..Caps::default() });
    builder.backend(Commands::KIND, commands.backend()).open().await
}

#[tokio::test]
async fn a_command_that_waits_for_a_slot_holds_its_input_up_and_gets_all_of_it() -> Test {
    let (folder, memory) = (tempfile::tempdir()?, Memory::new());
    let commands = Commands::at(folder.path())?;
    let runtime = one_at_a_time(&memory, &commands).await?;
    let session = runtime.session("main").await?;
    let busy = Command::new("sleep", folder.path())?.args(["1000"])?;
    let busy = session.spawn(commands.request(busy, None, Attach::No)?).await?;
    let (feed, input) = Input::new();
    let around = Some(Surroundings::own().with_input(input));
    let command = Command::new("cat", folder.path())?;
    let task = session.spawn(commands.request(command, around, Attach::No)?).await?;
    let whole = noise(1_000_000);
    let mut pieces = whole.chunks(10_000);
    let mut idle = std::task::Context::from_waker(std::task::Waker::noop());
    let held_up = loop {
        let piece = pieces.next().expect("there is an end to what waits").to_vec();
        let mut passing = Box::pin(feed.pass(piece));
        if passing.as_mut().poll(&mut idle).is_pending() {
            break passing;
        }
    };
    assert_eq!(task.record().await?.state, TaskState::Queued);
    busy.cancel("enough").await?;
    held_up.await?;
    for piece in pieces {
        feed.pass(piece.to_vec()).await?;
    }
    drop(feed);
    let task = task.wait().await?.task;
    assert!(bytes(&commands.log(task.id())).await == whole, "no byte more or less");
    Ok(())
}

#[tokio::test]
async fn s9_2_a_command_is_not_started_without_the_input_it_was_promised() -> Test {
    let (folder, memory) = (tempfile::tempdir()?, Memory::new());
    let commands = Commands::at(folder.path())?;
    let runtime = one_at_a_time(&memory, &commands).await?;
    let session = runtime.session("main").await?;
    let busy = Command::new("sleep", folder.path())?.args(["1000"])?;
    session.spawn(commands.request(busy, None, Attach::No)?).await?;
    let (feed, input) = Input::new();
    let around = Some(Surroundings::own().with_input(input));
    let command = Command::new("touch", folder.path())?.args(["started"])?;
    let task = session.spawn(commands.request(command, around, Attach::No)?).await?;
    assert_eq!(task.record().await?.state, TaskState::Queued);
    feed.pass(b"waits with it".to_vec()).await?;
    let id = task.id();
    drop((task, session, runtime));
    let runtime = one_at_a_time(&memory, &commands).await?;
    let task = runtime.task(&id.to_string()).await?.wait().await?.task;
    assert_eq!(task.state, TaskState::Failed);
    assert_eq!(report(&task).start_error, Some(StartError::InputGone));
    assert!(!folder.path().join("started").exists());
    Ok(())
}
