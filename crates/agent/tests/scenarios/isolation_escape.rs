//! Programs that a repository, or a child that can write to it, configures for git: Offshoot
//! runs none of them.

use std::path::Path;

use offshoot_agent::{Function, ToolContext, ToolError, WorktreeState};
use serde_json::json;

use crate::isolation_worktree::{last_report, world_with_child, world_with_child_and};
use crate::repository::{Repository, git, reach};
use crate::support::Test;

/// A repository whose own configuration runs a program on every file, and the path of the mark
/// that the program leaves.
fn trapped() -> (Repository, std::path::PathBuf) {
    let repository = Repository::new();
    let mark = repository.trees().with_file_name("sprung");
    std::fs::write(repository.path().join(".gitattributes"), "*.txt filter=trap\n").unwrap();
    git(&repository.path(), "add .");
    git(&repository.path(), "commit --quiet --message=trap");
    (repository, mark)
}

/// Sets the traps: every program that git runs while Offshoot measures and creates worktrees.
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
    // The trap works: a plain use of git there springs it.
    std::fs::remove_file(repository.path().join("src/a.txt"))?;
    reach(&repository.path(), &["checkout", "--", "."]);
    assert!(mark.exists(), "the trap does not work");
    std::fs::remove_file(&mark)?;
    let world = world_with_child(&repository, vec![("write", json!({"path": "src/a.txt"}))]).await;
    let (said, worktree) = last_report(&world, &repository).await;
    assert_eq!(worktree.state, WorktreeState::Kept, "{said}");
    assert_eq!(worktree.files, Some(1));
    assert!(!mark.exists(), "a program of the repository was run");
    Ok(())
}

#[tokio::test]
async fn s7_3_programs_that_a_child_configures_do_not_run_at_its_end() -> Test {
    let (repository, mark) = trapped();
    let (path, sprung) = (repository.path(), mark.clone());
    let world = world_with_child_and(&repository, vec![("arm", json!({}))], move |agents| {
        agents.tool(crate::repository::does("arm", move |_| arm(&path, &sprung)))
    })
    .await;
    let (said, worktree) = last_report(&world, &repository).await;
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
    let world = world_with_child_and(&repository, vec![("arm", json!({}))], move |agents| {
        agents.tool(crate::repository::does("arm", lead_elsewhere))
    })
    .await;
    let (said, worktree) = last_report(&world, &repository).await;
    assert!(!mark.exists(), "a program of another repository was run: {said} {worktree:?}");
    Ok(())
}

/// The report to a lead that asks for a worktree of this repository.
async fn refused(repository: &Repository) -> String {
    let world = world_with_child(repository, Vec::new()).await;
    let lead = world.agent_of(&world.brief("lead").folder(repository.path())).await;
    lead.wait().await.unwrap().decode().unwrap()
}

#[tokio::test]
async fn s7_3_no_worktree_is_taken_from_a_repository_that_does_not_know_the_folder() -> Test {
    let lead_there: [fn(&Path, &Path); 3] = [
        |own, other| {
            std::fs::rename(own, own.with_extension("kept")).unwrap();
            std::fs::write(own, format!("gitdir: {}\n", other.display())).unwrap();
        },
        |own, other| {
            std::fs::rename(own, own.with_extension("kept")).unwrap();
            std::os::unix::fs::symlink(other, own).unwrap();
        },
        |own, other| std::fs::write(own.join("commondir"), other.to_str().unwrap()).unwrap(),
    ];
    for lead_there in lead_there {
        let (repository, other) = (Repository::new(), Repository::new());
        let theirs = other.path().join(".git");
        lead_there(&repository.path().join(".git"), &theirs);
        let said = refused(&repository).await;
        assert!(said.contains("does not know that directory"), "{said}");
        assert!(other.is_tidy() && !theirs.join("worktrees").exists(), "{}", other.branches());
    }
    Ok(())
}

#[tokio::test]
async fn s11_1_worktrees_and_submodules_know_their_directories() -> Test {
    let repository = Repository::new();
    git(&repository.path(), "worktree add --quiet ../linked");
    let from = repository.path();
    let submodule =
        ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", from.to_str().unwrap()];
    reach(&repository.path(), &[&submodule[..], &["sub"]].concat());
    for folder in ["linked", "the repository/sub", "the repository/src"] {
        let world = world_with_child(&repository, Vec::new()).await;
        let folder = repository.path().with_file_name(folder);
        let lead = world.agent_of(&world.brief("lead").folder(folder)).await;
        let said: String = lead.wait().await.unwrap().decode().unwrap();
        assert!(said.contains("outcome=\"completed\""), "{said}");
    }
    Ok(())
}

#[tokio::test]
async fn s7_3_a_link_in_the_repository_gives_a_child_nothing_to_write_to() -> Test {
    let (repository, other) = (Repository::new(), Repository::new());
    let (git_folder, elsewhere) = (repository.path().join(".git"), other.path());
    let (told, heard) = std::sync::mpsc::channel();
    let look = move |cx: ToolContext, _: serde_json::Value| {
        let before = cx.commits_to();
        let name = cx.folder().unwrap().file_name().unwrap().to_owned();
        let admin = git_folder.join("worktrees").join(name);
        std::fs::rename(&admin, git_folder.join("admin")).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &admin).unwrap();
        let linked = cx.commits_to();
        std::fs::rename(&git_folder, git_folder.with_extension("kept")).unwrap();
        std::os::unix::fs::symlink(elsewhere.join(".git"), &git_folder).unwrap();
        let all_linked = cx.commits_to();
        told.send([before, linked, all_linked]).unwrap();
        async { Ok::<_, ToolError>("looked") }
    };
    let world = world_with_child_and(&repository, vec![("look", json!({}))], move |agents| {
        agents.tool(Function::new("look", "Looks.", look))
    })
    .await;
    let lead = world.agent_of(&world.brief("lead").folder(repository.path())).await;
    lead.wait().await.unwrap();
    let [before, linked, all_linked] = heard.recv().unwrap();
    assert!(before.len() == 4 && linked.len() == 3, "{before:?} {linked:?}");
    let away = |folder: &std::path::PathBuf| !folder.starts_with(repository.path());
    assert!(!before.iter().chain(&linked).any(away), "{before:?} {linked:?}");
    assert!(all_linked.is_empty(), "{all_linked:?}");
    Ok(())
}
