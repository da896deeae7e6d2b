//! The harness finds every planted bug, and reports nothing without one.

// Clippy does not see the helpers of tests as tests; a panic is their way to fail.
#![allow(clippy::expect_used)]

use offshoot_harness::crash::parent;
use offshoot_harness::planted::PlantedBug;
use offshoot_harness::seeds;
use offshoot_harness::simulate::simulate;
use offshoot_harness::trace::Trace;

/// Far more than necessary.
const SEEDS: u64 = 2_000;
const KILLS: u64 = 200;

fn simulation_finds(bug: PlantedBug) {
    let harvest = seeds::live(1, SEEDS, Some(bug));
    let (seed, failure) = harvest.failed.expect("the bug is found");
    assert!(!failure.trace.is_empty(), "the failure comes with its trace");
    let again = simulate(seed, Some(bug), Trace::default()).failure.expect("the seed replays");
    assert_eq!(again.violation, failure.violation);
}

fn killing_finds(bug: PlantedBug) {
    let program = env!("CARGO_BIN_EXE_offshoot-harness").as_ref();
    let toll = parent::kill_many(program, KILLS, 1, Some(bug)).expect("the harness works");
    assert!(toll.violation.is_some(), "{toll:?}");
}

#[test]
fn without_a_bug_seeds_keep_every_promise() {
    let harvest = seeds::live(1, 200, None);
    assert!(harvest.failed.is_none(), "{:?}", harvest.failed);
    assert!(harvest.figures.faults > 0 && harvest.figures.crashes > 0, "{}", harvest.figures);
}

#[test]
fn a_seed_is_the_same_life_every_time() {
    for seed in 1..40 {
        let lives = [(); 2].map(|()| seeds::live(seed, 1, None).figures);
        assert_eq!(lives[0], lives[1], "seed {seed}");
    }
}

#[test]
fn the_simulation_finds_an_acknowledgement_before_the_append() {
    simulation_finds(PlantedBug::AckBeforeAppend);
}

#[test]
fn the_simulation_finds_a_settle_without_fence() {
    simulation_finds(PlantedBug::SettleWithoutFence);
}

#[test]
fn the_simulation_finds_a_name_check_apart_from_the_insert() {
    simulation_finds(PlantedBug::NameCheckApart);
}

#[test]
fn the_simulation_finds_a_wake_up_outside_the_commit() {
    simulation_finds(PlantedBug::WakeOutsideCommit);
}

#[test]
fn the_simulation_finds_a_stale_writer_that_passes() {
    simulation_finds(PlantedBug::StaleWriterPasses);
}

#[test]
fn the_simulation_finds_a_sweep_that_ends_first() {
    simulation_finds(PlantedBug::SweepEndsFirst);
}

#[test]
fn the_simulation_finds_a_message_key_that_is_dropped() {
    simulation_finds(PlantedBug::MessageKeyDropped);
}

#[test]
fn the_simulation_finds_tasks_that_are_forgotten_early() {
    simulation_finds(PlantedBug::ForgottenEarly);
}

#[test]
fn the_simulation_finds_a_removal_that_stops_early() {
    simulation_finds(PlantedBug::RemovalStopsEarly);
}

#[test]
fn killing_finds_an_acknowledgement_before_the_append() {
    killing_finds(PlantedBug::AckBeforeAppend);
}

#[test]
fn killing_finds_a_settle_without_fence() {
    killing_finds(PlantedBug::SettleWithoutFence);
}

#[test]
fn killing_finds_a_name_check_apart_from_the_insert() {
    killing_finds(PlantedBug::NameCheckApart);
}

#[test]
fn killing_finds_a_wake_up_outside_the_commit() {
    killing_finds(PlantedBug::WakeOutsideCommit);
}
