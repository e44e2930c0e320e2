//! Changesets from a bundle10 at a URL, whose length and digests the part has.

use super::Application;
use crate::ExchangeError;
use crate::format::bundle::{Bundle, open_bundle};
use crate::format::limits::BundleLimits;
use crate::format::part::PartHeader;
use crate::format::part::remote_changegroup::{self, RemoteChangegroup};
use crate::format::part::reply::Reply;
use sha1::digest::DynDigest;
use std::io::{self, Read};
use std::time::Duration;
use varve_repo::Phase;

/// Time for the whole download of a pushed bundle: the store is locked meanwhile.
const PUSH_TIMEOUT: Duration = Duration::from_secs(600);

/// Counts and digests the bytes of `source`.
struct Measured<R> {
    source: R,
    len: u64,
    digests: Vec<Box<dyn DynDigest + Send>>,
}

impl<R: Read> Read for Measured<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(bytes)?;
        self.len += read as u64;
        for digest in &mut self.digests {
            digest.update(&bytes[..read]);
        }
        Ok(read)
    }
}

impl<R: Read> Measured<R> {
    /// Compares length and digests with those of the part.
    fn check(mut self, announced: &RemoteChangegroup) -> Result<(), ExchangeError> {
        let wrong = |reason| ExchangeError::RemoteDamaged {
            url: announced.url.clone(),
            reason,
        };
        let expected = announced.size;
        // One byte more is enough to see that there are too many.
        let left = u64::try_from(expected).unwrap_or(0).saturating_add(1);
        let left = left.saturating_sub(self.len);
        let rest = io::copy(&mut (&mut self).take(left), &mut io::sink());
        rest.map_err(ExchangeError::Read)?;
        if i64::try_from(self.len) != Ok(expected) {
            let got = self.len;
            return Err(wrong(format!(
                "size mismatch: expected {expected}, got {got}"
            )));
        }
        for ((kind, expected), digest) in announced.digests.iter().zip(self.digests) {
            let bytes = digest.finalize();
            let got: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            if got != *expected {
                return Err(wrong(format!(
                    "{kind} mismatch: expected {expected}, got {got}"
                )));
            }
        }
        Ok(())
    }
}

fn digest(kind: &str) -> Option<Box<dyn DynDigest + Send>> {
    match kind {
        "md5" => Some(Box::new(md5::Md5::default())),
        "sha1" => Some(Box::new(sha1::Sha1::default())),
        "sha512" => Some(Box::new(sha2::Sha512::default())),
        _ => None,
    }
}

impl Application<'_> {
    pub(super) fn remote_changegroup(&mut self, header: &PartHeader) -> Result<(), ExchangeError> {
        let announced = remote_changegroup::decode(header)?;
        let unknown = || header.unknown();
        let digests = announced.digests.iter();
        let digests = digests.map(|(kind, _)| digest(kind).ok_or_else(unknown));
        let downloads = self.options.downloads.ok_or_else(unknown)?;
        let timeout = self.options.push.is_some().then_some(PUSH_TIMEOUT);
        let mut measured = Measured {
            digests: digests.collect::<Result<_, _>>()?,
            source: downloads.download(&announced.url, timeout)?,
            len: 0,
        };
        let is_none = |reason: String| ExchangeError::RemoteBundle {
            url: announced.url.clone(),
            reason,
        };
        let changes = match open_bundle(&mut measured, BundleLimits::default()) {
            Ok(Bundle::Bundle10(changes)) => changes,
            Ok(_) => return Err(is_none("not a bundle version 1.0".to_owned())),
            Err(
                error @ (ExchangeError::NotABundle
                | ExchangeError::UnknownBundleVersion(_)
                | ExchangeError::UnknownCompression(_)),
            ) => return Err(is_none(error.to_string())),
            Err(error) => return Err(error),
        };
        let heads = self.changegroup(changes, true, Phase::Draft)?;
        measured.check(&announced)?;
        if let Some(push) = &mut self.options.push {
            push.replies.add(header, Reply::RemoteChangegroup { heads });
        }
        Ok(())
    }
}
