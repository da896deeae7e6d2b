//! Counts, lists and inboxes after random changes, compared with a small model.

use std::collections::BTreeMap;

use offshoot_core::{
    Intent, LiveChildren, Owner, Phase, RequeueReason, SessionRecord, Task, TaskCounts, TaskId,
    WaitingOn,
};
use proptest::prelude::*;

use super::property::holds;
use super::world::{StoreWorld, ack, detached, spawn, started, value};
use crate::batch::{Guard, Strictness};
use crate::query::{TaskQuery, TaskScope};

/// A random change. The numbers select among the present tasks.
#[derive(Clone, Debug)]
enum ModelChange {
    Spawn { session: usize },
    SpawnChild { parent: usize },
    SpawnDetached { parent: usize },
    Start(usize),
    Park(usize),
    Resume(usize),
    Requeue(usize),
    Finish(usize),
    Read { owner: usize, rows: usize },
}

fn moves() -> impl Strategy<Value = Vec<ModelChange>> {
    let any = 0..1_000usize;
    let one = prop_oneof![
        4 => any.clone().prop_map(|session| ModelChange::Spawn { session }),
        4 => any.clone().prop_map(|parent| ModelChange::SpawnChild { parent }),
        2 => any.clone().prop_map(|parent| ModelChange::SpawnDetached { parent }),
        6 => any.clone().prop_map(ModelChange::Start),
        2 => any.clone().prop_map(ModelChange::Park),
        2 => any.clone().prop_map(ModelChange::Resume),
        1 => any.clone().prop_map(ModelChange::Requeue),
        6 => any.clone().prop_map(ModelChange::Finish),
        2 => (any, 1..4usize).prop_map(|(owner, rows)| ModelChange::Read { owner, rows }),
    ];
    proptest::collection::vec(one, 0..60)
}

/// The expected content of the store.
#[derive(Default)]
struct CountsModel {
    sessions: Vec<SessionRecord>,
    tasks: Vec<Task>,
    inboxes: BTreeMap<Owner, Vec<(u64, TaskId)>>,
    ended: u64,
}

impl CountsModel {
    fn replace(&mut self, task: Task) {
        let at = self.tasks.iter().position(|old| old.id() == task.id()).unwrap();
        self.tasks[at] = task;
    }

    fn task(&self, id: TaskId) -> &Task {
        self.tasks.iter().find(|task| task.id() == id).unwrap()
    }

    fn pick(&self, choice: usize, phases: &[Phase]) -> Option<Task> {
        let fitting = |task: &&Task| phases.contains(&task.state.phase()) && !task.is_held();
        let fitting: Vec<_> = self.tasks.iter().filter(fitting).collect();
        (!fitting.is_empty()).then(|| fitting[choice % fitting.len()].clone())
    }

    fn live_children(&self, id: TaskId) -> usize {
        let owned = |task: &&Task| task.is_live() && task.owner() == Owner::Task(id);
        self.tasks.iter().filter(owned).count()
    }

    fn end(&mut self, task: Task) {
        self.ended += 1;
        let (id, owner) = (task.id(), task.owner());
        self.replace(task);
        let unread = self.inboxes.remove(&Owner::Task(id)).unwrap_or_default();
        let inbox = self.inboxes.entry(owner).or_default();
        inbox.push((self.ended, id));
        inbox.extend(unread);
        inbox.sort_unstable();
    }

    fn owners(&self) -> Vec<Owner> {
        let sessions = self.sessions.iter().map(|session| Owner::Session(session.id));
        sessions.chain(self.tasks.iter().map(|task| Owner::Task(task.id()))).collect()
    }
}

async fn play(world: &StoreWorld, model: &mut CountsModel, step: ModelChange) {
    const ACTIVE: [Phase; 2] = [Phase::Running, Phase::Waiting];
    match step {
        ModelChange::Spawn { session } => {
            let session = &model.sessions[session % model.sessions.len()];
            let task = world.spawn(world.spec(session)).await;
            model.tasks.push(task);
        }
        ModelChange::SpawnChild { parent } => {
            let Some(parent) = model.pick(parent, &ACTIVE) else { return };
            model.tasks.push(world.spawn(world.child_spec(&parent)).await);
        }
        ModelChange::SpawnDetached { parent } => {
            let Some(parent) = model.pick(parent, &ACTIVE) else { return };
            let running = started(world, detached(world.child_spec(&parent)));
            world.write(spawn(&running)).await;
            model.tasks.push(running);
        }
        ModelChange::Start(choice) => put(world, model, choice, Phase::Queued).await,
        ModelChange::Park(choice) => put(world, model, choice, Phase::Running).await,
        ModelChange::Resume(choice) => put(world, model, choice, Phase::Waiting).await,
        ModelChange::Requeue(choice) => {
            let Some(task) = model.pick(choice, &ACTIVE) else { return };
            let back = world.put(&task, Intent::Requeue(RequeueReason::Released)).await;
            model.replace(back);
        }
        ModelChange::Finish(choice) => {
            let Some(task) = model.pick(choice, &ACTIVE) else { return };
            finish(world, model, &task).await;
        }
        ModelChange::Read { owner, rows } => {
            let owners = model.owners();
            let owner = owners[owner % owners.len()];
            let pending = world.store().inbox(owner, 0, rows).await.unwrap();
            world.write(ack(owner, &pending, Strictness::MustBePending)).await;
            if let Some(inbox) = model.inboxes.get_mut(&owner) {
                inbox.drain(..rows.min(inbox.len()));
            }
        }
    }
}

async fn put(world: &StoreWorld, model: &mut CountsModel, choice: usize, from: Phase) {
    let Some(task) = model.pick(choice, &[from]) else { return };
    let intent = match from {
        Phase::Queued => Intent::Start(world.worker),
        Phase::Running => Intent::Park(WaitingOn::Message),
        _ => Intent::Resume,
    };
    let next = world.put(&task, intent).await;
    model.replace(next);
}

/// Ends a body. The last child of a returned owner also ends that owner, and so on upwards.
async fn finish(world: &StoreWorld, model: &mut CountsModel, task: &Task) {
    if model.live_children(task.id()) > 0 {
        let (held, put) = world.decide(task, Intent::Finish(value(), LiveChildren::Some));
        let batch = world.batch().guard(Guard::HasChildren(task.id())).write(put);
        world.commit(batch).await.unwrap();
        return model.replace(held);
    }
    let (mut child, end) = world.end(task, Intent::Finish(value(), LiveChildren::None));
    let mut batch = world.batch().guard(Guard::Childless(task.id())).write(end);
    let mut ended = Vec::new();
    loop {
        ended.push(child.clone());
        let Owner::Task(owner) = child.owner() else { break };
        let above = model.task(owner).clone();
        if !above.is_held() || model.live_children(owner) > 1 {
            batch = batch.guard(Guard::OwnerStays { owner, child: child.id() });
            break;
        }
        batch = batch.guard(Guard::OnlyChild { owner, child: child.id() });
        let (next, end) = world.end(&above, Intent::Release);
        batch = batch.write(end);
        child = next;
    }
    world.commit(batch).await.unwrap();
    ended.into_iter().for_each(|task| model.end(task));
}

fn count<'a>(tasks: impl Iterator<Item = &'a Task>) -> TaskCounts {
    let mut counts = TaskCounts::default();
    tasks.for_each(|task| counts.add(task.state.phase()));
    counts
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, wanted: T) -> Result<(), String> {
    if found == wanted {
        return Ok(());
    }
    Err(format!("{what}: found {found:#?}, wanted {wanted:#?}"))
}

async fn compare(world: &StoreWorld, model: &CountsModel) -> Result<(), String> {
    let store = world.store();
    let tasks = || model.tasks.iter();
    same("counts of all", store.counts_within(None).await.unwrap(), count(tasks()))?;
    same("tasks", world.tasks(TaskScope::Everything).await, model.tasks.clone())?;
    for session in &model.sessions {
        let inside = || tasks().filter(|task| task.spec.lineage.session == session.id);
        let found = store.counts_within(Some(session.id)).await.unwrap();
        same("counts of a session", found, count(inside()))?;
        let found = world.list(TaskQuery::new(TaskScope::Session(session.id)).live()).await;
        same("live tasks", found, inside().filter(|task| task.is_live()).cloned().collect())?;
    }
    for owner in model.owners() {
        let owned = || tasks().filter(|task| task.owner() == owner);
        same("counts of an owner", store.counts(owner).await.unwrap(), count(owned()))?;
        let found = world.tasks(TaskScope::Owner(owner)).await;
        same("tasks of an owner", found, owned().cloned().collect())?;
        let rows = world.inbox(owner).await;
        let found: Vec<_> = rows.iter().map(|row| row.row.id.as_task()).collect();
        let wanted = model.inboxes.get(&owner).into_iter().flatten();
        same("inbox", found, wanted.map(|(_, task)| *task).collect())?;
    }
    Ok(())
}

pub(super) async fn s8_1_counts_lists_and_inboxes_match_a_model_after_random_changes(
    world: StoreWorld,
) {
    holds(moves(), async |moves| {
        let world = world.another().await;
        let mut model = CountsModel::default();
        model.sessions.push(world.session("one").await);
        model.sessions.push(world.session("two").await);
        for step in moves {
            play(&world, &mut model, step).await;
        }
        compare(&world, &model).await?;
        world.reopen().await;
        compare(&world, &model).await.map_err(|why| format!("after a reopening, {why}"))
    })
    .await;
}

pub(super) async fn an_unknown_owner_has_no_tasks(world: StoreWorld) {
    let unknown = world.new_session("unknown");
    let store = world.store();
    let none = TaskCounts::default();
    assert_eq!(store.counts(Owner::Session(unknown.id)).await.unwrap(), none);
    assert_eq!(store.counts(Owner::Task(world.task_id())).await.unwrap(), none);
    assert_eq!(store.counts_within(Some(unknown.id)).await.unwrap(), none);
    assert_eq!(store.counts_within(None).await.unwrap(), none);
}
