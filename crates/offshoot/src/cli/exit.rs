//! The exit codes of the program.

use std::process::ExitCode;

use offshoot_client::wire::{Code, Outcome, State};

/// How the program ends; each variant has an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command succeeded, and every task that it waited for completed.
    Done,
    /// A task failed.
    Failed,
    /// The command line is invalid.
    Usage,
    /// A task was cancelled.
    Cancelled,
    /// A task was lost.
    Lost,
    /// The task or session does not exist.
    Unknown,
    /// A task waits for an answer or an approval.
    NeedsInput,
    /// The time limit of the wait or of the command passed.
    TimedOut,
    /// Offshoot failed.
    Error,
    /// The command exists and cannot be executed.
    NotExecutable,
    /// The command does not exist.
    NotFound,
    /// Ctrl-C stopped the command.
    Interrupted,
    /// The reader of the output of `spawn` is gone; the command keeps running.
    ReaderGone,
    /// This signal ended the program.
    Signalled(u8),
    /// The exit code of the command.
    Own(u8),
}

/// The end of the program's help: examples and exit codes.
pub(crate) const HELP: &str = "\
Examples:
  git diff | offshoot run 'Review this change.'
  offshoot spawn --detach --name build -- cargo build
  offshoot tasks ls
  offshoot tasks wait build

Tasks keep running when their terminal is closed. Results and output are kept
for a week after they were read, and for a month if they were not.

Exit codes:
  0    success; every awaited task completed
  1    a task failed
  2    the command line is invalid
  3    a task was cancelled
  4    a task was lost: the daemon died while it ran
  5    the task or session does not exist
  6    a task waits for an answer or an approval
  124  timeout of the wait or of the command
  125  Offshoot failed; the error says why

`spawn` without --detach exits with the command's own code, with 128 plus the
signal that ended it, with 126 if it cannot be executed, and with 127 if it does
not exist. It exits with 141 if the reader of its output is gone; the command
keeps running. After Ctrl-C, `spawn` and `run` exit with 130. If a command waits
for several tasks, the worst result decides, in this order: lost, failed,
cancelled, needs input, timeout, completed.";

impl Exit {
    /// The number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Cancelled => 3,
            Self::Lost => 4,
            Self::Unknown => 5,
            Self::NeedsInput => 6,
            Self::TimedOut => 124,
            Self::Error => 125,
            Self::NotExecutable => 126,
            Self::NotFound => 127,
            Self::Interrupted => 130,
            Self::ReaderGone => 141,
            Self::Signalled(signal) => 128 + signal,
            Self::Own(code) => code,
        }
    }

    /// The exit of a wait for a task in this state.
    pub(crate) fn of_state(state: State) -> Self {
        match state {
            State::Completed => Self::Done,
            State::Failed => Self::Failed,
            State::Cancelled => Self::Cancelled,
            State::Lost => Self::Lost,
            State::Queued | State::Running | State::Waiting => Self::TimedOut,
        }
    }

    /// The exit for an error with this code.
    pub(crate) fn of_code(code: Code) -> Self {
        match code {
            Code::NotFound => Self::Unknown,
            Code::BadName | Code::Ambiguous | Code::BadRequest => Self::Usage,
            _ => Self::Error,
        }
    }

    /// The exit of an attached command: the same as without Offshoot.
    pub(crate) fn of_command(outcome: &Outcome, stopped: StopOrigin) -> Self {
        match outcome.is {
            State::Completed => outcome.exit.map_or(Self::Done, own),
            State::Cancelled => match stopped {
                StopOrigin::CtrlC => Self::Interrupted,
                StopOrigin::Elsewhere => Self::Cancelled,
            },
            State::Lost => Self::Lost,
            _ => match (outcome.failure.as_deref(), outcome.exit, outcome.signal) {
                (Some("timeout"), ..) => Self::TimedOut,
                (_, Some(code), _) => own(code),
                (_, None, Some(signal)) => own(128 + signal),
                (_, None, None) => match outcome.start_error.as_deref() {
                    Some("not_found") => Self::NotFound,
                    Some(_) => Self::NotExecutable,
                    None => Self::Failed,
                },
            },
        }
    }

    /// The worse of two, in the order that the help gives.
    pub(crate) fn or_worse(self, other: Self) -> Self {
        if other.badness() > self.badness() { other } else { self }
    }

    fn badness(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::TimedOut => 1,
            Self::NeedsInput => 2,
            Self::Cancelled => 3,
            Self::Failed => 4,
            Self::Lost => 5,
            _ => 6,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// What stopped an attached command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopOrigin {
    /// Ctrl-C at this terminal.
    CtrlC,
    /// Any other process, or none.
    Elsewhere,
}

fn own(code: i32) -> Exit {
    match u8::try_from(code) {
        Ok(0) => Exit::Done,
        Ok(code) => Exit::Own(code),
        Err(_) => Exit::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(change: impl FnOnce(&mut Outcome)) -> Exit {
        let mut outcome = Outcome::new(State::Failed);
        change(&mut outcome);
        Exit::of_command(&outcome, StopOrigin::Elsewhere)
    }

    #[test]
    fn an_attached_command_exits_as_without_offshoot() {
        assert_eq!(ended(|o| o.is = State::Completed).code(), 0);
        assert_eq!(ended(|o| o.exit = Some(3)).code(), 3);
        assert_eq!(ended(|o| o.signal = Some(9)).code(), 137);
        assert_eq!(ended(|o| o.start_error = Some("not_found".into())).code(), 127);
        assert_eq!(ended(|o| o.start_error = Some("not_executable".into())).code(), 126);
        assert_eq!(ended(|o| o.is = State::Lost).code(), 4);
        let late = ended(|o| {
            o.failure = Some("timeout".into());
            o.signal = Some(15);
        });
        assert_eq!(late.code(), 124);
    }

    #[test]
    fn ctrl_c_and_other_cancels_have_different_exit_codes() {
        let outcome = Outcome::new(State::Cancelled);
        assert_eq!(Exit::of_command(&outcome, StopOrigin::CtrlC).code(), 130);
        assert_eq!(Exit::of_command(&outcome, StopOrigin::Elsewhere).code(), 3);
    }

    #[test]
    fn a_wait_exits_with_the_worst_state() {
        let codes: Vec<u8> = State::ALL.into_iter().map(|s| Exit::of_state(s).code()).collect();
        assert_eq!(codes, [124, 124, 124, 0, 1, 3, 4]);
        let order = [
            Exit::Done,
            Exit::TimedOut,
            Exit::NeedsInput,
            Exit::Cancelled,
            Exit::Failed,
            Exit::Lost,
        ];
        for pair in order.windows(2) {
            assert_eq!(pair[0].or_worse(pair[1]), pair[1]);
            assert_eq!(pair[1].or_worse(pair[0]), pair[1]);
        }
    }

    #[test]
    fn an_invalid_exit_code_is_a_failure() {
        assert_eq!(ended(|o| o.exit = Some(256)).code(), 1);
        assert_eq!(ended(|o| o.exit = Some(-1)).code(), 1);
        assert_eq!(ended(|_| ()).code(), 1);
    }
}
