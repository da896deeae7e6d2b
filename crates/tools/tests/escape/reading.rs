//! `read`, and the content that it must not show.

use std::os::unix::ffi::OsStringExt;
use std::sync::atomic::{AtomicBool, Ordering};

use offshoot_tools::Files;
use serde_json::json;

use crate::support::{SECRET, World};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dots_lead_not_out() {
    let world = World::new();
    world.file("a/b.txt", "inside\n");
    let agent = world.agent().await;
    for path in ["../out/secret", "a/../../out/secret", "./../out/secret", ".."] {
        agent.call("read", json!({ "path": path })).await.refused("leads out of the folder");
    }
    let read = agent.call("read", json!({ "path": "a/../a/b.txt" })).await.done();
    assert_eq!(read, "     1\tinside");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_absolute_path_leads_not_out() {
    let world = World::new();
    world.file("a.txt", "inside\n");
    let agent = world.agent().await;
    for path in [world.outside("secret"), "/etc/passwd".into(), world.inside("../out/secret")] {
        let told = agent.call("read", json!({ "path": path })).await;
        assert!(told.refused("out").contains("folder you work in"));
    }
    agent.call("read", json!({ "path": world.inside("a.txt") })).await.done();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_stays_is_followed_and_one_that_leaves_is_not() {
    let world = World::new();
    world.file("real/a.txt", "inside\n");
    world.link("stays", "real/a.txt");
    world.link("folder", "real");
    world.link("leaves", world.outside("secret"));
    world.link("climbs", "../out/secret");
    world.link("over", "climbs");
    world.link("out", world.outside(""));
    world.link("circle", "circle");
    let agent = world.agent().await;
    for path in ["stays", "folder/a.txt"] {
        agent.call("read", json!({ "path": path })).await.done();
    }
    for path in ["leaves", "climbs", "over", "out/secret", "circle"] {
        agent.call("read", json!({ "path": path })).await.refused("out");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_appears_at_any_moment_does_not_lead_out() {
    let world = World::new();
    world.file("real/secret", "inside\n");
    world.link("other", world.outside(""));
    let agent = world.agent().await;
    let over = AtomicBool::new(false);
    let swapper = || {
        // The directory and a link out of it take turns.
        while !over.load(Ordering::Relaxed) {
            rustix::fs::renameat_with(
                rustix::fs::CWD,
                world.inside("real"),
                rustix::fs::CWD,
                world.inside("other"),
                rustix::fs::RenameFlags::EXCHANGE,
            )
            .unwrap();
        }
    };
    let (seen, refused) = std::thread::scope(|scope| {
        scope.spawn(swapper);
        let counts = tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                let (mut seen, mut refused) = (0, 0);
                for _ in 0..2_000 {
                    let told = agent.call("read", json!({ "path": "real/secret" })).await;
                    assert!(!told.text.contains(SECRET.trim()), "{}", told.text);
                    if told.failed { refused += 1 } else { seen += 1 }
                }
                (seen, refused)
            })
        });
        over.store(true, Ordering::Relaxed);
        counts
    });
    assert_eq!(seen + refused, 2_000);
    println!("{seen} reads saw the folder, {refused} were refused");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_root_that_was_replaced_by_a_link_is_not_opened() {
    let world = World::new();
    world.file("secret", "inside\n");
    let agent = world.agent().await;
    agent.call("read", json!({ "path": "secret" })).await.done();
    std::fs::rename(world.folder(), world.folder().with_file_name("moved")).unwrap();
    std::os::unix::fs::symlink(world.outside(""), world.folder()).unwrap();
    for (tool, arguments) in [
        ("read", json!({ "path": "secret" })),
        ("list", json!({})),
        ("search", json!({ "pattern": "secret" })),
    ] {
        agent.call(tool, arguments).await.refused("is a link now");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hidden_paths_inside_the_directory_are_not_shown() {
    let world = World::new();
    world.file("keys/id", SECRET);
    world.file("a.txt", "inside\n");
    world.file("token", SECRET);
    world.link("way", "keys");
    let hiding = [world.inside("keys"), world.inside("token")];
    let agent = world.agent_of(Files::hiding(hiding)).await;
    for path in ["keys/id", "way/id", "keys", "way", "token"] {
        agent.call("read", json!({ "path": path })).await.refused("is kept from agents");
    }
    agent.call("list", json!({ "path": "keys" })).await.refused("is kept from agents");
    agent.call("search", json!({ "path": "keys", "pattern": "x" })).await.refused("is kept");
    let listed = agent.call("list", json!({ "depth": 9 })).await.done();
    assert!(!listed.contains("keys/") && !listed.contains("token"), "{listed}");
    let found = agent.call("search", json!({ "pattern": "secret|inside" })).await.done();
    assert!(found.contains("a.txt") && !found.contains("outside"), "{found}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn devices_pipes_sockets_and_folders_are_no_files() {
    let world = World::new();
    let made = std::process::Command::new("mkfifo").arg(world.inside("pipe")).status().unwrap();
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(world.inside("socket")).unwrap();
    world.file("folder/a", "");
    let agent = world.agent().await;
    agent.call("read", json!({ "path": "pipe" })).await.refused("is a pipe");
    agent.call("read", json!({ "path": "socket" })).await.refused("is a socket");
    agent.call("read", json!({ "path": "folder" })).await.refused("is a folder");
    let device = ["c", "1", "5"];
    let made = std::process::Command::new("mknod").arg(world.inside("zero")).args(device).status();
    match made {
        Ok(made) if made.success() => {
            agent.call("read", json!({ "path": "zero" })).await.refused("is a device");
        }
        _ => println!("no device can be made here: not tried"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_the_kernel_are_refused_and_its_links_not_followed() {
    let world = World::new();
    world.link("self", "/proc/self");
    let agent = world.agent().await;
    for path in ["/proc/self/environ", "self/environ", "self/root/etc/passwd", "self/fd/0"] {
        agent.call("read", json!({ "path": path })).await.refused("out");
    }
    // Also for an agent whose working directory contains all of them.
    let everywhere = crate::support::Agent::start("/".as_ref(), |agents| Files::new().give(agents));
    let everywhere = everywhere.await;
    for path in ["proc/self/environ", "/proc/1/status", "sys/kernel/notes"] {
        let told = everywhere.call("read", json!({ "path": path })).await;
        assert!(told.failed, "{path}: {}", told.text);
    }
    let told = everywhere.call("read", json!({ "path": "proc/self/cwd/Cargo.toml" })).await;
    told.refused("a link there leads nowhere, in a circle, or out");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_names_are_shown_in_a_form_that_can_be_passed_back() {
    let world = World::new();
    let names: [&[u8]; 4] = [b"a\nb", b"x\xff\xfe", b"back\\x41slash", b"\x1b[31mred"];
    for name in names {
        let name = std::ffi::OsString::from_vec(name.to_vec());
        std::fs::write(world.folder().join(name), "needle\n").unwrap();
    }
    let agent = world.agent().await;
    let listed = agent.call("list", json!({})).await.done();
    assert_eq!(listed.lines().count(), 4, "{listed}");
    let found = agent.call("search", json!({ "pattern": "needle", "files_only": true })).await;
    for line in listed.lines() {
        let name = line.trim_start().split_once("  ").unwrap().1;
        assert!(found.text.lines().any(|line| line == name), "{name}");
        let read = agent.call("read", json!({ "path": name })).await.done();
        assert_eq!(read, "     1\tneedle");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_enormous_file_is_read_up_to_its_last_shown_line() {
    let world = World::new();
    world.file("huge", "first\nsecond\n");
    let huge = std::fs::File::options().write(true).open(world.inside("huge")).unwrap();
    huge.set_len(1 << 42).unwrap();
    let agent = world.agent().await;
    let read = agent.call("read", json!({ "path": "huge", "limit": 2 })).await.done();
    assert!(read.contains("is no text") && read.contains("4398046511104 bytes"), "{read}");
    let found = agent.call("search", json!({ "pattern": "second" })).await.done();
    assert!(found.contains("too large to be searched"), "{found}");

    let long = "a line of some words\n".repeat(1_000_000);
    world.file("long", &long);
    let read = agent.call("read", json!({ "path": "long", "offset": 3, "limit": 2 })).await.done();
    assert!(read.starts_with("     3\ta line of some words\n     4\ta line"), "{read}");
    assert!(read.contains("was read only so far. Read on with offset=5."), "{read}");
    let last = agent.call("read", json!({ "path": "long", "offset": 1_000_000 })).await.done();
    assert!(last.starts_with("1000000\ta line of some words\n[Lines 1000000 to"), "{last}");
    let beyond = agent.call("read", json!({ "path": "long", "offset": 1_000_001 })).await.done();
    assert_eq!(beyond, "[There is no line 1000001: long has 1000000.]");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn binary_files_are_described_and_pictures_are_shown() {
    let world = World::new();
    world.file("program", b"\x7fELF\0\0\0rest");
    world.file("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0rest");
    world.file("empty", "");
    world.file("broken", b"a\xffb\n");
    world.file("wide", b"\xff\xfeh\0i\0\n\0");
    let agent = world.agent().await;
    let read = async |path: &str| agent.call("read", json!({ "path": path })).await;
    let program = read("program").await.done();
    assert!(program.contains("ELF") && program.contains("11 bytes"), "{program}");
    let picture = read("picture.png").await;
    assert_eq!(picture.images[0].media_type, "image/png");
    assert_eq!(read("empty").await.done(), "empty is empty.");
    let broken = read("broken").await.done();
    assert!(broken.contains("a\u{fffd}b") && broken.contains("no UTF-8"), "{broken}");
    let wide = read("wide").await.done();
    assert!(wide.starts_with("     1\thi\n") && wide.contains("UTF-16"), "{wide}");
    read("none").await.refused("There is no none.");
    read("q/..").await.refused("There is no q/.. here.");
    read("q/../..").await.refused("q/../.. leads out of the folder");
    read("empty/x").await.refused("is no folder");
}

#[tokio::test]
async fn a_read_on_either_thread_returns_the_same_text() {
    let world = World::new();
    world.file("a.txt", "one\ntwo\n");
    // The file system is still unknown, so a blocking thread reads first.
    let agent = world.agent_with(|agents| Files::new().give(agents)).await;
    let first = agent.call("read", json!({"path": "a.txt"})).await.done();
    assert_eq!(agent.call("read", json!({"path": "a.txt"})).await.done(), first);
    // A file can be changed after either kind of read.
    let edit = json!({"path": "a.txt", "old": "two", "new": "three"});
    agent.call("edit", edit).await.done();
    let read = agent.call("read", json!({"path": "a.txt", "offset": 2})).await.done();
    assert!(read.contains("three") && !read.contains("one"), "{read}");
}
