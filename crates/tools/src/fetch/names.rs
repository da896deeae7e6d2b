//! How names of machines are looked up, and what of it is used.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use offshoot_core::text;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::Public;

/// The addresses of a machine, by and by.
pub type Lookup = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Looks names of machines up.
pub trait Names: Send + Sync + fmt::Debug + 'static {
    /// The addresses of the machine of this name.
    fn lookup(&self, host: String) -> Lookup;
}

/// As the system does it.
#[derive(Debug)]
pub(super) struct System;

impl Names for System {
    fn lookup(&self, host: String) -> Lookup {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// A machine that not everybody can reach.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is on this machine or in a private network, or is no machine at all")]
pub(super) struct Refused(String);

impl Refused {
    pub(super) fn of(host: &str) -> Self {
        Self(text::cut(host, 100).into_owned())
    }
}

/// Looks names up, and knows only those all of whose addresses are public. What
/// is connected to is what it returns.
pub(super) struct Checked {
    pub(super) names: Arc<dyn Names>,
    pub(super) public: Public,
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let (looking, public) = (self.names.lookup(name.as_str().to_owned()), self.public.clone());
        Box::pin(async move {
            let found = looking.await?;
            if found.is_empty() || !found.iter().all(|address| public(*address)) {
                return Err(Refused::of(name.as_str()).into());
            }
            let addresses = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}
