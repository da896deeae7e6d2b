//! One spawned command, and its expected effects.
//!
//! Every command records its effects in a file of its own: `b` when it begins, `r <line>` for
//! each line it reads, `e` when it has come to its end. Only the command writes there, so the
//! file is evidence that the binary cannot forge.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use offshoot_client::wire::Restart;

use crate::shell::lines::Lines;

/// A spawned command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandTask {
    /// The number of the command, in the order of the draw.
    pub number: usize,
    /// The name of the command.
    pub name: Option<String>,
    /// The session that spawns it.
    pub session: String,
    /// The command that spawns it.
    pub parent: Option<usize>,
    /// What happens to it when the daemon dies.
    pub restart: Restart,
    /// The time limit of its run.
    pub timeout: Option<Duration>,
    /// The time limit of its stop.
    pub grace: Duration,
    /// The program it executes.
    pub work: Work,
}

/// The program of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// A program that does not exist.
    Missing,
    /// A shell script.
    Script(Script),
}

/// A shell script: it writes, perhaps waits, writes again and ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The first output.
    pub before: ScriptOutput,
    /// The event it waits for.
    pub hold: Hold,
    /// The output after the wait.
    pub after: ScriptOutput,
    /// Whether it obeys TERM.
    pub term: TermHandling,
    /// The process it leaves behind.
    pub stray: Option<Stray>,
    /// Its end.
    pub ending: Ending,
}

/// The output of a script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScriptOutput {
    /// To standard output.
    pub out: Lines,
    /// To standard error.
    pub err: Lines,
}

/// The event that a script waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// None.
    Nothing,
    /// Its gate.
    Gate,
    /// The end of its standard input. The script repeats every line.
    Input,
}

/// Whether a script obeys TERM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermHandling {
    /// It ends on TERM.
    Heeds,
    /// It ignores TERM.
    Ignores,
}

/// A process that a script starts in a session of its own, and that never ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stray {
    /// It holds the script's output open.
    Holding,
    /// It has closed the script's output.
    Apart,
}

/// The end of a script without a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With this code.
    Exit(i32),
    /// By this signal.
    Signal(i32),
}

impl CommandTask {
    /// The file of its effects.
    pub fn effects(&self, work: &Path) -> PathBuf {
        work.join(format!("{}.e", self.number))
    }

    /// Its gate.
    pub fn gate(&self, work: &Path) -> PathBuf {
        work.join(format!("{}.g", self.number))
    }

    /// The file in which its stray process reports itself.
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

    /// The command of a command line.
    pub fn number_in(argv: &[String], work: &Path) -> Option<usize> {
        argv.iter().find_map(|arg| {
            let name = Path::new(arg).strip_prefix(work).ok()?.to_str()?;
            name.split('.').next()?.parse().ok()
        })
    }

    /// The script, if the program is a script.
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
    /// A script that writes this and succeeds.
    pub fn writing(before: ScriptOutput) -> Self {
        Self {
            before,
            hold: Hold::Nothing,
            after: ScriptOutput::default(),
            term: TermHandling::Heeds,
            stray: None,
            ending: Ending::Exit(0),
        }
    }

    /// The text of the script. `$1` is the file of its effects, `$2` its gate, `$3` the file of
    /// its stray process.
    fn text(&self) -> String {
        let mut text = String::new();
        if self.term == TermHandling::Ignores {
            text.push_str("trap '' TERM; ");
        }
        text.push_str("echo b >>\"$1\"; ");
        self.before.write(&mut text);
        if let Some(stray) = self.stray {
            text.push_str(
                "setsid sh -c 'while :; do echo t >>\"$1\"; sleep 0.3; done' stray \"$3\" ",
            );
            text.push_str(match stray {
                // The shell would report there how the process was ended.
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
        // Writing to a string cannot fail.
        let _ = match self.ending {
            Ending::Exit(code) => write!(text, "exit {code}"),
            Ending::Signal(signal) => write!(text, "kill -{signal} $$"),
        };
        text
    }

    /// The standard output of a script that has come to its end.
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

    /// The standard error of a script that has come to its end.
    pub fn err(&self) -> Vec<u8> {
        let mut err = Vec::new();
        self.before.err.write_to(&mut err);
        self.after.err.write_to(&mut err);
        err
    }
}

impl ScriptOutput {
    fn write(&self, text: &mut String) {
        // Writing to a string cannot fail.
        let _ = match (self.out.bytes(), self.err.bytes()) {
            (0, 0) => Ok(()),
            (_, 0) => write!(text, "{}; ", self.out),
            (0, _) => write!(text, "{} >&2; ", self.err),
            _ => write!(text, "{}; {} >&2; ", self.out, self.err),
        };
    }

    /// The number of bytes.
    pub fn bytes(&self) -> u64 {
        self.out.bytes() + self.err.bytes()
    }
}
