use proptest::prelude::*;

use super::*;
use crate::time::Stamp;

fn task(n: u64) -> TaskId {
    TaskId::mint(Stamp::from_millis(1), u128::from(n) + 1)
}

fn key(session: u64, owner: u64) -> SlotKey {
    SlotKey {
        session: SessionId::mint(Stamp::from_millis(1), u128::from(session) + 1),
        owner: Owner::Task(task(1_000 + owner)),
    }
}

fn machine(slots: u64) -> Admission {
    Admission::new(Ceiling { space: Some(slots), ..Ceiling::NONE })
}

#[test]
fn s8_1_sessions_take_turns_then_owners_and_an_owner_is_served_in_order() {
    let mut admission = machine(0);
    for n in 0..3 {
        admission.enqueue(task(n), key(1, 1), Lane::Starting);
    }
    admission.enqueue(task(10), key(1, 2), Lane::Starting);
    admission.enqueue(task(20), key(2, 3), Lane::Starting);
    admission.ceiling.space = None;
    let order: Vec<_> = std::iter::from_fn(|| admission.grant()).collect();
    assert_eq!(order, [0, 20, 10, 1, 2].map(task));
}

#[test]
fn s8_3_resumers_go_before_new_tasks() {
    let mut admission = machine(1);
    assert!(admission.take(key(1, 1)));
    admission.enqueue(task(1), key(1, 1), Lane::Starting);
    admission.enqueue(task(2), key(1, 2), Lane::Resuming);
    assert_eq!(admission.grant(), None);
    admission.release(key(1, 1));
    assert_eq!(admission.grant(), Some(task(2)));
}

#[test]
fn s8_1_a_task_does_not_overtake_its_owners_queue() {
    let mut admission = machine(2);
    admission.enqueue(task(1), key(1, 1), Lane::Starting);
    assert!(!admission.take(key(1, 1)));
    assert!(admission.take(key(1, 2)));
    assert_eq!(admission.grant(), Some(task(1)));
}

#[test]
fn a_full_owner_does_not_block_the_others() {
    let mut admission = Admission::new(Ceiling { owner: Some(1), ..Ceiling::NONE });
    assert!(admission.take(key(1, 1)));
    admission.enqueue(task(1), key(1, 1), Lane::Starting);
    admission.enqueue(task(2), key(1, 2), Lane::Starting);
    assert_eq!(admission.grant(), Some(task(2)));
    assert_eq!(admission.grant(), None);
    assert_eq!(admission.position(task(1), key(1, 1)), Some(0));
    admission.release(key(1, 1));
    assert_eq!(admission.grant(), Some(task(1)));
}

proptest! {
    #[test]
    fn s8_1_no_sequence_exceeds_an_executing_cap_or_loses_a_task(
        machine in 0u64..4, session in 0u64..4, owner in 0u64..4,
        moves in proptest::collection::vec((0u8..4, 0u64..3, 0u64..3), 0..120),
    ) {
        let ceiling = Ceiling { space: Some(machine), session: Some(session), owner: Some(owner) };
        let mut admission = Admission::new(ceiling);
        let mut queued = std::collections::HashMap::new();
        let mut holding: Vec<SlotKey> = Vec::new();
        for (n, (action, s, o)) in moves.into_iter().enumerate() {
            let key = key(s, o);
            match action {
                0 => if admission.take(key) { holding.push(key) },
                1 => {
                    let id = task(n as u64);
                    let lane = if s == 0 { Lane::Resuming } else { Lane::Starting };
                    admission.enqueue(id, key, lane);
                    queued.insert(id, key);
                }
                2 => if let Some(id) = admission.grant() {
                    holding.push(queued.remove(&id).expect("granted once"));
                },
                _ => if let Some(key) = holding.pop() { admission.release(key) },
            }
            prop_assert!(admission.executing() <= machine);
            prop_assert_eq!(admission.executing(), holding.len() as u64);
            prop_assert_eq!(admission.queued(), queued.len());
            for key in &holding {
                let of_owner = holding.iter().filter(|other| other.owner == key.owner).count();
                let of_session = holding.iter().filter(|other| other.session == key.session).count();
                prop_assert!(of_owner as u64 <= owner && of_session as u64 <= session);
            }
        }
        // With free slots and no caps, all queued tasks are served.
        admission.ceiling = Ceiling::NONE;
        while let Some(id) = admission.grant() {
            prop_assert!(queued.remove(&id).is_some());
        }
        prop_assert!(queued.is_empty());
    }
}
