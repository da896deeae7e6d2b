//! Timers: stored with their wall-clock due time, one per key.

use offshoot_core::{Stamp, Task, Timer};

use super::world::StoreWorld;
use crate::batch::Write;

fn timer(task: &Task, key: &str, due: i64) -> Timer {
    Timer { task: task.id(), key: key.into(), due: Stamp::from_millis(due) }
}

async fn armed(world: &StoreWorld, task: &Task) -> Vec<Timer> {
    let mut timers = world.store().timers(task.id()).await.unwrap();
    timers.sort_by(|one, other| one.key.cmp(&other.key));
    timers
}

pub(super) async fn s9_1_a_timer_keeps_its_due_time(world: StoreWorld) {
    let session = world.session("main").await;
    let (task, other) = (world.running(&session).await, world.running(&session).await);
    assert!(armed(&world, &task).await.is_empty());
    let timers = [timer(&task, "a", 5), timer(&task, "b", i64::MAX), timer(&task, "c", -7)];
    for timer in timers.clone() {
        world.write(Write::Arm(timer)).await;
    }
    world.write(Write::Arm(timer(&other, "a", 9))).await;
    assert_eq!(armed(&world, &task).await, timers);
    assert_eq!(armed(&world, &other).await, [timer(&other, "a", 9)]);
}

pub(super) async fn a_timer_replaces_one_of_the_same_key(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    world.write(Write::Arm(timer(&task, "a", 5))).await;
    world.write(Write::Arm(timer(&task, "b", 6))).await;
    world.write(Write::Arm(timer(&task, "a", 7))).await;
    assert_eq!(armed(&world, &task).await, [timer(&task, "a", 7), timer(&task, "b", 6)]);
}

pub(super) async fn ending_a_timer_twice_is_no_error(world: StoreWorld) {
    let session = world.session("main").await;
    let (task, other) = (world.running(&session).await, world.running(&session).await);
    for armed in [timer(&task, "a", 5), timer(&task, "b", 6), timer(&other, "a", 7)] {
        world.write(Write::Arm(armed)).await;
    }
    for _ in 0..2 {
        world.write(Write::Disarm { task: task.id(), key: "a".into() }).await;
        assert_eq!(armed(&world, &task).await, [timer(&task, "b", 6)]);
    }
    assert_eq!(armed(&world, &other).await, [timer(&other, "a", 7)]);
}
