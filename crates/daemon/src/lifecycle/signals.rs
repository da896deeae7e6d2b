//! The signals that end a daemon in good order.

use offshoot_client::wire::{Code, WireError};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::inherited::ignores_hang_up;

/// Waits for the signals that end a daemon.
pub(super) struct ShutdownSignals {
    terminate: Signal,
    interrupt: Signal,
    /// Sent on purpose, or by the terminal of a daemon in the foreground. `None` if
    /// the process was started with the signal ignored, as `nohup` does.
    hang_up: Option<Signal>,
}

impl ShutdownSignals {
    pub(super) fn new() -> Result<Self, WireError> {
        let on = |kind| signal(kind).map_err(|error| WireError::from_error(Code::Other, &error));
        Ok(Self {
            terminate: on(SignalKind::terminate())?,
            interrupt: on(SignalKind::interrupt())?,
            hang_up: match ignores_hang_up() {
                true => None,
                false => Some(on(SignalKind::hangup())?),
            },
        })
    }

    /// Waits for the next signal, and returns its name.
    pub(super) async fn next(&mut self) -> &'static str {
        let hung_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            _ = hung_up => "SIGHUP",
        }
    }
}
