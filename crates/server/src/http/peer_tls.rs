//! TLS to other servers of the same store, which commonly have the certificate of this one.

use crate::http::request::authority;
use crate::http::tls::Tls;
use std::io;
use std::path::Path;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

/// Accepts the certificate of this server whatever the other one's address is, and any other one as browsers do, with the
/// authorities of the web and the certificates of this server's file.
#[derive(Debug)]
struct PeerVerifier {
    own: CertificateDer<'static>,
    others: Arc<WebPkiServerVerifier>,
}

impl PeerVerifier {
    fn read(file: &Path) -> io::Result<PeerVerifier> {
        let own = CertificateDer::pem_file_iter(file).map_err(io::Error::other)?;
        let own = own
            .collect::<Result<Vec<_>, _>>()
            .map_err(io::Error::other)?;
        let mut roots = RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        roots.add_parsable_certificates(own.iter().cloned());
        let provider = Arc::new(ring::default_provider());
        let others = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        Ok(PeerVerifier {
            own: own.into_iter().next().ok_or(io::ErrorKind::InvalidData)?,
            others: others.build().map_err(io::Error::other)?,
        })
    }
}

impl ServerCertVerifier for PeerVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if *end_entity == self.own {
            return Ok(ServerCertVerified::assertion());
        }
        let others = &self.others;
        others.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        (self.others).verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        (self.others).verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.others.supported_verify_schemes()
    }
}

impl Tls {
    /// Encrypts a connection to another server of the same store. The file is read anew, as its certificate may have changed.
    ///
    /// # Errors
    /// Errors of the network; a certificate that is neither this server's nor good for the host of the address.
    pub(crate) async fn connect(
        &self,
        address: &str,
        stream: TcpStream,
    ) -> io::Result<TlsStream<TcpStream>> {
        let (host, _) = authority(address);
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let verifier = Arc::new(PeerVerifier::read(self.file())?);
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        let connector = TlsConnector::from(Arc::new(config));
        connector.connect(name, stream).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    /// PEM files with keys that stand for servers of one store.
    const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/tests/hgcli/tls");

    /// True if a server with the files `own` connects to one with the file `peer`, which has this address.
    async fn connects(own: &[&str], peer: &str, address: &str) -> bool {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("own.pem");
        let texts = own
            .iter()
            .map(|name| std::fs::read_to_string(format!("{FILES}/{name}")));
        std::fs::write(&file, texts.map(Result::unwrap).collect::<String>()).unwrap();
        let own = Tls::read(&file, true).unwrap();
        let peer = Tls::read(Path::new(&format!("{FILES}/{peer}")), true).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        let accepting = async {
            let (stream, _) = listener.accept().await.unwrap();
            peer.acceptor().accept(stream).await
        };
        let (connected, _) = tokio::join!(own.connect(address, stream), accepting);
        connected.is_ok()
    }

    #[tokio::test]
    async fn servers_trust_their_own_certificate_and_those_of_their_authority() {
        assert!(connects(&["self_signed.pem"], "self_signed.pem", "10.0.0.1:5984").await);
        let with_authority = ["self_signed.pem", "authority.pem"];
        assert!(connects(&with_authority, "server.pem", "localhost:5984").await);
        assert!(!connects(&with_authority, "server.pem", "other.test:5984").await);
        assert!(!connects(&["self_signed.pem"], "server.pem", "localhost:5984").await);
        assert!(!connects(&["self_signed.pem"], "other.pem", "localhost:5984").await);
    }
}
