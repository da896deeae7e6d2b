//! Trees of agents with a budget whose process dies at any commit.

use std::sync::Arc;
use std::time::Duration;

use offshoot_agent::{Agents, Brief, KIND};
use offshoot_models::{Call, ToolChoice, Turn};
use offshoot_runtime::{RestartPolicy, Runtime};
use offshoot_store::{FaultPoint, FaultyStore, InjectedFault, Memory, Store};
use serde_json::json;

use crate::budget_support::{Meter, budget, priced};
use crate::budget_tree::{all_ended, tree};
use crate::support::{Test, answers, purpose};

/// A root with three agents below it.
fn few(call: &Call) -> Turn {
    match (call.choice, purpose(call), answers(call)) {
        (ToolChoice::None, ..) => Turn::say("half of it"),
        (_, "r", 0) => Turn::call(["a", "b", "c"].map(|name| {
            let limits = if name == "a" { "900k tokens" } else { "9 steps" };
            ("spawn_agent", json!({"name": name, "task": name, "budget": limits}))
        })),
        (_, "r", _) | (_, _, 2) => Turn::say("done"),
        _ => Turn::call([("list_tasks", json!({}))]),
    }
}

/// Runs a tree on a store that fails at this point, until its root has ended or the process has
/// died. Returns the number of commits.
async fn live(memory: &Memory, agents: &Agents, (limits, fault): (&str, FaultPoint)) -> u64 {
    let store = FaultyStore::new(Arc::new(memory.clone()), fault);
    let open = Runtime::builder(Arc::new(store.clone()) as Arc<dyn Store>);
    let Ok(runtime) = open.backend(KIND, agents.backend()).open().await else {
        return store.commits();
    };
    let brief = Brief::new("scripted/model".parse().unwrap(), "r").budget(budget(limits));
    if let Ok(session) = runtime.session("main").await
        && let Ok(root) = session.spawn(agents.request(&brief).unwrap()).name("top").await
    {
        let mut ended = std::pin::pin!(root.wait().into_future());
        // Time is virtual, and passes while a retry waits.
        while !store.has_crashed() && !futures_util::poll!(&mut ended).is_ready() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    drop(runtime);
    tokio::task::yield_now().await;
    store.commits()
}

/// Has the process die at every `every`-th commit, and a second process finish the work.
async fn dies(script: fn(&Call) -> Turn, limits: &str, every: usize) -> Test {
    let never = FaultPoint { commit: u64::MAX, fault: InjectedFault::CrashBefore };
    let fresh = || {
        let meter = Meter::default();
        let agents = priced(Agents::with_model(meter.model(script)));
        (meter, agents)
    };
    let commits = live(&Memory::new(), &fresh().1, (limits, never)).await;
    assert!(commits > 20, "{commits}");
    let most = budget(limits);
    let mut taken_up = 0;
    let faults = [
        InjectedFault::CrashBefore,
        InjectedFault::CrashAfter,
        InjectedFault::Before,
        InjectedFault::After,
    ];
    for (number, commit) in (1..=commits).step_by(every).enumerate() {
        let fault = faults[number % faults.len()];
        let (memory, (meter, agents)) = (Memory::new(), fresh());
        live(&memory, &agents, (limits, FaultPoint { commit, fault })).await;
        let runtime = Runtime::builder(memory).backend(KIND, agents.backend());
        let runtime =
            runtime.restarts(RestartPolicy { max_attempts: 100, ..RestartPolicy::default() });
        let runtime = runtime.open().await?;
        let Ok(root) = runtime.task("top").await else { continue };
        root.wait().await?;
        all_ended(&runtime).await?;
        let what = format!("{fault:?} at {commit}: {meter:?}");
        let spent = agents.spent(&root).await?.unwrap();
        // A lost call stays charged: the charge is at least the use, and at most the budget.
        if let Some(tokens) = most.tokens {
            assert!(meter.tokens() <= spent.tokens && spent.tokens <= tokens, "{what} {spent:?}");
            assert_eq!(spent.tokens, root.counted("tokens").await?, "{what}");
        }
        if let Some(money) = most.money {
            assert!(meter.money() <= spent.money.0 && spent.money <= money, "{what} {spent:?}");
            assert_eq!(spent.money.0, root.counted("money").await?, "{what}");
        }
        taken_up += 1;
    }
    assert!(taken_up * 2 > commits as usize / every, "{taken_up} of {commits}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s8_2_wherever_the_process_dies_a_tree_spends_no_more_than_it_may() -> Test {
    dies(few, "120k tokens, 1usd", 1).await
}

#[tokio::test(start_paused = true)]
async fn s8_2_wherever_the_process_dies_a_tree_that_runs_out_spends_no_more() -> Test {
    dies(few, "30k tokens, 1usd", 1).await
}

#[tokio::test(start_paused = true)]
async fn s8_2_wherever_the_process_dies_a_tree_of_twenty_spends_no_more() -> Test {
    dies(tree, "150k tokens, 0.3usd", 17).await
}
