//! Counters: bounded below by zero and above by a limit.

use offshoot_core::{Owner, SessionRecord};

use super::world::StoreWorld;
use crate::batch::{Counter, CounterChange, Write};
use crate::error::Conflict;

fn tokens(session: &SessionRecord) -> Counter {
    Counter { owner: Owner::Session(session.id), name: "tokens".into() }
}

fn count(counter: &Counter, by: i64, limit: Option<u64>) -> Write {
    Write::Count(CounterChange { counter: counter.clone(), by, limit })
}

pub(super) async fn s8_2_a_counter_goes_up_and_down(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let counter = tokens(&session);
    let other = Counter { owner: Owner::Task(task.id()), ..counter.clone() };
    let third = Counter { name: "money".into(), ..counter.clone() };
    let store = world.store();
    assert_eq!(store.counter(&counter).await.unwrap(), 0);
    let after = store.cursor();
    for (by, value) in [(5, 5), (-2, 3), (0, 3), (-3, 0), (i64::MAX, i64::MAX as u64)] {
        world.write(count(&counter, by, None)).await;
        assert_eq!(store.counter(&counter).await.unwrap(), value);
    }
    assert_eq!(store.counter(&other).await.unwrap(), 0);
    assert_eq!(store.counter(&third).await.unwrap(), 0);
    assert!(world.changes(&session, after).await.is_empty(), "counters are not logged");
}

pub(super) async fn s8_2_a_counter_stays_within_its_limit(world: StoreWorld) {
    let session = world.session("main").await;
    let counter = tokens(&session);
    world.write(count(&counter, 10, Some(10))).await;
    let conflict = Conflict::Counter { name: "tokens".into(), value: 10 };
    assert_eq!(world.refused_write(count(&counter, 1, Some(10))).await, conflict);
    assert_eq!(world.refused_write(count(&counter, 0, Some(9))).await, conflict);
    world.write(count(&counter, 1, None)).await;
    world.write(count(&counter, -1, Some(10))).await;
    assert_eq!(world.store().counter(&counter).await.unwrap(), 10);
    let none = Conflict::Counter { name: "money".into(), value: 0 };
    let money = Counter { name: "money".into(), ..counter };
    assert_eq!(world.refused_write(count(&money, 1, Some(0))).await, none, "zero means none");
}

pub(super) async fn s8_2_a_counter_never_goes_below_zero(world: StoreWorld) {
    let session = world.session("main").await;
    let counter = tokens(&session);
    world.write(count(&counter, 3, None)).await;
    let conflict = Conflict::Counter { name: "tokens".into(), value: 3 };
    assert_eq!(world.refused_write(count(&counter, -4, None)).await, conflict);
    assert_eq!(world.refused_write(count(&counter, i64::MIN, None)).await, conflict);
    world.write(count(&counter, -3, None)).await;
}
