//! One spawned command, and its expected effects.
//!
//! Every command writes into a file of its own what it really did: `b` when it
//! begins, `r <line>` for each line it reads, `e` when it has come to its end.
//! Only the command writes there, so the file shows what the binary
//! cannot make up.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use offshoot_client::wire::Restart;

use crate::shell::lines::Lines;

/// A spawned command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandTask {
    /// Which, counted in the order in which they are drawn.
    pub number: usize,
    /// The name it is given.
    pub name: Option<String>,
    /// The session that spawns it.
    pub session: String,
    /// The errand that spawns it.
    pub parent: Option<usize>,
    /// What becomes of it if the daemon dies.
    pub restart: Restart,
    /// How long it may run.
    pub timeout: Option<Duration>,
    /// How long it may take to stop.
    pub grace: Duration,
    /// What it executes.
    pub work: Work,
}

/// What an errand executes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// A program that is not there.
    Missing,
    /// A shell script.
    Script(Script),
}

/// A shell script: it writes, perhaps waits, writes again and ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// What it writes first.
    pub before: Written,
    /// What it waits for.
    pub hold: Hold,
    /// What it writes then.
    pub after: Written,
    /// Whether it heeds TERM.
    pub hearing: Hearing,
    /// What it leaves behind.
    pub stray: Option<Stray>,
    /// How it ends.
    pub ending: Ending,
}

/// What a script writes, and where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// To standard output.
    pub out: Lines,
    /// To standard error.
    pub err: Lines,
}

/// What a script waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Nothing.
    Nothing,
    /// Its gate.
    Gate,
    /// The end of its standard input, all lines of which it repeats.
    Input,
}

/// Whether a script heeds TERM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hearing {
    /// It does.
    Heeds,
    /// It does not.
    Ignores,
}

/// A process that a script starts in a session of its own, and that never ends
/// by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stray {
    /// It holds the script's output open.
    Holding,
    /// It has let go of it.
    Apart,
}

/// How a script ends if no driver ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With this code.
    Exit(i32),
    /// By this signal.
    Signal(i32),
}

impl CommandTask {
    /// Where it writes what it did.
    pub fn effects(&self, work: &Path) -> PathBuf {
        work.join(format!("{}.e", self.number))
    }

    /// Its gate.
    pub fn gate(&self, work: &Path) -> PathBuf {
        work.join(format!("{}.g", self.number))
    }

    /// Where its stray writes that it is still there.
    pub fn ticks(&self, work: &Path) -> PathBuf {
        work.join(format!("{}.t", self.number))
    }

    /// The command line.
    pub fn argv(&self, work: &Path) -> Vec<String> {
        let said = |path: PathBuf| path.to_string_lossy().into_owned();
        match &self.work {
            Work::Missing => vec![said(work.join(format!("{}.missing", self.number)))],
            Work::Script(script) => {
                let mut argv = ["sh", "-c", &script.text(), "errand"].map(str::to_owned).to_vec();
                let paths = [self.effects(work), self.gate(work), self.ticks(work)];
                argv.extend(paths.map(said));
                argv
            }
        }
    }

    /// The errand of a command line.
    pub fn number_in(argv: &[String], work: &Path) -> Option<usize> {
        argv.iter().find_map(|arg| {
            let name = Path::new(arg).strip_prefix(work).ok()?.to_str()?;
            name.split('.').next()?.parse().ok()
        })
    }

    /// The script, if it is one.
    pub fn script(&self) -> Option<&Script> {
        match &self.work {
            Work::Missing => None,
            Work::Script(script) => Some(script),
        }
    }

    /// Whether it reads lines.
    pub fn reads(&self) -> bool {
        self.script().is_some_and(|script| script.hold == Hold::Input)
    }

    /// Whether it waits for its gate.
    pub fn waits(&self) -> bool {
        self.script().is_some_and(|script| script.hold == Hold::Gate)
    }
}

impl Script {
    /// A script that writes this and ends well.
    pub fn writing(before: Written) -> Self {
        Self {
            before,
            hold: Hold::Nothing,
            after: Written::default(),
            hearing: Hearing::Heeds,
            stray: None,
            ending: Ending::Exit(0),
        }
    }

    /// The script. `$1` is the file of its effects, `$2` its gate, `$3` the
    /// file of its stray.
    fn text(&self) -> String {
        let mut text = String::new();
        if self.hearing == Hearing::Ignores {
            text.push_str("trap '' TERM; ");
        }
        text.push_str("echo b >>\"$1\"; ");
        self.before.write(&mut text);
        if let Some(stray) = self.stray {
            text.push_str(
                "setsid sh -c 'while :; do echo t >>\"$1\"; sleep 0.3; done' stray \"$3\" ",
            );
            text.push_str(match stray {
                // It would remark there how it was ended.
                Stray::Holding => "2>/dev/null & ",
                Stray::Apart => "</dev/null >/dev/null 2>&1 & ",
            });
        }
        text.push_str(match self.hold {
            Hold::Nothing => "",
            Hold::Gate => "read x <\"$2\"; ",
            Hold::Input => "while IFS= read -r l; do echo \"r $l\" >>\"$1\"; echo \"$l\"; done; ",
        });
        self.after.write(&mut text);
        text.push_str("echo e >>\"$1\"; ");
        // Writing to a text cannot fail.
        let _ = match self.ending {
            Ending::Exit(code) => write!(text, "exit {code}"),
            Ending::Signal(signal) => write!(text, "kill -{signal} $$"),
        };
        text
    }

    /// What its standard output is once it has come to its end.
    pub fn out(&self, read: &[String]) -> Vec<u8> {
        let mut out = Vec::new();
        self.before.out.write_to(&mut out);
        for line in read {
            out.extend_from_slice(line.as_bytes());
            out.push(b'\n');
        }
        self.after.out.write_to(&mut out);
        out
    }

    /// What its standard error is once it has come to its end.
    pub fn err(&self) -> Vec<u8> {
        let mut err = Vec::new();
        self.before.err.write_to(&mut err);
        self.after.err.write_to(&mut err);
        err
    }
}

impl Written {
    fn write(&self, text: &mut String) {
        // Writing to a text cannot fail.
        let _ = match (self.out.bytes(), self.err.bytes()) {
            (0, 0) => Ok(()),
            (_, 0) => write!(text, "{}; ", self.out),
            (0, _) => write!(text, "{} >&2; ", self.err),
            _ => write!(text, "{}; {} >&2; ", self.out, self.err),
        };
    }

    /// How many bytes it is.
    pub fn bytes(&self) -> u64 {
        self.out.bytes() + self.err.bytes()
    }
}
