//! `offshoot run` that reads events late: every gap is reported.

use offshoot::core::Stamp;
use offshoot_wiretest::{ReplyPart, WireProtocol};
use rustix::process::Signal;
use serde_json::json;

use crate::model::{Model, hangs, says, talk};
use crate::support::{ProgramOutput, Started, World};

/// The number of children. Their events do not fit into a socket buffer.
const BEES: usize = 60;

/// Returns the output of a run that is stopped while its lead spawns agents and ends.
///
/// The given action happens before it continues.
fn behind(meanwhile: impl FnOnce(&World)) -> ProgramOutput {
    let (world, model) = (
        World::new(),
        Model::new(|asked| {
            let said = talk(asked);
            let ants = json!({"name": "ants", "task": "Count ants."}).to_string();
            let send = |number: usize| {
                let bee = json!({"name": format!("bee-{number}x"), "task": format!("{number}")});
                ReplyPart::call(&number.to_string(), "spawn_agent", &bee.to_string())
            };
            let is_last = |what: &str| said.last().is_some_and(|(_, text)| text.contains(what));
            match (said[0].1.as_str(), said.len()) {
                ("Lead.", 1) => {
                    WireProtocol::Chat.reply(&[ReplyPart::call("c", "spawn_agent", &ants)])
                }
                ("Lead.", _) if is_last("outcome=\"cancelled\"") => {
                    WireProtocol::Chat.reply(&(0..BEES).map(send).collect::<Vec<_>>())
                }
                ("Lead.", _) => says("Done."),
                ("Count ants.", _) => hangs(),
                _ => says("Counted."),
            }
        }),
    );
    let mut run = Started::new(model.command(&world, &["run", "--session", "s", "Lead."]));
    run.until_remark("ants");
    model.was_asked(3);
    run.signal(Signal::STOP);
    world.done(&["--session", "s", "tasks", "cancel", "lead/ants"]);
    world.done(&["--session", "s", "tasks", "wait", "lead"]);
    meanwhile(&world);
    run.signal(Signal::CONT);
    run.finish()
}

#[test]
fn all_that_happened_before_the_end_is_shown_however_late_it_is_read() {
    let said = behind(|_| ());
    assert_eq!((said.out.as_str(), said.code), ("Done.\n", 0), "{said:?}");
    for number in 0..BEES {
        assert!(said.err.contains(&format!("bee-{number}x completed")), "{number}: {said:?}");
    }
}

#[test]
fn missed_events_are_counted() {
    let said = behind(|world| {
        world.expire(Stamp::from_millis(0), |retention| retention.events = 1);
    });
    assert_eq!((said.out.as_str(), said.code), ("Done.\n", 0), "{said:?}");
    assert!(!said.err.contains(&format!("bee-{}x completed", BEES - 1)), "{said:?}");
    let told = "changes are not shown, too many at once; for all results: offshoot tasks ls \
                --session s --all\n";
    assert_eq!(said.err.matches(told).count(), 1, "{said:?}");
    assert!(!said.err.contains("the last events are missing"), "it was said: {said:?}");
}
