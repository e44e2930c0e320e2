//! Signatures with a secret: those of cookies, of the tokens of a proxy, and of forwarded requests.

use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};
use varve_config::HashAlgorithm;

/// The HMAC of a text.
pub(crate) fn sign(algorithm: HashAlgorithm, key: &[u8], text: &[u8]) -> Vec<u8> {
    match algorithm {
        HashAlgorithm::Sha1 => signed(Hmac::<Sha1>::new_from_slice(key), text),
        HashAlgorithm::Sha224 => signed(Hmac::<Sha224>::new_from_slice(key), text),
        HashAlgorithm::Sha256 => signed(Hmac::<Sha256>::new_from_slice(key), text),
        HashAlgorithm::Sha384 => signed(Hmac::<Sha384>::new_from_slice(key), text),
        HashAlgorithm::Sha512 => signed(Hmac::<Sha512>::new_from_slice(key), text),
    }
}

/// HMAC takes keys of any length, so that there is always one.
fn signed<M: Mac, E>(mac: Result<M, E>, text: &[u8]) -> Vec<u8> {
    let signed = mac.map(|mac| mac.chain_update(text).finalize().into_bytes().to_vec());
    signed.unwrap_or_default()
}

/// Bytes of a signature.
pub(super) fn length(algorithm: HashAlgorithm) -> usize {
    match algorithm {
        HashAlgorithm::Sha1 => 20,
        HashAlgorithm::Sha224 => 28,
        HashAlgorithm::Sha256 => 32,
        HashAlgorithm::Sha384 => 48,
        HashAlgorithm::Sha512 => 64,
    }
}
