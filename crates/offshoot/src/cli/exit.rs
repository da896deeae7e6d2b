//! Exit codes: what the program tells a script.

use std::process::ExitCode;

use offshoot_client::wire::{Code, Outcome, State};

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It is done; every task that was waited for completed.
    Done,
    /// A task failed.
    Failed,
    /// The command line makes no sense.
    Usage,
    /// A task was cancelled.
    Cancelled,
    /// A task was lost.
    Lost,
    /// There is no such task or session.
    Unknown,
    /// A task asks something.
    NeedsInput,
    /// Time was up: of the wait, or of the command.
    TimedOut,
    /// Offshoot itself could not do it.
    Error,
    /// A command was found and could not be executed.
    NotExecutable,
    /// A command was not found.
    NotFound,
    /// Ctrl-C stopped a command.
    Interrupted,
    /// Whoever read the output of `spawn` has gone; the command goes on.
    ReaderGone,
    /// This signal ended what was being done.
    Signalled(u8),
    /// What a command exited with.
    Own(u8),
}

/// What the root's help says of exit codes.
pub(crate) const HELP: &str = "\
Examples:
  git diff | offshoot run 'Review this change.'
  offshoot spawn --detach --name build -- cargo build
  offshoot tasks ls
  offshoot tasks wait build

What was sent off goes on when its terminal is closed. How it ended and what it
wrote can be read for a week, or a month if nobody has read it yet.

Exit codes:
  0    done; every task waited for completed
  1    a task waited for failed
  2    the command line makes no sense
  3    a task was cancelled
  4    a task was lost: the daemon died while it ran
  5    there is no such task or session
  6    a task asks something and waits for the answer
  124  time was up: of the wait, or of an attached command
  125  Offshoot could not do it; the error says why

An attached `spawn` exits with the command's own code, with 128 and the signal
that ended it, 126 if it cannot be executed, and 127 if it is not found. Any
`spawn` exits with 141 if the reader of its output has gone; the command goes
on. If Ctrl-C stopped what it had sent off, `spawn` exits with 130, and so does
`run`. Of several tasks the worst counts: lost, failed, cancelled, needs input,
time up, completed.";

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

    /// How a wait for a task ends that is in this state.
    pub(crate) fn of_state(state: State) -> Self {
        match state {
            State::Completed => Self::Done,
            State::Failed => Self::Failed,
            State::Cancelled => Self::Cancelled,
            State::Lost => Self::Lost,
            State::Queued | State::Running | State::Waiting => Self::TimedOut,
        }
    }

    /// How a program ends that was refused for this.
    pub(crate) fn of_code(code: Code) -> Self {
        match code {
            Code::NotFound => Self::Unknown,
            Code::BadName | Code::Ambiguous | Code::BadRequest => Self::Usage,
            _ => Self::Error,
        }
    }

    /// How an attached command ends, as if nobody stood between.
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

    /// The worse of two, in the order that the help states.
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
    fn an_attached_command_ends_as_if_nobody_stood_between() {
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
    fn a_cancel_is_told_apart_by_who_asked() {
        let outcome = Outcome::new(State::Cancelled);
        assert_eq!(Exit::of_command(&outcome, StopOrigin::CtrlC).code(), 130);
        assert_eq!(Exit::of_command(&outcome, StopOrigin::Elsewhere).code(), 3);
    }

    #[test]
    fn waits_end_by_the_state_and_the_worst_counts() {
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
    fn a_code_that_is_none_is_a_failure() {
        assert_eq!(ended(|o| o.exit = Some(256)).code(), 1);
        assert_eq!(ended(|o| o.exit = Some(-1)).code(), 1);
        assert_eq!(ended(|_| ()).code(), 1);
    }
}
