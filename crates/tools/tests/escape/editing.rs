//! `edit`: changes only read files, and only at a clear position.

use serde_json::json;

use crate::support::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_changes_one_place_and_shows_it() {
    let world = World::new();
    world.file("a.rs", "\u{feff}fn a() {\r\n    one();\r\n}\r\nfn b() {}");
    let agent = world.agent().await;
    let edit = json!({ "path": "a.rs", "old": "a() {\n    one();", "new": "a() {\n    two();" });
    agent.call("edit", edit.clone()).await.refused("you have not read it");
    agent.call("read", json!({ "path": "a.rs" })).await.done();
    let told = agent.call("edit", edit.clone()).await.done();
    assert!(told.contains("-    one();\n+    two();"), "{told}");
    let now = std::fs::read_to_string(world.inside("a.rs")).unwrap();
    assert_eq!(now, "\u{feff}fn a() {\r\n    two();\r\n}\r\nfn b() {}");
    // An agent need not read its own change again.
    agent.call("edit", edit).await.refused("stands nowhere");
    let more = json!({ "path": "a.rs", "old": "two", "new": "three" });
    agent.call("edit", more).await.done();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_that_matches_never_or_twice_is_refused() {
    let world = World::new();
    let text = "let x = 1;\n  let yes = 2;\nlet x = 1;\n";
    world.file("a", text);
    let agent = world.agent().await;
    agent.call("read", json!({ "path": "a" })).await.done();
    let edit = async |old: &str, all: bool| {
        agent.call("edit", json!({ "path": "a", "old": old, "new": "z", "all": all })).await
    };
    edit("let yes = 3;", false).await.refused("Most like it is line 2:   let yes = 2;");
    edit("unlike all", false).await.refused("stands nowhere in a");
    edit("let x", false).await.refused("2 times, in lines 1, 3");
    edit("", false).await.refused("must not be empty");
    edit("z", false).await.refused("are the same");
    assert_eq!(std::fs::read_to_string(world.inside("a")).unwrap(), text);
    edit("let x", true).await.done();
    let now = std::fs::read_to_string(world.inside("a")).unwrap();
    assert_eq!(now, "z = 1;\n  let yes = 2;\nz = 1;\n");
    agent
        .call("edit", json!({ "path": "none", "old": "a", "new": "b" }))
        .await
        .refused("There is no none. To make a file use write.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_was_swapped_between_read_and_edit_is_left_alone() {
    let world = World::new();
    let agent = world.agent().await;
    let edit = json!({ "path": "a", "old": "one", "new": "two" });
    for round in 0..50 {
        world.file("a", format!("one {round:02}\n"));
        agent.call("read", json!({ "path": "a" })).await.done();
        // The same length, the same time, and now and then the same inode.
        std::fs::remove_file(world.inside("a")).unwrap();
        world.file("a", format!("one {:02}\n", round + 1));
        agent.call("edit", edit.clone()).await.refused("has changed since you read it");
    }
    // A link in place of the file is refused.
    std::fs::remove_file(world.inside("a")).unwrap();
    world.link("a", world.outside("secret"));
    agent.call("edit", edit).await.refused("is a link");
    world.assert_untouched();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_read_by_each_agent_separately() {
    let world = World::new();
    world.file("a", "one\n");
    let files = offshoot_tools::Files::new();
    let first = world.agent_with(|agents| files.give(agents)).await;
    let second = world.agent_with(|agents| files.give(agents)).await;
    first.call("read", json!({ "path": "a" })).await.done();
    let edit = json!({ "path": "a", "old": "one", "new": "two" });
    second.call("edit", edit.clone()).await.refused("you have not read it");
    first.call("edit", edit).await.done();
    second.call("read", json!({ "path": "a" })).await.done();
    let again = json!({ "path": "a", "old": "two", "new": "three" });
    second.call("edit", again.clone()).await.done();
    first.call("edit", again).await.refused("has changed since you read it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn enormous_and_odd_files_are_not_edited() {
    let world = World::new();
    world.file("huge", "one\n".repeat(3 << 20));
    world.file("broken", b"one\xff\n");
    world.file("wide", b"\xff\xfeo\0n\0e\0");
    let agent = world.agent().await;
    for (path, why) in [("huge", "too many"), ("broken", "no UTF-8"), ("wide", "no UTF-8")] {
        agent.call("read", json!({ "path": path })).await.done();
        let edit = json!({ "path": path, "old": "one", "new": "two", "all": true });
        agent.call("edit", edit).await.refused(why);
    }
}
