//! The memory of ended tasks.
//!
//! This is a program by itself, because it measures the memory of the whole process.

// A test that cannot go on is one that fails: a panic is how it says so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::alloc::System;

use futures_util::future::join_all;
use offshoot_backends::{Attach, Command, Commands, Surroundings};
use offshoot_runtime::{BodyError, Context, Kind, Runtime, Session, TaskRequest};
use offshoot_sqlite::Sqlite;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static COUNTED: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The number of concurrent tasks.
const AT_ONCE: usize = 20;

/// Returns the bytes in use, except those of SQLite, whose caches are bounded.
fn in_use() -> usize {
    let stats = COUNTED.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

/// Runs tasks to their ends without reading their results, and returns the bytes
/// in use then.
async fn run(session: &Session, many: usize, request: impl Fn() -> TaskRequest) -> usize {
    for _ in 0..many / AT_ONCE {
        let tasks = (0..AT_ONCE).map(|_| async {
            session.spawn(request()).await.unwrap().wait().await.unwrap();
        });
        join_all(tasks).await;
    }
    in_use()
}

#[tokio::test]
async fn s10_4_tasks_that_have_ended_leave_memory() {
    let folder = tempfile::tempdir().unwrap();
    let commands = Commands::at(folder.path()).unwrap();
    let noop = Kind::new("noop", |_: Context, (): ()| async { Ok::<_, BodyError>(()) });
    let builder = Runtime::builder(Sqlite::at(folder.path())).kind(&noop);
    let runtime = builder.backend(Commands::KIND, commands.backend()).open().await.unwrap();

    let session = runtime.session("functions").await.unwrap();
    let before = run(&session, 1_000, || noop.with(())).await;
    let after = run(&session, 5_000, || noop.with(())).await;
    assert!(after < before + 5_000 * 8, "functions: {before} bytes became {after}");

    let session = runtime.session("commands").await.unwrap();
    let request = || {
        let command = Command::new("true", folder.path()).unwrap();
        commands.request(command, Some(Surroundings::own()), Attach::No).unwrap()
    };
    // More than the logs that are remembered for closed.
    let before = run(&session, 1_500, request).await;
    let after = run(&session, 2_000, request).await;
    assert!(after < before + 2_000 * 256, "commands: {before} bytes became {after}");
}
