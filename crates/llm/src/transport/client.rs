//! Builds the HTTP clients.

use std::sync::Arc;

use bowline_core::stream::{FailureKind, StreamError};
use reqwest::Client;
use rustls::client::danger::ServerCertVerifier;

use super::Timeouts;
use super::pool::Pool;
use crate::proxy::ProxySettings;

/// Which certificates a client trusts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    System,
    /// For clients that never use TLS; costs nothing to set up.
    Nobody,
}

/// Builds a client.
pub(super) fn build(timeouts: Timeouts, proxy: &ProxySettings, trust: Trust) -> Result<Pool, StreamError> {
    let mut builder = Client::builder()
        .tls_backend_preconfigured(tls(trust).map_err(|error| no_certificates(&error))?)
        .user_agent(concat!("bowline/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(timeouts.connect)
        // A redirect would send the key elsewhere.
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy();
    let proxies = proxy.proxies().map_err(|name| {
        let message = format!("The variable {name} is not the URL of a proxy. Correct it or unset it.");
        StreamError::new(FailureKind::Rejected, message)
    })?;
    for proxy in proxies {
        builder = builder.proxy(proxy);
    }
    Pool::build(builder).map_err(cannot_build)
}

pub(super) fn tls(trust: Trust) -> Result<rustls::ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider));
    let config = config.with_safe_default_protocol_versions()?;
    let mut config = match trust {
        Trust::Nobody => config.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth(),
        Trust::System => {
            let verifier: Arc<dyn ServerCertVerifier> =
                Arc::new(rustls_platform_verifier::Verifier::new(provider)?);
            config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

pub(super) fn cannot_build(error: impl std::fmt::Display) -> StreamError {
    StreamError::new(FailureKind::Rejected, format!("The HTTP client could not be set up: {error}."))
}

/// Explains what is missing on a machine without usable certificates, such as a bare container image.
fn no_certificates(error: &rustls::Error) -> StreamError {
    let message = format!(
        "No secure connection can be made: the system's certificates cannot be used ({error}). Install them (the package ca-certificates), or name a file with them in SSL_CERT_FILE."
    );
    StreamError::new(FailureKind::Rejected, message)
}
