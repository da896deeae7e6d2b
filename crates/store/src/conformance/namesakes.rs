//! Tasks with the same name under several owners.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{
    Intent, Name, Naming, Owner, Phase, Retention, SessionRecord, Spec, Task, TaskId,
};
use proptest::prelude::*;

use super::property::holds;
use super::world::{StoreWorld, ack, called};
use crate::batch::Strictness;
use crate::query::{Namesakes, Order, TaskQuery, TaskScope};

fn ids<'a>(tasks: impl IntoIterator<Item = &'a Task>) -> Vec<TaskId> {
    tasks.into_iter().map(Task::id).collect()
}

fn all_called(within: TaskScope, key: &str) -> TaskQuery {
    TaskQuery { name: Some(key.into()), ..TaskQuery::new(within) }
}

fn meant_by(within: TaskScope, key: &str) -> TaskQuery {
    TaskQuery { namesakes: Namesakes::Last, ..all_called(within, key) }
}

fn ended(query: TaskQuery) -> TaskQuery {
    let phases = Phase::ALL.into_iter().filter(|phase| phase.is_terminal()).collect();
    TaskQuery { phases, ..query }
}

/// A spec with a generated name.
fn counted(mut spec: Spec, number: u64) -> Spec {
    spec.handle = Name::numbered(&spec.kind, number);
    spec.naming = Naming::Counted;
    spec
}

async fn run(world: &StoreWorld, spec: Spec) -> Task {
    let task = world.spawn(spec).await;
    world.put(&task, Intent::Start(world.worker)).await
}

pub(super) async fn s10_1_a_list_by_name_covers_exactly_its_scope(world: StoreWorld) {
    let (one, other) = (world.session("one").await, world.session("other").await);
    let lead = run(&world, world.spec(&one)).await;
    let of_one = run(&world, called(world.spec(&one), "Docs")).await;
    let of_lead = run(&world, called(world.child_spec(&lead), "docs")).await;
    let of_other = run(&world, called(world.spec(&other), "DOCS")).await;
    run(&world, called(world.spec(&other), "docs 2")).await;
    let cases = [
        (TaskScope::Everything, vec![&of_one, &of_lead, &of_other]),
        (TaskScope::Session(one.id), vec![&of_one, &of_lead]),
        (TaskScope::Session(other.id), vec![&of_other]),
        (TaskScope::Owner(Owner::Session(one.id)), vec![&of_one]),
        (TaskScope::Owner(Owner::Task(lead.id())), vec![&of_lead]),
        (TaskScope::Owner(Owner::Task(of_one.id())), vec![]),
    ];
    for (within, wanted) in cases {
        let found = world.list(all_called(within, "docs")).await;
        assert_eq!(ids(&found), ids(wanted), "{within:?}");
    }
}

pub(super) async fn s1_2_a_generated_name_is_found_in_every_session(world: StoreWorld) {
    let mut wanted = Vec::new();
    for session in ["one", "two", "three"] {
        let session = world.session(session).await;
        for number in 1..=3 {
            let task = world.spawn(counted(world.spec(&session), number)).await;
            let found = world.list(all_called(TaskScope::Session(session.id), task.handle())).await;
            assert_eq!(found, std::slice::from_ref(&task));
            wanted.extend(Some(task).filter(|_| number == 2));
        }
    }
    let found = world.list(all_called(TaskScope::Everything, "function-2")).await;
    assert_eq!(found, wanted);
    for unknown in ["function-4", "function-02", "function-", "function"] {
        assert!(
            world.list(all_called(TaskScope::Everything, unknown)).await.is_empty(),
            "{unknown}"
        );
    }
}

pub(super) async fn s1_7_a_name_refers_to_the_last_task_of_each_owner(world: StoreWorld) {
    let (one, other) = (world.session("one").await, world.session("other").await);
    let mut last = Vec::new();
    for session in [&one, &other, &one, &other, &one] {
        let task = run(&world, called(world.spec(session), "docs")).await;
        last.push(world.settle(&task).await);
    }
    let meant = |within| world.list(meant_by(within, "docs"));
    assert_eq!(meant(TaskScope::Everything).await, last[3..]);
    assert_eq!(meant(TaskScope::Session(one.id)).await, last[4..]);
    let live = run(&world, called(world.spec(&other), "docs")).await;
    assert_eq!(meant(TaskScope::Everything).await, [last[4].clone(), live.clone()]);
    let query = meant_by(TaskScope::Everything, "docs");
    assert_eq!(world.list(query.clone().live()).await, [live]);
    assert_eq!(world.list(ended(query)).await, last[4..]);
    // Without a name the query covers all names.
    let query = TaskQuery { name: None, ..meant_by(TaskScope::Session(one.id), "") };
    assert_eq!(world.list(query).await, last[4..]);
}

pub(super) async fn s1_7_after_a_deletion_a_name_refers_to_the_task_before(world: StoreWorld) {
    let delivered = Duration::ZERO;
    world.store().set_retention(Retention { delivered, ..Retention::default() });
    let session = world.session("main").await;
    let owner = Owner::Session(session.id);
    let mut tasks = Vec::new();
    for _ in 0..3 {
        let task = run(&world, called(world.spec(&session), "docs")).await;
        tasks.push(world.settle(&task).await);
    }
    // Only the last one is read, so it is deleted before the others.
    let rows = world.inbox(owner).await;
    world.write(ack(owner, &rows[2..], Strictness::MustBePending)).await;
    assert_eq!(world.expire(world.now()).await, 1);
    for within in [TaskScope::Everything, TaskScope::Session(session.id), TaskScope::Owner(owner)] {
        assert_eq!(world.list(all_called(within, "docs")).await, tasks[..2], "{within:?}");
        assert_eq!(world.list(meant_by(within, "docs")).await, tasks[1..2], "{within:?}");
    }
}

pub(super) async fn s10_1_a_list_by_name_has_a_lasting_task_once_during_changes(world: StoreWorld) {
    for order in [Order::OldestFirst, Order::NewestFirst] {
        let session = world.session(&format!("{order:?}")).await;
        let worker = async || {
            let lead = run(&world, world.spec(&session)).await;
            run(&world, called(world.child_spec(&lead), "worker")).await
        };
        let (mut staying, mut passing) = (Vec::new(), Vec::new());
        for _ in 0..7 {
            staying.push(worker().await);
            passing.push(worker().await);
        }
        let all = all_called(TaskScope::Session(session.id), "worker").live();
        let mut query = TaskQuery { order, limit: 3, ..all };
        let mut listed = Vec::new();
        loop {
            let page = world.store().tasks(query.clone()).await.unwrap();
            listed.extend(ids(&page.items));
            if let Some(task) = passing.pop() {
                world.settle(&task).await;
            }
            passing.insert(0, worker().await);
            match page.next {
                Some(next) => query.after = Some(next),
                None => break,
            }
        }
        for task in staying {
            let times = listed.iter().filter(|id| **id == task.id()).count();
            assert_eq!(times, 1, "{order:?}: a task was listed {times} times");
        }
    }
}

pub(super) async fn an_unused_name_is_found_in_no_scope(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let unknown = world.new_session("unknown");
    let within = [
        TaskScope::Everything,
        TaskScope::Session(session.id),
        TaskScope::Session(unknown.id),
        TaskScope::Owner(Owner::Session(unknown.id)),
        TaskScope::Owner(Owner::Task(task.id())),
        TaskScope::Owner(Owner::Task(world.task_id())),
    ];
    for query in within.into_iter().flat_map(|within| {
        [all_called(within, "unknown"), meant_by(within, "unknown"), meant_by(within, "").live()]
    }) {
        let page = world.store().tasks(query).await.unwrap();
        assert_eq!((page.items.len(), page.next), (0, None));
    }
}

/// A random change. The numbers select among the present tasks.
#[derive(Clone, Debug)]
enum NamesakeChange {
    Spawn { session: usize, name: usize },
    SpawnChild { parent: usize, name: usize },
    Finish(usize),
}

const NAMES: [&str; 4] = ["docs", "Größe", "function-1", "function-2"];

fn moves() -> impl Strategy<Value = Vec<NamesakeChange>> {
    let (any, name) = (0..1_000usize, 0..NAMES.len());
    let one = prop_oneof![
        4 => (any.clone(), name.clone()).prop_map(|(session, name)| NamesakeChange::Spawn { session, name }),
        3 => (any.clone(), name).prop_map(|(parent, name)| NamesakeChange::SpawnChild { parent, name }),
        5 => any.prop_map(NamesakeChange::Finish),
    ];
    proptest::collection::vec(one, 0..50)
}

/// Every task, as it was spawned.
struct NamesakesModel {
    sessions: Vec<SessionRecord>,
    tasks: Vec<Task>,
}

impl NamesakesModel {
    fn live(&self, choice: usize, fits: impl Fn(&Task) -> bool) -> Option<usize> {
        let live = self.tasks.iter().enumerate().filter(|(_, task)| task.is_live() && fits(task));
        let live: Vec<_> = live.map(|(at, _)| at).collect();
        (!live.is_empty()).then(|| live[choice % live.len()])
    }

    fn is_last(&self, task: &Task) -> bool {
        let same =
            |other: &&Task| other.owner() == task.owner() && other.spec.handle == task.spec.handle;
        self.tasks.iter().rfind(same) == Some(task)
    }

    async fn play(&mut self, world: &StoreWorld, step: &NamesakeChange) {
        let (spec, name) = match *step {
            NamesakeChange::Spawn { session, name } => {
                (world.spec(&self.sessions[session % self.sessions.len()]), name)
            }
            NamesakeChange::SpawnChild { parent, name } => {
                let Some(parent) = self.live(parent, |_| true) else { return };
                (world.child_spec(&self.tasks[parent]), name)
            }
            NamesakeChange::Finish(choice) => {
                let owns = |id| self.live(0, |task| task.owner() == Owner::Task(id)).is_some();
                let Some(at) = self.live(choice, |task| !owns(task.id())) else { return };
                self.tasks[at] = world.settle(&self.tasks[at]).await;
                return;
            }
        };
        let mut spec = called(spec, NAMES[name]);
        spec.naming = Naming::Counted;
        let taken = |task: &Task| task.owner() == spec.owner() && task.spec.handle == spec.handle;
        if self.live(0, taken).is_none() {
            self.tasks.push(run(world, spec).await);
        }
    }

    fn scopes(&self) -> Vec<TaskScope> {
        let mut scopes = vec![TaskScope::Everything];
        for session in &self.sessions {
            scopes.extend([
                TaskScope::Session(session.id),
                TaskScope::Owner(Owner::Session(session.id)),
            ]);
        }
        let parents: BTreeSet<_> = self
            .tasks
            .iter()
            .map(Task::owner)
            .filter(|owner| matches!(owner, Owner::Task(_)))
            .collect();
        scopes.extend(parents.into_iter().map(TaskScope::Owner));
        scopes
    }

    async fn compare(&self, world: &StoreWorld) -> Result<(), String> {
        for (within, name) in
            self.scopes().iter().flat_map(|scope| NAMES.map(|name| (*scope, name)))
        {
            let key: Arc<str> = Name::key_of(name).into();
            let inside = |task: &&Task| {
                *task.spec.handle.key() == *key
                    && match within {
                        TaskScope::Everything => true,
                        TaskScope::Session(session) => task.spec.lineage.session == session,
                        TaskScope::Owner(owner) => task.owner() == owner,
                    }
            };
            let all = all_called(within, &key);
            for query in [all.clone(), all.clone().live(), ended(all)] {
                let wanted: Vec<_> =
                    self.tasks.iter().filter(inside).filter(|task| query.admits(task)).collect();
                let last: Vec<_> =
                    wanted.iter().filter(|task| self.is_last(task)).copied().collect();
                for (namesakes, mut wanted) in [(Namesakes::All, wanted), (Namesakes::Last, last)] {
                    for order in [Order::OldestFirst, Order::NewestFirst] {
                        let query = TaskQuery { namesakes, order, limit: 2, ..query.clone() };
                        let found = world.list(query.clone()).await;
                        if !found.iter().eq(wanted.iter().copied()) {
                            return Err(format!("{query:?}: found {found:#?}, not {wanted:#?}"));
                        }
                        wanted.reverse();
                    }
                }
            }
        }
        Ok(())
    }
}

pub(super) async fn s10_1_lists_by_name_match_a_model_after_random_changes(world: StoreWorld) {
    holds(moves(), async |moves| {
        let world = world.another().await;
        // Ended tasks are evicted from memory as early as possible.
        world.store().set_retention(Retention { in_memory: 1, ..Retention::default() });
        let sessions = vec![world.session("one").await, world.session("two").await];
        let mut model = NamesakesModel { sessions, tasks: Vec::new() };
        for step in &moves {
            model.play(&world, step).await;
        }
        model.compare(&world).await?;
        world.reopen().await;
        model.compare(&world).await.map_err(|why| format!("after a reopening, {why}"))
    })
    .await;
}
