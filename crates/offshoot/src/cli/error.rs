//! What went wrong, and how the program ends for it.

use offshoot_client::wire::{Code, WireError};

use super::exit::Exit;

/// Why a command of the program was not done.
#[derive(Debug)]
pub(crate) enum CliError {
    /// The error is printed, and sets the exit code.
    Report {
        /// What is wrong.
        fault: Box<WireError>,
        /// How the program ends.
        exit: Exit,
    },
    /// Whoever read our output has gone, and nothing is to be said.
    ReaderGone,
}

impl CliError {
    /// The command line makes no sense.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        WireError::new(Code::BadRequest, message).into()
    }

    /// Offshoot itself could not do it.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        WireError::new(Code::Other, message).into()
    }

    /// An error that nobody foresaw.
    pub(crate) fn other(error: &dyn std::error::Error) -> Self {
        WireError::from_error(Code::Other, error).into()
    }

    /// Our own output could not be written.
    pub(crate) fn output(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => {
                let fault = WireError::new(Code::Other, "the output could not be written");
                WireError { causes: vec![error.to_string()], ..fault }.into()
            }
        }
    }

    /// This error, with what to do about it if it does not say so itself.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Self::Report { fault, .. } = &mut self
            && fault.hint.is_none()
        {
            fault.hint = Some(hint.into());
        }
        self
    }

    /// This error, with this to do about it, whatever it says itself.
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
                .hint("any other command starts one, such as `offshoot tasks ls`"),
            Error::DaemonDir(DaemonDirError::Unusable { .. }) => {
                Self::from(WireError::from_error(code, &error))
                    .hint("choose another data folder with --data, or run `offshoot doctor`")
            }
            Error::DiedAtStart { .. } | Error::KeepsDying { .. } | Error::NotStarted(_) => {
                Self::from(WireError::from_error(code, &error))
                    .hint("`offshoot doctor` looks at the data folder and shows the log")
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
    fn a_refusal_ends_the_program_by_its_code() {
        for (code, exit) in [
            (Code::NotFound, Exit::Unknown),
            (Code::BadName, Exit::Usage),
            (Code::BadRequest, Exit::Usage),
            (Code::NameTaken, Exit::Error),
            (Code::Locked, Exit::Error),
        ] {
            let CliError::Report { exit: found, .. } = CliError::from(WireError::new(code, "no"))
            else {
                panic!("{code:?} is not told");
            };
            assert_eq!(found, exit, "{code:?}");
        }
    }

    #[test]
    fn a_hint_of_the_daemon_stands() {
        let fault = WireError::new(Code::NotFound, "no").hint("did you mean build-1?");
        let CliError::Report { fault, .. } = CliError::from(fault).hint("another") else {
            panic!()
        };
        assert_eq!(fault.hint.as_deref(), Some("did you mean build-1?"));
    }
}
