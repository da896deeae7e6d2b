//! Caps: which refuse, which queue, and in which order the queue is served.

use std::sync::{Arc, Mutex};

use offshoot_core::{Cap, CapLevel, CapReached, Caps, Ceiling, TaskState};
use offshoot_runtime::{BodyError, Context, Error, Runtime, Session};

use crate::support::{Done, Gate, assert_says, capped, end_of, never, returns};

fn of_owner(limit: u64) -> Ceiling {
    Ceiling { owner: Some(limit), ..Ceiling::NONE }
}

fn of_session(limit: u64) -> Ceiling {
    Ceiling { session: Some(limit), ..Ceiling::NONE }
}

fn of_all(limit: u64) -> Ceiling {
    Ceiling { space: Some(limit), ..Ceiling::NONE }
}

fn reached<T: std::fmt::Debug>(spawned: Result<T, Error>) -> CapReached {
    match spawned {
        Err(Error::Cap(reached)) => {
            assert_says(&reached, &[&reached.cap.to_string(), "raise the cap"]);
            reached
        }
        other => panic!("not refused by a cap: {other:?}"),
    }
}

#[tokio::test]
async fn s8_1_the_depth_cap_refuses_and_names_itself() {
    let runtime = capped(Caps { depth: 1, ..Caps::default() }).await;
    let session = runtime.session("main").await.unwrap();
    let root = session
        .spawn_ephemeral(|cx: Context| async move {
            let child = |cx: Context| async move {
                let refused = cx.spawn_ephemeral(never).await;
                Ok::<_, BodyError>(format!("{:?}", reached(refused)))
            };
            let child = cx.spawn_ephemeral(child).await?;
            Ok::<_, BodyError>(child.wait().await?.decode::<String>()?)
        })
        .await
        .unwrap();
    let refused = root.wait().await.unwrap().decode::<String>().unwrap();
    assert_eq!(refused, format!("{:?}", CapReached { cap: Cap::Depth, limit: 1, used: 2 }));
    assert_eq!(session.counts().await.unwrap().spawned(), 2);
}

#[tokio::test]
async fn s8_1_the_live_cap_refuses_per_owner_session_and_space() {
    for (live, level) in [
        (of_owner(2), CapLevel::Owner),
        (of_session(2), CapLevel::Session),
        (of_all(2), CapLevel::Space),
    ] {
        let runtime = capped(Caps { live, ..Caps::default() }).await;
        let session = runtime.session("main").await.unwrap();
        let gate = Gate::new();
        let spawn = |session: &Session| {
            let gate = gate.clone();
            session.spawn_ephemeral(|_| async move {
                gate.pass().await;
                Done::Ok(())
            })
        };
        let first = spawn(&session).await.unwrap();
        spawn(&session).await.unwrap();
        let refused = spawn(&session).await;
        assert_eq!(reached(refused), CapReached { cap: Cap::Live(level), limit: 2, used: 2 });
        let other = runtime.session("other").await.unwrap();
        assert_eq!(spawn(&other).await.is_ok(), level != CapLevel::Space);
        gate.admit(1);
        end_of(&first).await;
        spawn(&session).await.unwrap();
    }
}

#[tokio::test]
async fn s8_1_the_total_cap_counts_ended_tasks_too() {
    let runtime = capped(Caps { total: of_session(2), ..Caps::default() }).await;
    let session = runtime.session("main").await.unwrap();
    for _ in 0..2 {
        let task = session.spawn_ephemeral(returns(())).await.unwrap();
        task.wait().await.unwrap().ack().await.unwrap();
    }
    let refused = session.spawn_ephemeral(never).await;
    let cap = Cap::Total(CapLevel::Session);
    assert_eq!(reached(refused), CapReached { cap, limit: 2, used: 2 });
}

#[tokio::test]
async fn s8_1_an_executing_cap_queues_and_a_queued_cap_refuses() {
    let caps = Caps { executing: of_all(1), queued: of_session(1), ..Caps::default() };
    let runtime = capped(caps).await;
    let session = runtime.session("main").await.unwrap();
    let gate = Gate::new();
    let running = session.spawn_ephemeral(gate.then(())).await.unwrap();
    let queued = session.spawn_ephemeral(returns(())).await.unwrap();
    assert_eq!(queued.record().await.unwrap().state, TaskState::Queued);
    let refused = session.spawn_ephemeral(never).await;
    let cap = Cap::Queued(CapLevel::Session);
    assert_eq!(reached(refused), CapReached { cap, limit: 1, used: 1 });
    gate.admit(1);
    end_of(&running).await;
    assert_eq!(end_of(&queued).await.state, TaskState::Completed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s8_1_admission_is_atomic() {
    let runtime = capped(Caps { live: of_session(5), ..Caps::default() }).await;
    let session = runtime.session("main").await.unwrap();
    let spawns: Vec<_> = (0..40)
        .map(|_| {
            let session = session.clone();
            tokio::spawn(async move { session.spawn_ephemeral(never).await.is_ok() })
        })
        .collect();
    let mut admitted = 0;
    for spawn in spawns {
        admitted += u64::from(spawn.await.unwrap());
    }
    assert_eq!(admitted, 5);
    assert_eq!(session.counts().await.unwrap().live(), 5);
}

/// A runtime with one slot, taken until the gate opens, and the order of bodies.
struct Queue {
    runtime: Runtime,
    gate: Gate,
    order: Arc<Mutex<Vec<String>>>,
}

impl Queue {
    async fn new(executing: Ceiling) -> Self {
        let runtime = capped(Caps { executing, ..Caps::default() }).await;
        let gate = Gate::new();
        let body = gate.clone();
        let session = runtime.session("first").await.unwrap();
        let run = |_| async move {
            body.pass().await;
            Done::Ok(())
        };
        session.spawn_ephemeral(run).await.unwrap();
        Self { runtime, gate, order: Arc::default() }
    }

    /// A body that records its turn.
    fn note(&self, name: &str) -> impl FnOnce(Context) -> std::future::Ready<Done> + Send + use<> {
        let (order, name) = (self.order.clone(), name.to_owned());
        move |_| {
            order.lock().unwrap().push(name);
            std::future::ready(Ok(()))
        }
    }
}

#[tokio::test]
async fn s8_1_the_queue_is_first_in_first_out_for_one_owner() {
    let queue = Queue::new(of_all(1)).await;
    let session = queue.runtime.session("main").await.unwrap();
    let mut last = None;
    for name in ["a", "b", "c", "d"] {
        last = Some(session.spawn_ephemeral(queue.note(name)).await.unwrap());
    }
    queue.gate.admit(1);
    end_of(&last.unwrap()).await;
    assert_eq!(*queue.order.lock().unwrap(), ["a", "b", "c", "d"]);
}

#[tokio::test]
async fn s8_1_sessions_take_turns_then_owners() {
    let queue = Queue::new(of_all(1)).await;
    let busy = queue.runtime.session("busy").await.unwrap();
    let quiet = queue.runtime.session("quiet").await.unwrap();
    for n in 0..3 {
        busy.spawn_ephemeral(queue.note(&format!("busy {n}"))).await.unwrap();
    }
    let mut last = None;
    for n in 0..2 {
        last = Some(quiet.spawn_ephemeral(queue.note(&format!("quiet {n}"))).await.unwrap());
    }
    queue.gate.admit(1);
    end_of(&last.unwrap()).await;
    let order = queue.order.lock().unwrap().clone();
    assert_eq!(order[..4], ["busy 0", "quiet 0", "busy 1", "quiet 1"]);
}

#[tokio::test]
async fn s8_1_owners_of_one_session_take_turns() {
    let runtime = capped(Caps { executing: of_all(3), ..Caps::default() }).await;
    let session = runtime.session("main").await.unwrap();
    let (hold, gate) = (Gate::new(), Gate::new());
    let pass = |gate: &Gate| {
        let gate = gate.clone();
        session.spawn_ephemeral(|_| async move {
            gate.pass().await;
            Done::Ok(())
        })
    };
    let one = pass(&hold).await.unwrap();
    let two = pass(&hold).await.unwrap();
    pass(&gate).await.unwrap();
    let order: Arc<Mutex<Vec<String>>> = Arc::default();
    for (lead, name) in [(&one, "one 0"), (&one, "one 1"), (&two, "two 0"), (&two, "two 1")] {
        let order = order.clone();
        let run = move |_| async move {
            order.lock().unwrap().push(name.to_owned());
            Done::Ok(())
        };
        session.spawn_ephemeral(run).under(lead).await.unwrap();
    }
    gate.admit(1);
    hold.admit(2);
    end_of(&one).await;
    end_of(&two).await;
    assert_eq!(order.lock().unwrap()[..2], ["one 0", "two 0"]);
}

#[tokio::test]
async fn s8_1_executing_is_capped_per_owner_and_per_session() {
    for executing in [of_owner(1), of_session(1)] {
        let queue = Queue::new(executing).await;
        let first = queue.runtime.session("first").await.unwrap();
        let held = first.spawn_ephemeral(queue.note("held")).await.unwrap();
        let other = queue.runtime.session("other").await.unwrap();
        let free = other.spawn_ephemeral(queue.note("free")).await.unwrap();
        end_of(&free).await;
        assert_eq!(held.record().await.unwrap().state, TaskState::Queued);
        queue.gate.admit(1);
        end_of(&held).await;
        assert_eq!(*queue.order.lock().unwrap(), ["free", "held"]);
    }
}
