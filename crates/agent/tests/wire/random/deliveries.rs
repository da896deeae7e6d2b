//! Checks that every owner received the end of each task it spawned.

use offshoot_core::{BlockKind, Outcome, Owner, Task, TaskId};
use offshoot_runtime::{Runtime, Session};

type CheckResult<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Checks that the conversation of an owner reports each end of its tasks: once by a notice, or
/// else by the tool that waited for it.
pub(super) async fn check(runtime: &Runtime, session: &Session) -> CheckResult<()> {
    let all = all(runtime).await?;
    for task in all.iter().filter(|task| !task.is_live()) {
        // A task that a person continues may end after its owner's last turn. Then the
        // recipient of the owner's rows receives the report, or a task that continues one of
        // the two.
        let is_continued = task.spec.terms.continues.is_some();
        let mut owner = task.owner();
        let mut owners = Vec::new();
        while let Owner::Task(id) = owner {
            let ended = runtime.task(&id.to_string()).await?.record().await?;
            let completed = matches!(ended.ended(), Some(Outcome::Completed { .. }));
            if !completed || is_delivered(runtime, task, id).await? {
                break;
            }
            if !is_continued {
                return Err(format!(
                    "{} did not receive the end of {}",
                    ended.handle(),
                    task.handle()
                )
                .into());
            }
            owners.push(id);
            owner = ended.owner();
        }
        if is_continued && matches!(owner, Owner::Session(_)) {
            let mut is_received = is_in_inbox(session, task).await?;
            for sequel in sequels(&all, owners) {
                is_received |= is_delivered(runtime, task, sequel).await?;
            }
            if !is_received {
                return Err(format!("no agent received the end of {}", task.handle()).into());
            }
        }
    }
    Ok(())
}

/// The tasks that continue one of these, directly or through others.
fn sequels(all: &[Task], mut of: Vec<TaskId>) -> Vec<TaskId> {
    let first = of.len();
    let mut at = 0;
    while let Some(id) = of.get(at).copied() {
        let next = all.iter().filter(|task| task.spec.terms.continues == Some(id));
        of.extend(next.map(Task::id));
        at += 1;
    }
    of.split_off(first)
}

/// All tasks of the runtime.
pub(super) async fn all(runtime: &Runtime) -> Result<Vec<Task>, offshoot_runtime::Error> {
    let mut all = Vec::new();
    let mut page = runtime.tasks().await?;
    loop {
        all.append(&mut page.items);
        let Some(next) = page.next else { return Ok(all) };
        page = runtime.tasks().after(next).await?;
    }
}

/// Whether the owner received the report; an error if it received it twice.
async fn is_delivered(runtime: &Runtime, task: &Task, owner: TaskId) -> CheckResult<bool> {
    let owner = runtime.task(&owner.to_string()).await?;
    let history = owner.peek().last(100_000).limit(100_000).await?;
    let (handle, id) = (task.handle(), task.id());
    let words = format!("task=\"{handle}\" id=\"{id}\"");
    let mentions = history.blocks.iter().filter(|block| {
        let reports = matches!(block.kind, BlockKind::Notice | BlockKind::ToolResult);
        reports && block.text.as_deref().is_some_and(|text| text.contains(&words))
    });
    let kinds: Vec<_> = mentions.map(|block| block.kind).collect();
    let notices = kinds.iter().filter(|kind| **kind == BlockKind::Notice).count();
    match kinds.first() {
        None => Ok(false),
        // A repeated look shows the report again.
        Some(BlockKind::Notice) if notices == 1 => Ok(true),
        Some(BlockKind::ToolResult) if notices == 0 => Ok(true),
        Some(_) => {
            Err(format!("{} received the end of {handle} by {kinds:?}", owner.handle()).into())
        }
    }
}

/// Whether the session's inbox contains the end of the task.
async fn is_in_inbox(session: &Session, task: &Task) -> CheckResult<bool> {
    let rows = session.drain(10_000).await?;
    Ok(rows.iter().any(|row| row.task().is_some_and(|ended| ended.id() == task.id())))
}
