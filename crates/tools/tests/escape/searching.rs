//! `search`: its results, its exclusions and its limits.

use serde_json::json;

use crate::support::{SECRET, World};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_finds_lines_and_skips_ignored_files() {
    let world = World::new();
    world.file("src/a.rs", "one\nneedle here\nthree\n");
    world.file("src/b.txt", "needle\n");
    world.file("target/c.rs", "needle\n");
    world.file(".gitignore", "target/\n");
    world.file(".git/d.rs", "needle\n");
    world.file("bin.rs", b"needle\0");
    world.file("wide.rs", b"\xff\xfen\0e\0e\0d\0l\0e\0");
    let agent = world.agent().await;
    let found = agent.call("search", json!({ "pattern": "NEEDLE", "case": "insensitive" })).await;
    assert_eq!(
        found.done(),
        "src/a.rs\n     2: needle here\nsrc/b.txt\n     1: needle\nwide.rs\n     1: needle\n\
         [3 lines in 3 files.]"
    );
    let only = json!({ "pattern": "needle", "glob": "*.rs", "path": "src", "context": 1 });
    assert_eq!(
        agent.call("search", only).await.done(),
        "src/a.rs\n     1- one\n     2: needle here\n     3- three\n[1 line in 1 file.]"
    );
    let named = agent.call("search", json!({ "pattern": "needle", "path": "target/c.rs" })).await;
    assert!(named.done().contains("target/c.rs\n     1: needle"));
    let none = agent.call("search", json!({ "pattern": "nothing" })).await.done();
    assert!(none.starts_with("Nothing matches in ."), "{none}");
    agent.call("search", json!({ "pattern": "(" })).await.refused("unclosed group");
    agent.call("search", json!({ "pattern": "a", "glob": "[" })).await.refused("The glob is wrong");
    agent.call("search", json!({ "pattern": "a", "path": "none" })).await.refused("There is no");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_follows_no_link_and_waits_for_no_pipe() {
    let world = World::new();
    world.file("a/b.txt", "the secret inside\n");
    world.link("leaves", world.outside(""));
    world.link("secret", world.outside("secret"));
    world.link("circle", ".");
    for pipe in ["pipe", "a/.gitignore", ".ignore"] {
        let made = std::process::Command::new("mkfifo").arg(world.inside(pipe)).status().unwrap();
        assert!(made.success());
    }
    let agent = world.agent().await;
    let found = agent.call("search", json!({ "pattern": "secret" })).await.done();
    assert_eq!(found, "a/b.txt\n     1: the secret inside\n[1 line in 1 file.]");
    for path in ["leaves", "secret", "..", "leaves/secret"] {
        let told = agent.call("search", json!({ "pattern": "secret", "path": path })).await;
        told.refused("leads out");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn directories_that_turn_into_links_during_a_search_do_not_lead_out() {
    let world = World::new();
    for number in 0..50 {
        world.file(&format!("d{number}/sub/a.txt"), "the secret inside\n");
    }
    std::fs::create_dir(world.folder().with_file_name("links")).unwrap();
    let agent = world.agent().await;
    let (over, done) = std::sync::mpsc::channel::<()>();
    let (folder, out) = (world.folder(), world.outside(""));
    let swapper = std::thread::spawn(move || {
        let link = folder.with_file_name("links").join("sub");
        std::os::unix::fs::symlink(out, &link).unwrap();
        let mut number = 0;
        while done.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
            let sub = folder.join(format!("d{}/sub", number % 50));
            number += 1;
            for _ in 0..2 {
                let (here, flags) = (rustix::fs::CWD, rustix::fs::RenameFlags::EXCHANGE);
                rustix::fs::renameat_with(here, &sub, here, &link, flags).unwrap();
            }
        }
    });
    for _ in 0..100 {
        let found = agent.call("search", json!({ "pattern": "secret" })).await.done();
        assert!(!found.contains(SECRET.trim()), "{found}");
        let listed = agent.call("list", json!({ "depth": 3 })).await.done();
        assert!(!listed.contains("sub/secret"), "{listed}");
    }
    drop(over);
    swapper.join().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_of_a_search_are_bounded_and_count_the_rest() {
    let world = World::new();
    for number in 0..300 {
        world.file(&format!("f{number:03}"), "needle\n".repeat(10));
    }
    world.file("long", format!("needle{}", "ü".repeat(100_000)));
    let agent = world.agent().await;
    let found = agent.call("search", json!({ "pattern": "needle" })).await.done();
    assert!(found.chars().count() < 16_000);
    assert!(found.contains("[3001 lines in 301 files match in all; the first 200"), "{found}");
    let named = agent.call("search", json!({ "pattern": "needle", "files_only": true })).await;
    let named = named.done();
    assert!(named.starts_with("f000\nf001\n") && named.contains("[301 files match"), "{named}");
    let long = agent.call("search", json!({ "pattern": "needle", "path": "long" })).await.done();
    assert!(long.contains("…(+99706 more chars)"), "{long}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn directories_with_too_long_paths_are_reported_and_not_searched() {
    use rustix::fs::{Mode, OFlags, mkdirat, openat};

    let world = World::new();
    let agent = world.agent().await;
    let mut folder: std::os::fd::OwnedFd = std::fs::File::open(world.folder()).unwrap().into();
    // Each level has two bytes, so the last searched one is half as deep.
    for _ in 0..4_096 {
        mkdirat(&folder, "d", Mode::RWXU).unwrap();
        folder = openat(&folder, "d", OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    let file = openat(&folder, "f", OFlags::CREATE | OFlags::WRONLY, Mode::RWXU).unwrap();
    rustix::io::write(file, b"needle\n").unwrap();
    let told = agent.call("search", json!({ "pattern": "needle" })).await.done();
    assert!(told.contains("Nothing matches") && told.contains("1 could not be read"), "{told}");
    offshoot_sandbox::remove_tree(&world.inside("d")).unwrap();
}
