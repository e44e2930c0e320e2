//! Keys of tokens, and the algorithms that each kind of key is good for.
//!
//! The algorithm that a token names decides the kind of key that is looked for, so that no public key is ever taken for
//! a shared secret.

use crate::auth::jwt::malformed;
use crate::{Failure, ServerError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::{hmac, signature};
use std::collections::HashMap;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{
    AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer,
    alg_id,
};
use varve_config::{JwtKey, JwtKeyKind};
use webpki::ring as known;
use webpki::{Error, RawPublicKeyEntity};

/// Bytes of the shortest RSA key that is believed, whose modulus has 2048 bits.
const SHORTEST_RSA: usize = 270;

type Verifier = &'static dyn SignatureVerificationAlgorithm;

/// How a signature is made.
pub(super) struct Algorithm {
    name: &'static str,
    pub(super) kind: JwtKeyKind,
    scheme: Scheme,
}

enum Scheme {
    Hmac(&'static hmac::Algorithm),
    /// A signature that one of them takes is good.
    Public(&'static [Verifier]),
}

macro_rules! algorithm {
    ($name:literal, $kind:ident, $scheme:expr) => {
        Algorithm {
            name: $name,
            kind: JwtKeyKind::$kind,
            scheme: $scheme,
        }
    };
}

static ALGORITHMS: [Algorithm; 12] = [
    algorithm!("HS256", Hmac, Scheme::Hmac(&hmac::HMAC_SHA256)),
    algorithm!("HS384", Hmac, Scheme::Hmac(&hmac::HMAC_SHA384)),
    algorithm!("HS512", Hmac, Scheme::Hmac(&hmac::HMAC_SHA512)),
    algorithm!("RS256", Rsa, Scheme::Public(RS256)),
    algorithm!("RS384", Rsa, Scheme::Public(RS384)),
    algorithm!("RS512", Rsa, Scheme::Public(RS512)),
    algorithm!("PS256", Rsa, Scheme::Public(PS256)),
    algorithm!("PS384", Rsa, Scheme::Public(PS384)),
    algorithm!("PS512", Rsa, Scheme::Public(PS512)),
    algorithm!("ES256", Ec, Scheme::Public(ES256)),
    algorithm!("ES384", Ec, Scheme::Public(ES384)),
    algorithm!("EdDSA", EdDsa, Scheme::Public(EDDSA)),
];

const RS256: &[Verifier] = &[known::RSA_PKCS1_2048_8192_SHA256];
const RS384: &[Verifier] = &[known::RSA_PKCS1_2048_8192_SHA384];
const RS512: &[Verifier] = &[known::RSA_PKCS1_2048_8192_SHA512];
const PS256: &[Verifier] = &[known::RSA_PSS_2048_8192_SHA256_LEGACY_KEY];
const PS384: &[Verifier] = &[known::RSA_PSS_2048_8192_SHA384_LEGACY_KEY];
const PS512: &[Verifier] = &[known::RSA_PSS_2048_8192_SHA512_LEGACY_KEY];
/// Two numbers of fixed length, as the standard has it, or the form of certificates, which older makers of tokens use.
const ES256: &[Verifier] = &[&FIXED_P256, known::ECDSA_P256_SHA256];
const ES384: &[Verifier] = &[&FIXED_P384, known::ECDSA_P384_SHA384];
const EDDSA: &[Verifier] = &[known::ED25519];

static FIXED_P256: FixedEcdsa = FixedEcdsa {
    key: alg_id::ECDSA_P256,
    signature: alg_id::ECDSA_SHA256,
    algorithm: &signature::ECDSA_P256_SHA256_FIXED,
};
static FIXED_P384: FixedEcdsa = FixedEcdsa {
    key: alg_id::ECDSA_P384,
    signature: alg_id::ECDSA_SHA384,
    algorithm: &signature::ECDSA_P384_SHA384_FIXED,
};

/// ECDSA whose signatures are two numbers of fixed length.
#[derive(Debug)]
struct FixedEcdsa {
    key: AlgorithmIdentifier,
    signature: AlgorithmIdentifier,
    algorithm: &'static signature::EcdsaVerificationAlgorithm,
}

impl SignatureVerificationAlgorithm for FixedEcdsa {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let key = signature::UnparsedPublicKey::new(self.algorithm, public_key);
        key.verify(message, signature).map_err(|_| InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.key
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.signature
    }
}

impl Algorithm {
    /// The algorithm that a token names; `none` is none.
    pub(super) fn named(name: &str) -> Option<&'static Algorithm> {
        ALGORITHMS.iter().find(|known| known.name == name)
    }
}

/// The keys of `[jwt_keys]`.
#[derive(Debug, Default)]
pub(super) struct Keys(HashMap<(JwtKeyKind, String), Key>);

enum Key {
    Secret(Vec<u8>),
    Public(SubjectPublicKeyInfoDer<'static>),
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl Keys {
    /// # Errors
    /// [`ServerError::Config`] for the first key that is not of its form.
    pub(super) fn read(written: &[JwtKey]) -> Result<Keys, ServerError> {
        let keys = written.iter().map(|key| {
            let name = (key.kind, key.kid.clone());
            Ok((name, Key::read(key)?))
        });
        Ok(Keys(keys.collect::<Result<_, ServerError>>()?))
    }

    /// Checks the signature of a token with the key of that name.
    ///
    /// # Errors
    /// 400.
    pub(super) fn verify(
        &self,
        kid: &str,
        algorithm: &Algorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), Failure> {
        let key = self.0.get(&(algorithm.kind, kid.to_owned()));
        match (key, &algorithm.scheme) {
            (None, _) => Err(Failure::bad_request("Unknown kid")),
            (Some(Key::Secret(secret)), Scheme::Hmac(hash)) => {
                let key = hmac::Key::new(**hash, secret);
                let checked = hmac::verify(&key, message, signature);
                checked.map_err(|_| Failure::bad_request("Bad HMAC"))
            }
            (Some(Key::Public(key)), Scheme::Public(verifiers)) => {
                let key = RawPublicKeyEntity::try_from(key).map_err(|_| malformed())?;
                let takes = |verifier: &Verifier| {
                    let checked = key.verify_signature(*verifier, message, signature);
                    checked.is_ok()
                };
                match verifiers.iter().any(takes) {
                    true => Ok(()),
                    false => Err(Failure::bad_request("Bad signature")),
                }
            }
            (Some(_), _) => Err(malformed()),
        }
    }
}

impl Key {
    fn read(written: &JwtKey) -> Result<Key, ServerError> {
        let expected = match written.kind {
            JwtKeyKind::Hmac => "a secret in base64",
            JwtKeyKind::Rsa => {
                "an RSA public key of 2048 to 8192 bits in PEM, in one line with \\n"
            }
            JwtKeyKind::Ec => "a public key of P-256 or P-384 in PEM, in one line with \\n",
            JwtKeyKind::EdDsa => "a public key of Ed25519 in PEM, in one line with \\n",
        };
        let value = written.setting.value.as_str();
        let key = match written.kind {
            JwtKeyKind::Hmac => STANDARD.decode(value).ok().map(Key::Secret),
            kind => Key::public(kind, value),
        };
        Ok(key.ok_or_else(|| written.refuse(expected))?)
    }

    fn public(kind: JwtKeyKind, value: &str) -> Option<Key> {
        let pem = value.replace("\\n", "\n");
        let der = SubjectPublicKeyInfoDer::from_pem_slice(pem.as_bytes()).ok()?;
        let key = RawPublicKeyEntity::try_from(&der).ok()?;
        let verifiers = ALGORITHMS.iter().filter(|known| known.kind == kind);
        let verifiers = verifiers.flat_map(|known| match known.scheme {
            Scheme::Public(verifiers) => verifiers,
            Scheme::Hmac(_) => &[],
        });
        // No signature is good, but an algorithm that the key is made for says so in other words.
        let fits = |verifier: &Verifier| {
            let refused = key.verify_signature(*verifier, b"", b"");
            matches!(refused, Err(Error::InvalidSignatureForPublicKey))
        };
        let is_short = kind == JwtKeyKind::Rsa && der.as_ref().len() < SHORTEST_RSA;
        let fits = verifiers.copied().any(|verifier| fits(&verifier)) && !is_short;
        fits.then(|| Key::Public(der.clone().into_owned()))
    }
}
