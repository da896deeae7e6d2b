//! One call of an external program: shown before it runs, named in its error when it fails.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};

/// A program with its arguments, ready to run.
#[derive(Debug)]
pub(crate) struct Invocation {
    command: Command,
    line: String,
}

impl Invocation {
    /// A call of `program` in the directory `dir`, shown to people under the name `shown`.
    pub(crate) fn new(shown: &str, program: &OsStr, dir: &Path) -> Self {
        let mut command = Command::new(program);
        command.current_dir(dir);
        Self { command, line: shown.to_owned() }
    }

    /// Adds arguments.
    pub(crate) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        for arg in args {
            self.line.push(' ');
            self.line.push_str(&arg.as_ref().to_string_lossy());
            self.command.arg(arg);
        }
        self
    }

    /// Sets an environment variable, which the shown line then starts with.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.line = format!("{name}='{value}' {}", self.line);
        self.command.env(name, value);
        self
    }

    /// Shows the line and runs it on the terminal; fails unless the program succeeds.
    pub(crate) fn run(mut self) -> Result<()> {
        println!("    $ {}", self.line);
        let status = self.command.status().with_context(|| not_started(&self.line))?;
        ensure!(status.success(), "`{}` failed ({status})", self.line);
        Ok(())
    }

    /// Runs it silently except for its standard error, and returns its output.
    pub(crate) fn read(mut self) -> Result<String> {
        let Output { status, stdout, .. } = self
            .command
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| not_started(&self.line))?;
        ensure!(status.success(), "`{}` failed ({status})", self.line);
        String::from_utf8(stdout).with_context(|| format!("`{}` wrote no UTF-8", self.line))
    }

    /// Whether it runs and succeeds; shows nothing. Tests whether a tool is installed.
    pub(crate) fn succeeds(mut self) -> bool {
        self.command.stdin(Stdio::null()).output().is_ok_and(|output| output.status.success())
    }
}

fn not_started(line: &str) -> String {
    format!("could not start `{line}`; is the program installed and on PATH?")
}

#[cfg(test)]
mod tests {
    use crate::repository::Repository;

    #[test]
    fn a_missing_program_is_named_in_the_error() {
        let repository = Repository::discover().unwrap();
        let none: [&str; 0] = [];
        let error = repository.program("offshoot-no-such-program", none).run().unwrap_err();
        assert!(error.to_string().contains("`offshoot-no-such-program`"), "{error}");
    }

    #[test]
    fn a_failing_program_is_an_error_that_shows_the_whole_line() {
        let repository = Repository::discover().unwrap();
        let error =
            repository.program("false", ["--quietly"]).env("NAME", "value").read().unwrap_err();
        let text = error.to_string();
        assert!(text.contains("`NAME='value' false --quietly` failed"), "{text}");
    }

    #[test]
    fn the_output_of_a_program_can_be_read() {
        let repository = Repository::discover().unwrap();
        let version = repository.cargo(["--version"]).read().unwrap();
        assert!(version.starts_with("cargo "), "{version}");
    }

    #[test]
    fn a_probe_tells_a_tool_that_is_there_from_one_that_is_not() {
        let repository = Repository::discover().unwrap();
        assert!(repository.cargo(["--version"]).succeeds());
        assert!(!repository.cargo(["no-such-command"]).succeeds());
    }
}
