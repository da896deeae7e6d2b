//! A runtime that is dropped, in a process that continues.

use offshoot_backends::{Attach, Commands, LogLimits, Origin, Restart, Surroundings};
use offshoot_core::{Outcome, TaskId, TaskState};
use offshoot_runtime::{RestartPolicy, Runtime};
use offshoot_store::Memory;

use crate::support::{Records, Test, World, report, reported, runs};

#[tokio::test]
async fn s6_8_dropping_the_runtime_kills_what_runs_and_the_next_one_says_so() -> Test {
    let world = World::on(Records::Sqlite, LogLimits::default()).await;
    let task = world.spawn("trap '' TERM; echo on; while :; do sleep 0.01; done").await;
    world.until_line(&task, "on").await;
    let (pid, id) = (reported(&task).await.pid.unwrap().to_string(), task.id());
    let folder = world.folder.clone();
    drop((task, world));
    let world = World::again(folder, Records::Sqlite, LogLimits::default()).await;
    world.runtime.recovered().await;
    assert!(!runs(&pid), "nothing is decided before it is gone");
    let task = world.runtime.get(id).await?.unwrap();
    assert!(matches!(task.ended(), Some(Outcome::Lost { .. })));
    Ok(())
}

#[tokio::test]
async fn s9_2_a_command_that_may_be_restarted_is_and_its_record_says_in_whose_environment() -> Test
{
    let (folder, memory) = (tempfile::tempdir()?, Memory::new());
    let commands = Commands::at(folder.path())?;
    let open = || async {
        let restarts =
            RestartPolicy { back_off: std::time::Duration::ZERO, ..RestartPolicy::default() };
        let builder = Runtime::builder(memory.clone()).restarts(restarts);
        builder.backend(Commands::KIND, commands.backend()).open().await
    };
    let runtime = open().await?;
    let script = "echo attempt $WHO $GIVEN; test -e again && exit 0; echo on; read x";
    let command = offshoot_backends::Command::new("sh", folder.path())?
        .args(["-c", script])?
        .env("GIVEN", "stored")?
        .restart(Restart::OnCrash);
    let surroundings = std::env::vars_os().chain([("WHO".into(), "caller".into())]);
    let surroundings = Some(Surroundings::new(surroundings));
    let request = commands.request(command, surroundings, Attach::No)?;
    let task = runtime.session("main").await?.spawn(request).await?;
    assert_eq!(reported(&task).await.environment, Origin::Caller);
    let mut lines = commands.log(task.id()).follow(0);
    while !said(&mut lines).await.contains("on\n") {}
    let id: TaskId = task.id();
    drop((lines, task, runtime));
    std::fs::write(folder.path().join("again"), "")?;
    let runtime = open().await?;
    let task = runtime.task(&id.to_string()).await?.wait().await?.task;
    assert_eq!((task.state, task.attempts), (TaskState::Completed, 2));
    assert_eq!(report(&task).environment, Origin::Daemon);
    let piece = commands.log(id).read(0, 10_000).await?;
    let told: Vec<(u32, String)> = piece
        .chunks
        .into_iter()
        .map(|chunk| (chunk.attempt, String::from_utf8(chunk.bytes).unwrap()))
        .collect();
    let told: Vec<(u32, &str)> = told.iter().map(|(n, text)| (*n, text.as_str())).collect();
    assert_eq!(told.last(), Some(&(2, "attempt stored\n")), "{told:?}");
    assert!(told.iter().any(|(attempt, text)| *attempt == 1 && text.contains("caller stored")));
    Ok(())
}

async fn said(lines: &mut offshoot_backends::Follower) -> String {
    let piece = lines.next().await.unwrap().expect("it goes on");
    let bytes = piece.chunks.into_iter().flat_map(|chunk| chunk.bytes).collect();
    String::from_utf8(bytes).unwrap()
}
