//! Ctrl-C, and what it means to an attached command.
//!
//! Only Ctrl-C is a wish about the command. Whatever else ends this program,
//! such as a closed terminal, leaves the command alone.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::trouble::Trouble;

/// The interrupts of this process, from when it listens on.
#[derive(Debug)]
pub(crate) struct Interrupts {
    signals: Signal,
    wish: Wish,
}

/// What was wished for so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Nothing.
    None,
    /// That the command stops.
    Stop,
    /// That it is stopped at once.
    StopNow,
    /// To be let go, whatever the command does.
    Leave,
}

impl Interrupts {
    /// Listens. From here on Ctrl-C does not end the program by itself.
    pub(crate) fn listen() -> Result<Self, Trouble> {
        let signals = signal(SignalKind::interrupt()).map_err(|error| Trouble::other(&error))?;
        Ok(Self { signals, wish: Wish::None })
    }

    /// The next wish. It is safe to drop while it waits.
    pub(crate) async fn next(&mut self) -> Wish {
        if self.signals.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
        self.wish = self.wish.next();
        self.wish
    }

    /// What was wished for so far.
    pub(crate) fn wish(&self) -> Wish {
        self.wish
    }
}

impl Wish {
    fn next(self) -> Self {
        match self {
            Self::None => Self::Stop,
            Self::Stop => Self::StopNow,
            Self::StopNow | Self::Leave => Self::Leave,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_one_wishes_for_more() {
        let wishes: Vec<Wish> =
            std::iter::successors(Some(Wish::None), |wish| Some(wish.next())).take(5).collect();
        assert_eq!(wishes, [Wish::None, Wish::Stop, Wish::StopNow, Wish::Leave, Wish::Leave]);
    }
}
