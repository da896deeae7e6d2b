//! Counts, lists and inboxes after anything at all, against a tiny model.

use std::collections::BTreeMap;

use offshoot_core::{
    Counts, Intent, LiveChildren, Owner, Phase, Requeue, Session, Task, TaskId, WaitingOn,
};
use proptest::prelude::*;

use super::property::holds;
use super::world::{World, ack, detached, spawn, started, value};
use crate::batch::{Guard, Strictness};
use crate::query::{TaskQuery, Within};

/// Something that happens. The numbers choose among what there is.
#[derive(Clone, Debug)]
enum Move {
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

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let any = 0..1_000usize;
    let one = prop_oneof![
        4 => any.clone().prop_map(|session| Move::Spawn { session }),
        4 => any.clone().prop_map(|parent| Move::SpawnChild { parent }),
        2 => any.clone().prop_map(|parent| Move::SpawnDetached { parent }),
        6 => any.clone().prop_map(Move::Start),
        2 => any.clone().prop_map(Move::Park),
        2 => any.clone().prop_map(Move::Resume),
        1 => any.clone().prop_map(Move::Requeue),
        6 => any.clone().prop_map(Move::Finish),
        2 => (any, 1..4usize).prop_map(|(owner, rows)| Move::Read { owner, rows }),
    ];
    proptest::collection::vec(one, 0..60)
}

/// What must be in the store, kept as simply as can be.
#[derive(Default)]
struct Model {
    sessions: Vec<Session>,
    tasks: Vec<Task>,
    inboxes: BTreeMap<Owner, Vec<(u64, TaskId)>>,
    ended: u64,
}

impl Model {
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

async fn play(world: &World, model: &mut Model, step: Move) {
    const ACTIVE: [Phase; 2] = [Phase::Running, Phase::Waiting];
    match step {
        Move::Spawn { session } => {
            let session = &model.sessions[session % model.sessions.len()];
            let task = world.spawn(world.spec(session)).await;
            model.tasks.push(task);
        }
        Move::SpawnChild { parent } => {
            let Some(parent) = model.pick(parent, &ACTIVE) else { return };
            model.tasks.push(world.spawn(world.child_spec(&parent)).await);
        }
        Move::SpawnDetached { parent } => {
            let Some(parent) = model.pick(parent, &ACTIVE) else { return };
            let running = started(world, detached(world.child_spec(&parent)));
            world.write(spawn(&running)).await;
            model.tasks.push(running);
        }
        Move::Start(choice) => put(world, model, choice, Phase::Queued).await,
        Move::Park(choice) => put(world, model, choice, Phase::Running).await,
        Move::Resume(choice) => put(world, model, choice, Phase::Waiting).await,
        Move::Requeue(choice) => {
            let Some(task) = model.pick(choice, &ACTIVE) else { return };
            let back = world.put(&task, Intent::Requeue(Requeue::Released)).await;
            model.replace(back);
        }
        Move::Finish(choice) => {
            let Some(task) = model.pick(choice, &ACTIVE) else { return };
            finish(world, model, &task).await;
        }
        Move::Read { owner, rows } => {
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

async fn put(world: &World, model: &mut Model, choice: usize, from: Phase) {
    let Some(task) = model.pick(choice, &[from]) else { return };
    let intent = match from {
        Phase::Queued => Intent::Start(world.worker),
        Phase::Running => Intent::Park(WaitingOn::Message),
        _ => Intent::Resume,
    };
    let next = world.put(&task, intent).await;
    model.replace(next);
}

/// Ends a body; the last child of an owner that has returned ends that owner
/// with it, and so on upwards.
async fn finish(world: &World, model: &mut Model, task: &Task) {
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

fn count<'a>(tasks: impl Iterator<Item = &'a Task>) -> Counts {
    let mut counts = Counts::default();
    tasks.for_each(|task| counts.add(task.state.phase()));
    counts
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, wanted: T) -> Result<(), String> {
    if found == wanted {
        return Ok(());
    }
    Err(format!("{what}: found {found:#?}, wanted {wanted:#?}"))
}

async fn compare(world: &World, model: &Model) -> Result<(), String> {
    let store = world.store();
    let tasks = || model.tasks.iter();
    same("counts of all", store.counts_within(None).await.unwrap(), count(tasks()))?;
    same("tasks", world.tasks(Within::Everything).await, model.tasks.clone())?;
    for session in &model.sessions {
        let inside = || tasks().filter(|task| task.spec.lineage.session == session.id);
        let found = store.counts_within(Some(session.id)).await.unwrap();
        same("counts of a session", found, count(inside()))?;
        let found = world.list(TaskQuery::new(Within::Session(session.id)).live()).await;
        same("live tasks", found, inside().filter(|task| task.is_live()).cloned().collect())?;
    }
    for owner in model.owners() {
        let owned = || tasks().filter(|task| task.owner() == owner);
        same("counts of an owner", store.counts(owner).await.unwrap(), count(owned()))?;
        let found = world.tasks(Within::Owner(owner)).await;
        same("tasks of an owner", found, owned().cloned().collect())?;
        let rows = world.inbox(owner).await;
        let found: Vec<_> = rows.iter().map(|row| row.row.id.as_task()).collect();
        let wanted = model.inboxes.get(&owner).into_iter().flatten();
        same("inbox", found, wanted.map(|(_, task)| *task).collect())?;
    }
    Ok(())
}

pub(super) async fn s8_1_counts_lists_and_inboxes_are_right_after_anything(world: World) {
    holds(moves(), async |moves| {
        let world = world.another().await;
        let mut model = Model::default();
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

pub(super) async fn nobody_owns_nothing(world: World) {
    let nobody = world.new_session("nobody");
    let store = world.store();
    let none = Counts::default();
    assert_eq!(store.counts(Owner::Session(nobody.id)).await.unwrap(), none);
    assert_eq!(store.counts(Owner::Task(world.task_id())).await.unwrap(), none);
    assert_eq!(store.counts_within(Some(nobody.id)).await.unwrap(), none);
    assert_eq!(store.counts_within(None).await.unwrap(), none);
}
