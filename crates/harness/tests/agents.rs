//! Killed agents lose nothing and repeat nothing. The harness finds every planted bug, and
//! reports nothing without one.

// Clippy does not see the helpers of tests as tests; a panic is their way to fail.
#![allow(clippy::expect_used)]

use offshoot_harness::agents::report::SweepReport;
use offshoot_harness::agents::sweep::{self, KillSweep};
use offshoot_harness::planted::PlantedBug;

/// The sampling of commits in a run without a bug; the stage `agents` tries all of them.
const SOME: usize = 16;

fn sweep(bug: Option<PlantedBug>, every: usize) -> SweepReport {
    let program = env!("CARGO_BIN_EXE_offshoot-harness").into();
    let toll = sweep::run(&KillSweep { program, bug, every, pairs: 2, seed: 1, at: Vec::new() });
    toll.expect("the harness works")
}

/// The promise that this bug breaks.
fn found(bug: PlantedBug) -> &'static str {
    let (violation, _) = sweep(Some(bug), 1).broken.expect("the bug is found");
    violation.invariant
}

#[test]
fn s9_3_without_a_bug_agents_that_are_killed_go_on_as_if_they_were_not() {
    let toll = sweep(None, SOME);
    assert!(toll.broken.is_none(), "{toll}\n{:?}", toll.broken);
    assert!(toll.late == 4 && toll.before > 3 && toll.after > 3, "{toll}");
}

#[test]
fn killing_agents_finds_an_acknowledgement_before_the_append() {
    let broken = found(PlantedBug::AckBeforeAppend);
    assert!(broken.starts_with("S4."), "{broken}");
}

#[test]
fn killing_agents_finds_a_lasting_call_without_a_stored_start() {
    let broken = found(PlantedBug::StartedDropped);
    assert_eq!(broken, "S9.3 a lasting tool never runs twice");
}

#[test]
fn killing_agents_finds_a_settle_without_fence() {
    let broken = found(PlantedBug::SettleWithoutFence);
    assert!(broken.starts_with("S9.1"), "{broken}");
}
