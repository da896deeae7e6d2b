//! The doctor's check and repair of the store.

use offshoot_client::wire::{Code, Reply, Request};
use offshoot_client::{Client, DaemonDir, DirLookup, Error};
use offshoot_daemon::StoreCheck;
use offshoot_sqlite::{Loss, RepairReport, RepairResult, Sqlite};
use serde_json::json;

use super::finding::{Finding, Findings};
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::globals::Globals;
use crate::cli::show::{Format, Screen, text};

/// Asks the daemon to check its store.
pub(super) async fn ask(client: &Client, findings: &mut Findings) {
    match client.ask(&Request::Check).await {
        Ok(Reply::Done) => {}
        // A daemon of an older version.
        Err(Error::Refused(fault)) if fault.code == Code::BadRequest => {
            let text = "the daemon is too old to check its store";
            let hint = "end it with `offshoot daemon stop` and run this again";
            findings.add(Finding::warning("store", text).hint(hint));
        }
        Ok(_) => findings.add(Finding::of_error("store", &Error::WrongAnswer.into())),
        Err(error) => findings.add(damaged(error.into())),
    }
}

/// Checks the store of a data directory that no process holds.
pub(super) fn look(place: &DaemonDir, findings: &mut Findings) -> Result<(), Finding> {
    let missing = match offshoot_daemon::check_store(place) {
        Ok(StoreCheck::Sound { missing }) => missing,
        Ok(StoreCheck::Damaged(fault)) => return Err(damaged(fault.into())),
        // A repair would fail with the same error, which has a hint.
        Err(fault) => return Err(Finding::of_error("store", &fault.into())),
    };
    if missing > 0 {
        let text = format!("{missing} large values that records refer to are missing in `blobs`");
        let hint = "restore them from a backup; the tasks themselves are complete";
        findings.add(Finding::warning("store", text).hint(hint));
    }
    Ok(())
}

fn damaged(error: CliError) -> Finding {
    let hint = "restore the data directory from a backup, or run `offshoot doctor --repair`, \
                   which saves what can be read; nothing is written to a damaged store";
    Finding::of_error("store", &error.hint(hint))
}

/// Rebuilds a damaged store from its readable data.
pub(super) async fn repair(globals: &Globals, screen: Screen) -> Result<Exit, CliError> {
    let (repaired, report) = match globals.look_up()? {
        DirLookup::Missing(_) => (RepairResult::Sound, None),
        DirLookup::Found(place) => {
            let repaired = offshoot_daemon::repair(&place).await.map_err(|fault| {
                let locked = fault.code == Code::Locked;
                let hint = "end the daemon with `offshoot daemon stop`, and repeat this";
                let error = CliError::from(fault);
                if locked { error.hint(hint) } else { error }
            })?;
            (repaired, Sqlite::at(place.data()).latest_report())
        }
    };
    match (screen.format, &repaired) {
        (Format::Text, RepairResult::Rebuilt(rebuilt)) => screen.say(&render(rebuilt))?,
        (Format::Text, _) => {
            let mut said = "the store is sound; nothing to repair\n".to_owned();
            if let Some(report) = report {
                let report = report.to_string_lossy();
                let line = text::line(&report);
                said.push_str(&format!("the report of the last repair is {line}\n"));
            }
            screen.say(&said)?;
        }
        (Format::Json, RepairResult::Rebuilt(rebuilt)) => screen.json(&value(rebuilt))?,
        (Format::Json, _) => screen.json(&json!({ "repaired": false }))?,
    }
    Ok(Exit::Done)
}

fn render(rebuilt: &RepairReport) -> String {
    let mut shown = format!(
        "a new store is in place\n  damage: {}\n  the damaged files are in {}\n",
        text::line(&rebuilt.damage),
        text::line(&rebuilt.kept_in.to_string_lossy()),
    );
    for table in &rebuilt.tables {
        let lost = match table.lost {
            Loss::Rows(0) => continue,
            Loss::Rows(rows) => format!("{rows} lost"),
            Loss::Unknown => "an unknown number lost".to_owned(),
        };
        shown.push_str(&format!("  {}: {} rows saved, {lost}\n", table.name, table.saved));
    }
    let tasks = rebuilt.tables.iter().find(|table| table.name == "tasks");
    let saved = tasks.map_or(0, |tasks| tasks.saved);
    shown.push_str(&format!(
        "  {saved} tasks saved, {} ended as lost because parts of them are missing\n",
        rebuilt.lost_tasks.len()
    ));
    for task in &rebuilt.lost_tasks {
        shown.push_str(&format!("    lost: {task}\n"));
    }
    if rebuilt.missing_values > 0 {
        shown.push_str(&format!("  {} large values are missing\n", rebuilt.missing_values));
    }
    if rebuilt.stray > 0 {
        shown.push_str(&format!(
            "  the values or output of {} tasks without a record are with the damaged files\n",
            rebuilt.stray
        ));
    }
    shown
}

fn value(rebuilt: &RepairReport) -> serde_json::Value {
    let tables: Vec<_> = rebuilt
        .tables
        .iter()
        .map(|table| {
            let lost = match table.lost {
                Loss::Rows(rows) => json!(rows),
                Loss::Unknown => json!("unknown"),
            };
            json!({ "name": table.name, "saved": table.saved, "lost": lost })
        })
        .collect();
    let lost: Vec<String> = rebuilt.lost_tasks.iter().map(ToString::to_string).collect();
    json!({
        "repaired": true,
        "damage": rebuilt.damage,
        "kept_in": rebuilt.kept_in.to_string_lossy(),
        "tables": tables,
        "lost_tasks": lost,
        "missing_values": rebuilt.missing_values,
        "stray": rebuilt.stray,
    })
}
