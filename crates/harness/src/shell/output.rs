//! The recorded output of a command, and its checks.

use crate::shell::command_task::Script;
use crate::shell::effects::Effects;
use crate::violation::{Checked, Violation, ensure};

/// The minimum number of bytes that the log keeps at each end.
pub const KEPT: usize = 4 << 20;

/// The recorded output of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedOutput {
    /// The bytes before a gap, or all bytes.
    pub head: Streams,
    /// The reported number of missing bytes, and the bytes after them.
    pub gap: Option<(u64, Streams)>,
}

/// Bytes of the two streams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Streams {
    /// The standard output.
    pub out: Vec<u8>,
    /// The standard error.
    pub err: Vec<u8>,
}

const PROMISE: &str = "the log of a command that ran to its end is whole";

impl RecordedOutput {
    /// The part to which the next bytes belong.
    pub fn last(&mut self) -> &mut Streams {
        match &mut self.gap {
            Some((_, tail)) => tail,
            None => &mut self.head,
        }
    }

    /// Records a gap of this many bytes. The bytes between two gaps count as missing, too:
    /// there must be only one gap.
    pub fn misses(&mut self, bytes: u64) {
        let before = self.gap.take().map_or(0, |(missing, tail)| missing + tail.bytes());
        self.gap = Some((before + bytes, Streams::default()));
    }

    /// The number of bytes read.
    pub fn bytes(&self) -> u64 {
        let tail = self.gap.as_ref().map_or(0, |(_, tail)| tail.bytes());
        self.head.bytes() + tail
    }

    /// Compares the output with that of a script that ran to its end.
    pub fn check(&self, script: &Script, effects: &Effects) -> Checked {
        let out = script.out(effects.last_read());
        let err = script.err();
        if effects.attempts.len() > 1 {
            return self.check_last_attempt(&out, &err);
        }
        match &self.gap {
            None => {
                same("standard output", &self.head.out, &out)?;
                same("standard error", &self.head.err, &err)
            }
            Some((missing, tail)) => self.check_gap(*missing, tail, &Streams { out, err }),
        }
    }

    /// Checks the output of the last attempt. Earlier attempts may be cut anywhere; the last
    /// one follows them, whole as far as the log keeps it.
    fn check_last_attempt(&self, out: &[u8], err: &[u8]) -> Checked {
        let last = self.gap.as_ref().map_or(&self.head, |(_, tail)| tail);
        let kept = |expected: &[u8]| match self.gap {
            // Both streams share the limit, so the log may keep less of each.
            Some(_) if err.len() > KEPT / 4 => 0,
            Some(_) => expected.len().min(KEPT / 4),
            None => expected.len(),
        };
        for (what, found, expected) in
            [("standard output", &last.out, out), ("standard error", &last.err, err)]
        {
            let end = &expected[expected.len() - kept(expected)..];
            let from = found.len().saturating_sub(end.len());
            same(&format!("the end of {what}"), &found[from..], end)?;
        }
        Ok(())
    }

    fn check_gap(&self, missing: u64, tail: &Streams, expected: &Streams) -> Checked {
        let found = self.bytes() + missing;
        ensure(found == expected.bytes(), PROMISE, || {
            format!("{found} bytes are kept or counted, of {}", expected.bytes())
        })?;
        ensure(expected.bytes() > 2 * KEPT as u64, PROMISE, || {
            format!("{missing} bytes are not kept, of {}", expected.bytes())
        })?;
        for (what, part) in [("first", &self.head), ("last", tail)] {
            ensure(part.bytes() >= KEPT as u64, PROMISE, || {
                format!("only the {what} {} bytes are kept", part.bytes())
            })?;
        }
        same("the first output", &self.head.out, &expected.out[..self.head.out.len()])?;
        let from = expected.out.len() - tail.out.len();
        same("the last output", &tail.out, &expected.out[from..])
    }
}

impl Streams {
    /// The number of bytes.
    pub fn bytes(&self) -> u64 {
        (self.out.len() + self.err.len()) as u64
    }
}

/// Passes if both are equal; otherwise reports the first difference.
pub fn same(what: &str, found: &[u8], expected: &[u8]) -> Checked {
    if found == expected {
        return Ok(());
    }
    let at = found.iter().zip(expected).take_while(|(found, expected)| found == expected).count();
    let near = |bytes: &[u8]| {
        let from = at.min(bytes.len());
        String::from_utf8_lossy(&bytes[from..bytes.len().min(from + 40)]).into_owned()
    };
    Err(Violation::new(
        PROMISE,
        format!(
            "{what} has {} bytes instead of {}; from byte {at} on it reads {:?} instead of {:?}",
            found.len(),
            expected.len(),
            near(found),
            near(expected)
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::command_task::{Hold, ScriptOutput};
    use crate::shell::effects::Attempt;
    use crate::shell::lines::Lines;

    fn ran(attempts: usize) -> Effects {
        let attempt = Attempt { read: vec!["one".into()], ends: 1 };
        Effects { attempts: vec![attempt; attempts], strange: Vec::new() }
    }

    fn reader() -> Script {
        let before = ScriptOutput { out: Lines::new(3, 5), err: Lines::new(9, 2) };
        Script { hold: Hold::Input, ..Script::writing(before) }
    }

    fn whole(script: &Script, effects: &Effects) -> RecordedOutput {
        let head = Streams { out: script.out(effects.last_read()), err: script.err() };
        RecordedOutput { head, gap: None }
    }

    fn flood() -> (Script, RecordedOutput) {
        let lines = Lines::new(1, 1_200_000);
        let script = Script::writing(ScriptOutput { out: lines, err: Lines::NONE });
        let out = script.out(&[]);
        let (head, rest) = out.split_at(5 << 20);
        let (gap, tail) = rest.split_at(rest.len() - (4 << 20));
        let streams = |bytes: &[u8]| Streams { out: bytes.to_vec(), err: Vec::new() };
        let gap = Some((gap.len() as u64, streams(tail)));
        (script, RecordedOutput { head: streams(head), gap })
    }

    #[test]
    fn a_whole_log_passes_and_a_cut_one_does_not() {
        let (script, effects) = (reader(), ran(1));
        let output = whole(&script, &effects);
        output.check(&script, &effects).unwrap();
        for cut in [
            |output: &mut RecordedOutput| output.head.out.truncate(20),
            |output: &mut RecordedOutput| output.head.err.truncate(17),
            |output: &mut RecordedOutput| output.head.out[12] = b'x',
            |output: &mut RecordedOutput| output.head.out.extend(b"more\n"),
            |output: &mut RecordedOutput| output.head.out.clear(),
            |output: &mut RecordedOutput| output.gap = Some((0, Streams::default())),
        ] {
            let mut broken = output.clone();
            cut(&mut broken);
            broken.check(&script, &effects).unwrap_err();
        }
    }

    #[test]
    fn a_gap_must_be_counted_and_lie_in_the_middle() {
        let (script, output) = flood();
        let effects = Effects { attempts: vec![Attempt::default()], strange: Vec::new() };
        output.check(&script, &effects).unwrap();
        for (name, falsify) in [
            ("miscounted", (|gap, _| gap + 1) as fn(u64, &mut Streams) -> u64),
            ("cut at the end", |gap, tail| {
                tail.out.pop();
                gap + 1
            }),
            ("shifted", |gap, tail| {
                tail.out.rotate_left(9);
                gap
            }),
            ("too little kept", |gap, tail| {
                tail.out.drain(..9);
                gap + 9
            }),
        ] {
            let mut broken = output.clone();
            if let Some((gap, tail)) = &mut broken.gap {
                *gap = falsify(*gap, tail);
            }
            assert!(broken.check(&script, &effects).is_err(), "{name}");
        }
    }

    #[test]
    fn of_several_attempts_the_last_one_is_whole() {
        let (script, effects) = (reader(), ran(2));
        let mut output = whole(&script, &effects);
        output.head.out.splice(..0, b"100000".to_vec());
        output.check(&script, &effects).unwrap();
        output.head.out.pop();
        output.check(&script, &effects).unwrap_err();
    }
}
