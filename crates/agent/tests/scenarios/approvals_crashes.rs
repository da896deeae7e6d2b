//! Approval requests outlive the process that asks.

use std::sync::Arc;

use offshoot_agent::{Agents, Brief, Decision, KIND, PendingApproval};
use offshoot_core::permissions::Permissions;
use offshoot_core::{Question, Resolution};
use offshoot_models::{Call, Scripted, Turn};
use offshoot_runtime::Runtime;
use offshoot_sqlite::Sqlite;
use offshoot_store::{FaultPoint, FaultyStore, InjectedFault, Memory, Store};
use serde_json::json;

use crate::approvals::{Ledger, asking, ended, until_asked, writes};
use crate::support::{Test, answers, heard, purpose};

/// A lead with a child with a grandchild that writes.
fn script(call: &Call) -> Turn {
    let spawn_in_background = |task: &str| {
        let child = json!({"name": task, "task": task, "background": false});
        Turn::call([("spawn_agent", child)])
    };
    match (purpose(call), answers(call)) {
        ("lead", 0) => spawn_in_background("middle"),
        ("middle", 0) => spawn_in_background("last"),
        ("last", 0) => Turn::call([("write", json!({"text": "a"}))]),
        _ => Turn::say(heard(call).join(" | ")),
    }
}

fn agents(ledger: &Ledger) -> Agents {
    Agents::with_model(Scripted::new(script)).tool(ledger.tool())
}

fn brief(task: &str, authority: Permissions) -> Brief {
    Brief::new("scripted/model".parse().unwrap(), task).authority(authority)
}

/// The only open request, once it is there.
async fn request(runtime: &Runtime) -> Result<PendingApproval, offshoot_runtime::Error> {
    loop {
        if let [asked] = &PendingApproval::list(runtime).await?[..] {
            return Ok(asked.clone());
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s12_1_a_person_answers_a_grandchild_after_a_restart() -> Test {
    let (folder, ledger) = (tempfile::tempdir()?, Ledger::default());
    let agents = agents(&ledger);
    let open = || async {
        let runtime = Runtime::builder(Sqlite::at(folder.path())).backend(KIND, agents.backend());
        runtime.open().await
    };
    let runtime = open().await?;
    let session = runtime.session("main").await?;
    let lead = session.spawn(agents.request(&brief("lead", asking()))?).await?.id();
    let asked = request(&runtime).await?;
    assert_eq!(asked.handle, "last");
    drop((session, runtime));
    let runtime = open().await?;
    let found = request(&runtime).await?;
    assert_eq!(found, asked, "the same request");
    let last = runtime.task(&found.task.to_string()).await?;
    PendingApproval::decide(&last, found.number, &Decision::Once).await?;
    let lead = runtime.task(&lead.to_string()).await?;
    let told: String = ended(&lead).await.decode()?;
    assert!(told.contains("wrote a"), "{told}");
    assert_eq!(ledger.lines(), ["a"]);
    assert_eq!(last.questions().await?.len(), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn s9_3_a_call_approved_while_no_process_ran_is_made_once() -> Test {
    // The decision arrives before the agent resumes.
    let (memory, ledger) = (Memory::new(), Ledger::default());
    let agents = agents(&ledger);
    let runtime = Runtime::builder(memory.clone()).backend(KIND, agents.backend()).open().await?;
    let session = runtime.session("main").await?;
    session.spawn(agents.request(&brief("last", asking()))?).name("last").await?;
    request(&runtime).await?;
    drop((session, runtime));
    // This runtime executes no agents.
    let runtime = Runtime::builder(memory.clone()).open().await?;
    let last = runtime.task("last").await?;
    PendingApproval::decide(&last, 1, &Decision::Once).await?;
    drop((last, runtime));
    assert!(ledger.lines().is_empty());
    let runtime = Runtime::builder(memory).backend(KIND, agents.backend()).open().await?;
    let told: String = runtime.task("last").await?.wait().await?.decode()?;
    assert_eq!(told, "wrote a");
    assert_eq!(ledger.lines(), ["a"]);
    Ok(())
}

/// Runs an agent on a store that fails at this point, with a person who decides, until the
/// agent has ended or the process has died. Returns the number of commits.
async fn live(
    memory: &Memory,
    agents: &Agents,
    fault: FaultPoint,
) -> Result<u64, Box<dyn std::error::Error>> {
    let store = FaultyStore::new(Arc::new(memory.clone()), fault);
    let open = Runtime::builder(Arc::new(store.clone()) as Arc<dyn Store>);
    let Ok(runtime) = open.backend(KIND, agents.backend()).open().await else {
        return Ok(store.commits());
    };
    if let Ok(session) = runtime.session("main").await {
        let request = agents.request(&brief("last", asking()))?;
        if let Ok(agent) = session.spawn(request).name("last").await {
            while !store.has_crashed() {
                if PendingApproval::of_task(&agent).await.is_ok_and(|asked| !asked.is_empty()) {
                    // The process may die at this call.
                    drop(PendingApproval::decide(&agent, 1, &Decision::Once).await);
                }
                if agent.record().await.is_ok_and(|task| !task.is_live()) {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
    }
    drop(runtime);
    tokio::task::yield_now().await;
    Ok(store.commits())
}

#[tokio::test(start_paused = true)]
async fn s9_3_wherever_the_process_dies_an_approved_call_is_made_at_most_once() -> Test {
    let never = FaultPoint { commit: u64::MAX, fault: InjectedFault::CrashBefore };
    let ledger = Ledger::default();
    let commits = live(&Memory::new(), &agents(&ledger), never).await?;
    assert_eq!(ledger.lines(), ["a"]);
    let (mut taken_up, mut asked_before) = (0, 0);
    for fault in [InjectedFault::CrashBefore, InjectedFault::CrashAfter] {
        for commit in 1..=commits {
            let (memory, ledger) = (Memory::new(), Ledger::default());
            let agents = agents(&ledger);
            live(&memory, &agents, FaultPoint { commit, fault }).await?;
            let runtime = Runtime::builder(memory).backend(KIND, agents.backend()).open().await?;
            // The process may have died before the agent was stored.
            let Ok(agent) = runtime.task("last").await else { continue };
            taken_up += 1;
            asked_before += usize::from(!agent.questions().await?.is_empty());
            let told: String = loop {
                let waited = agent.wait().await?;
                if waited.is_ended() {
                    break waited.decode()?;
                }
                drop(PendingApproval::decide(&agent, 1, &Decision::Once).await);
            };
            let at = format!("{fault:?} at {commit}: {told}");
            assert_eq!(agent.questions().await?.len(), 1, "{at}");
            match ledger.lines().len() {
                1 => assert!(told == "wrote a" || told.contains("is unknown"), "{at}"),
                0 => assert!(told.contains("is unknown"), "{at}"),
                more => panic!("made {more} times: {at}"),
            }
        }
    }
    assert!(taken_up > 4 && asked_before > 2, "{asked_before} of {taken_up} of {commits}");
    Ok(())
}

#[tokio::test]
async fn s6_4_a_cancel_while_no_process_runs_withdraws_the_request() -> Test {
    let (memory, ledger) = (Memory::new(), Ledger::default());
    let agents = agents(&ledger);
    let runtime = Runtime::builder(memory.clone()).backend(KIND, agents.backend()).open().await?;
    let session = runtime.session("main").await?;
    session.spawn(agents.request(&brief("last", asking()))?).name("last").await?;
    request(&runtime).await?;
    drop((session, runtime));
    let runtime = Runtime::builder(memory.clone()).open().await?;
    let last = runtime.task("last").await?;
    last.cancel("enough").await?;
    drop((last, runtime));
    let runtime = Runtime::builder(memory).backend(KIND, agents.backend()).open().await?;
    let last = runtime.task("last").await?;
    ended(&last).await;
    assert!(PendingApproval::list(&runtime).await?.is_empty());
    assert!(PendingApproval::decide(&last, 1, &Decision::Once).await.is_err());
    assert!(ledger.lines().is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn s6_6_a_cancel_withdraws_on_a_disk_all_that_is_asked() -> Test {
    let (folder, ledger) = (tempfile::tempdir()?, Ledger::default());
    let model = Scripted::new(writes(&["a", "b", "c"]));
    let agents = Agents::with_model(model).tool(ledger.tool());
    let runtime = Runtime::builder(Sqlite::at(folder.path())).backend(KIND, agents.backend());
    let runtime = runtime.open().await?;
    let session = runtime.session("main").await?;
    let agent = session.spawn(agents.request(&brief("write", asking()))?).await?;
    until_asked(&agent, 3).await;
    PendingApproval::decide(&agent, 2, &Decision::Once).await?;
    while ledger.lines().is_empty() {
        tokio::task::yield_now().await;
    }
    agent.cancel("enough").await?;
    ended(&agent).await;
    let asked = agent.questions().await?;
    let withdrawn = |asked: &&Question| matches!(asked.closed, Some(Resolution::Withdrawn { .. }));
    assert_eq!(asked.iter().filter(withdrawn).count(), 2, "{asked:?}");
    assert_eq!(ledger.lines().len(), 1);
    assert_eq!(asked.len(), 3);
    Ok(())
}
