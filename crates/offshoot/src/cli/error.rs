//! The errors of the program, and the exit codes they lead to.

use offshoot_client::wire::{Code, WireError};

use super::exit::Exit;

/// Why a command of the program failed.
#[derive(Debug)]
pub(crate) enum CliError {
    /// The error is printed, and sets the exit code.
    Report {
        /// The error with its causes and hint.
        fault: Box<WireError>,
        /// The exit code.
        exit: Exit,
    },
    /// The reader of the output is gone; nothing is printed.
    ReaderGone,
}

impl CliError {
    /// The command line is invalid.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        WireError::new(Code::BadRequest, message).into()
    }

    /// The command failed.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        WireError::new(Code::Other, message).into()
    }

    /// An error without a code of its own.
    pub(crate) fn other(error: &dyn std::error::Error) -> Self {
        WireError::from_error(Code::Other, error).into()
    }

    /// The output cannot be written.
    pub(crate) fn output(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => {
                let fault = WireError::new(Code::Other, "cannot write the output");
                WireError { causes: vec![error.to_string()], ..fault }.into()
            }
        }
    }

    /// Adds a hint, unless the error has one.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Self::Report { fault, .. } = &mut self
            && fault.hint.is_none()
        {
            fault.hint = Some(hint.into());
        }
        self
    }

    /// Replaces the hint.
    pub(crate) fn or_rather(mut self, hint: impl Into<String>) -> Self {
        if let Self::Report { fault, .. } = &mut self {
            fault.hint = Some(hint.into());
        }
        self
    }
}

impl From<WireError> for CliError {
    fn from(fault: WireError) -> Self {
        let exit = Exit::of_code(fault.code);
        Self::Report { fault: Box::new(fault), exit }
    }
}

impl From<offshoot_client::Error> for CliError {
    fn from(error: offshoot_client::Error) -> Self {
        use offshoot_client::{DaemonDirError, Error};
        let code = match &error {
            Error::Refused(_) => Code::Other,
            Error::Locked { .. } => Code::Locked,
            Error::DaemonDir(_) => Code::Store,
            Error::WrongAnswer => Code::Wire,
            _ => Code::Other,
        };
        match error {
            Error::Refused(fault) => fault.into(),
            Error::NotRunning(_) => Self::from(WireError::from_error(code, &error))
                .hint("commands such as `offshoot tasks ls` start a daemon"),
            Error::DaemonDir(DaemonDirError::Unusable { .. }) => {
                Self::from(WireError::from_error(code, &error))
                    .hint("choose another data directory with --data, or run `offshoot doctor`")
            }
            Error::DiedAtStart { .. } | Error::KeepsDying { .. } | Error::NotStarted(_) => {
                Self::from(WireError::from_error(code, &error))
                    .hint("`offshoot doctor` checks the data directory and shows the log")
            }
            _ => WireError::from_error(code, &error).into(),
        }
    }
}

impl From<offshoot_client::DaemonDirError> for CliError {
    fn from(error: offshoot_client::DaemonDirError) -> Self {
        offshoot_client::Error::from(error).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_follows_from_the_error_code() {
        for (code, exit) in [
            (Code::NotFound, Exit::Unknown),
            (Code::BadName, Exit::Usage),
            (Code::BadRequest, Exit::Usage),
            (Code::NameTaken, Exit::Error),
            (Code::Locked, Exit::Error),
        ] {
            let CliError::Report { exit: found, .. } = CliError::from(WireError::new(code, "no"))
            else {
                panic!("{code:?} is not reported");
            };
            assert_eq!(found, exit, "{code:?}");
        }
    }

    #[test]
    fn a_hint_of_the_daemon_is_kept() {
        let fault = WireError::new(Code::NotFound, "no").hint("did you mean build-1?");
        let CliError::Report { fault, .. } = CliError::from(fault).hint("another") else {
            panic!()
        };
        assert_eq!(fault.hint.as_deref(), Some("did you mean build-1?"));
    }
}
