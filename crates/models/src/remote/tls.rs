//! How connections are made private: rustls, with the certificates that this
//! machine trusts.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

/// What a connection is made with. Nothing is set for the whole process, so a
/// program that embeds Offshoot may use rustls as it likes. On a machine without
/// certificates no server is trusted, and addresses without TLS still work.
pub(super) fn config() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let builder = || {
        let builder = ClientConfig::builder_with_provider(provider.clone());
        builder.with_safe_default_protocol_versions()
    };
    let config = match builder()?.with_platform_verifier() {
        Ok(trusting) => trusting.with_no_client_auth(),
        Err(_) => builder()?.with_root_certificates(RootCertStore::empty()).with_no_client_auth(),
    };
    Ok(config)
}
