//! Tasks of one name, whosever they are.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{Intent, Name, Naming, Owner, Phase, Retention, Session, Spec, Task, TaskId};
use proptest::prelude::*;

use super::property::holds;
use super::world::{World, ack, called};
use crate::batch::Strictness;
use crate::query::{Namesakes, Order, TaskQuery, Within};

fn ids<'a>(tasks: impl IntoIterator<Item = &'a Task>) -> Vec<TaskId> {
    tasks.into_iter().map(Task::id).collect()
}

fn all_called(within: Within, key: &str) -> TaskQuery {
    TaskQuery { name: Some(key.into()), ..TaskQuery::new(within) }
}

fn meant_by(within: Within, key: &str) -> TaskQuery {
    TaskQuery { namesakes: Namesakes::Last, ..all_called(within, key) }
}

fn ended(query: TaskQuery) -> TaskQuery {
    let phases = Phase::ALL.into_iter().filter(|phase| phase.is_terminal()).collect();
    TaskQuery { phases, ..query }
}

/// A spec with the name that its session would count.
fn counted(mut spec: Spec, number: u64) -> Spec {
    spec.handle = Name::numbered(&spec.kind, number);
    spec.naming = Naming::Counted;
    spec
}

async fn run(world: &World, spec: Spec) -> Task {
    let task = world.spawn(spec).await;
    world.put(&task, Intent::Start(world.worker)).await
}

pub(super) async fn s10_1_a_list_by_name_reaches_as_far_as_it_is_asked_to(world: World) {
    let (one, other) = (world.session("one").await, world.session("other").await);
    let lead = run(&world, world.spec(&one)).await;
    let of_one = run(&world, called(world.spec(&one), "Docs")).await;
    let of_lead = run(&world, called(world.child_spec(&lead), "docs")).await;
    let of_other = run(&world, called(world.spec(&other), "DOCS")).await;
    run(&world, called(world.spec(&other), "docs 2")).await;
    let cases = [
        (Within::Everything, vec![&of_one, &of_lead, &of_other]),
        (Within::Session(one.id), vec![&of_one, &of_lead]),
        (Within::Session(other.id), vec![&of_other]),
        (Within::Owner(Owner::Session(one.id)), vec![&of_one]),
        (Within::Owner(Owner::Task(lead.id())), vec![&of_lead]),
        (Within::Owner(Owner::Task(of_one.id())), vec![]),
    ];
    for (within, wanted) in cases {
        let found = world.list(all_called(within, "docs")).await;
        assert_eq!(ids(&found), ids(wanted), "{within:?}");
    }
}

pub(super) async fn s1_2_a_counted_name_is_found_in_every_session(world: World) {
    let mut wanted = Vec::new();
    for session in ["one", "two", "three"] {
        let session = world.session(session).await;
        for number in 1..=3 {
            let task = world.spawn(counted(world.spec(&session), number)).await;
            let found = world.list(all_called(Within::Session(session.id), task.handle())).await;
            assert_eq!(found, std::slice::from_ref(&task));
            wanted.extend(Some(task).filter(|_| number == 2));
        }
    }
    let found = world.list(all_called(Within::Everything, "function-2")).await;
    assert_eq!(found, wanted);
    for nobody in ["function-4", "function-02", "function-", "function"] {
        assert!(world.list(all_called(Within::Everything, nobody)).await.is_empty(), "{nobody}");
    }
}

pub(super) async fn s1_7_of_each_owner_the_last_is_meant(world: World) {
    let (one, other) = (world.session("one").await, world.session("other").await);
    let mut last = Vec::new();
    for session in [&one, &other, &one, &other, &one] {
        let task = run(&world, called(world.spec(session), "docs")).await;
        last.push(world.settle(&task).await);
    }
    let meant = |within| world.list(meant_by(within, "docs"));
    assert_eq!(meant(Within::Everything).await, last[3..]);
    assert_eq!(meant(Within::Session(one.id)).await, last[4..]);
    let live = run(&world, called(world.spec(&other), "docs")).await;
    assert_eq!(meant(Within::Everything).await, [last[4].clone(), live.clone()]);
    let query = meant_by(Within::Everything, "docs");
    assert_eq!(world.list(query.clone().live()).await, [live]);
    assert_eq!(world.list(ended(query)).await, last[4..]);
    // Without a name it is asked of every name there is.
    let query = TaskQuery { name: None, ..meant_by(Within::Session(one.id), "") };
    assert_eq!(world.list(query).await, last[4..]);
}

pub(super) async fn s1_7_when_the_last_is_deleted_the_one_before_is_meant(world: World) {
    let delivered = Duration::ZERO;
    world.store().set_retention(Retention { delivered, ..Retention::default() });
    let session = world.session("main").await;
    let owner = Owner::Session(session.id);
    let mut tasks = Vec::new();
    for _ in 0..3 {
        let task = run(&world, called(world.spec(&session), "docs")).await;
        tasks.push(world.settle(&task).await);
    }
    // Only the last is read, so that it is deleted before the others.
    let rows = world.inbox(owner).await;
    world.write(ack(owner, &rows[2..], Strictness::MustBePending)).await;
    assert_eq!(world.expire(world.now()).await, 1);
    for within in [Within::Everything, Within::Session(session.id), Within::Owner(owner)] {
        assert_eq!(world.list(all_called(within, "docs")).await, tasks[..2], "{within:?}");
        assert_eq!(world.list(meant_by(within, "docs")).await, tasks[1..2], "{within:?}");
    }
}

pub(super) async fn s10_1_a_namesake_that_stays_is_listed_once_while_others_come_and_go(
    world: World,
) {
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
        let all = all_called(Within::Session(session.id), "worker").live();
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

pub(super) async fn a_name_that_nobody_has_is_nobodys_anywhere(world: World) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let nobody = world.new_session("nobody");
    let within = [
        Within::Everything,
        Within::Session(session.id),
        Within::Session(nobody.id),
        Within::Owner(Owner::Session(nobody.id)),
        Within::Owner(Owner::Task(task.id())),
        Within::Owner(Owner::Task(world.task_id())),
    ];
    for query in within.into_iter().flat_map(|within| {
        [all_called(within, "nobody"), meant_by(within, "nobody"), meant_by(within, "").live()]
    }) {
        let page = world.store().tasks(query).await.unwrap();
        assert_eq!((page.items.len(), page.next), (0, None));
    }
}

/// Something that happens. The numbers choose among what there is.
#[derive(Clone, Debug)]
enum Move {
    Spawn { session: usize, name: usize },
    SpawnChild { parent: usize, name: usize },
    Finish(usize),
}

const NAMES: [&str; 4] = ["docs", "Größe", "function-1", "function-2"];

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let (any, name) = (0..1_000usize, 0..NAMES.len());
    let one = prop_oneof![
        4 => (any.clone(), name.clone()).prop_map(|(session, name)| Move::Spawn { session, name }),
        3 => (any.clone(), name).prop_map(|(parent, name)| Move::SpawnChild { parent, name }),
        5 => any.prop_map(Move::Finish),
    ];
    proptest::collection::vec(one, 0..50)
}

/// Every task, as it was spawned.
struct Model {
    sessions: Vec<Session>,
    tasks: Vec<Task>,
}

impl Model {
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

    async fn play(&mut self, world: &World, step: &Move) {
        let (spec, name) = match *step {
            Move::Spawn { session, name } => {
                (world.spec(&self.sessions[session % self.sessions.len()]), name)
            }
            Move::SpawnChild { parent, name } => {
                let Some(parent) = self.live(parent, |_| true) else { return };
                (world.child_spec(&self.tasks[parent]), name)
            }
            Move::Finish(choice) => {
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

    fn scopes(&self) -> Vec<Within> {
        let mut scopes = vec![Within::Everything];
        for session in &self.sessions {
            scopes.extend([Within::Session(session.id), Within::Owner(Owner::Session(session.id))]);
        }
        let parents: BTreeSet<_> = self
            .tasks
            .iter()
            .map(Task::owner)
            .filter(|owner| matches!(owner, Owner::Task(_)))
            .collect();
        scopes.extend(parents.into_iter().map(Within::Owner));
        scopes
    }

    async fn compare(&self, world: &World) -> Result<(), String> {
        for (within, name) in
            self.scopes().iter().flat_map(|scope| NAMES.map(|name| (*scope, name)))
        {
            let key: Arc<str> = Name::key_of(name).into();
            let inside = |task: &&Task| {
                *task.spec.handle.key() == *key
                    && match within {
                        Within::Everything => true,
                        Within::Session(session) => task.spec.lineage.session == session,
                        Within::Owner(owner) => task.owner() == owner,
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

pub(super) async fn s10_1_lists_by_name_are_right_after_anything(world: World) {
    holds(moves(), async |moves| {
        let world = world.another().await;
        // What has ended leaves memory at once, where it may.
        world.store().set_retention(Retention { in_memory: 1, ..Retention::default() });
        let sessions = vec![world.session("one").await, world.session("two").await];
        let mut model = Model { sessions, tasks: Vec::new() };
        for step in &moves {
            model.play(&world, step).await;
        }
        model.compare(&world).await?;
        world.reopen().await;
        model.compare(&world).await.map_err(|why| format!("after a reopening, {why}"))
    })
    .await;
}
