//! A profile is frozen into the agents that are spawned from it.

use std::sync::Arc;
use std::time::Duration;

use offshoot_agent::{Agents, Brief, KIND};
use offshoot_models::{Call, Scripted, Turn};
use offshoot_runtime::{RestartPolicy, Runtime};
use offshoot_store::{FaultPoint, FaultyStore, InjectedFault, Memory, Store};
use serde_json::json;

use crate::profiles::ProfileDir;
use crate::support::{Doors, Test, answers, heard, purpose, until_called};

const BEFORE: &str = "---\ntools: [stand]\n---\nAs it was.";
const AFTER: &str = "---\nmode: plan\nconfig: {type: object, required: [x]}\n---\nAs it is now.";

async fn open(store: Arc<dyn Store>, agents: &Agents) -> Option<Runtime> {
    let restarts = RestartPolicy { back_off: Duration::ZERO, ..RestartPolicy::default() };
    let runtime = Runtime::builder(store).backend(KIND, agents.backend()).restarts(restarts);
    runtime.open().await.ok()
}

fn brief() -> Brief {
    Brief::new("scripted/model".parse().unwrap(), "lead")
}

#[tokio::test]
async fn s11_2_an_edited_profile_changes_no_live_task_across_a_crash() -> Test {
    let (doors, store) = (Doors::default(), Arc::new(Memory::new()) as Arc<dyn Store>);
    let dir = ProfileDir::new(&[("kept", BEFORE)]);
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([(
            "spawn_agent",
            json!({"task": "child", "profile": "kept", "background": false}),
        )]),
        ("child", 0) => Turn::call([("stand", json!({"door": "x"}))]),
        _ => Turn::say(heard(call).join("")),
    };
    let model = Scripted::new(script);
    let agents = Agents::with_model(model.clone()).tool(doors.tool()).profiles(dir.profiles());
    let runtime = open(store.clone(), &agents).await.unwrap();
    let session = runtime.session("main").await?;
    let lead = session.spawn(agents.request(&brief())?).await?.id().to_string();
    let child = loop {
        match runtime.task("kept-1").await {
            Ok(child) => break child,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    until_called(&child, "stand").await?;
    drop((child, session, runtime));
    dir.write("kept", AFTER);
    doors.open("x");
    let runtime = open(store, &agents).await.unwrap();
    let answer: String = runtime.task(&lead).await?.wait().await?.decode()?;
    assert!(answer.contains("went through x"), "{answer}");
    let asked = model.asked();
    let child: Vec<_> = asked.iter().filter(|call| purpose(call) == "child").collect();
    assert!(child.len() >= 2);
    for call in child {
        assert!(call.system.contains("As it was."), "{}", call.system);
        assert_eq!(&*call.tools[0].name, "stand");
    }
    let brief: Brief = runtime.task("kept-1").await?.record().await?.spec.input.decode()?;
    assert_eq!((brief.profile.as_deref(), &*brief.system), (Some("kept"), "As it was."));
    Ok(())
}

/// Runs a lead with a child of a profile on a store that fails at this point, until the lead
/// has ended or the process has died. Returns the number of commits.
async fn live(
    memory: &Memory,
    agents: &Agents,
    fault: FaultPoint,
) -> Result<u64, Box<dyn std::error::Error>> {
    let store = FaultyStore::new(Arc::new(memory.clone()), fault);
    let Some(runtime) = open(Arc::new(store.clone()), agents).await else {
        return Ok(store.commits());
    };
    if let Ok(session) = runtime.session("main").await
        && let Ok(lead) = session.spawn(agents.request(&brief())?).name("lead").await
    {
        let mut ended = std::pin::pin!(lead.wait().into_future());
        while !store.has_crashed() && !futures_util::poll!(&mut ended).is_ready() {
            tokio::task::yield_now().await;
        }
    }
    Ok(store.commits())
}

#[tokio::test]
async fn s9_4_a_spawn_that_is_repeated_is_of_the_profile_as_it_was() -> Test {
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([(
            "spawn_agent",
            json!({"task": "child", "profile": "kept", "background": false}),
        )]),
        ("child", _) => Turn::say(format!("I am {}", call.system.lines().last().unwrap_or(""))),
        _ => Turn::say(heard(call).join("")),
    };
    let prepare =
        |dir: &ProfileDir| Agents::with_model(Scripted::new(script)).profiles(dir.profiles());
    let dir = ProfileDir::new(&[("kept", BEFORE)]);
    let never = FaultPoint { commit: u64::MAX, fault: InjectedFault::CrashBefore };
    let commits = live(&Memory::new(), &prepare(&dir), never).await?;
    let mut kept = 0;
    let points = (1..=commits).flat_map(|commit| {
        [InjectedFault::CrashBefore, InjectedFault::CrashAfter]
            .map(|fault| FaultPoint { commit, fault })
    });
    for at in points {
        let (memory, dir) = (Memory::new(), ProfileDir::new(&[("kept", BEFORE)]));
        let agents = prepare(&dir);
        live(&memory, &agents, at).await?;
        let changed = "---\n---\nAs it is now.";
        dir.write("kept", changed);
        let runtime = open(Arc::new(memory), &agents).await.unwrap();
        let Ok(lead) = runtime.task("lead").await else { continue };
        let said: String = lead.wait().await?.decode()?;
        assert_eq!(said.matches("outcome=\"completed\"").count(), 1, "{at:?}: {said}");
        // The repeated call returned this child and spawned no other.
        assert!(said.starts_with("<notice kind=\"result\""), "{at:?}: {said}");
        let was = said.contains("I am As it was.");
        assert!(was || said.contains("I am As it is now."), "{at:?}: {said}");
        kept += u32::from(was);
        let children = runtime.tasks().profile("kept").await?.items;
        assert_eq!(children.len(), 1, "{at:?}");
        let brief: Brief = children[0].spec.input.decode()?;
        assert_eq!(brief.system == "As it was.", was, "{at:?}: the child is what it says");
    }
    assert!(kept > 2, "{kept}");
    Ok(())
}
