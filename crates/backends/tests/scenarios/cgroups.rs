//! Cgroups of commands: their processes, their end and their removal.

use std::path::{Path, PathBuf};

use offshoot_backends::{Confinement, LogLimits};
use offshoot_core::{Task, TaskState};

use crate::escaped::has_cgroups;
use crate::fugitives::{Left, Pipe};
use crate::support::{Records, Test, World, bytes, failure, report};

async fn world() -> Option<World> {
    let world = World::on(Records::Memory, LogLimits::default()).await;
    has_cgroups(&world.commands).then_some(world)
}

fn cgroup(world: &World, task: &Task) -> PathBuf {
    world.commands.cgroups().unwrap().join(task.id().to_string())
}

/// Waits for the removal of a cgroup, which follows the report of the end.
async fn until_removed(cgroup: &Path) {
    while cgroup.exists() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_command_runs_in_a_cgroup_of_its_own_which_goes_with_it() -> Test {
    let Some(world) = world().await else { return Ok(()) };
    let task = world.run("grep ^0:: /proc/self/cgroup").await;
    let seen = String::from_utf8(bytes(&world.log(&task)).await)?;
    let (_, name) = seen.trim().rsplit_once('/').unwrap();
    assert_eq!(name, task.id().to_string());
    until_removed(&cgroup(&world, &task)).await;
    Ok(())
}

#[tokio::test]
async fn a_confined_command_runs_in_a_cgroup_of_its_own() -> Test {
    let Some(world) = world().await else { return Ok(()) };
    if !offshoot_sandbox::probe().confines() {
        return Ok(());
    }
    let command = world.script("grep ^0:: /proc/self/cgroup");
    let confinement = Confinement::new([world.folder.path().canonicalize()?], ["/var/spool"])?;
    let request = world.request(command.confined(confinement));
    let task = world.session.spawn(request).await?.wait().await?.task;
    let seen = String::from_utf8(bytes(&world.log(&task)).await)?;
    assert!(seen.trim().ends_with(&task.id().to_string()), "{seen:?} {:?}", task.outcome);
    Ok(())
}

#[tokio::test]
async fn processes_in_nested_cgroups_are_ended_with_the_command() -> Test {
    let Some(world) = world().await else { return Ok(()) };
    let mut pipe = Pipe::make(&world.folder.path().join("pipe"));
    let below = world.commands.cgroups().unwrap().display().to_string();
    let script = format!(
        "exec 9>pipe; echo begun >&9; cd {below}/$OFFSHOOT_TASK; mkdir -p a/b
        prlimit --rttime=unlimited:unlimited setsid -w env -i PATH=\"$PATH\" \
        sh -c '(echo 0 >a/b/cgroup.procs; exec sleep 60) & exit 0' </dev/null >/dev/null 2>&1
        until grep -q . a/b/cgroup.procs; do :; done; exit 0"
    );
    let task = world.run(&script).await;
    assert_eq!(task.state, TaskState::Completed, "{:?}", task.outcome);
    assert_eq!(pipe.state(), Left::Gone);
    until_removed(&cgroup(&world, &task)).await;
    Ok(())
}

#[tokio::test]
async fn cgroups_that_a_command_nests_deeply_are_removed_with_its_own() -> Test {
    let Some(world) = world().await else { return Ok(()) };
    let below = world.commands.cgroups().unwrap().to_path_buf();
    let script = format!(
        "cd {}/$OFFSHOOT_TASK; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do
        mkdir d && cd d || exit 7; done",
        below.display()
    );
    let task = world.run(&script).await;
    assert_eq!(report(&task).exit, Some(7), "it can nest no deeper than is looked: {task:?}");
    until_removed(&cgroup(&world, &task)).await;
    Ok(())
}

#[tokio::test]
async fn a_file_that_the_system_does_not_execute_is_given_to_no_shell() -> Test {
    let Some(with) = world().await else { return Ok(()) };
    let without = World::without_cgroups().await;
    for world in [&with, &without] {
        let place = world.folder.path();
        let (broken, made) = (place.join("broken"), place.join("made"));
        std::fs::write(&broken, format!("\x7fELF\n : > {}; exit 3\n", made.display()))?;
        std::fs::set_permissions(&broken, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        let request = world.request(world.command(&broken.to_string_lossy()));
        let task = world.session.spawn(request).await?.wait().await?.task;
        assert_eq!(task.state, TaskState::Failed, "{task:?}");
        assert!(!made.exists(), "{task:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_program_that_cannot_be_executed_is_refused_as_without_a_cgroup() -> Test {
    let Some(with) = world().await else { return Ok(()) };
    let without = World::without_cgroups().await;
    let mut told = Vec::new();
    for world in [&with, &without] {
        let broken = world.folder.path().join("broken");
        std::fs::write(&broken, "#!/no/such/interpreter\n")?;
        std::fs::set_permissions(&broken, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        for program in ["broken", "/no/such/program", "/etc/passwd"] {
            let program = program.replace("broken", &broken.to_string_lossy());
            let request = world.request(world.command(&program));
            let task = world.session.spawn(request).await?.wait().await?.task;
            let place = world.folder.path().to_string_lossy().into_owned();
            told.push(failure(&task).message.replace(&place, ""));
            if world.commands.cgroups().is_ok() {
                until_removed(&cgroup(world, &task)).await;
            }
        }
    }
    assert_eq!(told[..3], told[3..]);
    Ok(())
}

#[tokio::test]
async fn a_command_gets_its_environment_and_name_unchanged_through_the_helper() -> Test {
    let Some(with) = world().await else { return Ok(()) };
    let without = World::without_cgroups().await;
    let mut told = Vec::new();
    for world in [&with, &without] {
        let command = world.script("printf '%s\\n' \"$0\" \"$@\"; env | sort | grep -v ^PWD=");
        let command = command.args(["a b", "", "--"])?.env("LD_PRELOAD", "")?.env("OWN", "1\n2")?;
        let task = world.session.spawn(world.request(command)).await?.wait().await?.task;
        let seen = String::from_utf8(bytes(&world.log(&task)).await)?;
        told.push(seen.replace(&task.id().to_string(), "ID"));
    }
    assert!(told[0].contains("OWN=1"), "{}", told[0]);
    assert_eq!(told[0], told[1]);
    Ok(())
}
