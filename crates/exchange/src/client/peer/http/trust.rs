//! Which certificates of servers are believed: those that a given one has signed, those given themselves, and those
//! with a known fingerprint.

use parking_lot::Mutex;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use sha1::{Digest, Sha1};
use sha2::{Sha256, Sha512};
use std::fmt::Write;
use std::sync::Arc;

/// A hash function of fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    Sha1,
    Sha256,
    Sha512,
}

impl Algorithm {
    const ALL: [Algorithm; 3] = [Algorithm::Sha1, Algorithm::Sha256, Algorithm::Sha512];

    fn name(self) -> &'static str {
        match self {
            Algorithm::Sha1 => "sha1",
            Algorithm::Sha256 => "sha256",
            Algorithm::Sha512 => "sha512",
        }
    }

    /// Hash of a certificate, as pairs of hexadecimal digits with colons between them.
    fn of(self, certificate: &[u8]) -> String {
        let bytes = match self {
            Algorithm::Sha1 => Sha1::digest(certificate).to_vec(),
            Algorithm::Sha256 => Sha256::digest(certificate).to_vec(),
            Algorithm::Sha512 => Sha512::digest(certificate).to_vec(),
        };
        let mut shown = String::new();
        for byte in bytes {
            if !shown.is_empty() {
                shown.push(':');
            }
            let _ = write!(shown, "{byte:02x}");
        }
        shown
    }
}

/// Hash of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    algorithm: Algorithm,
    /// Hexadecimal digits of lower case, without colons.
    digits: String,
}

impl Fingerprint {
    /// Reads a hash behind the name of its function, such as `sha256:aa:bb`; colons may be missing.
    pub fn parse(text: &str) -> Option<Fingerprint> {
        let (name, digits) = text.split_once(':')?;
        let mut all = Algorithm::ALL.into_iter();
        let algorithm = all.find(|algorithm| algorithm.name() == name)?;
        Some(Fingerprint::of(algorithm, digits))
    }

    /// A hash without a name, as `[hostfingerprints]` has them.
    pub fn sha1(digits: &str) -> Fingerprint {
        Fingerprint::of(Algorithm::Sha1, digits)
    }

    fn of(algorithm: Algorithm, digits: &str) -> Fingerprint {
        Fingerprint {
            algorithm,
            digits: digits.replace(':', "").to_ascii_lowercase(),
        }
    }

    /// The hash of a certificate by the same function, if it is the same.
    fn matching(&self, certificate: &[u8]) -> Option<String> {
        let shown = self.algorithm.of(certificate);
        let is_same = shown.replace(':', "") == self.digits;
        is_same.then(|| format!("{}:{shown}", self.algorithm.name()))
    }
}

/// Fingerprints of a server, any of which its certificate has to have; nothing else about it is checked then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprints {
    /// One match is enough.
    pub accepted: Vec<Fingerprint>,
    /// Whether some stand in `[hostfingerprints]`.
    pub is_legacy: bool,
}

/// A comparison of a certificate with fingerprints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedFingerprint {
    /// Name of the server.
    pub host: String,
    /// The fingerprint that matched; `None` if none did.
    pub matched: Option<String>,
    /// SHA-1 hash of the certificate.
    pub sha1: String,
    /// SHA-256 hash of the certificate, behind `sha256:`.
    pub sha256: String,
    /// Whether some of the fingerprints stand in `[hostfingerprints]`.
    pub is_legacy: bool,
}

/// The newest comparison; clones share it.
pub(super) type Comparison = Arc<Mutex<Option<ComparedFingerprint>>>;

/// The reason for which a server's certificate is accepted.
#[derive(Debug)]
pub(super) enum Trust {
    /// The certificate is one of those given, or signed by one of them.
    Authorities {
        /// The given certificates, as trust anchors.
        roots: RootCertStore,
        /// The given certificates in DER, to find a server's own certificate among them.
        certificates: Vec<CertificateDer<'static>>,
    },
    /// The certificate has one of these fingerprints.
    Fingerprints(Fingerprints),
}

/// Checks certificates of servers.
#[derive(Debug)]
pub(super) struct Verifier {
    pub(super) trust: Trust,
    pub(super) provider: Arc<CryptoProvider>,
    pub(super) comparison: Comparison,
}

impl Verifier {
    /// A certificate that is given itself need not be signed by another, nor be one for servers only: `openssl req
    /// -x509` makes authorities. Its name and its time count all the same.
    fn check_signed(
        &self,
        (roots, given): (&RootCertStore, &[CertificateDer<'_>]),
        (certificate, others): (&CertificateDer<'_>, &[CertificateDer<'_>]),
        (name, now): (&ServerName<'_>, UnixTime),
    ) -> Result<(), Error> {
        let parsed = ParsedCertificate::try_from(certificate)?;
        let known = self.provider.signature_verification_algorithms.all;
        let signed = verify_server_cert_signed_by_trust_anchor(&parsed, roots, others, now, known);
        match signed {
            // The time of validity is checked first and has errors of its own; this one is that an authority is used as a
            // server's certificate.
            Err(Error::InvalidCertificate(CertificateError::Other(_)))
                if given.contains(certificate) => {}
            other => other?,
        }
        verify_server_name(&parsed, name)
    }

    fn check_fingerprint(
        &self,
        fingerprints: &Fingerprints,
        certificate: &CertificateDer<'_>,
        name: &ServerName<'_>,
    ) -> Result<(), Error> {
        let mut accepted = fingerprints.accepted.iter();
        let matched = accepted.find_map(|known| known.matching(certificate));
        let is_known = matched.is_some();
        *self.comparison.lock() = Some(ComparedFingerprint {
            host: name.to_str().into_owned(),
            matched,
            sha1: Algorithm::Sha1.of(certificate),
            sha256: format!("sha256:{}", Algorithm::Sha256.of(certificate)),
            is_legacy: fingerprints.is_legacy,
        });
        match is_known {
            true => Ok(()),
            false => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match &self.trust {
            Trust::Authorities {
                roots,
                certificates,
            } => self.check_signed((roots, certificates), (certificate, others), (name, now))?,
            Trust::Fingerprints(known) => self.check_fingerprint(known, certificate, name)?,
        }
        Ok(ServerCertVerified::assertion())
    }

    // That the server has the certificate's key is checked whatever is believed: anyone can send the certificate.

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let known = &self.provider.signature_verification_algorithms;
        known.supported_schemes()
    }
}
