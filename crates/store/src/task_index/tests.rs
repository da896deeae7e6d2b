mod names;

use std::sync::Arc;

use offshoot_core::doc::spec;
use offshoot_core::{
    Intent, LiveChildren, Name, Naming, Outcome, Payload, Phase, Stamp, Tie, WorkerId, decide,
};
use proptest::prelude::*;

use super::*;

const AT: Stamp = Stamp::from_millis(9);

/// Tasks of a few owners with few names, so that names collide.
#[derive(Default)]
struct TaskMaker(u128);

impl TaskMaker {
    fn id(&mut self) -> TaskId {
        self.0 += 1;
        TaskId::mint(AT, self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
    }

    fn task(&mut self, session: u128, name: &str) -> Task {
        let mut spec = spec("task");
        spec.id = self.id();
        spec.lineage.session = SessionId::mint(AT, session);
        spec.handle = Name::new(name).unwrap();
        Task::new(Arc::new(spec))
    }

    fn child(&mut self, parent: &Task, name: &str, tie: Tie) -> Task {
        let mut spec = (*parent.spec).clone();
        spec.id = self.id();
        spec.lineage.parent = Some(parent.id());
        spec.handle = Name::new(name).unwrap();
        spec.tie = tie;
        Task::new(Arc::new(spec))
    }
}

fn next(task: &Task, intent: Intent) -> Task {
    decide(task, intent, AT).unwrap().task
}

fn start(task: &Task) -> Task {
    next(task, Intent::Start(WorkerId::mint(AT, 1)))
}

fn end(task: &Task) -> Task {
    let outcome = Outcome::Lost { reason: "gone".into() };
    next(task, Intent::Finish(outcome, LiveChildren::None))
}

/// Tasks called `docs`, each of which ended before the next was spawned.
fn namesakes(index: &mut TaskIndex, count: u64) -> Vec<Task> {
    let mut maker = TaskMaker::default();
    let one = |ordinal| {
        let task = maker.task(1, "docs");
        index.insert(task.clone(), ordinal);
        index.replace(end(&task));
        end(&task)
    };
    (1..=count).map(one).collect()
}

#[test]
fn an_evicted_task_still_counts_and_a_deleted_one_was_spawned() {
    let mut index = TaskIndex::default();
    let ended = namesakes(&mut index, 2);
    index.remove(ended[0].id(), RemovalKind::Evicted);
    assert_eq!(index.counts_within(None).of(Phase::Lost), 2);
    index.remove(ended[1].id(), RemovalKind::Deleted);
    let counts = index.counts_within(None);
    assert_eq!((counts.of(Phase::Lost), counts.spawned()), (1, 2));
    assert_eq!(index.len(), 0);
}

#[test]
fn s10_1_a_page_examines_a_bounded_number_of_tasks() {
    let mut index = TaskIndex::default();
    let mut maker = TaskMaker::default();
    let count = 2 * TASKS_PER_PAGE as u64 + 10;
    for ordinal in 1..=count {
        let task = maker.task(ordinal as u128 % 3, &format!("task {ordinal}"));
        index.insert(if ordinal == count { start(&task) } else { task }, ordinal);
    }
    for order in [Order::OldestFirst, Order::NewestFirst] {
        let phases = vec![Phase::Running];
        let mut query = TaskQuery { phases, order, ..TaskQuery::new(TaskScope::Everything) };
        let (mut pages, mut items) = (0, 0);
        loop {
            let page = index.page(&query);
            pages += 1;
            items += page.items.len();
            match page.next {
                Some(next) => query.after = Some(next),
                None => break,
            }
        }
        assert_eq!((pages, items), (3, 1));
    }
}

#[test]
fn a_result_row_is_set_and_cleared() {
    let mut index = TaskIndex::default();
    let task = namesakes(&mut index, 1).remove(0);
    assert_eq!(index.row(task.id()), None);
    index.set_row(task.id(), 7);
    assert_eq!(index.row(task.id()), Some(7));
    assert!(index.take_row(task.id()).is_some());
    assert_eq!(index.row(task.id()), None);
}

/// The last name is a generated one, unless its number is taken.
const NAMES: [&str; 4] = ["docs", "Docs 2", "größe", "function-1"];

/// A change of the index. The numbers select among the present tasks.
#[derive(Clone, Debug)]
enum IndexChange {
    Insert { session: u128, name: usize },
    InsertChild { parent: usize, name: usize, tie: Tie },
    Start(usize),
    End(usize),
    Delete(usize),
}

fn moves() -> impl Strategy<Value = Vec<IndexChange>> {
    let any = 0..1_000usize;
    let tie = prop_oneof![Just(Tie::Owned), Just(Tie::Detached)];
    let child = (any.clone(), 0..NAMES.len(), tie);
    let one = prop_oneof![
        4 => (1..4u128, 0..NAMES.len()).prop_map(|(session, name)| IndexChange::Insert { session, name }),
        3 => child.prop_map(|(parent, name, tie)| IndexChange::InsertChild { parent, name, tie }),
        2 => any.clone().prop_map(IndexChange::Start),
        5 => any.clone().prop_map(IndexChange::End),
        3 => any.prop_map(IndexChange::Delete),
    ];
    proptest::collection::vec(one, 0..80)
}

/// A reference model that searches a list.
#[derive(Default)]
struct ListModel {
    tasks: Vec<(u64, Task)>,
    // Deleted tasks, which still count as spawned.
    gone: Vec<Task>,
}

impl ListModel {
    fn pick(&self, choice: usize, fits: impl Fn(&Task) -> bool) -> Option<Task> {
        let fitting: Vec<_> = self.tasks.iter().filter(|(_, task)| fits(task)).collect();
        (!fitting.is_empty()).then(|| fitting[choice % fitting.len()].1.clone())
    }

    fn named(&self, owner: Owner, key: &str) -> Option<TaskId> {
        let same = |task: &&Task| task.owner() == owner && task.spec.handle.key() == key;
        let all = || self.tasks.iter().map(|(_, task)| task).filter(same);
        all().find(|task| task.is_live()).or(all().next_back()).map(Task::id)
    }

    fn counts(&self, of: impl Fn(&Task) -> bool) -> TaskCounts {
        let mut counts = TaskCounts::default();
        self.tasks
            .iter()
            .filter(|(_, task)| of(task))
            .for_each(|(_, task)| counts.add(task.state.phase()));
        for task in self.gone.iter().filter(|task| of(task)) {
            counts.add(task.state.phase());
            counts.drop(task.state.phase());
        }
        counts
    }

    fn listed(&self, order: Order, of: impl Fn(&Task) -> bool) -> Vec<TaskId> {
        let mut ids: Vec<_> =
            self.tasks.iter().filter(|(_, task)| of(task)).map(|(_, task)| task.id()).collect();
        if order == Order::NewestFirst {
            ids.reverse();
        }
        ids
    }
}

fn play(index: &mut TaskIndex, naive: &mut ListModel, maker: &mut TaskMaker, step: IndexChange) {
    let task = match step {
        IndexChange::Insert { session, name } => maker.task(session, NAMES[name]),
        IndexChange::InsertChild { parent, name, tie } => {
            let Some(parent) = naive.pick(parent, Task::is_live) else { return };
            maker.child(&parent, NAMES[name], tie)
        }
        IndexChange::Start(choice) => {
            let queued = |task: &Task| task.state.phase() == Phase::Queued;
            let Some(task) = naive.pick(choice, queued) else { return };
            return replace(index, naive, start(&task));
        }
        IndexChange::End(choice) => {
            let childless = |task: &Task| index.live_children(task.id()) == 0;
            let Some(task) = naive.pick(choice, |task| task.is_live() && childless(task)) else {
                return;
            };
            return replace(index, naive, end(&task));
        }
        IndexChange::Delete(choice) => {
            // In this test a parent outlives the records of its children.
            let named = |task: &Task| Owner::Task(task.id());
            let owns = |task: &Task| naive.tasks.iter().any(|(_, one)| one.owner() == named(task));
            let Some(task) = naive.pick(choice, |task| !task.is_live() && !owns(task)) else {
                return;
            };
            assert_eq!(index.remove(task.id(), RemovalKind::Deleted).as_ref(), Some(&task));
            naive.tasks.retain(|(_, other)| other.id() != task.id());
            return naive.gone.push(task);
        }
    };
    let (owner, key) = (task.owner(), task.spec.handle.key());
    let live = |other: &Task| other.is_live() && other.owner() == owner;
    if naive.tasks.iter().any(|(_, other)| live(other) && other.spec.handle.key() == key) {
        assert!(index.live_named(owner, key).is_some());
        return;
    }
    assert!(index.live_named(owner, key).is_none());
    let ordinal = maker.0 as u64;
    index.insert(task.clone(), ordinal);
    naive.tasks.push((ordinal, task));
}

fn replace(index: &mut TaskIndex, naive: &mut ListModel, task: Task) {
    index.replace(task.clone());
    let old = naive.tasks.iter_mut().find(|(_, old)| old.id() == task.id());
    old.unwrap().1 = task;
}

fn pages(index: &TaskIndex, within: TaskScope, order: Order, limit: usize) -> Vec<TaskId> {
    listed(index, TaskQuery { order, limit, ..TaskQuery::new(within) })
}

fn listed(index: &TaskIndex, mut query: TaskQuery) -> Vec<TaskId> {
    let limit = query.limit;
    let mut ids = Vec::new();
    loop {
        let page = index.page(&query);
        assert!(page.items.len() <= limit);
        ids.extend(page.items.iter().map(Task::id));
        match page.next {
            Some(next) => query.after = Some(next),
            None => return ids,
        }
    }
}

proptest! {
    #[test]
    fn the_index_matches_a_list_after_random_changes(moves in moves(), limit in 1..5usize) {
        let (mut index, mut naive) = (TaskIndex::default(), ListModel::default());
        let mut maker = TaskMaker::default();
        for step in moves {
            play(&mut index, &mut naive, &mut maker, step);
        }
        prop_assert_eq!(index.len(), naive.tasks.len());
        prop_assert_eq!(index.counts_within(None), naive.counts(|_| true));
        let sessions = (1..4).map(|session| SessionId::mint(AT, session));
        let mut owners: Vec<_> = sessions.map(Owner::Session).collect();
        owners.extend(naive.tasks.iter().map(|(_, task)| Owner::Task(task.id())));
        for order in [Order::OldestFirst, Order::NewestFirst] {
            let found = pages(&index, TaskScope::Everything, order, limit);
            prop_assert_eq!(found, naive.listed(order, |_| true));
            for owner in &owners {
                let found = pages(&index, TaskScope::Owner(*owner), order, limit);
                prop_assert_eq!(found, naive.listed(order, |task| task.owner() == *owner));
                let Owner::Session(id) = *owner else { continue };
                let inside = |task: &Task| task.spec.lineage.session == id;
                let found = pages(&index, TaskScope::Session(id), order, limit);
                prop_assert_eq!(found, naive.listed(order, inside));
                prop_assert_eq!(index.counts_within(Some(id)), naive.counts(inside));
            }
        }
        for owner in &owners {
            let owned = |task: &Task| task.owner() == *owner;
            prop_assert_eq!(index.counts(*owner), naive.counts(owned));
            for key in NAMES.map(Name::key_of) {
                let found = index.named(*owner, &key).map(Task::id);
                prop_assert_eq!(found, naive.named(*owner, &key));
            }
            if let Owner::Task(id) = *owner {
                prop_assert_eq!(index.live_children(id), naive.counts(owned).live());
            }
        }
    }
}

#[test]
fn a_task_is_a_cache_line() {
    assert_eq!(size_of::<TaskEntry>(), 64);
}

#[test]
fn keys_find_their_task_until_it_leaves() {
    let mut index = TaskIndex::default();
    let mut maker = TaskMaker::default();
    let mut spec = (*maker.task(1, "docs").spec).clone();
    spec.terms.key = Some("step 1".into());
    spec.input = Payload::Null;
    let task = Task::new(Arc::new(spec));
    assert!(index.keyed(task.owner(), "step 1").is_none());
    index.insert(task.clone(), 1);
    index.replace(end(&task));
    assert_eq!(index.keyed(task.owner(), "step 1").map(Task::id), Some(task.id()));
    assert!(index.keyed(task.owner(), "step 2").is_none());
    index.remove(task.id(), RemovalKind::Deleted);
    assert!(index.keyed(task.owner(), "step 1").is_none());
    assert!(index.keys.is_empty(), "nothing of it is left");
}
