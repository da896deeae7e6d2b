//! Tasks by their names.

use super::*;

fn found(index: &TaskIndex, task: &Task) -> Option<TaskId> {
    index.named(task.owner(), "docs").map(Task::id)
}

#[test]
fn s1_7_the_live_task_has_the_name_else_the_one_that_ended_last() {
    let mut index = TaskIndex::default();
    let ended = namesakes(&mut index, 3);
    assert_eq!(found(&index, &ended[0]), Some(ended[2].id()));
    assert!(index.live_named(ended[0].owner(), "docs").is_none());
    let live = TaskMaker(50).task(1, "docs");
    index.insert(live.clone(), 9);
    assert_eq!(found(&index, &live), Some(live.id()));
    assert_eq!(index.live_named(live.owner(), "docs"), Some(&live));
}

#[test]
fn s1_7_deleting_the_last_ended_gives_its_name_back_to_the_one_before() {
    let mut index = TaskIndex::default();
    let ended = namesakes(&mut index, 3);
    index.remove(ended[1].id(), RemovalKind::Deleted);
    assert_eq!(found(&index, &ended[0]), Some(ended[2].id()));
    index.remove(ended[2].id(), RemovalKind::Deleted);
    assert_eq!(found(&index, &ended[0]), Some(ended[0].id()));
    index.remove(ended[0].id(), RemovalKind::Deleted);
    assert_eq!(found(&index, &ended[0]), None);
    assert!(index.is_empty() && index.knows_no_given_names());
}

#[test]
fn s1_7_a_name_of_an_evicted_task_is_not_found() {
    let mut index = TaskIndex::default();
    let ended = namesakes(&mut index, 3);
    index.remove(ended[0].id(), RemovalKind::Evicted);
    assert_eq!(found(&index, &ended[0]), Some(ended[2].id()));
    index.remove(ended[2].id(), RemovalKind::Evicted);
    assert_eq!(found(&index, &ended[0]), None, "the one before it did not end last");
}

#[test]
fn s1_7_ended_tasks_may_be_loaded_in_any_order() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1]] {
        let ended = namesakes(&mut TaskIndex::default(), 3);
        let mut index = TaskIndex::default();
        for at in order {
            index.insert(ended[at].clone(), at as u64 + 1);
        }
        assert_eq!(found(&index, &ended[0]), Some(ended[2].id()), "{order:?}");
        index.remove(ended[2].id(), RemovalKind::Deleted);
        assert_eq!(found(&index, &ended[0]), Some(ended[1].id()), "{order:?}");
    }
}

proptest! {
    #[test]
    fn s10_1_a_list_by_name_is_the_list_without_all_others(moves in moves(), limit in 1..5usize) {
        let (mut index, mut naive) = (TaskIndex::default(), ListModel::default());
        let mut maker = TaskMaker::default();
        for step in moves {
            play(&mut index, &mut naive, &mut maker, step);
        }
        let mut all = vec![TaskScope::Everything];
        for session in (1..4).map(|session| SessionId::mint(AT, session)) {
            all.extend([TaskScope::Session(session), TaskScope::Owner(Owner::Session(session))]);
        }
        all.extend(naive.tasks.iter().map(|(_, task)| TaskScope::Owner(Owner::Task(task.id()))));
        for (within, key) in all.iter().flat_map(|within| NAMES.map(|name| (*within, name))) {
            let key = Name::key_of(key);
            for order in [Order::OldestFirst, Order::NewestFirst] {
                let fits = |task: &Task| task.spec.handle.key() == key && match within {
                    TaskScope::Everything => true,
                    TaskScope::Session(session) => task.spec.lineage.session == session,
                    TaskScope::Owner(owner) => task.owner() == owner,
                };
                let means = |task: &Task| naive.named(task.owner(), &key) == Some(task.id());
                let name = Some(Arc::from(&*key));
                let query = TaskQuery { name, order, limit, ..TaskQuery::new(within) };
                let found = listed(&index, query.clone());
                prop_assert_eq!(found, naive.listed(order, fits));
                let query = TaskQuery { namesakes: Namesakes::Last, ..query };
                let found = listed(&index, query);
                prop_assert_eq!(found, naive.listed(order, |task| fits(task) && means(task)));
            }
        }
    }
}

#[test]
fn a_name_is_stored_once_for_all_its_tasks() {
    const MANY: u128 = 300;
    let (mut index, mut maker) = (TaskIndex::default(), TaskMaker::default());
    // One is in the first session, which knows it by itself.
    let tasks: Vec<_> = (0..=MANY).map(|session| maker.task(1 + session, "worker")).collect();
    for (ordinal, task) in (1..).zip(&tasks) {
        index.insert(task.clone(), ordinal);
    }
    assert_eq!(index.known_elsewhere(), (1, 1));
    for task in &tasks {
        assert_eq!(index.named(task.owner(), "worker"), Some(task));
    }
    for (task, left) in tasks[1..].iter().zip((0..MANY).rev()) {
        index.remove(task.id(), RemovalKind::Deleted);
        let known = match left {
            0 => (0, 0),
            1 => (1, 0),
            _ => (1, 1),
        };
        assert_eq!(index.known_elsewhere(), known);
    }
    assert_eq!(index.named(tasks[0].owner(), "worker"), Some(&tasks[0]));
}

fn counted(maker: &mut TaskMaker, stem: &Arc<str>, number: u64) -> Task {
    let mut spec = (*maker.task(1, "any").spec).clone();
    spec.handle = Name::numbered(stem, number);
    spec.naming = Naming::Counted;
    spec.terms.profile = Some(stem.clone());
    Task::new(Arc::new(spec))
}

#[test]
fn s1_2_generated_names_find_their_task_for_every_stem() {
    let (mut index, mut maker) = (TaskIndex::default(), TaskMaker::default());
    let stems: [Arc<str>; 5] = ["a", "a-1", "a-1-1", "größe", "-"].map(Arc::from);
    let numbers = 1..=12;
    let tasks: Vec<_> = stems
        .iter()
        .flat_map(|stem| numbers.clone().map(move |number| (stem, number)))
        .map(|(stem, number)| counted(&mut maker, stem, number))
        .collect();
    for (ordinal, task) in (1..).zip(&tasks) {
        index.insert(task.clone(), ordinal);
    }
    assert!(index.knows_no_given_names(), "none of them is kept as a given one");
    for task in &tasks {
        let found = index.named(task.owner(), task.spec.handle.key());
        assert_eq!(found.map(Task::id), Some(task.id()), "{}", task.handle());
    }
    for unused in ["a", "a-", "a-0", "a-01", "a-13", "a-1-1-1-1", "b-1", "-", "1"] {
        assert!(index.named(tasks[0].owner(), unused).is_none(), "{unused}");
    }
}

#[test]
fn an_empty_count_leaves_no_entry() {
    let (mut index, mut maker) = (TaskIndex::default(), TaskMaker::default());
    let stays = counted(&mut maker, &"first".into(), 1);
    index.insert(stays.clone(), 1);
    let stems = |index: &TaskIndex| index.sessions[&stays.spec.lineage.session].numbered.stems();
    for ordinal in 2..100 {
        let stem: Arc<str> = format!("profile {ordinal}").into();
        let pair = [1, 2].map(|number| counted(&mut maker, &stem, number));
        for (task, ordinal) in pair.iter().zip([2 * ordinal, 2 * ordinal + 1]) {
            index.insert(task.clone(), ordinal);
        }
        assert_eq!(stems(&index), 2);
        index.remove(pair[0].id(), RemovalKind::Deleted);
        let found = index.named(pair[1].owner(), pair[1].spec.handle.key());
        assert_eq!(found.map(Task::id), Some(pair[1].id()));
        index.remove(pair[1].id(), RemovalKind::Deleted);
        assert_eq!(stems(&index), 1);
    }
    index.remove(stays.id(), RemovalKind::Deleted);
    index.insert(counted(&mut maker, &"second".into(), 1), 1_000);
    assert_eq!(stems(&index), 1, "the first has made way");
}
