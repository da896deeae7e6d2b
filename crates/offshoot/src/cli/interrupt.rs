//! Ctrl-C at an attached command or a run.
//!
//! Only Ctrl-C stops the command. Any other end of this program, such as a
//! closed terminal, leaves the command running.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::error::CliError;

/// The interrupts of this process since it began to listen.
#[derive(Debug)]
pub(crate) struct Interrupts {
    signals: Signal,
    stop_request: StopRequest,
}

/// How far the user has gone in stopping the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopRequest {
    /// No Ctrl-C yet.
    None,
    /// Stop the command within its grace time.
    Stop,
    /// Stop the command at once.
    StopNow,
    /// Exit this program and leave the command to the daemon.
    Detach,
}

impl Interrupts {
    /// Starts to listen. From here on Ctrl-C does not end the program by itself.
    pub(crate) fn listen() -> Result<Self, CliError> {
        let signals = signal(SignalKind::interrupt()).map_err(|error| CliError::other(&error))?;
        Ok(Self { signals, stop_request: StopRequest::None })
    }

    /// Waits for the next Ctrl-C. Safe to drop while it waits.
    pub(crate) async fn next(&mut self) -> StopRequest {
        if self.signals.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
        self.stop_request = self.stop_request.next();
        self.stop_request
    }

    /// What Ctrl-C has requested so far.
    pub(crate) fn stop_request(&self) -> StopRequest {
        self.stop_request
    }
}

impl StopRequest {
    fn next(self) -> Self {
        match self {
            Self::None => Self::Stop,
            Self::Stop => Self::StopNow,
            Self::StopNow | Self::Detach => Self::Detach,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_one_wishes_for_more() {
        let wishes: Vec<StopRequest> =
            std::iter::successors(Some(StopRequest::None), |stop_request| {
                Some(stop_request.next())
            })
            .take(5)
            .collect();
        assert_eq!(
            wishes,
            [
                StopRequest::None,
                StopRequest::Stop,
                StopRequest::StopNow,
                StopRequest::Detach,
                StopRequest::Detach
            ]
        );
    }
}
