//! Random commands.

use std::time::Duration;

use offshoot_client::wire::Restart;

use crate::rng::Rng;
use crate::shell::command_task::{
    CommandTask, Ending, Hold, Script, ScriptOutput, Stray, TermHandling, Work,
};
use crate::shell::lines::Lines;

/// The parent of a new command.
#[derive(Clone, Debug)]
pub struct Spot {
    /// The session.
    pub session: String,
    /// The parent command.
    pub parent: Option<usize>,
}

/// A random command.
pub fn errand(rng: &mut Rng, number: usize, spot: Spot) -> CommandTask {
    let work = match rng.below(1_000) {
        0..=14 => Work::Missing,
        15..=34 => Work::Script(flood(rng)),
        35..=89 => Work::Script(Script::writing(much(rng))),
        90..=419 => Work::Script(Script::writing(little(rng))),
        420..=819 => Work::Script(held(rng, Hold::Gate)),
        _ => Work::Script(held(rng, Hold::Input)),
    };
    let work = match work {
        Work::Script(script) => Work::Script(varied(rng, script)),
        missing => missing,
    };
    let waits = matches!(&work, Work::Script(script) if script.hold == Hold::Gate);
    CommandTask {
        number,
        name: rng.happens(700).then(|| format!("errand {number}")),
        session: spot.session,
        parent: spot.parent,
        restart: if rng.happens(350) { Restart::OnCrash } else { Restart::Never },
        timeout: (waits && rng.happens(80)).then(|| Duration::from_millis(20 + rng.bits() % 600)),
        grace: Duration::from_millis(rng.between(50, 400) as u64),
        work,
    }
}

/// More than the log keeps, so that the middle is dropped.
pub fn flood(rng: &mut Rng) -> Script {
    let count = rng.between(1_000_000, 2_200_000) as u64;
    Script::writing(ScriptOutput { out: Lines::new(rng.bits(), count), err: Lines::NONE })
}

/// Up to a few MiB, all of which the log keeps.
fn much(rng: &mut Rng) -> ScriptOutput {
    let out = Lines::new(rng.bits(), rng.between(1_000, 400_000) as u64);
    let err = Lines::new(rng.bits(), rng.between(0, 300_000) as u64);
    ScriptOutput { out, err }
}

fn little(rng: &mut Rng) -> ScriptOutput {
    let out = Lines::new(rng.bits(), rng.between(0, 40) as u64);
    let err = Lines::new(rng.bits(), rng.between(0, 10) as u64);
    ScriptOutput { out, err }
}

fn held(rng: &mut Rng, hold: Hold) -> Script {
    Script { hold, after: little(rng), ..Script::writing(little(rng)) }
}

fn varied(rng: &mut Rng, script: Script) -> Script {
    let held = script.hold != Hold::Nothing;
    let term = if held && rng.happens(150) { TermHandling::Ignores } else { TermHandling::Heeds };
    let stray =
        rng.happens(80).then(|| if rng.happens(500) { Stray::Holding } else { Stray::Apart });
    let ending = match rng.below(100) {
        0..=77 => Ending::Exit(0),
        // No code with another meaning for an attached driver.
        78..=94 => Ending::Exit(rng.between(20, 99) as i32),
        95..=97 => Ending::Signal(9),
        // This signal represents all others; a script that ignores TERM would go on.
        _ => Ending::Signal(6),
    };
    Script { term, stray, ending, ..script }
}
