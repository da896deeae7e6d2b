//! Agents that work in git worktrees of their own, on real repositories.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use offshoot_agent::{
    AgentReport, Agents, Function, Isolation, OwnerState, ToolContext, ToolError, Worktree,
    WorktreeState,
};
use offshoot_core::{Caps, Outcome};
use offshoot_models::{Call, Turn};
use offshoot_runtime::TaskRef;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::repository::{Repository, equipped, git};
use crate::support::{Doors, Test, World, answers, heard, purpose, until_called};

/// A lead that spawns one child with its own worktree and answers with the report of its end.
/// The child makes each of these calls and ends.
pub(crate) async fn world_with_child(
    repository: &Repository,
    child: Vec<(&'static str, Value)>,
) -> World {
    world_with_child_and(repository, child, |agents| agents).await
}

/// The same with more options for the agents.
pub(crate) async fn world_with_child_and(
    repository: &Repository,
    child: Vec<(&'static str, Value)>,
    say: impl FnOnce(Agents) -> Agents,
) -> World {
    let script = move |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([(
            "spawn_agent",
            json!({"name": "the child", "task": "child", "isolation": "worktree"}),
        )]),
        ("lead", _) => Turn::say(heard(call).join("\n")),
        (_, step) => match child.get(step) {
            Some((tool, arguments)) => Turn::call([(*tool, arguments.clone())]),
            None => Turn::say("done"),
        },
    };
    World::with(script, |agents| say(equipped(agents, repository))).await
}

/// The last report to the lead, and the worktree in the child's report.
pub(crate) async fn last_report(world: &World, repository: &Repository) -> (String, Worktree) {
    let lead = world.agent_of(&world.brief("lead").folder(repository.path())).await;
    let said: String = lead.wait().await.unwrap().decode().unwrap();
    let child = world.child("the child").await.record().await.unwrap();
    (said, AgentReport::of(&child).unwrap().worktree.unwrap())
}

#[tokio::test]
async fn s11_1_a_pipe_where_git_reads_blocks_no_agent() -> Test {
    let repository = Repository::new();
    let head = repository.path().join(".git/HEAD");
    std::fs::remove_file(&head)?;
    assert!(Command::new("mkfifo").arg(&head).status()?.success());
    let world = world_with_child(&repository, Vec::new()).await;
    let lead = world.agent_of(&world.brief("lead").folder(repository.path())).await;
    let said: String = lead.wait().await?.decode()?;
    assert!(said.contains(".git/HEAD is not a file, and git would wait"), "{said}");
    Ok(())
}

#[tokio::test]
async fn s11_1_a_worktree_without_changes_is_removed_with_its_branch() -> Test {
    let repository = Repository::new();
    let world =
        world_with_child(&repository, vec![("git", json!({"args": "status --porcelain"}))]).await;
    let (said, worktree) = last_report(&world, &repository).await;
    assert_eq!(worktree.state, WorktreeState::Removed, "{said}");
    assert!(!said.contains("worktree=") && said.contains("outcome=\"completed\""), "{said}");
    assert!(repository.is_tidy(), "{}", repository.branches());
    let asked = world.model.asked();
    let system = &asked.iter().find(|call| purpose(call) == "child").unwrap().system;
    for part in [worktree.path.to_str().unwrap(), &worktree.branch, &worktree.base] {
        assert!(system.contains(part), "{part}: {system}");
    }
    assert!(system.contains("What was not committed"), "{system}");
    assert!(worktree.branch.starts_with("offshoot/the-child-"), "{worktree:?}");
    assert_eq!(worktree.base, git(&repository.path(), "rev-parse HEAD").trim());
    Ok(())
}

#[tokio::test]
async fn a_child_works_at_the_same_place_and_so_do_those_below_it() -> Test {
    let repository = Repository::new();
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => {
            Turn::call([("spawn_agent", json!({"task": "child", "isolation": "worktree"}))])
        }
        ("child", 0) => Turn::call([("spawn_agent", json!({"task": "grandchild"}))]),
        ("grandchild", 0) => Turn::call([("write", json!({"path": "b.txt"}))]),
        _ => Turn::say(heard(call).join("\n")),
    };
    let world = World::with(script, |agents| equipped(agents, &repository)).await;
    let brief = world.brief("lead").folder(repository.path().join("src"));
    let said: String = world.agent_of(&brief).await.wait().await?.decode()?;
    let child = world.runtime().tasks().await?.items;
    let report =
        child.iter().filter_map(AgentReport::of).find_map(|report| report.worktree).unwrap();
    assert!(report.path.join("src/b.txt").exists(), "{said}");
    assert!(!repository.path().join("src/b.txt").exists());
    Ok(())
}

/// The report to a lead that asks for a worktree of a directory outside any repository.
async fn refused(folder: &Path, trees: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let script = |call: &Call| match answers(call) {
        0 => Turn::call([("spawn_agent", json!({"task": "child", "isolation": "worktree"}))]),
        _ => Turn::say(heard(call).join("\n")),
    };
    let world = World::with(script, |agents| agents.worktrees(trees)).await;
    let lead = world.agent_of(&world.brief("lead").folder(folder)).await;
    let said: String = lead.wait().await?.decode()?;
    assert_eq!(world.runtime().tasks().await?.items.len(), 1, "nothing was started: {said}");
    assert!(said.starts_with("Nothing was started: ") && !trees.exists(), "{said}");
    Ok(said)
}

#[tokio::test]
async fn where_there_is_no_worktree_nothing_is_started() -> Test {
    let folder = tempfile::tempdir()?;
    // The search for a repository stops at a directory that all users share.
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o1777))?;
    let (plain, trees) = (folder.path().join("plain"), folder.path().join("trees"));
    std::fs::create_dir(&plain)?;
    let said = refused(&plain, &trees).await?;
    assert!(said.contains("is in no git repository"), "{said}");
    std::fs::create_dir(plain.join(".git"))?;
    let said = refused(&plain, &trees).await?;
    assert!(said.contains("is in no git repository"), "an empty .git is none: {said}");
    let said = refused(&folder.path().join("missing"), &trees).await?;
    assert!(said.contains("is in no git repository"), "{said}");
    let bare = folder.path().join("bare");
    git(&bare, "init --quiet --bare");
    let said = refused(&bare, &trees).await?;
    assert!(said.contains("bare repository"), "{said}");
    let empty = folder.path().join("empty");
    git(&empty, "init --quiet");
    let said = refused(&empty, &trees).await?;
    assert!(said.contains("has no commit yet"), "{said}");
    let repository = Repository::new();
    let said = refused(&repository.path(), &repository.path().join("trees")).await?;
    assert!(said.contains("must be outside"), "{said}");
    assert!(repository.is_tidy());
    Ok(())
}

#[tokio::test]
async fn a_merge_under_way_is_allowed_and_reported() -> Test {
    let repository = Repository::new();
    let path = repository.path();
    git(&path, "checkout --quiet -b other");
    git(&path, "commit --quiet --allow-empty --message=theirs");
    git(&path, "checkout --quiet main");
    git(&path, "commit --quiet --allow-empty --message=ours");
    git(&path, "merge --quiet --no-ff --no-commit other");
    let world = world_with_child(&repository, Vec::new()).await;
    let (said, worktree) = last_report(&world, &repository).await;
    assert_eq!(worktree.state, WorktreeState::Removed, "{said}");
    let asked = world.model.asked();
    let system = &asked.iter().find(|call| purpose(call) == "child").unwrap().system;
    assert!(system.contains("a merge was in progress"), "{system}");
    assert!(git(&path, "status").contains("still merging"), "the owner's merge is untouched");
    Ok(())
}

#[tokio::test]
async fn a_branch_in_the_way_is_gone_around() -> Test {
    let repository = Repository::new();
    git(&repository.path(), "branch offshoot");
    let world = world_with_child(&repository, Vec::new()).await;
    let (_, worktree) = last_report(&world, &repository).await;
    assert!(worktree.branch.starts_with("offshoot-the-child-"), "{worktree:?}");
    assert_eq!(repository.branches(), "main\noffshoot\n");
    Ok(())
}

#[tokio::test]
async fn the_hooks_of_a_repository_do_not_run() -> Test {
    let repository = Repository::new();
    let mark = repository.path().join("../hook-ran");
    for hook in ["post-checkout", "reference-transaction", "post-index-change"] {
        let hook = repository.path().join(".git/hooks").join(hook);
        std::fs::create_dir_all(hook.parent().unwrap())?;
        std::fs::write(&hook, format!("#!/bin/sh\ntouch '{}'\n", mark.display()))?;
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755))?;
    }
    let world = world_with_child(&repository, Vec::new()).await;
    let (_, worktree) = last_report(&world, &repository).await;
    assert_eq!(worktree.state, WorktreeState::Removed);
    assert!(!mark.exists());
    Ok(())
}

#[tokio::test]
async fn two_children_at_once_are_not_in_each_others_way() -> Test {
    let repository = Repository::new();
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call(["größe ✓", "b.lock"].map(|name| {
            let task = format!("child {name}");
            ("spawn_agent", json!({"name": name, "task": task, "isolation": "worktree"}))
        })),
        ("lead", _) => Turn::say("over"),
        (_, 0) => Turn::call([("write", json!({"path": "src/a.txt"}))]),
        _ => Turn::say("done"),
    };
    let world = World::with(script, |agents| equipped(agents, &repository)).await;
    world.agent_of(&world.brief("lead").folder(repository.path())).await.wait().await?;
    let mut paths = Vec::new();
    for name in ["größe ✓", "b.lock"] {
        let child = world.child(name).await;
        child.wait().await?;
        let worktree = AgentReport::of(&child.record().await?).unwrap().worktree.unwrap();
        assert_eq!((worktree.state, worktree.files), (WorktreeState::Kept, Some(1)));
        paths.push(worktree.path);
    }
    assert_ne!(paths[0], paths[1]);
    Ok(())
}

/// A child that waits at a door after it has written its files.
async fn standing(
    repository: &Repository,
    writes: Option<&'static str>,
) -> Result<(World, TaskRef), Box<dyn std::error::Error>> {
    let doors = Doors::default();
    let script = move |call: &Call| match (purpose(call), answers(call), writes) {
        ("lead", 0, _) => Turn::call([(
            "spawn_agent",
            json!({"name": "the child", "task": "child", "isolation": "worktree"}),
        )]),
        ("lead", ..) => Turn::say(heard(call).join("\n")),
        ("child", 0, Some(path)) => Turn::call([("write", json!({"path": path}))]),
        ("child", ..) => Turn::call([
            ("spawn_agent", json!({"name": "below", "task": "below"})),
            ("stand", json!({"door": "x"})),
        ]),
        _ => Turn::call([("stand", json!({"door": "y"}))]),
    };
    let world = World::with(script, |agents| equipped(agents, repository).tool(doors.tool())).await;
    world.agent_of(&world.brief("lead").folder(repository.path())).await;
    let below = world.child("below").await;
    until_called(&below, "stand").await?;
    let child = world.child("the child").await;
    Ok((world, child))
}

#[tokio::test]
async fn s6_1_a_cancelled_child_leaves_only_unsaved_work() -> Test {
    for (writes, state) in [(None, WorktreeState::Removed), (Some("b.txt"), WorktreeState::Kept)] {
        let repository = Repository::new();
        let (world, child) = standing(&repository, writes).await?;
        child.cancel("enough").await?;
        child.wait().await?;
        let record = child.record().await?;
        assert!(matches!(record.ended(), Some(Outcome::Cancelled { forced: false, .. })));
        let worktree = AgentReport::of(&record).unwrap().worktree.unwrap();
        assert_eq!((worktree.state, repository.is_tidy()), (state, writes.is_none()));
        let below = world.child("below").await.record().await?;
        assert!(below.ended().is_some(), "what works in a folder ends before the folder does");
    }
    Ok(())
}

/// Records, when it is dropped, whether its directory still exists.
struct Watch(PathBuf, Arc<Mutex<Vec<bool>>>);

impl Drop for Watch {
    fn drop(&mut self) {
        self.1.lock().push(self.0.exists());
    }
}

#[tokio::test]
async fn a_child_that_fails_stops_those_below_it_before_its_worktree_goes() -> Test {
    let (repository, seen) = (Repository::new(), Arc::new(Mutex::default()));
    let note = seen.clone();
    let work = move |cx: ToolContext, _: Map<String, Value>| {
        let watch = Watch(cx.folder().unwrap().to_owned(), note.clone());
        async move {
            let _watch = watch;
            std::future::pending::<Result<String, ToolError>>().await
        }
    };
    let work = Function::new("work", "Works for ever.", work).read_only().long_running();
    let doors = Doors::default();
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("child", 0) => Turn::call([
            ("spawn_agent", json!({"name": "below", "task": "below"})),
            ("stand", json!({"door": "x"})),
        ]),
        ("below", _) => Turn::call([("work", json!({}))]),
        _ => Turn::say("that was the last step"),
    };
    let say = |agents| equipped(agents, &repository).tool(doors.tool()).tool(work);
    let world = World::with(script, say).await;
    let brief = world.brief("child").folder(repository.path()).isolation(Isolation::Worktree);
    let child = world.agent_of(&brief.steps(1)).await;
    until_called(&world.child("below").await, "work").await?;
    doors.open("x");
    child.wait().await?;
    let record = child.record().await?;
    assert!(matches!(record.ended(), Some(Outcome::Failed(_))), "{record:?}");
    assert_eq!(AgentReport::of(&record).unwrap().worktree.unwrap().state, WorktreeState::Removed);
    assert_eq!(*seen.lock(), [true], "it stopped while its folder was there");
    assert!(repository.is_tidy());
    Ok(())
}

#[tokio::test]
async fn s5_2_a_continuing_agent_has_the_kept_worktree_or_its_commit() -> Test {
    let repository = Repository::new();
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("child", 1) => Turn::call([("write", json!({"path": "b.txt"}))]),
        _ => Turn::say("done"),
    };
    let world = World::with(script, |agents| equipped(agents, &repository)).await;
    let brief = world.brief("child").folder(repository.path()).isolation(Isolation::Worktree);
    let mut task = world.agent_of(&brief).await;
    task.wait().await?;
    let first = AgentReport::of(&task.record().await?).unwrap().worktree.unwrap();
    assert_eq!(first.state, WorktreeState::Removed);
    git(&repository.path(), "commit --quiet --allow-empty --message=later");
    let mut said = Vec::new();
    for _ in 0..2 {
        let receipts = task.send("go on").await?;
        task = world.session.task(&receipts.first().unwrap().task.to_string()).await?;
        task.wait().await?;
        let worktree = AgentReport::of(&task.record().await?).unwrap().worktree.unwrap();
        assert_eq!((worktree.state, worktree.files), (WorktreeState::Kept, Some(1)));
        assert_eq!((&worktree.path, &worktree.base), (&first.path, &first.base));
        said.push(world.model.asked().last().unwrap().system.to_string());
    }
    assert!(said[0].contains("is gone, because nothing was left in it"), "{}", said[0]);
    assert!(said[1].contains("with all that was left in it"), "{}", said[1]);
    Ok(())
}

#[tokio::test]
async fn a_detached_child_does_not_work_in_a_worktree_that_may_go_before_it() -> Test {
    let repository = Repository::new();
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("child", 0) => Turn::call([("spawn_agent", json!({"task": "below"}))]),
        ("below", 0) => Turn::call([("spawn_agent", json!({"task": "x", "detached": true}))]),
        ("below", 1) if heard(call)[0].contains("would lose the folder") => {
            let isolated = json!({"task": "x", "detached": true, "isolation": "worktree"});
            Turn::call([("spawn_agent", isolated)])
        }
        _ => Turn::say(heard(call).join("\n")),
    };
    // Agents run one at a time: the detached agent starts when the worktree it was taken
    // from may be gone.
    let mut caps = Caps::default();
    caps.executing.space = Some(1);
    let world = World::with_caps(script, |agents| equipped(agents, &repository), caps).await;
    let brief = world.brief("child").folder(repository.path()).isolation(Isolation::Worktree);
    let said: String = world.agent_of(&brief).await.wait().await?.decode()?;
    assert!(said.contains("Started in the background"), "{said}");
    for task in world.runtime().tasks().await?.items {
        let task = world.runtime().task(&task.id().to_string()).await?;
        task.wait().await?;
        let record = task.record().await?;
        assert!(matches!(record.ended(), Some(Outcome::Completed { .. })), "{record:?}");
    }
    assert!(repository.is_tidy());
    Ok(())
}

#[tokio::test]
async fn a_sweep_removes_abandoned_worktrees_and_keeps_the_rest() -> Test {
    for (writes, swept) in [(None, 1), (Some("b.txt"), 0)] {
        let repository = Repository::new();
        let (world, child) = standing(&repository, writes).await?;
        let agents = world.agents.clone();
        let live = async |_| OwnerState::Live;
        assert_eq!(agents.sweep_worktrees(live).await?, 0, "what lives is left alone");
        // The process dies before any cleanup.
        drop((world, child));
        let ended = async |_| OwnerState::Ended;
        assert_eq!(agents.sweep_worktrees(ended).await?, swept);
        assert_eq!(repository.is_tidy(), writes.is_none());
        let gone = async |_| OwnerState::Gone;
        assert_eq!(agents.sweep_worktrees(gone).await?, 0);
        let left = std::fs::read_dir(repository.trees())?.count();
        assert_eq!(left, if writes.is_some() { 2 } else { 0 });
    }
    Ok(())
}

#[tokio::test]
async fn a_late_tool_is_cleaned_up_before_its_end_is_reported() -> Test {
    let repository = Repository::new();
    let doors = Doors::default();
    let script = |_: &Call| Turn::call([("stand", json!({"door": "x"}))]);
    let world =
        World::with(script, |agents| equipped(agents, &repository).tool(doors.tool())).await;
    let brief = world.brief("child").folder(repository.path()).isolation(Isolation::Worktree);
    let request = world.agents.request(&brief)?;
    let child = world.session.spawn(request).timeout(Duration::from_secs(1)).await?;
    child.wait().await?;
    assert!(matches!(child.record().await?.ended(), Some(Outcome::Failed(_))));
    assert!(repository.is_tidy());
    Ok(())
}

#[test]
fn git_variables_of_the_environment_are_ignored() {
    let test = "isolation_kept::s4_6_a_changed_file_is_kept_and_reported";
    let elsewhere = tempfile::tempdir().unwrap();
    let run = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact"])
        .env("GIT_DIR", elsewhere.path())
        .env("GIT_WORK_TREE", elsewhere.path())
        .env("GIT_INDEX_FILE", elsewhere.path().join("index"))
        .env("GIT_CONFIG_COUNT", "not a number")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && said.contains("1 passed"), "{said}");
}
