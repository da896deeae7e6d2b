//! The ends of commands.

use offshoot_backends::{Origin, StartError};
use offshoot_core::{FailureKind, Outcome, TaskState};

use crate::support::{Records, Test, World, all, bytes, failure, report, runs};
use offshoot_backends::{LogLimits, Stream};

#[tokio::test]
async fn s2_6_exit_zero_is_completed_with_the_report_as_value() -> Test {
    for records in [Records::Memory, Records::Sqlite] {
        let world = World::on(records, LogLimits::default()).await;
        let task = world.run("echo hello; echo world >&2").await;
        let Some(Outcome::Completed { value, cancel_requested: false }) = task.ended() else {
            panic!("{:?}", task.outcome)
        };
        let told = report(&task);
        assert_eq!(value.decode::<offshoot_backends::Report>()?, told);
        assert_eq!((told.exit, told.signal, told.left_behind), (Some(0), None, 0));
        assert_eq!((told.output.bytes, told.output.stdout, told.output.stderr), (12, 6, 6));
        assert_eq!(told.environment, Origin::Caller);
        assert!(told.pid.is_some() && told.started.is_some() && !told.boot.is_empty());
        assert!(told.duration_ms.is_some() && told.cpu_ms.is_some());
        assert!(["hello", "world"].contains(&told.last_line.as_deref().unwrap()));
        let (chunks, gap) = all(&world.log(&task)).await;
        assert_eq!((chunks.len(), gap), (2, 0));
        assert!(chunks.contains(&(Stream::Stdout, b"hello\n".to_vec())));
        assert!(chunks.contains(&(Stream::Stderr, b"world\n".to_vec())));
    }
    Ok(())
}

#[tokio::test]
async fn memory_is_reported_of_a_command_that_takes_more_than_its_parent() {
    let world = World::open().await;
    let hoard = "head -c 400000000 /dev/zero | tail -c 300000000 | head -c 1 >/dev/null";
    let told = report(&world.run(hoard).await);
    assert!(told.peak_bytes.is_some_and(|peak| peak >= 300_000_000), "{told:?}");
    let told = report(&world.run(":").await);
    assert!(told.peak_bytes.is_none_or(|peak| peak < 300_000_000), "{told:?}");
}

#[tokio::test]
async fn s2_6_another_exit_is_failed_with_its_code_and_last_lines() -> Test {
    let world = World::open().await;
    let task = world.run("echo fine; echo one >&2; printf 'b\\033[31mad' >&2; exit 7").await;
    let failed = failure(&task);
    assert_eq!(failed.kind, FailureKind::Exit(7));
    assert_eq!(failed.message, "exited with code 7");
    assert_eq!(failed.causes, ["one", "b␛[31mad"]);
    assert_eq!(report(&task).exit, Some(7));
    assert!(report(&task).duration_ms.is_some());
    Ok(())
}

#[tokio::test]
async fn s2_6_a_signal_of_another_process_is_failed() -> Test {
    let world = World::open().await;
    let task = world.run("kill -9 $$").await;
    assert_eq!(failure(&task).kind, FailureKind::Signal(9));
    assert_eq!(failure(&task).message, "was ended by signal 9 (SIGKILL)");
    assert_eq!((report(&task).signal, report(&task).exit), (Some(9), None));
    Ok(())
}

#[tokio::test]
async fn what_cannot_be_started_says_why() -> Test {
    let world = World::open().await;
    let plain = world.folder.path().join("plain");
    std::fs::write(&plain, "no program")?;
    let odd = world.folder.path().join("odd");
    std::fs::write(&odd, "#!/no/such/interpreter\n")?;
    std::fs::set_permissions(&odd, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let here = || world.command("true");
    let elsewhere = |folder: &str| offshoot_backends::Command::new("true", folder).unwrap();
    let long = vec!["x".repeat(100_000); 100];
    let cases = [
        (
            world.command("no-such-program"),
            StartError::NotFound,
            "no command \"no-such-program\" in PATH",
        ),
        (world.command("./nothing"), StartError::NotFound, "there is no command"),
        (world.command("./plain"), StartError::NotExecutable, "is not executable"),
        (world.command("./odd"), StartError::NotExecutable, "interpreter"),
        (world.command("/"), StartError::NotExecutable, "is a folder"),
        (elsewhere("/no/such/folder"), StartError::BadFolder, "does not exist"),
        (elsewhere(plain.to_str().unwrap()), StartError::BadFolder, "is not a folder"),
        (here().args(long)?, StartError::TooLong, "longer than the system takes"),
    ];
    for (command, error, said) in cases {
        let task = world.session.spawn(world.request(command)).await?.wait().await?.task;
        let failed = failure(&task);
        assert_eq!(failed.kind, FailureKind::Error);
        assert!(failed.message.contains(said), "{} has {said:?}", failed.message);
        assert_eq!(report(&task).start_error, Some(error));
        assert!(!world.log_folder(&task).exists());
    }
    assert_eq!((StartError::NotFound.exit_code(), StartError::BadFolder.exit_code()), (127, 126));
    Ok(())
}

#[tokio::test]
async fn a_command_finds_its_folder_its_environment_and_its_mark() -> Test {
    let world = World::open().await;
    let command = world.script("pwd; echo $A $B; echo $OFFSHOOT_TASK").env("B", "given")?;
    let surroundings = offshoot_backends::Surroundings::new([
        ("PATH".into(), "/usr/bin:/bin".into()),
        ("A".into(), "caller".into()),
        ("B".into(), "caller".into()),
        ("OFFSHOOT_TASK".into(), "another".into()),
    ]);
    let attach = offshoot_backends::Attach::No;
    let request = world.commands.request(command, Some(surroundings), attach)?;
    let task = world.session.spawn(request).await?.wait().await?.task;
    assert_eq!(task.state, TaskState::Completed);
    let folder = world.folder.path().canonicalize()?;
    let said = format!("{}\ncaller given\n{}\n", folder.display(), task.id());
    assert_eq!(String::from_utf8(bytes(&world.log(&task)).await)?, said);
    Ok(())
}

#[tokio::test]
async fn leftovers_of_a_command_are_ended_before_it_settles() -> Test {
    let world = World::open().await;
    let task = world.run("sleep 1000 & echo $!; setsid sleep 1000 & echo $!; exit 3").await;
    assert_eq!(failure(&task).kind, FailureKind::Exit(3));
    assert_eq!(report(&task).left_behind, 2);
    let said = String::from_utf8(bytes(&world.log(&task)).await)?;
    assert_eq!(said.lines().count(), 2);
    assert!(said.lines().all(|pid| !runs(pid)), "{said}");
    Ok(())
}

#[tokio::test]
async fn a_command_that_forks_away_leaves_nothing() -> Test {
    let world = World::open().await;
    // A daemon: a session of its own, no pipes, and its parent gone.
    let task = world
        .run("(setsid sh -c 'echo $$ > pid; exec sleep 1000 <&- >&- 2>&-' &) ; until test -s pid; do :; done")
        .await;
    assert_eq!(task.state, TaskState::Completed, "{:?}", task.outcome);
    assert_eq!(report(&task).left_behind, 1);
    assert!(!runs(&std::fs::read_to_string(world.folder.path().join("pid"))?));
    Ok(())
}

#[tokio::test]
async fn a_command_that_closes_its_output_goes_on() -> Test {
    let world = World::open().await;
    let task = world.spawn("echo on; exec >&- 2>&-; read line; touch \"$line\"").await;
    world.until_line(&task, "on").await;
    task.send("done").await?;
    assert_eq!(task.wait().await?.task.state, TaskState::Completed);
    assert!(world.folder.path().join("done").exists());
    Ok(())
}

#[tokio::test]
async fn a_silent_command_leaves_no_file() -> Test {
    let world = World::open().await;
    let task = world.run("exit 0").await;
    assert!(!world.log_folder(&task).exists());
    assert!(world.log(&task).read(0, 10).await?.is_empty());
    Ok(())
}
