//! The report of a failure in a process explains the failure.

// Clippy does not see the helpers of tests as tests; a panic is their way to fail.
#![allow(clippy::expect_used)]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use offshoot_core::Payload;
use offshoot_harness::crash::{parent, stuck};
use offshoot_runtime::{BodyError, Context, Kind, Runtime, TaskRequest};
use offshoot_store::{Memory, Store};

/// Dies like the others, and ends no task.
const PROGRAM: &str = r#"#!/bin/sh
case "$*" in
*--finish*) echo "the child failed: it is tired" >&2; exit 1 ;;
*) kill -KILL $$ ;;
esac
"#;

#[test]
fn the_report_names_the_obstacle_of_the_last_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("program");
    fs::write(&program, PROGRAM).expect("the program is written");
    fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("it can be executed");
    let toll = parent::kill_many(&program, 1, 1, None).expect("the harness works");
    let violation = toll.violation.expect("a promise is broken");
    assert_eq!(violation.invariant, "all tasks end");
    assert!(violation.detail.contains("it is tired"), "{violation}");
    assert!(toll.evidence.is_some_and(|evidence| evidence.path().exists()));
}

#[tokio::test]
async fn a_task_that_does_not_end_is_reported_with_its_history() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let kind: Kind<(), ()> = Kind::new("asker", |cx: Context, ()| async move {
        cx.ask("which?").await?;
        Ok::<_, BodyError>(())
    });
    let runtime = Runtime::builder(store.clone()).kind(&kind).open().await.expect("it opens");
    let session = runtime.session("main").await.expect("a session");
    let request = || TaskRequest::new("asker", Payload::Null);
    let task = session.spawn(request()).name("one").await.expect("it is spawned");
    let other = session.spawn(request()).name("other").await.expect("it is spawned");
    for task in [&task, &other] {
        task.wait().await.expect("it asks");
    }
    let told = stuck::describe(&runtime, &*store, &task).await.expect("all is known");
    let other = format!("beside it: {} of", other.id());
    for word in ["does not end: one is waiting(input 1)", "epoch: 1", "which?", "Asked", &other] {
        assert!(told.contains(word), "{word:?} is not told: {told}");
    }
}
