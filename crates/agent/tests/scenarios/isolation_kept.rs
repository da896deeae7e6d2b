//! The worktree of an ended agent: its remains, and the report of them.

use std::path::Path;

use offshoot_agent::{Function, ToolContext, ToolError, Worktree, WorktreeState};
use serde_json::{Map, Value, json};

use crate::isolation_worktree::{last_report, world_with_child, world_with_child_and};
use crate::repository::{Repository, git};
use crate::support::Test;

/// Has a child do work that is worth keeping. Returns its worktree.
async fn kept(child: Vec<(&'static str, Value)>) -> (Repository, Worktree) {
    let repository = Repository::new();
    let world = world_with_child(&repository, child).await;
    let (said, worktree) = last_report(&world, &repository).await;
    assert_eq!(worktree.state, WorktreeState::Kept, "{said}");
    assert!(said.contains(&format!("worktree=\"{}\"", worktree.path.display())), "{said}");
    assert!(said.contains(&format!("branch=\"{}\"", worktree.branch)), "{said}");
    let (files, commits) = (worktree.files.unwrap(), worktree.commits.unwrap());
    let commits = if commits == 0 { worktree.abandoned } else { commits };
    let told = [format!("{files} file"), format!("{commits} commit")];
    assert!(told.iter().all(|told| said.contains(told)), "{said}");
    assert!(worktree.path.join("src").is_dir() && repository.branches().contains(&worktree.branch));
    (repository, worktree)
}

#[tokio::test]
async fn s4_6_a_changed_file_is_kept_and_reported() {
    let (repository, worktree) = kept(vec![("write", json!({"path": "src/a.txt"}))]).await;
    assert_eq!((worktree.files, worktree.commits), (Some(1), Some(0)));
    let own = std::fs::read_to_string(repository.path().join("src/a.txt")).unwrap();
    assert_eq!(own, "a\n", "the owner's folder is untouched");
}

#[tokio::test]
async fn a_file_that_git_does_not_know_is_kept() {
    let (_, worktree) = kept(vec![
        ("write", json!({"path": "new/b c.txt"})),
        ("write", json!({"path": "new/ä.txt"})),
    ])
    .await;
    assert_eq!((worktree.files, worktree.commits), (Some(2), Some(0)));
}

#[tokio::test]
async fn a_commit_is_kept() {
    let (_, worktree) = kept(vec![
        ("write", json!({"path": "b.txt"})),
        ("git", json!({"args": "add ."})),
        ("git", json!({"args": "commit --quiet --message=second"})),
    ])
    .await;
    assert_eq!((worktree.files, worktree.commits), (Some(1), Some(1)));
}

#[tokio::test]
async fn a_commit_on_no_branch_is_kept_even_if_its_head_has_left_it() {
    let (_, worktree) = kept(vec![
        ("git", json!({"args": "checkout --quiet --detach"})),
        ("git", json!({"args": "commit --quiet --allow-empty --message=second"})),
        ("git", json!({"args": "checkout --quiet -"})),
    ])
    .await;
    assert_eq!((worktree.files, worktree.commits), (Some(0), Some(0)));
    assert_eq!(worktree.abandoned, 1);
}

#[tokio::test]
async fn a_commit_on_no_branch_is_counted() {
    let (_, worktree) = kept(vec![
        ("git", json!({"args": "checkout --quiet --detach"})),
        ("write", json!({"path": "b.txt"})),
        ("git", json!({"args": "add ."})),
        ("git", json!({"args": "commit --quiet --message=second"})),
    ])
    .await;
    assert_eq!((worktree.files, worktree.commits, worktree.abandoned), (Some(1), Some(1), 0));
}

/// A change to the worktree of an agent: to its directory, and to the place of its head in git.
type Harm = fn(&Path, &Path);

/// The report to a lead of a child that changed its worktree like this, and the worktree in the
/// child's own report.
async fn harmed(repository: &Repository, harm: Harm) -> (String, Worktree) {
    let harming = move |cx: ToolContext, _: Map<String, Value>| async move {
        let folder = cx.folder().unwrap();
        harm(folder, Path::new(git(folder, "rev-parse --absolute-git-dir").trim()));
        Ok::<_, ToolError>("done".to_owned())
    };
    let harming = Function::new("harm", "Does harm.", harming);
    let child = vec![("harm", json!({}))];
    let world = world_with_child_and(repository, child, |agents| agents.tool(harming)).await;
    last_report(&world, repository).await
}

/// Replaces a file by a pipe.
fn pipe(place: &Path) {
    std::fs::remove_file(place).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(place).status().unwrap().success());
}

#[tokio::test]
async fn an_unmeasurable_worktree_is_kept_and_reported() {
    let harms: [(&str, Harm); 7] = [
        ("another repository in its place", |folder, _| {
            std::fs::remove_file(folder.join(".git")).unwrap();
            git(folder, "init --quiet");
            git(folder, "add .");
            git(folder, "commit --quiet --message=elsewhere");
        }),
        ("it leads nowhere", |folder, _| {
            std::fs::write(folder.join(".git"), "gitdir: /nowhere\n").unwrap();
        }),
        ("what leads to its repository is no text", |folder, _| {
            std::fs::write(folder.join(".git"), [0xff; 99]).unwrap();
        }),
        ("its repository does not know it", |_, admin| std::fs::remove_dir_all(admin).unwrap()),
        ("its head is no commit", |_, admin| std::fs::write(admin.join("HEAD"), "?").unwrap()),
        // A process that opens the pipe waits for ever.
        ("its head is a pipe", |_, admin| pipe(&admin.join("HEAD"))),
        ("its branch is a pipe", |folder, admin| {
            let branch = git(folder, "symbolic-ref HEAD");
            pipe(&admin.join("../..").join(branch.trim()));
        }),
    ];
    for (what, harm) in harms {
        let repository = Repository::new();
        let (said, worktree) = harmed(&repository, harm).await;
        assert_eq!(worktree.state, WorktreeState::Kept, "{what}: {said}");
        assert_eq!((worktree.files, worktree.commits), (None, None), "{what}");
        assert!(said.contains("what its worktree holds could not be measured"), "{what}: {said}");
        assert!(!said.contains("0 files") && !said.contains("0 commits"), "{what}: {said}");
        let path = worktree.path.display();
        assert!(said.contains(&format!("worktree=\"{path}\"")), "{what}: {said}");
        assert!(worktree.path.join("src/a.txt").exists(), "{what}");
    }
}

#[tokio::test]
async fn the_commits_of_a_worktree_that_was_deleted_are_counted() {
    let repository = Repository::new();
    let (said, worktree) = harmed(&repository, |folder, _| {
        std::fs::write(folder.join("b.txt"), "b").unwrap();
        git(folder, "add .");
        git(folder, "commit --quiet --message=second");
        std::fs::remove_dir_all(folder).unwrap();
    })
    .await;
    assert_eq!((worktree.files, worktree.commits), (Some(1), Some(1)), "{said}");
    assert!(said.contains("1 file changed, 1 commit\""), "{said}");
    assert!(repository.branches().contains(&worktree.branch));
}

#[tokio::test]
async fn a_worktree_with_only_ignored_files_is_not_kept() -> Test {
    let repository = Repository::new();
    let world =
        world_with_child(&repository, vec![("write", json!({"path": "built/deep/output.bin"}))])
            .await;
    let (said, worktree) = last_report(&world, &repository).await;
    assert_eq!(worktree.state, WorktreeState::Removed, "{said}");
    assert!(repository.is_tidy());
    Ok(())
}
