//! The limits of a sandboxed command.

use std::os::unix::net::UnixListener;

use offshoot_models::ToolResult;
use serde_json::json;

use crate::support::{Confined, TestDirs, World, calls};

/// Whether commands can be sandboxed here. Prints a message if not.
pub(crate) fn confines() -> bool {
    let support = offshoot_sandbox::probe();
    if !support.confines() {
        eprintln!("not tested here: {support}");
    }
    support.confines()
}

/// Runs a sandboxed command and returns its result.
async fn run(place: &TestDirs, command: &str) -> ToolResult {
    let script = calls(json!({"command": command}));
    let world = World::open(place, Confined::Yes, script).await;
    world.result().await
}

#[tokio::test(flavor = "multi_thread")]
async fn s7_3_a_sandboxed_command_writes_only_within_its_directory() {
    if !confines() {
        return;
    }
    let place = TestDirs::new();
    std::fs::create_dir(place.at("beside")).unwrap();
    std::fs::write(place.at("beside/file"), "kept").unwrap();
    std::os::unix::fs::symlink(place.at("beside"), place.at("work/link")).unwrap();
    let inside =
        run(&place, "mkdir a && echo x > a/b && mv a/b a/c && rm -r a && echo x > x").await;
    assert!(!inside.failed, "{inside:?}");
    let told = run(&place, "echo x > ../beside/file").await;
    assert!(told.failed && told.text.contains("Commands are confined"), "{told:?}");
    // It may empty its own directory, and no other.
    let parent = format!("rm -rf {}", place.at("").display());
    for command in [
        "echo x > ../beside/file",
        "echo x > link/file",
        "rm -rf ../beside",
        "touch ../new",
        "ln ../beside/file hard && echo x > hard",
        "mv ../beside moved",
        "python3 -c 'import os; os.truncate(\"../beside/file\", 0)'",
        "cd / && echo x > ~/.offshoot-test-of-confinement",
        &parent,
    ] {
        let outside = run(&place, command).await;
        assert!(outside.failed, "{command}: {outside:?}");
        assert_eq!(place.read("beside/file"), "kept", "{command}");
        assert!(place.at("beside").is_dir() && !place.at("new").exists(), "{command}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandboxed_command_neither_sees_nor_reaches_the_data_directory() {
    if !confines() {
        return;
    }
    let place = TestDirs::new();
    std::fs::create_dir(place.at("hidden")).unwrap();
    std::fs::write(place.at("data/token"), "sesame").unwrap();
    std::fs::write(place.at("hidden/key"), "sesame").unwrap();
    let socket = place.at("data/socket");
    let listener = UnixListener::bind(&socket).unwrap();
    listener.set_nonblocking(true).unwrap();
    std::fs::create_dir_all(place.at("work")).unwrap();
    std::os::unix::fs::symlink(place.at("data"), place.at("work/link")).unwrap();
    let connect = format!(
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{}\")'",
        socket.display()
    );
    for command in [
        "cat ../data/token",
        "cat link/token",
        "ls ../data",
        "cp -r ../data copy",
        "cat ../hidden/key",
        "cat /proc/self/cwd/../data/token",
        "cat ../data/logs/*/*",
        &connect,
    ] {
        let result = run(&place, command).await;
        assert!(result.failed && !result.text.contains("sesame"), "{command}: {result:?}");
    }
    // A command that connects could answer the questions asked of the user.
    assert!(listener.accept().is_err(), "no connection was made");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_can_let_commands_write_elsewhere() {
    if !confines() {
        return;
    }
    let place = TestDirs::new();
    for name in ["cache", "other"] {
        std::fs::create_dir(place.at(name)).unwrap();
    }
    let script = calls(json!({"command": "echo x > ../cache/x && ! echo x > ../other/x"}));
    let cache = place.at("cache");
    let world = World::with(&place, Confined::Yes, script, |runs| runs.writing([cache])).await;
    let result = world.result().await;
    assert!(!result.failed, "{result:?}");
    assert!(place.at("cache/x").exists() && !place.at("other/x").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worktree_elsewhere_cannot_be_committed_to_and_says_so() {
    if !confines() {
        return;
    }
    let place = TestDirs::new();
    let git = |folder: &str, args: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.current_dir(place.at(folder)).args(["-c", "user.name=a", "-c", "user.email=a@b"]);
        assert!(git.args(args).output().unwrap().status.success(), "{args:?}");
    };
    std::fs::create_dir(place.at("repository")).unwrap();
    std::fs::write(place.at("repository/file"), "one\n").unwrap();
    git("repository", &["init", "-q"]);
    git("repository", &["add", "."]);
    git("repository", &["commit", "-qm", "one"]);
    std::fs::remove_dir(place.at("work")).unwrap();
    let work = place.at("work");
    git("repository", &["worktree", "add", "-q", "-b", "side", work.to_str().unwrap()]);
    let looks =
        run(&place, "echo two > file; git status --short && git diff --stat && git log --oneline")
            .await;
    assert!(!looks.failed && looks.text.contains(" M file"), "{looks:?}");
    for command in [
        "git add file",
        "git commit -qam two",
        "rm -rf ../repository/.git/objects",
        "echo x > ../repository/.git/worktrees/work/commondir",
        "git config alias.x '!sh'",
    ] {
        let result = run(&place, command).await;
        assert!(result.failed, "{command}: {result:?}");
    }
    git("repository", &["fsck", "--strict"]);
    git("work", &["commit", "-qam", "by the parent"]);
}
