use anyhow::bail;

use super::*;

const GOOD: Stage = Stage { name: "good", about: "passes", run: |_| Ok(Verdict::Passed) };
const BAD: Stage = Stage { name: "bad", about: "fails", run: |_| bail!("broken") };
const ABSENT: Stage = Stage {
    name: "absent",
    about: "is skipped",
    run: |_| Ok(Verdict::Skipped("nothing to look at")),
};

fn summary_of(stages: &[&Stage], on_failure: OnFailure) -> Summary {
    run(stages, on_failure, &Repository::discover().unwrap())
}

#[test]
fn the_first_failure_stops_the_rest() {
    let summary = summary_of(&[&GOOD, &BAD, &GOOD], OnFailure::Stop);
    assert_eq!(summary.failed(), ["bad"]);
    let lines: Vec<_> = summary.to_string().lines().map(str::to_owned).collect();
    assert!(lines[1].ends_with("passed"), "{lines:?}");
    assert!(lines[2].ends_with("FAILED"), "{lines:?}");
    assert!(lines[3].ends_with("not run"), "{lines:?}");
}

#[test]
fn keep_going_runs_every_stage_and_names_every_failure() {
    let summary = summary_of(&[&BAD, &GOOD, &BAD], OnFailure::KeepGoing);
    assert_eq!(summary.failed(), ["bad", "bad"]);
    assert!(!summary.to_string().contains("not run"));
}

#[test]
fn a_skipped_stage_is_no_failure_and_gives_its_reason() {
    let summary = summary_of(&[&ABSENT, &GOOD], OnFailure::Stop);
    assert!(!summary.has_failed());
    assert!(summary.to_string().contains("skipped: nothing to look at"));
}

#[test]
fn every_line_shows_how_long_the_stage_took() {
    let mut summary = Summary::default();
    for (stage, millis) in [("one", 1_500), ("two", 62_000)] {
        summary.add(Entry { stage, ending: Ending::Passed, took: Duration::from_millis(millis) });
    }
    assert_eq!(
        summary.to_string(),
        "==> summary\n    \
         one              1.5 s  passed\n    \
         two             62.0 s  passed\n    \
         total           63.5 s"
    );
}
