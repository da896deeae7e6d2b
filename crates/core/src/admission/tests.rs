use proptest::prelude::*;

use super::*;
use crate::time::Stamp;

fn task(n: u64) -> TaskId {
    TaskId::mint(Stamp::from_millis(1), u128::from(n) + 1)
}

fn seat(session: u64, owner: u64) -> Seat {
    Seat {
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
        admission.enqueue(task(n), seat(1, 1), Lane::Starting);
    }
    admission.enqueue(task(10), seat(1, 2), Lane::Starting);
    admission.enqueue(task(20), seat(2, 3), Lane::Starting);
    admission.ceiling.space = None;
    let order: Vec<_> = std::iter::from_fn(|| admission.grant()).collect();
    assert_eq!(order, [0, 20, 10, 1, 2].map(task));
}

#[test]
fn s8_3_resumers_go_before_new_tasks() {
    let mut admission = machine(1);
    assert!(admission.take(seat(1, 1)));
    admission.enqueue(task(1), seat(1, 1), Lane::Starting);
    admission.enqueue(task(2), seat(1, 2), Lane::Resuming);
    assert_eq!(admission.grant(), None);
    admission.release(seat(1, 1));
    assert_eq!(admission.grant(), Some(task(2)));
}

#[test]
fn s8_1_nobody_overtakes_its_own_owner_queue() {
    let mut admission = machine(2);
    admission.enqueue(task(1), seat(1, 1), Lane::Starting);
    assert!(!admission.take(seat(1, 1)));
    assert!(admission.take(seat(1, 2)));
    assert_eq!(admission.grant(), Some(task(1)));
}

#[test]
fn a_full_owner_does_not_hold_up_the_others() {
    let mut admission = Admission::new(Ceiling { owner: Some(1), ..Ceiling::NONE });
    assert!(admission.take(seat(1, 1)));
    admission.enqueue(task(1), seat(1, 1), Lane::Starting);
    admission.enqueue(task(2), seat(1, 2), Lane::Starting);
    assert_eq!(admission.grant(), Some(task(2)));
    assert_eq!(admission.grant(), None);
    assert_eq!(admission.position(task(1), seat(1, 1)), Some(0));
    admission.release(seat(1, 1));
    assert_eq!(admission.grant(), Some(task(1)));
}

proptest! {
    #[test]
    fn s8_1_no_sequence_breaks_an_executing_cap_and_nobody_is_forgotten(
        machine in 0u64..4, session in 0u64..4, owner in 0u64..4,
        moves in proptest::collection::vec((0u8..4, 0u64..3, 0u64..3), 0..120),
    ) {
        let ceiling = Ceiling { space: Some(machine), session: Some(session), owner: Some(owner) };
        let mut admission = Admission::new(ceiling);
        let mut queued = std::collections::HashMap::new();
        let mut holding: Vec<Seat> = Vec::new();
        for (n, (action, s, o)) in moves.into_iter().enumerate() {
            let seat = seat(s, o);
            match action {
                0 => if admission.take(seat) { holding.push(seat) },
                1 => {
                    let id = task(n as u64);
                    let lane = if s == 0 { Lane::Resuming } else { Lane::Starting };
                    admission.enqueue(id, seat, lane);
                    queued.insert(id, seat);
                }
                2 => if let Some(id) = admission.grant() {
                    holding.push(queued.remove(&id).expect("granted once"));
                },
                _ => if let Some(seat) = holding.pop() { admission.release(seat) },
            }
            prop_assert!(admission.executing() <= machine);
            prop_assert_eq!(admission.executing(), holding.len() as u64);
            prop_assert_eq!(admission.queued(), queued.len());
            for seat in &holding {
                let of_owner = holding.iter().filter(|other| other.owner == seat.owner).count();
                let of_session = holding.iter().filter(|other| other.session == seat.session).count();
                prop_assert!(of_owner as u64 <= owner && of_session as u64 <= session);
            }
        }
        // With every slot free and no caps, all that queue are served.
        admission.ceiling = Ceiling::NONE;
        while let Some(id) = admission.grant() {
            prop_assert!(queued.remove(&id).is_some());
        }
        prop_assert!(queued.is_empty());
    }
}
