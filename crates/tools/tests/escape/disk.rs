//! A full disk and a read-only disk.
//!
//! A small disk is mounted over the working directory. That needs a mount namespace, so
//! each test runs itself again inside one. Where the system permits none, the test is
//! skipped with a message.

use std::process::Command;

use serde_json::json;

use crate::support::World;

/// The variable that is set inside the namespace.
const INSIDE: &str = "ON_A_SMALL_DISK";

/// Runs the test of this name in a mount namespace. Returns true inside it.
fn is_where_disks_can_be_mounted(name: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let alone = if rustix::process::geteuid().is_root() { "-m" } else { "-rm" };
    let again = Command::new("unshare")
        .arg(alone)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("disk::{name}"), "--nocapture"])
        .env(INSIDE, "1")
        .output();
    let again = match again {
        Ok(again) => again,
        Err(error) => {
            println!("skipped: there is no `unshare` here: {error}");
            return false;
        }
    };
    let (out, err) =
        (String::from_utf8_lossy(&again.stdout), String::from_utf8_lossy(&again.stderr));
    if err.starts_with("unshare:") {
        println!("skipped: no mount namespace can be made here: {}", err.trim());
        return false;
    }
    assert!(again.status.success() && out.contains("1 passed"), "{out}{err}");
    print!("{out}");
    false
}

/// Mounts a file system, or prints why it cannot.
fn mount(arguments: &[&str], world: &World) -> bool {
    let mounted = Command::new("mount").args(arguments).arg(world.folder()).output().unwrap();
    if !mounted.status.success() {
        let error = String::from_utf8_lossy(&mounted.stderr);
        println!("skipped: no small disk can be mounted here: {}", error.trim());
    }
    mounted.status.success()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_leaves_the_old_file_whole() {
    if !is_where_disks_can_be_mounted("a_full_disk_leaves_the_old_file_whole") {
        return;
    }
    let world = World::new();
    if !mount(&["-t", "tmpfs", "-o", "size=256k", "tmpfs"], &world) {
        return;
    }
    world.file("a", "one\n");
    let agent = world.agent().await;
    agent.call("read", json!({ "path": "a" })).await.done();
    let content = "x\n".repeat(1 << 20);
    let write = json!({ "path": "a", "content": content });
    agent.call("write", write).await.refused("the disk is full. Nothing was changed.");
    let new = json!({ "path": "new", "content": content });
    agent.call("write", new).await.refused("the disk is full");
    let edit = json!({ "path": "a", "old": "one", "new": content });
    agent.call("edit", edit).await.refused("the disk is full");
    assert_eq!(std::fs::read_to_string(world.inside("a")).unwrap(), "one\n");
    assert_eq!(std::fs::read_dir(world.folder()).unwrap().count(), 1);
    let small = json!({ "path": "a", "content": "two\n" });
    agent.call("write", small).await.done();
    Command::new("umount").arg(world.folder()).output().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_only_disk_is_reported() {
    if !is_where_disks_can_be_mounted("a_read_only_disk_is_reported") {
        return;
    }
    let world = World::new();
    if !mount(&["-t", "tmpfs", "-o", "size=256k", "tmpfs"], &world) {
        return;
    }
    world.file("a", "one\n");
    assert!(mount(&["-o", "remount,ro"], &world));
    let agent = world.agent().await;
    agent.call("read", json!({ "path": "a" })).await.done();
    for path in ["a", "new", "deep/new"] {
        let write = json!({ "path": path, "content": "x" });
        agent.call("write", write).await.refused("can only be read. Nothing was changed.");
    }
    let edit = json!({ "path": "a", "old": "one", "new": "two" });
    agent.call("edit", edit).await.refused("can only be read");
    Command::new("umount").arg(world.folder()).output().unwrap();
}
