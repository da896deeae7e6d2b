//! Worktrees of one repository that are made at the same time.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use offshoot_core::{Stamp, TaskId};
use offshoot_worktree::{WorktreeRequest, Worktrees};

/// How many worktrees are made at the same time, and how often.
const AT_ONCE: u128 = 16;
const ROUNDS: u128 = 6;

fn git(directory: &Path, args: &[&str]) {
    let author = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
    let run = Command::new("git").current_dir(directory).args(author).args(args).output().unwrap();
    assert!(run.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&run.stderr));
}

async fn make(worktrees: Worktrees, repository: &Path, task: TaskId) {
    let request = WorktreeRequest {
        task,
        handle: "agent".into(),
        continues: None,
        directory: Some(repository.to_owned()),
        base: None,
    };
    let spec = worktrees.plan(request).await.unwrap();
    worktrees.make(task, &spec).await.unwrap();
    assert!(spec.path().join(".git").is_file());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_that_start_at_once_all_get_a_worktree() {
    let home = tempfile::tempdir().unwrap();
    let repository = home.path().join("repository");
    std::fs::create_dir(&repository).unwrap();
    git(&repository, &["init", "--quiet"]);
    git(&repository, &["commit", "--quiet", "--allow-empty", "--message=first"]);
    let worktrees = Worktrees::at(home.path().join("worktrees"));
    for round in 0..ROUNDS {
        let makes = (0..AT_ONCE).map(|number| {
            let task = TaskId::mint(Stamp::from_millis(1), round * AT_ONCE + number + 1);
            make(worktrees.clone(), &repository, task)
        });
        futures_util::future::join_all(makes).await;
    }
}
