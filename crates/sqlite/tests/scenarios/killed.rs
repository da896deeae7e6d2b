//! A process that is killed while it writes.

use std::io::{BufRead, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use offshoot_core::TaskId;

use crate::support::{Scribe, open};

/// Names the data directory for the second process.
const DATA_DIR: &str = "OFFSHOOT_KILLED_DATA_DIR";

/// The second process: lifecycles in a loop, each reported after the store has answered.
#[test]
#[ignore = "only meant to be killed"]
fn writes_until_killed() {
    let Ok(dir) = std::env::var(DATA_DIR) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = open(&PathBuf::from(dir)).await;
        let scribe = Arc::new(Scribe::opened(&*store).await);
        let mut callers = tokio::task::JoinSet::new();
        for caller in 0..16 {
            let (store, scribe) = (store.clone(), scribe.clone());
            callers.spawn(async move {
                for number in 0.. {
                    let task = scribe.spawn(&*store, &format!("task-{caller}-{number}")).await;
                    writeln!(std::io::stdout(), "spawned {}", task.id()).unwrap();
                    let ended = scribe.settle(&*store, &task).await;
                    writeln!(std::io::stdout(), "ended {}", task.id()).unwrap();
                    if number % 2 == 0 {
                        scribe.ack(&*store, &ended).await;
                        writeln!(std::io::stdout(), "read {}", task.id()).unwrap();
                    }
                }
            });
        }
        while callers.join_next().await.is_some() {}
    });
}

#[tokio::test]
async fn s4_3_nothing_that_was_answered_is_lost_when_the_process_is_killed() {
    for told in [50, 333, 1_500] {
        let dir = tempfile::tempdir().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed::writes_until_killed", "--ignored", "--nocapture"])
            .env(DATA_DIR, dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut ledger: Vec<String> = lines.by_ref().take(told).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        // Everything reported before the kill counts, except an incomplete last line.
        ledger.extend(lines);
        let store = open(dir.path()).await;
        let mut checked = 0;
        for line in ledger {
            let Some((what, id)) = line.split_once(' ') else { continue };
            let Ok(id) = id.parse::<TaskId>() else { continue };
            let row = store.result_row(id).await.unwrap();
            let task = store.task(id).await.unwrap();
            match what {
                "spawned" => assert!(task.is_some(), "{line}"),
                "ended" => assert!(!task.unwrap().is_live(), "{line}"),
                "read" => assert!(row.is_none() && !task.unwrap().is_live(), "{line}"),
                _ => continue,
            }
            checked += 1;
        }
        assert!(checked >= told / 2, "{checked} of {told}");
        // Every stored end has its row, unless the row was read.
        let counts = store.counts_within(None).await.unwrap();
        let scribe = Scribe::at(1_000);
        let rows = store.inbox(scribe.owner(), 0, usize::MAX).await.unwrap();
        assert!(rows.iter().all(|row| row.task.as_ref().is_some_and(|task| !task.is_live())));
        assert_eq!(counts.live() + counts.of(offshoot_core::Phase::Completed), counts.spawned());
    }
}
