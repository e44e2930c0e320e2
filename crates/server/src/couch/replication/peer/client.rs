//! HTTP clients, which keep connections for all replications.

use super::super::error::ReplicationError;
use parking_lot::Mutex;
use reqwest::{Client, Proxy, Url};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::rustls;
use varve_config::Replicator;

/// Time to connect.
const CONNECT: Duration = Duration::from_secs(30);
/// Idle connections to one host that are kept.
const IDLE: usize = 20;
/// Clients that are kept, one for each proxy.
const MOST: usize = 64;

/// Settings that a client is built with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ClientKey {
    proxy: Option<Url>,
    verifies: bool,
    authorities: Option<PathBuf>,
}

/// Clients by proxy and settings of TLS.
#[derive(Debug, Default)]
pub(in crate::couch::replication) struct Clients(Mutex<HashMap<ClientKey, Client>>);

impl Clients {
    /// # Errors
    /// [`ReplicationError::Tls`] if the file of authorities cannot be read.
    pub fn get(
        &self,
        settings: &Replicator,
        proxy: Option<&Url>,
    ) -> Result<Client, ReplicationError> {
        let key = ClientKey {
            proxy: proxy.cloned(),
            verifies: settings.verifies_certificates,
            authorities: settings.authorities.clone(),
        };
        let mut known = self.0.lock();
        if let Some(client) = known.get(&key) {
            return Ok(client.clone());
        }
        if known.len() >= MOST {
            known.clear();
        }
        let client = build(&key)?;
        known.insert(key, client.clone());
        Ok(client)
    }
}

fn build(key: &ClientKey) -> Result<Client, ReplicationError> {
    let failed = |error: &dyn std::fmt::Display| ReplicationError::Tls(error.to_string());
    let mut builder = Client::builder()
        .user_agent(concat!("Varve-Replicator/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT)
        .pool_max_idle_per_host(IDLE)
        .tls_backend_preconfigured(tls(key)?)
        .no_proxy();
    if let Some(url) = &key.proxy {
        let proxy = Proxy::all(url.clone()).map_err(|error| failed(&error))?;
        builder = builder.proxy(proxy);
    }
    builder.build().map_err(|error| failed(&error))
}

fn tls(key: &ClientKey) -> Result<rustls::ClientConfig, ReplicationError> {
    let failed = |error: &dyn std::fmt::Display| ReplicationError::Tls(error.to_string());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&error))?;
    if !key.verifies {
        let anyone = Arc::new(AnyCertificate(provider));
        return Ok(builder
            .dangerous()
            .with_custom_certificate_verifier(anyone)
            .with_no_client_auth());
    }
    let mut roots =
        rustls::RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    if let Some(path) = &key.authorities {
        use rustls::pki_types::CertificateDer;
        use rustls::pki_types::pem::PemObject;
        let name = path.display();
        let unreadable = |error: &dyn std::fmt::Display| {
            ReplicationError::Tls(format!("ssl_trusted_certificates_file {name}: {error}"))
        };
        let certificates = CertificateDer::pem_file_iter(path).map_err(|e| unreadable(&e))?;
        for certificate in certificates {
            let certificate = certificate.map_err(|error| unreadable(&error))?;
            roots.add(certificate).map_err(|error| unreadable(&error))?;
        }
    }
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Takes every certificate, for `verify_ssl_certificates = false`; signatures of handshakes are checked all the same.
#[derive(Debug)]
struct AnyCertificate(Arc<rustls::crypto::CryptoProvider>);

impl rustls::client::danger::ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &rustls::pki_types::CertificateDer<'_>,
        _intermediates: &[rustls::pki_types::CertificateDer<'_>],
        _server_name: &rustls::pki_types::ServerName<'_>,
        _ocsp_response: &[u8],
        _now: rustls::pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &rustls::pki_types::CertificateDer<'_>,
        signed: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &rustls::pki_types::CertificateDer<'_>,
        signed: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
