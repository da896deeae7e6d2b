//! Pages of tasks: each task once, despite changes between pages.

use std::time::Duration;

use offshoot_core::{Intent, Owner, Phase, Retention, Task, TaskId, WaitingOn};

use super::world::{StoreWorld, called, cancel, record, spawn};
use crate::query::{Order, TaskQuery, TaskScope};

fn ids(tasks: &[Task]) -> Vec<TaskId> {
    tasks.iter().map(Task::id).collect()
}

pub(super) async fn s10_1_every_task_is_listed_once_in_either_order(world: StoreWorld) {
    let (one, other) = (world.session("one").await, world.session("other").await);
    let (mut all, mut of_one, mut of_parent) = (Vec::new(), Vec::new(), Vec::new());
    let parent = world.running(&one).await;
    all.push(parent.id());
    of_one.push(parent.id());
    for _ in 0..4 {
        let child = world.spawn(world.child_spec(&parent)).await;
        let stranger = world.spawn(world.spec(&other)).await;
        let sibling = world.spawn(world.spec(&one)).await;
        all.extend([child.id(), stranger.id(), sibling.id()]);
        of_one.extend([child.id(), sibling.id()]);
        of_parent.push(child.id());
    }
    let own: Vec<_> = of_one.iter().filter(|id| !of_parent.contains(id)).copied().collect();
    let cases = [
        (TaskScope::Everything, all),
        (TaskScope::Session(one.id), of_one),
        (TaskScope::Owner(Owner::Session(one.id)), own),
        (TaskScope::Owner(Owner::Task(parent.id())), of_parent),
    ];
    for (within, wanted) in cases {
        let backwards: Vec<_> = wanted.iter().rev().copied().collect();
        for limit in [1, 2, 5, 100] {
            let query = TaskQuery { limit, ..TaskQuery::new(within) };
            assert_eq!(ids(&world.list(query.clone()).await), wanted, "{within:?} by {limit}");
            let query = TaskQuery { order: Order::NewestFirst, ..query };
            assert_eq!(ids(&world.list(query).await), backwards, "{within:?} by {limit}");
        }
    }
}

pub(super) async fn s10_1_tasks_of_one_commit_are_listed_in_its_order(world: StoreWorld) {
    let session = world.session("main").await;
    let tasks: Vec<_> = (0..5).map(|_| record(world.spec(&session))).collect();
    let batch = tasks.iter().fold(world.batch(), |batch, task| batch.write(spawn(task)));
    world.commit(batch).await.unwrap();
    assert_eq!(world.tasks(TaskScope::Everything).await, tasks);
}

pub(super) async fn s10_1_page_cursors_follow_spawn_order_in_either_order(world: StoreWorld) {
    let session = world.session("main").await;
    for _ in 0..4 {
        world.spawn(world.spec(&session)).await;
    }
    let first = TaskQuery { limit: 1, ..TaskQuery::new(TaskScope::Everything) };
    let second = TaskQuery { limit: 2, ..first.clone() };
    let last = TaskQuery { order: Order::NewestFirst, ..first.clone() };
    let mut cursors = Vec::new();
    for query in [first, second, last] {
        cursors.push(world.store().tasks(query).await.unwrap().next.unwrap());
    }
    assert!(cursors.is_sorted_by(|one, next| one < next), "{cursors:?}");
}

pub(super) async fn s10_1_a_lasting_task_is_listed_once_during_changes(world: StoreWorld) {
    let delivered = Duration::ZERO;
    world.store().set_retention(Retention { delivered, ..Retention::default() });
    for order in [Order::OldestFirst, Order::NewestFirst] {
        comes_and_goes(&world, order, "live", TaskQuery::live).await;
        comes_and_goes(&world, order, "all", std::convert::identity).await;
    }
}

async fn comes_and_goes(
    world: &StoreWorld,
    order: Order,
    which: &str,
    narrow: impl Fn(TaskQuery) -> TaskQuery,
) {
    let session = world.session(&format!("{order:?} {which}")).await;
    let mut staying = Vec::new();
    let mut passing = Vec::new();
    for _ in 0..9 {
        staying.push(world.running(&session).await);
        passing.push(world.running(&session).await);
    }
    let all = TaskQuery::new(TaskScope::Session(session.id));
    let mut query = narrow(TaskQuery { order, limit: 4, ..all });
    let mut listed = Vec::new();
    loop {
        let page = world.store().tasks(query.clone()).await.unwrap();
        listed.extend(ids(&page.items));
        // Between pages some tasks end and are deleted, one changes, and one is spawned.
        for task in passing.drain(..passing.len().min(2)) {
            world.settle(&task).await;
        }
        world.drain(Owner::Session(session.id)).await;
        world.expire(world.now()).await;
        let changing = staying.pop().unwrap();
        let parked = world.put(&changing, Intent::Park(WaitingOn::Message)).await;
        staying.insert(0, world.put(&parked, Intent::Resume).await);
        passing.push(world.running(&session).await);
        match page.next {
            Some(next) => query.after = Some(next),
            None => break,
        }
    }
    for task in staying {
        let times = listed.iter().filter(|id| **id == task.id()).count();
        assert_eq!(times, 1, "{order:?} {which}: a task was listed {times} times");
    }
    let mut once = listed.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), listed.len(), "{order:?} {which}: a task was listed twice");
}

pub(super) async fn s10_1_every_filter_selects_its_tasks(world: StoreWorld) {
    let session = world.session("main").await;
    let run = world.run_id();
    let mut spec = called(world.spec(&session), "Docs");
    spec.kind = "agent".into();
    spec.terms.profile = Some("writer".into());
    spec.lineage.origin.run = Some(run);
    let docs = world.spawn(spec).await;
    let mut spec = world.spec(&session);
    spec.kind = "agent".into();
    spec.terms.profile = Some("critic".into());
    let critic = world.spawn(spec).await;
    let critic = world.put(&critic, Intent::Start(world.worker)).await;
    let waiting = world.running(&session).await;
    let waiting = world.put(&waiting, Intent::Park(WaitingOn::Message)).await;
    let done = world.running(&session).await;
    let done = world.settle(&done).await;
    let failed = world.running(&session).await;
    let stop = Intent::Cancel(cancel(world.now()));
    let failed = world.put(&failed, stop).await;
    let all = || TaskQuery::new(TaskScope::Session(session.id));
    let phases = |phases: &[Phase]| TaskQuery { phases: phases.to_vec(), ..all() };
    let cases = [
        (all(), vec![&docs, &critic, &waiting, &done, &failed]),
        (all().live(), vec![&docs, &critic, &waiting, &failed]),
        (phases(&[Phase::Queued]), vec![&docs]),
        (phases(&[Phase::Running, Phase::Waiting]), vec![&critic, &waiting, &failed]),
        (phases(&[Phase::Completed]), vec![&done]),
        (phases(&[Phase::Lost]), vec![]),
        (TaskQuery { kind: Some("agent".into()), ..all() }, vec![&docs, &critic]),
        (TaskQuery { profile: Some("critic".into()), ..all() }, vec![&critic]),
        (TaskQuery { name: Some("docs".into()), ..all() }, vec![&docs]),
        (TaskQuery { run: Some(run), ..all() }, vec![&docs]),
        (TaskQuery { run: Some(world.run_id()), ..all() }, vec![]),
        (
            TaskQuery {
                kind: Some("agent".into()),
                name: Some("docs".into()),
                ..phases(&[Phase::Running])
            },
            vec![],
        ),
    ];
    for (query, wanted) in cases {
        for limit in [1, 3, 50] {
            let query = TaskQuery { limit, ..query.clone() };
            let found = world.list(query.clone()).await;
            assert_eq!(found.iter().collect::<Vec<_>>(), wanted, "{query:?}");
        }
    }
}

pub(super) async fn a_list_without_matches_is_empty(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let unknown = world.new_session("unknown");
    for within in [
        TaskScope::Session(unknown.id),
        TaskScope::Owner(Owner::Session(unknown.id)),
        TaskScope::Owner(Owner::Task(task.id())),
        TaskScope::Owner(Owner::Task(world.task_id())),
    ] {
        let page = world.store().tasks(TaskQuery::new(within)).await.unwrap();
        assert_eq!((page.items.len(), page.next), (0, None));
    }
}
