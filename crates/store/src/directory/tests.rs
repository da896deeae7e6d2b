mod names;

use std::sync::Arc;

use offshoot_core::doc::spec;
use offshoot_core::{
    Intent, LiveChildren, Name, Naming, Outcome, Payload, Phase, Stamp, Tie, WorkerId, decide,
};
use proptest::prelude::*;

use super::*;

const AT: Stamp = Stamp::from_millis(9);

/// Tasks of a few owners with few names, so that they meet.
#[derive(Default)]
struct Maker(u128);

impl Maker {
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

/// Tasks called `docs`, one after another, each ended before the next.
fn namesakes(directory: &mut Directory, count: u64) -> Vec<Task> {
    let mut maker = Maker::default();
    let one = |ordinal| {
        let task = maker.task(1, "docs");
        directory.insert(task.clone(), ordinal);
        directory.replace(end(&task));
        end(&task)
    };
    (1..=count).map(one).collect()
}

#[test]
fn an_evicted_task_still_counts_and_a_deleted_one_was_spawned() {
    let mut directory = Directory::default();
    let ended = namesakes(&mut directory, 2);
    directory.remove(ended[0].id(), Removal::Evicted);
    assert_eq!(directory.counts_within(None).of(Phase::Lost), 2);
    directory.remove(ended[1].id(), Removal::Deleted);
    let counts = directory.counts_within(None);
    assert_eq!((counts.of(Phase::Lost), counts.spawned()), (1, 2));
    assert_eq!(directory.len(), 0);
}

#[test]
fn s10_1_a_page_looks_at_so_many_tasks_and_goes_on() {
    let mut directory = Directory::default();
    let mut maker = Maker::default();
    let count = 2 * LOOKS_PER_PAGE as u64 + 10;
    for ordinal in 1..=count {
        let task = maker.task(ordinal as u128 % 3, &format!("task {ordinal}"));
        directory.insert(if ordinal == count { start(&task) } else { task }, ordinal);
    }
    for order in [Order::OldestFirst, Order::NewestFirst] {
        let phases = vec![Phase::Running];
        let mut query = TaskQuery { phases, order, ..TaskQuery::new(Within::Everything) };
        let (mut pages, mut items) = (0, 0);
        loop {
            let page = directory.page(&query);
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
fn a_row_is_noted_and_forgotten() {
    let mut directory = Directory::default();
    let task = namesakes(&mut directory, 1).remove(0);
    assert_eq!(directory.row(task.id()), None);
    directory.set_row(task.id(), 7);
    assert_eq!(directory.row(task.id()), Some(7));
    assert!(directory.take_row(task.id()).is_some());
    assert_eq!(directory.row(task.id()), None);
}

/// The last is counted, unless another has its number.
const NAMES: [&str; 4] = ["docs", "Docs 2", "größe", "function-1"];

/// Something that happens to a directory. The numbers choose among what is
/// there.
#[derive(Clone, Debug)]
enum Move {
    Insert { session: u128, name: usize },
    InsertChild { parent: usize, name: usize, tie: Tie },
    Start(usize),
    End(usize),
    Delete(usize),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let any = 0..1_000usize;
    let tie = prop_oneof![Just(Tie::Owned), Just(Tie::Detached)];
    let child = (any.clone(), 0..NAMES.len(), tie);
    let one = prop_oneof![
        4 => (1..4u128, 0..NAMES.len()).prop_map(|(session, name)| Move::Insert { session, name }),
        3 => child.prop_map(|(parent, name, tie)| Move::InsertChild { parent, name, tie }),
        2 => any.clone().prop_map(Move::Start),
        5 => any.clone().prop_map(Move::End),
        3 => any.prop_map(Move::Delete),
    ];
    proptest::collection::vec(one, 0..80)
}

/// The same as a list that is searched from end to end.
#[derive(Default)]
struct Naive {
    tasks: Vec<(u64, Task)>,
    // Deleted ones, which were spawned all the same.
    gone: Vec<Task>,
}

impl Naive {
    fn pick(&self, choice: usize, fits: impl Fn(&Task) -> bool) -> Option<Task> {
        let fitting: Vec<_> = self.tasks.iter().filter(|(_, task)| fits(task)).collect();
        (!fitting.is_empty()).then(|| fitting[choice % fitting.len()].1.clone())
    }

    fn named(&self, owner: Owner, key: &str) -> Option<TaskId> {
        let same = |task: &&Task| task.owner() == owner && task.spec.handle.key() == key;
        let all = || self.tasks.iter().map(|(_, task)| task).filter(same);
        all().find(|task| task.is_live()).or(all().next_back()).map(Task::id)
    }

    fn counts(&self, of: impl Fn(&Task) -> bool) -> Counts {
        let mut counts = Counts::default();
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

fn play(directory: &mut Directory, naive: &mut Naive, maker: &mut Maker, step: Move) {
    let task = match step {
        Move::Insert { session, name } => maker.task(session, NAMES[name]),
        Move::InsertChild { parent, name, tie } => {
            let Some(parent) = naive.pick(parent, Task::is_live) else { return };
            maker.child(&parent, NAMES[name], tie)
        }
        Move::Start(choice) => {
            let queued = |task: &Task| task.state.phase() == Phase::Queued;
            let Some(task) = naive.pick(choice, queued) else { return };
            return replace(directory, naive, start(&task));
        }
        Move::End(choice) => {
            let childless = |task: &Task| directory.live_children(task.id()) == 0;
            let Some(task) = naive.pick(choice, |task| task.is_live() && childless(task)) else {
                return;
            };
            return replace(directory, naive, end(&task));
        }
        Move::Delete(choice) => {
            // A parent outlives the records of its children here.
            let named = |task: &Task| Owner::Task(task.id());
            let owns = |task: &Task| naive.tasks.iter().any(|(_, one)| one.owner() == named(task));
            let Some(task) = naive.pick(choice, |task| !task.is_live() && !owns(task)) else {
                return;
            };
            assert_eq!(directory.remove(task.id(), Removal::Deleted).as_ref(), Some(&task));
            naive.tasks.retain(|(_, other)| other.id() != task.id());
            return naive.gone.push(task);
        }
    };
    let (owner, key) = (task.owner(), task.spec.handle.key());
    let live = |other: &Task| other.is_live() && other.owner() == owner;
    if naive.tasks.iter().any(|(_, other)| live(other) && other.spec.handle.key() == key) {
        assert!(directory.live_named(owner, key).is_some());
        return;
    }
    assert!(directory.live_named(owner, key).is_none());
    let ordinal = maker.0 as u64;
    directory.insert(task.clone(), ordinal);
    naive.tasks.push((ordinal, task));
}

fn replace(directory: &mut Directory, naive: &mut Naive, task: Task) {
    directory.replace(task.clone());
    let old = naive.tasks.iter_mut().find(|(_, old)| old.id() == task.id());
    old.unwrap().1 = task;
}

fn pages(directory: &Directory, within: Within, order: Order, limit: usize) -> Vec<TaskId> {
    listed(directory, TaskQuery { order, limit, ..TaskQuery::new(within) })
}

fn listed(directory: &Directory, mut query: TaskQuery) -> Vec<TaskId> {
    let limit = query.limit;
    let mut ids = Vec::new();
    loop {
        let page = directory.page(&query);
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
    fn a_directory_is_a_list_searched_from_end_to_end(moves in moves(), limit in 1..5usize) {
        let (mut directory, mut naive) = (Directory::default(), Naive::default());
        let mut maker = Maker::default();
        for step in moves {
            play(&mut directory, &mut naive, &mut maker, step);
        }
        prop_assert_eq!(directory.len(), naive.tasks.len());
        prop_assert_eq!(directory.counts_within(None), naive.counts(|_| true));
        let sessions = (1..4).map(|session| SessionId::mint(AT, session));
        let mut owners: Vec<_> = sessions.map(Owner::Session).collect();
        owners.extend(naive.tasks.iter().map(|(_, task)| Owner::Task(task.id())));
        for order in [Order::OldestFirst, Order::NewestFirst] {
            let found = pages(&directory, Within::Everything, order, limit);
            prop_assert_eq!(found, naive.listed(order, |_| true));
            for owner in &owners {
                let found = pages(&directory, Within::Owner(*owner), order, limit);
                prop_assert_eq!(found, naive.listed(order, |task| task.owner() == *owner));
                let Owner::Session(id) = *owner else { continue };
                let inside = |task: &Task| task.spec.lineage.session == id;
                let found = pages(&directory, Within::Session(id), order, limit);
                prop_assert_eq!(found, naive.listed(order, inside));
                prop_assert_eq!(directory.counts_within(Some(id)), naive.counts(inside));
            }
        }
        for owner in &owners {
            let owned = |task: &Task| task.owner() == *owner;
            prop_assert_eq!(directory.counts(*owner), naive.counts(owned));
            for key in NAMES.map(Name::key_of) {
                let found = directory.named(*owner, &key).map(Task::id);
                prop_assert_eq!(found, naive.named(*owner, &key));
            }
            if let Owner::Task(id) = *owner {
                prop_assert_eq!(directory.live_children(id), naive.counts(owned).live());
            }
        }
    }
}

#[test]
fn a_task_is_a_cache_line() {
    assert_eq!(size_of::<Entry>(), 64);
}

#[test]
fn keys_find_their_task_until_it_leaves() {
    let mut directory = Directory::default();
    let mut maker = Maker::default();
    let mut spec = (*maker.task(1, "docs").spec).clone();
    spec.terms.key = Some("step 1".into());
    spec.input = Payload::Null;
    let task = Task::new(Arc::new(spec));
    assert!(directory.keyed(task.owner(), "step 1").is_none());
    directory.insert(task.clone(), 1);
    directory.replace(end(&task));
    assert_eq!(directory.keyed(task.owner(), "step 1").map(Task::id), Some(task.id()));
    assert!(directory.keyed(task.owner(), "step 2").is_none());
    directory.remove(task.id(), Removal::Deleted);
    assert!(directory.keyed(task.owner(), "step 1").is_none());
    assert!(directory.keys.is_empty(), "nothing of it is left");
}
