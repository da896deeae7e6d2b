//! Git that blocks on a pipe or a device: it ends on cancel and after a limit, and no work is
//! lost.

use std::path::Path;
use std::time::Duration;

use offshoot_agent::{AgentReport, Agents, Isolation, OwnerState, Worktree, WorktreeState};
use offshoot_models::{Call, Turn};
use offshoot_runtime::TaskRef;
use serde_json::json;

use crate::repository::{Repository, does, equipped, git};
use crate::support::{Test, World, answers};

/// A change to the worktree of an agent.
type Harm = fn(&Path);

/// Puts a pipe at a path, in place of any file there.
fn pipe(place: &Path) {
    std::fs::remove_file(place).ok();
    assert!(std::process::Command::new("mkfifo").arg(place).status().unwrap().success());
}

/// A pipe that no list of files can foresee: git reads it during the measurement.
fn pipe_deep_down(folder: &Path) {
    std::fs::write(folder.join("src/new.txt"), "new\n").unwrap();
    pipe(&folder.join("src/.gitignore"));
}

/// An isolated agent that makes this change to its worktree and then ends its turn.
async fn agent(
    repository: &Repository,
    harm: impl Fn(&Path) + Send + Sync + 'static,
    say: impl FnOnce(Agents) -> Agents,
) -> (World, TaskRef) {
    let script = |call: &Call| match answers(call) {
        0 => Turn::call([("harm", json!({}))]),
        _ => Turn::say("done"),
    };
    let equip = |agents| say(equipped(agents, repository).tool(does("harm", harm)));
    let world = World::with(script, equip).await;
    let brief = world.brief("child").folder(repository.path()).isolation(Isolation::Worktree);
    let agent = world.agent_of(&brief).await;
    (world, agent)
}

async fn worktree(agent: &TaskRef) -> Worktree {
    AgentReport::of(&agent.record().await.unwrap()).unwrap().worktree.unwrap()
}

/// The processes whose command line names a path of this repository. Empty on a system that
/// does not list processes.
fn processes(repository: &Repository) -> usize {
    let place = repository.trees().with_file_name("");
    let named = place.to_str().unwrap().as_bytes();
    let lines = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = lines.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.windows(named.len()).any(|part| part == named)).count()
}

/// Resolves once git is gone. The runtime kills git without waiting for it.
async fn until_git_is_gone(repository: &Repository) {
    while processes(repository) > 0 {
        tokio::task::yield_now().await;
    }
}

/// Resolves once `why` says that the agent waits for git.
async fn until_git_waits(agent: &TaskRef) -> String {
    loop {
        let why = agent.why().await.unwrap().to_string();
        if why.contains("git measures") {
            return why;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn s6_1_an_agent_whose_git_waits_at_a_pipe_ends_on_cancel() -> Test {
    let repository = Repository::new();
    let (_world, agent) = agent(&repository, pipe_deep_down, |agents| agents).await;
    let why = until_git_waits(&agent).await;
    let path = worktree(&agent).await.path;
    assert!(why.contains(path.to_str().unwrap()), "{why}");
    agent.cancel("enough").await?;
    agent.wait().await?;
    let worktree = worktree(&agent).await;
    assert_eq!((worktree.state, worktree.files), (WorktreeState::Kept, None));
    assert!(path.join("src/new.txt").exists(), "nothing is lost");
    until_git_is_gone(&repository).await;
    Ok(())
}

#[tokio::test]
async fn an_agent_ends_by_itself_when_its_git_waits_at_a_pipe() -> Test {
    let repository = Repository::new();
    let limit = Duration::from_secs(10);
    let (world, agent) = agent(&repository, pipe_deep_down, |agents| agents.git_limit(limit)).await;
    agent.wait().await?;
    let kept = worktree(&agent).await;
    assert_eq!((kept.state, kept.files), (WorktreeState::Kept, None));
    until_git_is_gone(&repository).await;
    // Once the pipe is gone, the next sweep measures the worktree.
    std::fs::remove_file(kept.path.join("src/.gitignore"))?;
    assert_eq!(world.agents.sweep_worktrees(async |_| OwnerState::Ended).await?, 0);
    std::fs::remove_file(kept.path.join("src/new.txt"))?;
    assert_eq!(world.agents.sweep_worktrees(async |_| OwnerState::Ended).await?, 1);
    assert!(repository.is_tidy());
    Ok(())
}

#[tokio::test]
async fn a_pipe_where_git_always_reads_is_found_before_git_runs() -> Test {
    let places: [(&str, Harm); 4] = [
        (".gitignore", |folder| pipe(&folder.join(".gitignore"))),
        (".gitattributes", |folder| pipe(&folder.join(".gitattributes"))),
        ("logs/HEAD", |folder| {
            let admin = git(folder, "rev-parse --absolute-git-dir");
            pipe(&Path::new(admin.trim()).join("logs/HEAD"));
        }),
        ("objects/info/alternates", |folder| {
            let common = git(folder, "rev-parse --path-format=absolute --git-common-dir");
            pipe(&Path::new(common.trim()).join("objects/info/alternates"));
        }),
    ];
    for (name, harm) in places {
        let repository = Repository::new();
        let (world, agent) = agent(&repository, harm, |agents| agents).await;
        agent.wait().await?;
        let kept = worktree(&agent).await;
        assert_eq!((kept.state, kept.files), (WorktreeState::Kept, None), "{name}");
        assert_eq!(world.agents.sweep_worktrees(async |_| OwnerState::Ended).await?, 0, "{name}");
        assert_eq!(processes(&repository), 0, "{name}: git is gone");
    }
    Ok(())
}
