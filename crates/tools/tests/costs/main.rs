//! The memory of concurrent calls of the file tools.
//!
//! This is a program by itself, because it measures the memory of the whole process.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)]
#[path = "../escape/support.rs"]
mod support;

use peak_alloc::PeakAlloc;
use serde_json::{Value, json};

use self::support::{Agent, CallOutcome, World};

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

const MIB: usize = 1024 * 1024;

/// The memory limit of one call, in bytes: the old text, the new one, and some more.
const MOST: usize = 32 * MIB;

/// The number of calls of one answer.
const CALLS: usize = 60;

/// Returns the peak of additional memory during calls, in bytes.
async fn peak(agent: &Agent, tool: &str, calls: Vec<Value>) -> (usize, Vec<CallOutcome>) {
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    let told = agent.call_at_once(tool, calls).await;
    (ALLOCATED.peak_usage().saturating_sub(before), told)
}

/// The measurements run one after the other: each measures the whole process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_tools_for_files_cost_a_bounded_amount_of_memory() {
    an_edit_that_would_make_too_large_a_file().await;
    edits_of_the_largest_files().await;
    many_edits_and_searches_at_once().await;
}

async fn an_edit_that_would_make_too_large_a_file() {
    let world = World::new();
    world.file("a", "a".repeat(1_000_000));
    let agent = world.agent().await;
    agent.call("read", json!({ "path": "a" })).await.done();
    for length in [100, 1_000] {
        let edit = json!({ "path": "a", "old": "a", "new": "b".repeat(length), "all": true });
        let (most, told) = peak(&agent, "edit", vec![edit]).await;
        println!("an edit to {length} times the size: {most} bytes");
        assert!(most <= MOST, "an edit to {length} times the size took {most} bytes");
        for told in told {
            told.refused("would have more than 8388608 bytes");
        }
        assert_eq!(std::fs::metadata(world.inside("a")).unwrap().len(), 1_000_000);
    }
}

async fn edits_of_the_largest_files() {
    let world = World::new();
    let agent = world.agent().await;
    for text in ["a\n", "\n", "a", "ab\r\n"] {
        world.file("a", text.repeat(8 * MIB / text.len()));
        agent.call("read", json!({ "path": "a", "limit": 1 })).await.done();
        let (old, new) = if text == "\n" { ("\n", "b") } else { ("a", "b") };
        let edit = json!({ "path": "a", "old": old, "new": new, "all": true });
        let (most, told) = peak(&agent, "edit", vec![edit]).await;
        println!("an edit of 8 MiB of {text:?}: {most} bytes");
        assert!(most <= MOST, "an edit of 8 MiB of {text:?} took {most} bytes");
        for told in told {
            told.done();
        }
    }
}

async fn many_edits_and_searches_at_once() {
    let world = World::new();
    let agent = world.agent().await;
    let name = |number: usize| format!("f{number}");
    for number in 0..CALLS {
        world.file(&name(number), "a\n".repeat(MIB));
        agent.call("read", json!({ "path": name(number), "limit": 1 })).await.done();
    }
    let edit = |number| json!({ "path": name(number), "old": "a", "new": "b", "all": true });
    let (most, told) = peak(&agent, "edit", (0..CALLS).map(edit).collect()).await;
    println!("{CALLS} edits at once: {most} bytes");
    assert!(most <= 2 * MOST, "{CALLS} edits at once took {most} bytes");
    for told in told {
        told.done();
    }
    let search = |_| json!({ "pattern": "none" });
    let (most, told) = peak(&agent, "search", (0..CALLS).map(search).collect()).await;
    println!("{CALLS} searches at once: {most} bytes");
    assert!(most <= MOST, "{CALLS} searches at once took {most} bytes");
    for told in told {
        told.done();
    }
}
