//! Worktrees whose agents are interrupted by a crash, or whose making is.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use offshoot_agent::{AgentReport, Agents, Brief, Isolation, KIND, OwnerState, WorktreeState};
use offshoot_core::{Caps, Outcome, Task};
use offshoot_models::{Call, Scripted, Turn};
use offshoot_runtime::{RestartPolicy, Runtime};
use offshoot_store::{FaultPoint, FaultyStore, InjectedFault, Memory, Store};
use serde_json::json;

use crate::repository::{Repository, equipped, git};
use crate::support::{Doors, Test, answers, heard, purpose, until_called};

fn brief(repository: &Repository) -> Brief {
    let model = "scripted/model".parse().unwrap();
    Brief::new(model, "child").folder(repository.path()).isolation(Isolation::Worktree)
}

async fn open(store: Arc<dyn Store>, agents: &Agents, caps: Caps) -> Option<Runtime> {
    let restarts = RestartPolicy { back_off: Duration::ZERO, ..RestartPolicy::default() };
    let runtime = Runtime::builder(store).backend(KIND, agents.backend()).restarts(restarts);
    runtime.caps(caps).open().await.ok()
}

fn report(task: &Task) -> offshoot_agent::Worktree {
    AgentReport::of(task).unwrap().worktree.unwrap()
}

/// An agent that waits at a door until its process dies. Returns its answer, after `meanwhile`
/// has changed the worktree that the dead process left.
async fn interrupted(
    repository: &Repository,
    meanwhile: impl FnOnce(&offshoot_agent::Worktree),
) -> Result<(String, Task), Box<dyn std::error::Error>> {
    let (doors, memory) = (Doors::default(), Memory::new());
    let script = |call: &Call| match answers(call) {
        0 => Turn::call([("stand", json!({"door": "x"}))]),
        1 => Turn::call([("git", json!({"args": "status --porcelain"}))]),
        _ => Turn::say(format!("status: {}", heard(call).join(""))),
    };
    let agents = Agents::with_model(Scripted::new(script)).tool(doors.tool());
    let agents = equipped(agents, repository);
    let store: Arc<dyn Store> = Arc::new(memory);
    let runtime = open(store.clone(), &agents, Caps::default()).await.unwrap();
    let session = runtime.session("main").await?;
    let task = session.spawn(agents.request(&brief(repository))?).await?;
    until_called(&task, "stand").await?;
    let (id, worktree) = (task.id().to_string(), report(&task.record().await?));
    drop((task, session, runtime));
    meanwhile(&worktree);
    doors.open("x");
    let runtime = open(store, &agents, Caps::default()).await.unwrap();
    let task = runtime.task(&id).await?;
    let said = task.wait().await?.decode()?;
    Ok((said, task.record().await?))
}

fn note(worktree: &Path, from: &str, to: &str) {
    let path = worktree.with_extension("json");
    let note = std::fs::read_to_string(&path).unwrap();
    assert!(note.contains(from), "{note}");
    std::fs::write(path, note.replace(from, to)).unwrap();
}

#[tokio::test]
async fn s9_3_an_attempt_that_takes_over_works_in_the_same_worktree() -> Test {
    let repository = Repository::new();
    let (said, task) = interrupted(&repository, |worktree| {
        std::fs::write(worktree.path.join("b.txt"), "b").unwrap();
    })
    .await?;
    assert_eq!(said, "status: ?? b.txt\n");
    assert_eq!(report(&task).state, WorktreeState::Kept);
    Ok(())
}

#[tokio::test]
async fn s9_2_a_worktree_that_is_half_there_is_made_again() -> Test {
    type Harm = fn(&offshoot_agent::Worktree, &Path);
    const MADE: &str = "\"phase\":\"made\"";
    let harms: [(&str, Harm); 6] = [
        ("killed while git was at it", |tree, admin| {
            note(&tree.path, MADE, "\"phase\":\"making\"");
            std::fs::remove_dir_all(tree.path.join("src")).unwrap();
            std::fs::write(admin.join("index.lock"), "").unwrap();
            std::fs::write(admin.join("locked"), "initializing").unwrap();
        }),
        ("killed before git had begun", |tree, admin| {
            note(&tree.path, MADE, "\"phase\":\"making\"");
            std::fs::remove_dir_all(&tree.path).unwrap();
            std::fs::create_dir(&tree.path).unwrap();
            std::fs::remove_file(admin.join("gitdir")).unwrap();
        }),
        ("killed while it was removed", |tree, _| {
            note(&tree.path, MADE, "\"phase\":\"removing\"");
            std::fs::remove_dir_all(tree.path.join("src")).unwrap();
        }),
        ("registered and missing", |tree, _| std::fs::remove_dir_all(&tree.path).unwrap()),
        ("without a note", |tree, _| {
            std::fs::remove_file(tree.path.with_extension("json")).unwrap();
        }),
        ("nothing left but the branch", |tree, admin| {
            std::fs::remove_file(tree.path.with_extension("json")).unwrap();
            std::fs::remove_dir_all(&tree.path).unwrap();
            std::fs::remove_dir_all(admin).unwrap();
        }),
    ];
    for (harm, done) in harms {
        let repository = Repository::new();
        let (said, task) = interrupted(&repository, |worktree| {
            let name = worktree.path.file_name().unwrap();
            done(worktree, &repository.path().join(".git/worktrees").join(name));
        })
        .await?;
        assert_eq!(said, "status: ", "{harm}");
        assert_eq!(report(&task).state, WorktreeState::Removed, "{harm}");
        assert!(repository.is_tidy(), "{harm}");
    }
    Ok(())
}

#[tokio::test]
async fn commits_survive_the_deletion_of_their_directory() -> Test {
    let repository = Repository::new();
    let (said, task) = interrupted(&repository, |worktree| {
        git(&worktree.path, "commit --quiet --allow-empty --message=second");
        std::fs::remove_dir_all(&worktree.path).unwrap();
    })
    .await?;
    let worktree = report(&task);
    assert_eq!((said.as_str(), worktree.commits, worktree.files), ("status: ", Some(1), Some(0)));
    assert_eq!(git(&worktree.path, "log -1 --format=%s"), "second\n");
    Ok(())
}

#[tokio::test]
async fn an_end_without_a_body_names_the_worktree_and_a_sweep_removes_it() -> Test {
    let (repository, doors) = (Repository::new(), Doors::default());
    let script = |_: &Call| Turn::call([("stand", json!({"door": "x"}))]);
    let agents = Agents::with_model(Scripted::new(script)).tool(doors.tool());
    let agents = equipped(agents, &repository);
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let runtime = open(store.clone(), &agents, Caps::default()).await.unwrap();
    let session = runtime.session("main").await?;
    let task = session.spawn(agents.request(&brief(&repository))?).await?;
    until_called(&task, "stand").await?;
    let id = task.id().to_string();
    drop((task, session, runtime));
    // Nothing executes for now: the agent is queued, and a person cancels it.
    let mut caps = Caps::default();
    caps.executing.space = Some(0);
    let runtime = open(store, &agents, caps).await.unwrap();
    runtime.recovered().await;
    let task = runtime.task(&id).await?;
    task.cancel("stop").await?;
    task.wait().await?;
    let record = task.record().await?;
    assert!(matches!(record.ended(), Some(Outcome::Cancelled { .. })));
    let left = AgentReport::of(&record).unwrap().left().cloned().unwrap();
    assert!(left.state == WorktreeState::InUse && left.path.exists());
    assert_eq!(agents.sweep_worktrees(async |_| OwnerState::Ended).await?, 1);
    assert!(repository.is_tidy());
    Ok(())
}

#[tokio::test]
async fn a_sweep_finishes_the_removal_of_a_worktree_and_of_its_note() -> Test {
    for (phase, tree) in
        [("made", true), ("made", false), ("making", true), ("removing", true), ("removing", false)]
    {
        let (repository, doors) = (Repository::new(), Doors::default());
        let script = |_: &Call| Turn::call([("stand", json!({"door": "x"}))]);
        let agents = Agents::with_model(Scripted::new(script)).tool(doors.tool());
        let agents = equipped(agents, &repository);
        let runtime = open(Arc::new(Memory::new()), &agents, Caps::default()).await.unwrap();
        let session = runtime.session("main").await?;
        let task = session.spawn(agents.request(&brief(&repository))?).await?;
        until_called(&task, "stand").await?;
        let path = report(&task.record().await?).path;
        drop((task, session, runtime));
        note(&path, "\"phase\":\"made\"", &format!("\"phase\":\"{phase}\""));
        if !tree {
            std::fs::remove_dir_all(&path)?;
        }
        std::fs::write(path.with_extension("new"), "{\"tree\":")?;
        agents.sweep_worktrees(async |_| OwnerState::Live).await?;
        assert!(path.with_extension("new").exists(), "{phase}: an agent may write it");
        agents.sweep_worktrees(async |_| OwnerState::Ended).await?;
        let left: Vec<_> = std::fs::read_dir(repository.trees())?.flatten().collect();
        let left: Vec<_> = left.iter().map(|entry| entry.path()).collect();
        assert_eq!(left, [path.with_extension("json")], "{phase}: an agent may continue it");
        // The sweep deletes the record, and the process dies once more.
        std::fs::write(path.with_extension("new"), "")?;
        agents.sweep_worktrees(async |_| OwnerState::Gone).await?;
        assert_eq!(std::fs::read_dir(repository.trees())?.count(), 0, "{phase}");
        assert!(repository.is_tidy(), "{phase}");
    }
    Ok(())
}

/// Runs a lead with a child that writes nothing on a store that fails at this point, until the
/// lead has ended or the process has died. Returns the number of commits.
async fn live(
    memory: &Memory,
    agents: &Agents,
    (repository, fault): (&Repository, FaultPoint),
) -> Result<u64, Box<dyn std::error::Error>> {
    let store = FaultyStore::new(Arc::new(memory.clone()), fault);
    let opened = open(Arc::new(store.clone()), agents, Caps::default()).await;
    let Some(runtime) = opened else { return Ok(store.commits()) };
    let mut lead = brief(repository).isolation(Isolation::None);
    lead.task = "lead".into();
    if let Ok(session) = runtime.session("main").await
        && let Ok(lead) = session.spawn(agents.request(&lead)?).name("lead").await
    {
        let mut ended = std::pin::pin!(lead.wait().into_future());
        while !store.has_crashed() && !futures_util::poll!(&mut ended).is_ready() {
            tokio::task::yield_now().await;
        }
    }
    Ok(store.commits())
}

#[tokio::test]
async fn s4_3_whenever_the_process_dies_the_worktree_is_made_once_and_goes() -> Test {
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => {
            let child = json!({"name": "a", "task": "child", "isolation": "worktree"});
            Turn::call([("spawn_agent", child)])
        }
        ("child", 0) => Turn::call([("git", json!({"args": "status --porcelain"}))]),
        _ => Turn::say(heard(call).join("")),
    };
    let never = FaultPoint { commit: u64::MAX, fault: InjectedFault::CrashBefore };
    let prepare =
        |repository: &Repository| equipped(Agents::with_model(Scripted::new(script)), repository);
    let repository = Repository::new();
    let commits = live(&Memory::new(), &prepare(&repository), (&repository, never)).await?;
    let mut taken_up = 0;
    for (commit, fault) in (1..=commits).map(|commit| match commit % 2 {
        0 => (commit, InjectedFault::CrashBefore),
        _ => (commit, InjectedFault::CrashAfter),
    }) {
        let (memory, repository) = (Memory::new(), Repository::new());
        let agents = prepare(&repository);
        live(&memory, &agents, (&repository, FaultPoint { commit, fault })).await?;
        let store: Arc<dyn Store> = Arc::new(memory);
        let runtime = open(store, &agents, Caps::default()).await.unwrap();
        let Ok(lead) = runtime.task("lead").await else { continue };
        let said: String = lead.wait().await?.decode()?;
        assert_eq!(said.matches("outcome=\"completed\"").count(), 1, "{fault:?} {commit}: {said}");
        assert!(repository.is_tidy(), "{fault:?} at {commit}");
        taken_up += 1;
    }
    assert!(taken_up > commits / 2, "{taken_up} of {commits}");
    Ok(())
}
