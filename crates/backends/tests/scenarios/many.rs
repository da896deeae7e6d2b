//! Many commands at once.

use offshoot_backends::LogLimits;
use offshoot_core::TaskState;

use crate::support::{Records, Test, World, report, reported, runs};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_commands_run_at_once_and_leave_nothing() -> Test {
    let world = World::on(Records::Sqlite, LogLimits::default()).await;
    let request = || world.request(world.command("sleep").args(["1000"]).unwrap());
    let spawns = (0..1_000).map(|_| async { world.session.spawn(request()).await.unwrap() });
    let tasks = futures_util::future::join_all(spawns).await;
    let reports = futures_util::future::join_all(tasks.iter().map(reported)).await;
    let pids: Vec<String> = reports.iter().map(|told| told.pid.unwrap().to_string()).collect();
    assert!(pids.iter().all(|pid| runs(pid)));
    world.session.cancel("enough").await?;
    for task in &tasks {
        let task = task.wait().await?.task;
        assert_eq!((task.state, report(&task).signal), (TaskState::Cancelled, Some(15)));
    }
    assert!(!pids.iter().any(|pid| runs(pid)));
    Ok(())
}
