//! Sandboxed commands.

use std::path::PathBuf;

use offshoot_backends::{
    Attach, Command, CommandError, Commands, CommandsError, Confinement, ConfinementError, Helper,
    LogLimits, StartError, Surroundings,
};
use offshoot_core::{FailureKind, Task, TaskState};
use offshoot_sandbox::{Lack, Support};

use crate::fugitives::{Left, Pipe};
use crate::support::{KEY, Records, Test, World, bytes, failure, forced, report};

/// Opens a world with a working directory in the hidden data directory.
///
/// Returns `None`, with a message, on a system without Landlock.
async fn world() -> Option<(World, PathBuf, Confinement)> {
    if let Support::No(lack @ (Lack::Landlock | Lack::OldLandlock)) = offshoot_sandbox::probe() {
        eprintln!("SKIPPED: nothing can be confined here: {lack}");
        return None;
    }
    let world = World::on(Records::Sqlite, LogLimits::default()).await;
    let folder = world.folder.path().canonicalize().unwrap();
    let work = folder.join("work");
    std::fs::create_dir(&work).unwrap();
    std::fs::write(folder.join("secret"), "hush").unwrap();
    let by = Confinement::new([work.clone()], [folder]).unwrap();
    Some((world, work, by))
}

fn script(folder: &PathBuf, script: &str) -> Command {
    Command::new("sh", folder).unwrap().args(["-c", script]).unwrap()
}

/// Executes a command to its end, and returns its output.
async fn done(world: &World, command: Command, around: Option<Surroundings>) -> (Task, String) {
    let request = world.commands.request(command, around, Attach::No).unwrap();
    let task = world.session.spawn(request).await.unwrap().wait().await.unwrap().task;
    let said = String::from_utf8(bytes(&world.log(&task)).await).unwrap();
    (task, said)
}

#[tokio::test]
async fn a_confined_command_writes_in_its_folder_and_sees_no_data() -> Test {
    let Some((world, work, by)) = world().await else { return Ok(()) };
    // In one stream: else what is said in two could stand in one line.
    let tried = "exec 2>&1; echo in > in && cat in; echo out > ../out || echo kept
        cat ../secret || echo hidden; ls .. || echo unlisted; exit 7";
    let (task, said) = done(&world, script(&work, tried).confined(by), None).await;
    assert_eq!(failure(&task).kind, FailureKind::Exit(7));
    for line in ["in", "kept", "hidden", "unlisted"] {
        assert!(said.lines().any(|said| said == line), "{line} is in {said}");
    }
    assert!(!said.contains("hush") && !world.folder.path().join("out").exists(), "{said}");
    let (task, said) = done(&world, script(&work, tried), None).await;
    assert_eq!(failure(&task).kind, FailureKind::Exit(7));
    assert!(said.contains("hush") && !said.contains("kept"), "it is the confinement: {said}");
    Ok(())
}

#[tokio::test]
async fn a_confined_command_sees_no_key_but_what_was_set_for_it() -> Test {
    let Some((world, work, by)) = world().await else { return Ok(()) };
    let around = || {
        let mut variables: Vec<_> = std::env::vars_os().collect();
        variables.push((KEY.into(), "hush".into()));
        variables.push(("OFFSHOOT_SOCKET".into(), "/run/hush".into()));
        variables.push(("PLAIN".into(), "plain".into()));
        Some(Surroundings::new(variables))
    };
    let shows = || script(&work, "env").env("SET", "set").unwrap();
    let (task, said) = done(&world, shows().confined(by.clone()), around()).await;
    assert!(!said.contains("hush"), "{said}");
    let own: Vec<_> = said.lines().filter(|line| line.starts_with("OFFSHOOT_")).collect();
    assert_eq!(own, [format!("OFFSHOOT_TASK={}", task.id())], "its mark alone");
    for line in ["PLAIN=plain", "SET=set"] {
        assert!(said.lines().any(|said| said == line), "{line} is in {said}");
    }
    // Nor that of the process that executes it, which it gets for want of another.
    assert!(std::env::var_os(KEY).is_some());
    let (_, said) = done(&world, shows().confined(by), None).await;
    assert!(!said.lines().any(|line| line.starts_with("HOME=")), "{said}");
    let (_, said) = done(&world, shows(), around()).await;
    assert!(said.contains("HOME=hush") && said.contains("OFFSHOOT_SOCKET"), "{said}");
    Ok(())
}

#[tokio::test]
async fn variables_of_a_confined_command_do_nothing_before_it_is_confined() -> Test {
    let Some((world, work, by)) = world().await else { return Ok(()) };
    let command = Command::new("sh", &work)?.args(["-c", ":"])?.env("LD_PRELOAD", "/no/such.so")?;
    let (task, said) = done(&world, command.confined(by), None).await;
    assert_eq!(task.state, TaskState::Completed);
    assert_eq!(said.matches("cannot be preloaded").count(), 1, "by the program alone: {said}");
    Ok(())
}

#[tokio::test]
async fn a_confined_command_cannot_remove_its_rlimit_mark() -> Test {
    let Some((world, work, by)) = world().await else { return Ok(()) };
    // A daemon that has dropped its mark: only its rlimit mark is left.
    let tried = "cat >off.py <<'X'
import resource, os
try:
    resource.setrlimit(15, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print('off', flush=True)
except (OSError, ValueError) as error:
    print('kept', flush=True)
X
        exec 9>pipe; echo begun >&9
        (setsid env -i PATH=/usr/bin:/bin sh -c 'python3 off.py; echo $$ > pid; exec sleep 1000 <&- >&- 2>&-' &)
        until test -s pid; do sleep 0.01; done";
    let mut pipe = Pipe::make(&work.join("pipe"));
    let (task, said) = done(&world, script(&work, tried).confined(by), None).await;
    assert_eq!((task.state, said.as_str()), (TaskState::Completed, "kept\n"), "{:?}", task.outcome);
    assert_eq!(report(&task).left_behind, 1);
    assert_eq!(pipe.state(), Left::Gone);
    let (_, said) = done(&world, script(&work, "python3 off.py"), None).await;
    assert_eq!(said, "off\n", "it is the confinement");
    Ok(())
}

#[tokio::test]
async fn a_confined_command_is_killed_with_all_it_started() -> Test {
    let Some((world, work, by)) = world().await else { return Ok(()) };
    let stays = "trap '' TERM; exec 9>pipe; echo begun >&9; sleep 1000 & setsid sleep 1000 &
        echo on; while :; do sleep 0.01; done";
    let mut pipe = Pipe::make(&work.join("pipe"));
    let request = world.request(script(&work, stays).confined(by));
    let task = world.session.spawn(request).grace(std::time::Duration::ZERO).await?;
    world.until_line(&task, "on").await;
    task.cancel("enough").await?;
    assert!(forced(&task.wait().await?.task));
    assert_eq!(pipe.state(), Left::Gone);
    Ok(())
}

#[tokio::test]
async fn a_confined_command_takes_messages_and_its_name() -> Test {
    let Some((world, work, by)) = world().await else { return Ok(()) };
    let request = world.request(script(&work, "echo $0; read line; echo \"$line\"").confined(by));
    let task = world.session.spawn(request).await?;
    world.until_line(&task, "sh").await;
    task.send("hello").await?;
    let task = task.wait().await?.task;
    assert_eq!(bytes(&world.log(&task)).await, b"sh\nhello\n");
    Ok(())
}

#[tokio::test]
async fn start_errors_of_a_confined_command_are_the_usual_ones() -> Test {
    let Some((world, work, by)) = world().await else { return Ok(()) };
    let make = |name: &str, text: &str| {
        std::fs::write(work.join(name), text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(work.join(name), mode).unwrap();
    };
    std::fs::write(work.join("plain"), "no program")?;
    make("odd", "#!/no/such/interpreter -x\n");
    make("text", "no program");
    make("fine", "#! /bin/sh\nexit 3\n");
    let here = |program: &str| Command::new(program, &work).unwrap();
    let long = vec!["x".repeat(100_000); 100];
    let cases = [
        here("no-such-program"),
        here("./nothing"),
        here("./plain"),
        here("./odd"),
        here("./text"),
        here("/"),
        Command::new("true", "/no/such/folder")?,
        Command::new("true", work.join("plain"))?,
        here("true").args(long)?,
    ];
    for command in cases {
        let (free, _) = done(&world, command.clone(), None).await;
        let (held, _) = done(&world, command.confined(by.clone()), None).await;
        assert_eq!(failure(&held), failure(&free));
        assert_eq!(report(&held).start_error, report(&free).start_error);
        assert!(report(&held).start_error.is_some());
    }
    let (task, _) = done(&world, here("./fine").confined(by), None).await;
    assert_eq!(failure(&task).kind, FailureKind::Exit(3));
    Ok(())
}

#[tokio::test]
async fn what_cannot_be_confined_is_not_started() -> Test {
    let Some((world, work, by)) = world().await else { return Ok(()) };
    // No helper, or one that does not exist.
    for helper in [None, Some(Helper::at("/no/such/helper"))] {
        let folder = tempfile::tempdir()?;
        let commands = Commands::builder(folder.path()).helper(helper).open()?;
        let command = script(&work, "touch executed").confined(by.clone());
        let request = commands.request(command, None, Attach::No)?;
        let task = world.session.spawn(request).await?.wait().await?.task;
        assert_eq!(report(&task).start_error, Some(StartError::NotConfined));
        let said = &failure(&task).message;
        assert!(said.contains("cannot be confined"), "{said}");
    }
    // What is to be written to is gone when it starts.
    let gone = Confinement::new([work.join("gone")], [""; 0])?;
    let (task, said) = done(&world, script(&work, "touch executed").confined(gone), None).await;
    assert_eq!(failure(&task).kind, FailureKind::Exit(126));
    assert!(said.starts_with("offshoot: ") && said.contains("no folder to write to"), "{said}");
    assert!(!work.join("executed").exists());
    Ok(())
}

#[tokio::test]
async fn a_confinement_that_hides_nothing_is_refused_at_once() -> Test {
    let Some((world, work, _)) = world().await else { return Ok(()) };
    let json =
        r#"{"program":"true","cwd":"/","confinement":{"writable":["/a"],"hidden":["/a/b"]}}"#;
    let command: Command = serde_json::from_str(json)?;
    let refused = world.commands.request(command, None, Attach::No);
    let uncovered = ConfinementError::Uncovered { writable: "/a".into(), hidden: "/a/b".into() };
    let Err(CommandsError::Command(CommandError::Confinement(error))) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(error, uncovered);
    assert!(work.exists());
    Ok(())
}

#[tokio::test]
async fn a_confined_command_is_asked_to_end_once() -> Test {
    let Some((world, work, by)) = world().await else { return Ok(()) };
    // Its own group and one beside it.
    let counts = "trap 'echo asked >> own; n=1' TERM; echo on
        setsid sh -c 'trap \"echo asked >> beside; exit\" TERM; echo beside; while :; do sleep 0.01; done' &
        while test -z \"$n\"; do sleep 0.01; done; wait";
    let request = world.request(script(&work, counts).confined(by));
    let task = world.session.spawn(request).grace(std::time::Duration::from_secs(20)).await?;
    world.until_line(&task, "beside").await;
    task.cancel("enough").await?;
    task.wait().await?;
    for name in ["own", "beside"] {
        assert_eq!(std::fs::read_to_string(work.join(name))?, "asked\n", "{name}");
    }
    Ok(())
}

#[tokio::test]
async fn the_report_on_a_confined_command_excludes_its_helper() -> Test {
    let Some((world, work, by)) = world().await else { return Ok(()) };
    let uses = "import time
begun = time.process_time()
while time.process_time() - begun < 0.3: pass";
    for (left, behind) in [("", 0), ("sleep 1000 & sleep 1000 &", 2)] {
        let line = format!("{left} python3 -c '{uses}'");
        let (task, _) = done(&world, script(&work, &line).confined(by.clone()), None).await;
        assert_eq!(task.state, TaskState::Completed, "{:?}", task.outcome);
        let told = report(&task);
        assert_eq!(told.left_behind, behind, "{told:?}");
        assert!(told.cpu_ms.is_some_and(|cpu| cpu >= 300), "{told:?}");
    }
    Ok(())
}
