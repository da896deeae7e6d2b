//! `write`, and the files that it must not change.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::atomic::{AtomicBool, Ordering};

use offshoot_agent::{Agents, Effect, Output, Tool, ToolContext, ToolError};
use offshoot_core::permissions::{Access, Action};
use offshoot_models::ToolSpec;
use offshoot_runtime::BoxFuture;
use offshoot_tools::Files;
use serde_json::json;

use crate::support::{SECRET, World};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_creates_directories_and_replaces_only_read_files() {
    let world = World::new();
    let agent = world.agent().await;
    let write = async |content: &str| {
        agent.call("write", json!({ "path": "a/b/c.sh", "content": content })).await
    };
    assert_eq!(write("one\ntwo\n").await.done(), "a/b/c.sh was made: 8 bytes, 2 lines.");
    let path = world.inside("a/b/c.sh");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
    let replaced = write("one\n2\n").await.done();
    assert_eq!(
        replaced,
        "a/b/c.sh was replaced: 6 bytes, 2 lines.\n@@ -1,2 +1,2 @@\n one\n-two\n+2"
    );
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o7777, 0o750);
    assert!(write("one\n2\n").await.done().contains("holds exactly this already"));
    std::fs::write(&path, "by another user\n").unwrap();
    write("mine\n").await.refused("has changed since you read it");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "by another user\n");
    world.file("other", "text\n");
    let other = json!({ "path": "other", "content": "mine\n" });
    agent.call("write", other.clone()).await.refused("you have not read it");
    agent.call("read", json!({ "path": "other", "limit": 1 })).await.done();
    agent.call("write", other).await.done();
    assert_eq!(std::fs::read_dir(world.inside("a/b")).unwrap().count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_git_runs_under_another_name_are_not_written() {
    let world = World::new();
    let config = "[core]\n\thooksPath = tools/hooks\n";
    for (file, text) in [
        (".git/HEAD", ""),
        (".git/config", config),
        ("tools/hooks/pre-commit", "old"),
        ("tools/other", "old"),
        ("inner/.git", "gitdir: ../meta\n"),
        ("meta/HEAD", ""),
        ("meta/objects/x", ""),
        ("meta/refs/x", ""),
        ("meta/config", "[core]\nhooksPath = \"run these\"\n"),
        ("linked/HEAD", ""),
        ("linked/commondir", "../meta"),
        ("new/objects/x", ""),
        ("new/refs/x", ""),
        ("near/HEAD", ""),
        ("near/objects/x", ""),
    ] {
        world.file(file, text);
    }
    let agent = world.agent().await;
    for path in [
        "tools/hooks/pre-commit",
        "tools/hooks/post-checkout",
        "tools/hooks/sub/x",
        "meta/config",
        "meta/hooks/pre-commit",
        "linked/config",
        "new/HEAD",
        "new/head",
        "inner/run these/pre-push",
    ] {
        let told = agent.call("write", json!({ "path": path, "content": "x" })).await;
        told.refused("is not for this tool");
    }
    assert_eq!(std::fs::read_to_string(world.inside("tools/hooks/pre-commit")).unwrap(), "old");
    for path in ["tools/new", "near/config", "near/x", "inner/x", "new/x", "inner/tools/hooks/x"] {
        agent.call("write", json!({ "path": path, "content": "x" })).await.done();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_written_outside() {
    let world = World::new();
    world.link("out", world.outside(""));
    world.link("climbs", "../out");
    world.link("file", world.outside("secret"));
    world.link("new", world.outside("new"));
    std::fs::create_dir(world.inside("d")).unwrap();
    let agent = world.agent().await;
    for path in ["../out/new", "d/../../out/new", "out/new", "climbs/new", "climbs/deep/new"] {
        let told = agent.call("write", json!({ "path": path, "content": "x" })).await;
        told.refused("leads out");
    }
    for path in ["file", "new"] {
        let told = agent.call("write", json!({ "path": path, "content": "x" })).await;
        told.refused("is a link");
    }
    let absolute = json!({ "path": world.outside("new"), "content": "x" });
    agent.call("write", absolute).await.refused("outside of the folder");
    for path in ["", ".", "d", "d/..", "d/none/../x"] {
        let told = agent.call("write", json!({ "path": path, "content": "x" })).await;
        assert!(told.failed, "{path}: {}", told.text);
    }
    world.assert_untouched();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hard_link_to_a_file_outside_is_cut_and_not_written_through() {
    let world = World::new();
    for name in ["written", "edited"] {
        std::fs::hard_link(world.outside("secret"), world.inside(name)).unwrap();
    }
    let agent = world.agent().await;
    for name in ["written", "edited"] {
        agent.call("read", json!({ "path": name })).await.done();
    }
    agent.call("write", json!({ "path": "written", "content": "x" })).await.done();
    let edit = json!({ "path": "edited", "old": "secret", "new": "x" });
    agent.call("edit", edit).await.done();
    world.assert_untouched();
    assert_eq!(std::fs::read_to_string(world.inside("written")).unwrap(), "x");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_that_turns_into_a_link_leads_no_write_out() {
    let world = World::new();
    std::fs::create_dir(world.inside("d")).unwrap();
    world.link("other", world.outside(""));
    let agent = world.agent().await;
    let over = AtomicBool::new(false);
    let (mut made, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (here, flags) = (rustix::fs::CWD, rustix::fs::RenameFlags::EXCHANGE);
            while !over.load(Ordering::Relaxed) {
                let (one, other) = (world.inside("d"), world.inside("other"));
                rustix::fs::renameat_with(here, one, here, other, flags).unwrap();
            }
        });
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                for number in 0..500 {
                    let path = format!("d/deep{number}/file");
                    let asked = json!({ "path": path, "content": "x" });
                    let told = agent.call("write", asked).await;
                    if told.failed { refused += 1 } else { made += 1 }
                }
            });
        });
        over.store(true, Ordering::Relaxed);
    });
    println!("{made} files were made, {refused} were refused");
    assert_eq!(made + refused, 500);
    world.assert_untouched();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hidden_paths_are_neither_written_nor_created() {
    let world = World::new();
    world.file("keys/id", SECRET);
    world.link("way", "keys");
    let hiding = [world.inside("keys"), world.inside("later/token")];
    let agent = world.agent_of(Files::hiding(hiding)).await;
    for path in ["keys/id", "keys/new", "way/new", "later/token", "later/token/x"] {
        let told = agent.call("write", json!({ "path": path, "content": "x" })).await;
        told.refused("is kept from agents");
    }
    let edit = json!({ "path": "keys/id", "old": "secret", "new": "x" });
    agent.call("edit", edit).await.refused("is kept from agents");
    assert!(!world.inside("keys/new").exists() && !world.inside("later").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_to_a_guarded_path_does_not_avoid_the_approval() {
    let world = World::new();
    world.file(".git/hooks/x", "");
    world.link("innocent", ".git");
    let agent = world.agent().await;
    let write = json!({ "path": "innocent/hooks/pre-commit", "content": "x" });
    let told = agent.call("write", write).await.refused("Name it by its real path");
    assert!(told.contains(".git/hooks/pre-commit"), "{told}");
    assert!(!world.inside(".git/hooks/pre-commit").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn binary_and_read_only_files_stay_unchanged() {
    let world = World::new();
    world.file("binary", b"\0\x01");
    world.file("fixed", "text\n");
    let fixed = std::fs::Permissions::from_mode(0o444);
    std::fs::set_permissions(world.inside("fixed"), fixed).unwrap();
    let agent = world.agent().await;
    for path in ["binary", "fixed"] {
        agent.call("read", json!({ "path": path })).await.done();
    }
    let write =
        async |path: &str| agent.call("write", json!({ "path": path, "content": "x" })).await;
    write("binary").await.refused("is no text");
    write("fixed").await.refused("is only read");
    assert_eq!(std::fs::read(world.inside("binary")).unwrap(), b"\0\x01");
    let made = std::process::Command::new("mkfifo").arg(world.inside("pipe")).status().unwrap();
    assert!(made.success());
    write("pipe").await.refused("is a pipe");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_of_any_bytes_can_be_written() {
    let world = World::new();
    let agent = world.agent().await;
    let made = agent.call("write", json!({ "path": "a\nb\\xff", "content": "x" })).await.done();
    assert!(made.starts_with("a\\x0ab\\xff was made"), "{made}");
    let listed = agent.call("list", json!({})).await.done();
    assert!(listed.ends_with("a\\x0ab\\xff"), "{listed}");
    let long = json!({ "path": "x".repeat(300), "content": "x" });
    agent.call("write", long).await.refused("too long");
}

/// A tool that returns the access that another tool would need.
#[derive(Debug)]
struct Wishing<T>(T);

impl<T: Tool> Tool for Wishing<T> {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    fn effect(&self) -> Effect {
        Effect::ReadOnly
    }

    fn wish(&self, _cx: &ToolContext, _arguments: &str) -> Result<Access, ToolError> {
        Ok(Access::new(&self.spec().name, Action::Read))
    }

    fn call(&self, cx: ToolContext, arguments: String) -> BoxFuture<Result<Output, ToolError>> {
        let wish = self.0.wish(&cx, &arguments);
        let told = wish.map(|wish| Output::text(format!("{:?} {:?}", wish.action, wish.guarded)));
        Box::pin(std::future::ready(told))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_to_a_guarded_path_needs_an_approval() {
    let world = World::new();
    let files = Files::new();
    let give = |agents: Agents| {
        agents.tool(Wishing(files.write())).tool(Wishing(files.edit())).tool(Wishing(files.read()))
    };
    let agent = world.agent_with(give).await;
    let (write, edit) = (
        async |path: &str| agent.call("write", json!({ "path": path, "content": "" })).await.done(),
        async |path: &str| {
            agent.call("edit", json!({ "path": path, "old": "a", "new": "b" })).await.done()
        },
    );
    let absolute = world.inside(".git/config");
    for path in [".git/config", "a/.GIT", "CLAUDE.md", "x/../.envrc", absolute.to_str().unwrap()] {
        for told in [write(path).await, edit(path).await] {
            assert!(told.starts_with("Change Some(\"it is"), "{path}: {told}");
        }
    }
    assert_eq!(write("src/a.rs").await, "Change None");
    assert_eq!(agent.call("read", json!({ "path": ".git/config" })).await.done(), "Read None");
}
