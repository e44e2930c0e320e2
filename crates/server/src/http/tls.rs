//! TLS in front of everything: one certificate with its key, for all that the server serves.

use crate::ServerError;
use crate::http::request::authority;
use parking_lot::RwLock;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

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

    /// Encrypts a connection to another server of the same store, which has this name in its address.
    ///
    /// # Errors
    /// Errors of the network; a certificate that is not good for the name.
    pub(crate) async fn connect(
        &self,
        address: &str,
        stream: TcpStream,
    ) -> io::Result<TlsStream<TcpStream>> {
        let (host, _) = authority(address);
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(read_roots(&self.file)?)
            .with_no_client_auth();
        TlsConnector::from(Arc::new(config))
            .connect(name, stream)
            .await
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        self.acceptor.read().clone()
    }
}

/// Authorities that a server's own connections trust: those of the web, and the certificates of its own file, which all servers
/// of a store commonly share.
fn read_roots(file: &Path) -> io::Result<RootCertStore> {
    let mut roots = RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    let own = CertificateDer::pem_file_iter(file).map_err(io::Error::other)?;
    for certificate in own {
        let certificate = certificate.map_err(io::Error::other)?;
        roots.add(certificate).map_err(io::Error::other)?;
    }
    Ok(roots)
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
