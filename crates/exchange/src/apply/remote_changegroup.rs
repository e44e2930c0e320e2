//! Changesets that lie elsewhere: a part names the URL of a bundle of the first version, how many bytes
//! that has, and digests of them.

use super::Applying;
use crate::ExchangeError;
use crate::client::peer::HttpPeer;
use crate::format::bundle::{Bundle, open_bundle};
use crate::format::bundle20::PartHeader;
use crate::format::limits::BundleLimits;
use sha1::digest::DynDigest;
use std::io::{self, Read};
use std::time::Duration;
use varve_repo::Phase;

/// Parameters that are understood.
pub(super) const OF_REMOTE: &[&str] = &[
    "url",
    "size",
    "digests",
    "digest:md5",
    "digest:sha1",
    "digest:sha512",
];

const SCHEMES: [&str; 2] = ["http", "https"];

/// How long others may have to wait for the lock because a server sends nothing.
const PATIENCE: Duration = Duration::from_secs(600);

/// What a part says of a bundle.
struct Announced {
    url: String,
    size: i64,
    /// Name and hex digits.
    digests: Vec<(String, String)>,
}

impl Announced {
    fn of(header: &PartHeader) -> Result<Announced, ExchangeError> {
        let said = |name: &str| {
            let value = header.value(name);
            value.map(|value| String::from_utf8_lossy(value).into_owned())
        };
        let wrong = |reason: String| ExchangeError::RemoteChangegroup(reason);
        let need =
            |name: &str| said(name).ok_or_else(|| wrong(format!(": missing \"{name}\" param")));
        let url = need("url")?;
        let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
        if !SCHEMES.contains(&scheme) {
            return Err(wrong(format!(" does not support {scheme} urls")));
        }
        let size = need("size")?.trim().parse();
        let size = size.map_err(|_| wrong(": invalid value for param \"size\"".to_owned()))?;
        let named = said("digests").unwrap_or_default();
        let digest = |kind: &str| -> Result<(String, String), ExchangeError> {
            let expected = need(&format!("digest:{kind}"))?;
            Ok((kind.to_owned(), expected))
        };
        Ok(Announced {
            digests: named
                .split_whitespace()
                .map(digest)
                .collect::<Result<_, _>>()?,
            size,
            url,
        })
    }
}

/// What is read, counted and digested.
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
    /// Compares what came with what was announced.
    fn check(mut self, announced: &Announced) -> Result<(), ExchangeError> {
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

impl Applying<'_> {
    pub(super) fn remote_changegroup(&mut self, header: &PartHeader) -> Result<(), ExchangeError> {
        let announced = Announced::of(header)?;
        let unknown = || header.unknown();
        let digests = announced.digests.iter();
        let digests = digests.map(|(kind, _)| digest(kind).ok_or_else(unknown));
        let options = self.how.downloads.clone().unwrap_or_default();
        let patience = self.how.pushed.is_some().then_some(PATIENCE);
        let mut measured = Measured {
            digests: digests.collect::<Result<_, _>>()?,
            source: HttpPeer::new(&announced.url, &options)?.download(patience)?,
            len: 0,
        };
        let is_none = |reason: String| ExchangeError::RemoteBundle {
            url: announced.url.clone(),
            reason,
        };
        let changes = match open_bundle(&mut measured, BundleLimits::default()) {
            Ok(Bundle::One(changes)) => changes,
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
        if let Some(pushed) = &mut self.how.pushed {
            pushed.replies.remote_changegroup(header, heads);
        }
        Ok(())
    }
}
