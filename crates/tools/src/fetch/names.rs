//! The lookup of host names, limited to public addresses.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use offshoot_core::text;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::Public;

/// A pending lookup of the addresses of a host.
pub type Lookup = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Looks up host names.
pub trait Names: Send + Sync + fmt::Debug + 'static {
    /// Returns the addresses of a host.
    fn lookup(&self, host: String) -> Lookup;
}

/// The lookup of the system.
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

/// A host with an address that is not public.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is on this machine or in a private network, or is no machine at all")]
pub(super) struct Refused(String);

impl Refused {
    pub(super) fn of(host: &str) -> Self {
        Self(text::cut(host, 100).into_owned())
    }
}

/// A lookup that accepts only hosts whose addresses are all public.
///
/// Connections go to exactly the addresses that it returns.
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
