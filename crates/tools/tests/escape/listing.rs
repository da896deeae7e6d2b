//! `list`: bounded, sorted and in pages.

use serde_json::json;

use crate::support::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_shows_kinds_and_sizes_without_ignored_files() {
    let world = World::new();
    world.file("src/main.rs", "fn main() {}\n");
    world.file("target/debug/x", "x");
    world.file(".git/config", "x");
    world.file(".gitignore", "target/\n");
    world.link("link", "src/main.rs");
    world.link("leaves", world.outside(""));
    let agent = world.agent().await;
    let listed = agent.call("list", json!({ "depth": 3 })).await.done();
    let out = world.outside("");
    let expected = format!(
        "    folder  .git/  (left out)
         8  .gitignore
      link  leaves -> {}
      link  link -> src/main.rs
    folder  src/
        13  src/main.rs
    folder  target/  (left out)",
        out.display()
    );
    assert_eq!(listed, expected);
    let inside = agent.call("list", json!({ "path": "target", "depth": 2 })).await.done();
    assert_eq!(inside, "    folder  target/debug/\n         1  target/debug/x");
    agent.call("list", json!({ "path": "leaves" })).await.refused("leads out");
    agent.call("list", json!({ "path": ".." })).await.refused("leads out");
    agent.call("list", json!({ "path": "src/main.rs" })).await.refused("is no folder");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_list_is_read_page_by_page_and_nothing_is_missing() {
    let world = World::new();
    let mut all = Vec::new();
    for folder in 0..12 {
        for file in 0..100 {
            all.push(format!("d{folder:02}/f{file:03}"));
            world.file(&format!("d{folder:02}/f{file:03}"), "");
        }
    }
    let agent = world.agent().await;
    let (mut seen, mut after) = (Vec::new(), None::<String>);
    for _ in 0..20 {
        let page = agent.call("list", json!({ "depth": 2, "after": after })).await.done();
        assert!(page.chars().count() < 16_000);
        let names = page.lines().filter(|line| line.contains("  d") && line.contains("/f"));
        seen.extend(names.map(|line| line.trim_start().split_once("  ").unwrap().1.to_owned()));
        let more = page.lines().last().and_then(|line| line.split_once("after=\""));
        match more {
            Some((_, next)) => after = Some(next.split('"').next().unwrap().to_owned()),
            None => break,
        }
    }
    assert_eq!(seen, all);
}
