//! What a repository, or a child that can write to it, brings for git to run:
//! none of it is run by us.

use std::path::Path;

use offshoot_agent::WorktreeState;
use serde_json::json;

use crate::isolation_worktree::{sent, sent_with, told};
use crate::repository::{Repository, git, reach};
use crate::support::Test;

/// A repository whose own configuration has a program run on every file, with
/// where that program leaves its mark.
fn trapped() -> (Repository, std::path::PathBuf) {
    let repository = Repository::new();
    let mark = repository.trees().with_file_name("sprung");
    std::fs::write(repository.path().join(".gitattributes"), "*.txt filter=trap\n").unwrap();
    git(&repository.path(), "add .");
    git(&repository.path(), "commit --quiet --message=trap");
    (repository, mark)
}

/// Sets the traps: everything that git runs for what the measuring and making of
/// worktrees asks of it.
fn arm(repository: &Path, mark: &Path) {
    let run = format!("touch '{}'; cat", mark.display());
    for setting in ["filter.trap.smudge", "filter.trap.clean", "filter.trap.process"] {
        reach(repository, &["config", setting, &run]);
    }
    for setting in
        ["core.fsmonitor", "diff.external", "core.sshCommand", "core.alternateRefsCommand"]
    {
        reach(repository, &["config", setting, &run]);
    }
    let hooks = repository.join(".git/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    for hook in ["post-checkout", "reference-transaction", "post-index-change"] {
        let path = hooks.join(hook);
        std::fs::write(&path, format!("#!/bin/sh\n{run}\n")).unwrap();
        let runs = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, runs).unwrap();
    }
}

#[tokio::test]
async fn s7_3_programs_of_a_repository_are_not_run_for_a_worktree() -> Test {
    let (repository, mark) = trapped();
    arm(&repository.path(), &mark);
    // The trap works: somebody who uses git there springs it.
    std::fs::remove_file(repository.path().join("src/a.txt"))?;
    reach(&repository.path(), &["checkout", "--", "."]);
    assert!(mark.exists(), "the trap does not work");
    std::fs::remove_file(&mark)?;
    let world = sent(&repository, vec![("write", json!({"path": "src/a.txt"}))]).await;
    let (said, worktree) = told(&world, &repository).await;
    assert_eq!(worktree.state, WorktreeState::Kept, "{said}");
    assert_eq!(worktree.files, Some(1));
    assert!(!mark.exists(), "a program of the repository was run");
    Ok(())
}

#[tokio::test]
async fn s7_3_what_a_child_writes_into_the_configuration_is_not_run_when_it_ends() -> Test {
    let (repository, mark) = trapped();
    let (path, sprung) = (repository.path(), mark.clone());
    let world = sent_with(&repository, vec![("arm", json!({}))], move |agents| {
        agents.tool(crate::repository::does("arm", move |_| arm(&path, &sprung)))
    })
    .await;
    let (said, worktree) = told(&world, &repository).await;
    assert_eq!(worktree.state, WorktreeState::Removed, "{said}");
    assert!(!mark.exists(), "a program that the child chose was run");
    Ok(())
}

#[tokio::test]
async fn s7_3_a_child_cannot_have_its_worktree_belong_to_another_repository() -> Test {
    let (repository, mark) = trapped();
    let (other, path, sprung) = (Repository::new(), repository.path(), mark.clone());
    let elsewhere = other.path();
    let lead_elsewhere = move |folder: &Path| {
        arm(&elsewhere, &sprung);
        let name = folder.file_name().unwrap();
        let admin = path.join(".git/worktrees").join(name);
        let common = elsewhere.join(".git");
        std::fs::write(admin.join("commondir"), common.as_os_str().as_encoded_bytes()).unwrap();
    };
    let world = sent_with(&repository, vec![("arm", json!({}))], move |agents| {
        agents.tool(crate::repository::does("arm", lead_elsewhere))
    })
    .await;
    let (said, worktree) = told(&world, &repository).await;
    assert!(!mark.exists(), "a program of another repository was run: {said} {worktree:?}");
    Ok(())
}
