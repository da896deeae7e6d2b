//! Reading records, now or at the end.

use offshoot_core::{Cancel, Failure, Outcome, Phase, Task, TaskState};
use offshoot_runtime::{Runtime, TaskRef};

/// The record once it meets the condition.
pub(crate) async fn until(task: &TaskRef, wanted: impl Fn(&Task) -> bool) -> Task {
    let mut watch = task.watch();
    loop {
        let found = watch.next().await.expect("ended before it was as wanted").expect("a record");
        if wanted(&found) {
            return found;
        }
    }
}

pub(crate) async fn until_state(task: &TaskRef, state: TaskState) -> Task {
    until(task, |task| task.state == state).await
}

pub(crate) async fn until_in(task: &TaskRef, phase: Phase) -> Task {
    until(task, |task| task.state.phase() == phase).await
}

/// The outcome of a task.
pub(crate) async fn end_of(task: &TaskRef) -> Task {
    loop {
        let waited = task.wait().await.expect("the runtime lives");
        if waited.is_ended() {
            return waited.task;
        }
    }
}

pub(crate) fn failure(task: &Task) -> &Failure {
    match task.ended() {
        Some(Outcome::Failed(failure)) => failure,
        other => panic!("not a failure: {other:?}"),
    }
}

/// The canceller, the reason, and whether the cancel was forced.
pub(crate) fn cancelled(task: &Task) -> (&Cancel, bool) {
    match task.ended() {
        Some(Outcome::Cancelled { cancel, forced }) => (cancel, *forced),
        other => panic!("not cancelled: {other:?}"),
    }
}

pub(crate) async fn all_tasks(runtime: &Runtime) -> Vec<Task> {
    let mut tasks = Vec::new();
    let mut list = runtime.tasks();
    loop {
        let page = list.clone().await.expect("a page");
        tasks.extend(page.items);
        match page.next {
            Some(next) => list = runtime.tasks().after(next),
            None => return tasks,
        }
    }
}
