//! TLS in front of everything: one certificate with its key, for all that the server serves.

use crate::ServerError;
use parking_lot::RwLock;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Encrypts connections; clones share the certificate.
#[derive(Clone)]
pub(crate) struct Tls {
    /// Absolute, as the working directory may change.
    file: PathBuf,
    /// Whether HTTP/2 is offered.
    http2: bool,
    acceptor: Arc<RwLock<TlsAcceptor>>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads a file in PEM with a key, its certificate, and those above it, as `hg serve` wants it.
    ///
    /// With `http2` clients are offered HTTP/2 before HTTP/1.1.
    ///
    /// # Errors
    /// [`ServerError::Certificate`].
    pub(crate) fn read(file: &Path, http2: bool) -> Result<Tls, ServerError> {
        let acceptor = Arc::new(RwLock::new(read_acceptor(file, http2)?));
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        Ok(Tls {
            file,
            http2,
            acceptor,
        })
    }

    /// Reads the file once more, for connections from now on. One that cannot be used changes nothing.
    ///
    /// # Errors
    /// [`ServerError::Certificate`].
    pub(crate) fn reload(&self) -> Result<(), ServerError> {
        let acceptor = read_acceptor(&self.file, self.http2)?;
        *self.acceptor.write() = acceptor;
        Ok(())
    }

    /// The file in PEM.
    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        self.acceptor.read().clone()
    }
}

fn read_acceptor(file: &Path, http2: bool) -> Result<TlsAcceptor, ServerError> {
    let refused = |reason: String| ServerError::Certificate {
        file: file.to_owned(),
        reason,
    };
    let text = std::fs::read(file).map_err(|error| refused(error.to_string()))?;
    let chain = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|error| refused(error.to_string()))?;
    if chain.is_empty() {
        return Err(refused("it has no certificate".to_owned()));
    }
    let key = PrivateKeyDer::from_pem_slice(&text);
    let key = key.map_err(|error| refused(format!("it has no usable key: {error}")))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map(|config| config.with_no_client_auth());
    let config = config.and_then(|config| config.with_single_cert(chain, key));
    let mut config = config.map_err(|error| refused(error.to_string()))?;
    let offered: &[&[u8]] = match http2 {
        true => &[b"h2", b"http/1.1"],
        false => &[b"http/1.1"],
    };
    config.alpn_protocols = offered.iter().map(|name| name.to_vec()).collect();
    Ok(TlsAcceptor::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_certificate_or_key_is_refused_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("server.pem");
        let refused = || Tls::read(&file, true).unwrap_err().to_string();
        assert!(refused().contains("server.pem"), "{}", refused());
        std::fs::write(&file, "words\n").unwrap();
        assert!(
            refused().ends_with("it has no certificate"),
            "{}",
            refused()
        );
        let lone = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        std::fs::write(&file, lone).unwrap();
        assert!(refused().contains("it has no usable key"), "{}", refused());
    }
}
