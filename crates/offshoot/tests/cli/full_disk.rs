//! A full disk: reading, freeing room, and the errors.
//!
//! A small disk is mounted over the data directory. That needs a mount namespace, so each
//! test runs itself again inside one. Where the system permits none, the test is skipped
//! with a message.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use crate::support::{ProgramOutput, Started, World};

/// The variable that is set inside the namespace.
const INSIDE: &str = "ON_A_SMALL_DISK";

/// The size of the disk.
const SIZE: &str = "size=6m,mode=0700";

/// A data directory on a small disk.
struct SmallDisk {
    world: World,
}

/// Runs the test of this name on a small disk.
fn on_small_disk(name: &str, test: fn(&SmallDisk)) {
    if std::env::var_os(INSIDE).is_some() {
        match SmallDisk::mount() {
            Ok(disk) => {
                test(&disk);
                disk.unmount();
            }
            Err(reason) => println!("skipped: no small disk can be mounted here: {reason}"),
        }
        return;
    }
    let alone = if rustix::process::geteuid().is_root() { "-m" } else { "-rm" };
    let name = format!("full_disk::{name}");
    let again = Command::new("unshare")
        .arg(alone)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &name, "--nocapture"])
        .env(INSIDE, "1")
        .output();
    let said = match again {
        Ok(again) => ProgramOutput::of(again),
        Err(error) => return println!("skipped: there is no `unshare` here: {error}"),
    };
    if said.err.starts_with("unshare:") {
        return println!("skipped: no mount namespace can be made here: {}", said.err.trim());
    }
    print!("{}", said.out);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("1 passed"), "{}", said.out);
}

impl SmallDisk {
    fn mount() -> Result<Self, String> {
        let world = World::new();
        std::fs::create_dir(world.data()).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", SIZE, "tmpfs"]).arg(world.data());
        let mounted = ProgramOutput::of(mount.output().map_err(|error| error.to_string())?);
        match mounted.code {
            0 => Ok(Self { world }),
            _ => Err(mounted.err.trim().to_owned()),
        }
    }

    fn unmount(self) {
        self.make_room();
        self.world.done(&["daemon", "stop"]);
        let unmounted = Command::new("umount").arg(self.world.data()).output().unwrap();
        assert_eq!(ProgramOutput::of(unmounted).code, 0);
    }

    fn ballast(&self) -> PathBuf {
        self.world.data().join("ballast")
    }

    /// Fills the disk to the last byte.
    fn fill(&self) {
        let mut options = std::fs::OpenOptions::new();
        let mut ballast = options.create(true).append(true).open(self.ballast()).unwrap();
        while ballast.write_all(&[0; 4096]).is_ok() {}
    }

    /// Also fills the log of the store and the reserve of the daemon.
    fn choke(&self) {
        let mut refusals = 0;
        // What the store finds in its log when it is refused is taken, too.
        while refusals < 3 {
            std::fs::File::create(self.world.data().join("reserve")).unwrap();
            self.fill();
            let said = self.world.run(&["--session", "choked", "spawn", "--detach", "--", "true"]);
            refusals = if said.code == 0 { 0 } else { refusals + 1 };
            if said.code != 0 {
                assert_eq!(said.code, 125, "{said:?}");
                for part in ["is full: free some space", "bytes are free", "sessions rm"] {
                    assert!(said.err.contains(part), "{part:?} is not in {said:?}");
                }
            }
        }
        self.fill();
    }

    fn make_room(&self) {
        std::fs::remove_file(self.ballast()).ok();
    }

    /// A session whose task has written something and ended.
    fn finished(&self, session: &str) {
        let script = "head -c 300000 /dev/zero | tr '\\0' x";
        self.world.done(&["--session", session, "spawn", "--", "sh", "-c", script]);
    }
}

#[test]
fn requests_on_a_full_disk_are_refused_without_loss() {
    on_small_disk("requests_on_a_full_disk_are_refused_without_loss", |disk| {
        let world = &disk.world;
        world.detach("early", "read word; echo \"told $word\"; exit 7");
        disk.choke();
        assert!(world.done(&["tasks", "ls"]).contains("early"), "a spawned command keeps running");
        disk.make_room();
        world.done(&["tasks", "send", "early", "now"]);
        // It may end with the disk full again: its end waits for room.
        disk.fill();
        let waited = world.run(&["tasks", "wait", "early", "--timeout", "200ms"]);
        disk.make_room();
        assert!(waited.code == 124 || waited.code == 1, "{waited:?}");
        let said = world.run(&["tasks", "wait", "early"]);
        assert_eq!(said.code, 1, "{said:?}");
        assert!(said.out.contains("exit 7"), "{said:?}");
    });
}

#[test]
fn a_session_can_be_removed_from_a_full_disk_and_that_makes_room() {
    on_small_disk("a_session_can_be_removed_from_a_full_disk_and_that_makes_room", |disk| {
        let world = &disk.world;
        disk.finished("old");
        disk.fill();
        assert_eq!(world.done(&["sessions", "rm", "old"]), "old is removed\n");
        // There is room for another.
        world.done(&["spawn", "--", "true"]);
    });
}

#[test]
fn after_a_crash_on_a_full_disk_everything_can_be_read_and_removed() {
    on_small_disk("after_a_crash_on_a_full_disk_everything_can_be_read_and_removed", |disk| {
        let world = &disk.world;
        disk.finished("old");
        world.detach("a", "echo hello; exec sleep 1000");
        world.until_line("a", "hello");
        for _ in 0..3 {
            disk.fill();
            world.kill_daemon();
            disk.fill();
            assert!(world.done(&["tasks", "ls", "--all"]).contains("sleep 1000"));
            assert_eq!(world.json(&["tasks", "show", "a"])["handle"], "a");
            assert_eq!(world.done(&["tasks", "tail", "a"]), "hello\n");
        }
        world.done(&["sessions", "rm", "old"]);
        // Tasks of the dead daemon are settled once there is room.
        assert_eq!(world.run(&["tasks", "wait", "a"]).code, 4);
    });
}

#[test]
fn without_room_for_a_daemon_the_error_names_the_disk_and_a_remedy() {
    on_small_disk("without_room_for_a_daemon_the_error_names_the_disk_and_a_remedy", |disk| {
        let world = &disk.world;
        disk.finished("old");
        world.done(&["daemon", "stop"]);
        std::fs::File::create(world.data().join("reserve")).unwrap();
        disk.fill();
        let said = world.run(&["tasks", "ls"]);
        assert_eq!(said.code, 125, "{said:?}");
        let data = world.data().display().to_string();
        for part in ["is full", "0 bytes are free", "hint: ", data.as_str()] {
            assert!(said.err.contains(part), "{part:?} is not in {said:?}");
        }
        disk.make_room();
        assert!(world.done(&["--session", "old", "tasks", "ls", "--all"]).contains("completed"));
    });
}

#[test]
fn unwritten_ends_are_reported_when_the_daemon_is_stopped() {
    on_small_disk("unwritten_ends_are_reported_when_the_daemon_is_stopped", |disk| {
        let world = &disk.world;
        world.detach("a", "echo hello; exec sleep 1000");
        world.until_line("a", "hello");
        disk.choke();
        let said = world.run(&["daemon", "stop"]);
        assert_eq!(said.code, 125, "{said:?}");
        for part in ["could not store the end of", "is full", "nothing is lost"] {
            assert!(said.err.contains(part), "{part:?} is not in {said:?}");
        }
        disk.make_room();
        // How far its stop was written decides between cancelled and lost.
        assert!([3, 4].contains(&world.run(&["tasks", "wait", "a"]).code));
    });
}

#[test]
fn a_removal_without_any_room_is_done_or_says_why_not() {
    on_small_disk("a_removal_without_any_room_is_done_or_says_why_not", |disk| {
        let world = &disk.world;
        world.detach("a", "echo hello; exec sleep 1000");
        world.until_line("a", "hello");
        disk.finished("old");
        disk.choke();
        world.kill_daemon();
        disk.fill();
        for session in ["main", "old"] {
            let said = world.run(&["sessions", "rm", session]);
            disk.fill();
            if said.code != 0 {
                assert_eq!(said.code, 125, "{said:?}");
                for part in ["bytes are free", "hint: ", world.data().to_str().unwrap()] {
                    assert!(said.err.contains(part), "{part:?} is not in {said:?}");
                }
            }
        }
        disk.make_room();
        assert!([4, 5].contains(&world.run(&["tasks", "wait", "a"]).code));
        for session in ["main", "old"] {
            assert!([0, 5].contains(&world.run(&["sessions", "rm", session]).code));
        }
    });
}

#[test]
fn an_attached_command_whose_output_is_not_kept_whole_is_no_success() {
    on_small_disk("an_attached_command_whose_output_is_not_kept_whole_is_no_success", |disk| {
        let world = &disk.world;
        let script = "echo up; until [ -e go ]; do sleep 0.02; done; head -c 3000000 /dev/zero";
        let command = ["spawn", "--name", "a", "--", "sh", "-c", script];
        let mut spawned = Started::new(world.command(&command));
        spawned.until_line("up");
        disk.fill();
        std::fs::write(world.folder.path().join("go"), "").unwrap();
        spawned.until_remark("not kept");
        // Its end may wait for room.
        disk.make_room();
        let said = spawned.finish();
        assert_eq!(said.code, 125, "{}", said.err);
        for part in ["error: the output is incomplete", "ended with: exit 0"] {
            assert!(said.err.contains(part), "{part:?} is not in {}", said.err);
        }
    });
}
