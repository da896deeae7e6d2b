//! A descriptor of a process, which reports its end.

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A process held by a descriptor. Its number is not reused meanwhile.
#[derive(Debug)]
pub(crate) struct ProcessWatch(AsyncFd<OwnedFd>);

impl ProcessWatch {
    /// Must be called within Tokio.
    pub(crate) fn new(descriptor: OwnedFd) -> io::Result<Self> {
        #[expect(deprecated, reason = "an owned descriptor is what the unsafe successor demands")]
        AsyncFd::with_interest(descriptor, Interest::READABLE).map(Self)
    }

    /// Resolves once the process has ended.
    pub(crate) async fn gone(&self) {
        let _ = self.0.readable().await;
    }
}
