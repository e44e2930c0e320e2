//! The npm package of Fauxton: which one it must be, and which of its files are served. The build script and the
//! tests read it; the program has only what the build made of it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha512};
use std::fmt::Write as _;
use std::io::{self, Read, Write as _};
use std::path::Path;

/// Directory of the package with the built pages.
const PAGES: &str = "package/dist/release/";
/// The only file outside of it that is served.
const LICENCE: (&str, &str) = ("package/LICENSE", "LICENSE");
/// Bytes that all served files may have together.
const LONGEST: u64 = 32 << 20;

/// Why a package is not taken.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// The file with version and hash has another form.
    #[error("fauxton.lock must have a line `NAME VERSION` and a line `sha512-HASH`")]
    Lock,
    /// Other bytes than the locked ones.
    #[error("the package has the hash {found}, and fauxton.lock demands {wanted}")]
    Hash {
        /// Hash of the given archive.
        found: String,
        /// Hash in the lock.
        wanted: String,
    },
    /// No archive that can be read.
    #[error("cannot read the package")]
    Archive(#[from] io::Error),
    /// A file in it that cannot be served.
    #[error("the package has {0:?}, which cannot be served")]
    File(String),
    /// The package lacks its start page or its licence.
    #[error("the package has no {0}")]
    Missing(&'static str),
}

/// Version and hash of the package that is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// Name in the registry.
    pub name: String,
    /// Version in the registry.
    pub version: String,
    /// `sha512-` and the hash of the archive in base64, as npm writes it.
    pub integrity: String,
}

impl Lock {
    /// Reads `fauxton.lock`.
    ///
    /// # Errors
    /// [`PackageError::Lock`].
    pub fn parse(text: &str) -> Result<Lock, PackageError> {
        let mut lines = text.lines();
        let (name, version) = lines
            .next()
            .and_then(|line| line.split_once(' '))
            .ok_or(PackageError::Lock)?;
        let integrity = lines.next().filter(|line| line.starts_with("sha512-"));
        Ok(Lock {
            name: name.to_owned(),
            version: version.to_owned(),
            integrity: integrity.ok_or(PackageError::Lock)?.to_owned(),
        })
    }

    /// Refuses any other archive than the locked one.
    ///
    /// # Errors
    /// [`PackageError::Hash`].
    pub fn check(&self, archive: &[u8]) -> Result<(), PackageError> {
        let found = format!("sha512-{}", STANDARD.encode(Sha512::digest(archive)));
        match found == self.integrity {
            true => Ok(()),
            false => Err(PackageError::Hash {
                found,
                wanted: self.integrity.clone(),
            }),
        }
    }
}

/// A file as the program holds it.
#[derive(Debug)]
pub struct Stored {
    /// Path relative to the console.
    pub path: String,
    /// Its media type.
    pub media_type: &'static str,
    /// Bytes before compression.
    pub length: usize,
    /// The whole file, or the whole file as gzip.
    pub bytes: Vec<u8>,
    /// Whether `bytes` are gzip.
    pub is_gzip: bool,
    /// Whether the name changes with the contents.
    pub is_versioned: bool,
    /// Tag of the contents, without quotes.
    pub tag: String,
}

/// The files of a checked archive that are served, in order of their paths.
///
/// # Errors
/// An archive that cannot be read, or lacks what a console needs.
pub fn read(archive: &[u8]) -> Result<Vec<Stored>, PackageError> {
    let mut archive = tar::Archive::new(GzDecoder::new(archive));
    let mut files = Vec::new();
    let mut room = LONGEST;
    for entry in archive.entries()? {
        let mut entry = entry?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let path = match name.strip_prefix(PAGES) {
            Some(path) => path,
            None if name == LICENCE.0 => LICENCE.1,
            None => continue,
        };
        if entry.header().entry_type().is_dir() {
            continue;
        }
        let too_long = || PackageError::File(name.clone());
        room = room.checked_sub(entry.size()).ok_or_else(too_long)?;
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        files.push(store(path, bytes)?);
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    for needed in ["index.html", LICENCE.1] {
        if !files.iter().any(|file| file.path == needed) {
            return Err(PackageError::Missing(needed));
        }
    }
    Ok(files)
}

fn store(path: &str, bytes: Vec<u8>) -> Result<Stored, PackageError> {
    let is_plain = |part: &str| {
        let mut letters = part.bytes();
        letters.all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
            && !part.trim_matches('.').is_empty()
    };
    let media_type = media_type(path).filter(|_| path.split('/').all(is_plain));
    let media_type = media_type.ok_or_else(|| PackageError::File(path.to_owned()))?;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&bytes)?;
    let packed = encoder.finish()?;
    // Pictures and fonts are compressed already: unpacking them for each request would save less than a tenth.
    let is_gzip = packed.len() < bytes.len() / 10 * 9;
    let mut tag = String::new();
    for byte in &Sha512::digest(&bytes)[..16] {
        let _ = write!(tag, "{byte:02x}");
    }
    Ok(Stored {
        path: path.to_owned(),
        media_type,
        length: bytes.len(),
        bytes: if is_gzip { packed } else { bytes },
        is_gzip,
        is_versioned: is_versioned(path),
        tag,
    })
}

/// Whether a name such as `bundle.0123456789abcdef.js` carries a hash of its contents.
fn is_versioned(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_hash = |part: &str| part.len() >= 16 && part.bytes().all(|b| b.is_ascii_hexdigit());
    name.split('.').any(is_hash)
}

fn media_type(path: &str) -> Option<&'static str> {
    let end = Path::new(path).extension().and_then(|end| end.to_str());
    Some(match end {
        Some("css") => "text/css; charset=utf-8",
        Some("eot") => "application/vnd.ms-fontobject",
        Some("gif") => "image/gif",
        Some("html") => "text/html; charset=utf-8",
        Some("ico") => "image/x-icon",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("js") => "text/javascript; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("png") => "image/png",
        Some("svg") => "image/svg+xml",
        Some("ttf") => "font/ttf",
        Some("txt") => "text/plain; charset=utf-8",
        Some("woff") => "font/woff",
        Some("woff2") => "font/woff2",
        None if path == LICENCE.1 => "text/plain; charset=utf-8",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (path, bytes) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            // The name as it is: `tar` itself writes none that leads upward.
            header.as_gnu_mut().unwrap().name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_cksum();
            archive.append(&header, *bytes).unwrap();
        }
        archive.into_inner().unwrap().finish().unwrap()
    }

    const LEAST: [(&str, &[u8]); 2] = [
        ("package/LICENSE", b"licence"),
        ("package/dist/release/index.html", b"<p>"),
    ];

    fn with(path: &str, bytes: &[u8]) -> Result<Vec<Stored>, String> {
        let mut files = LEAST.to_vec();
        files.push((path, bytes));
        read(&archive(&files)).map_err(|error| error.to_string())
    }

    #[test]
    fn pages_and_the_licence_are_served_and_nothing_else() {
        let script = b"function () {} ".repeat(100);
        let files = with("package/dist/release/js/a.0123456789abcdef.js", &script).unwrap();
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["LICENSE", "index.html", "js/a.0123456789abcdef.js"]);
        let [_, page, script_file] = &files[..] else {
            unreachable!()
        };
        assert!(!page.is_gzip && !page.is_versioned);
        assert_eq!(page.media_type, "text/html; charset=utf-8");
        assert!(script_file.is_gzip && script_file.is_versioned);
        assert_eq!(script_file.length, script.len());
        let mut unpacked = Vec::new();
        GzDecoder::new(&script_file.bytes[..])
            .read_to_end(&mut unpacked)
            .unwrap();
        assert_eq!(unpacked, script);
        assert_ne!(page.tag, script_file.tag);
        assert_eq!(with("package/bin/fauxton", b"#!").unwrap().len(), 2);
    }

    #[test]
    fn files_that_cannot_be_served_are_refused() {
        for path in ["a.exe", "../a.js", "a b.js", "..", "x/%2e.js", "a"] {
            let words = with(&format!("{PAGES}{path}"), b"").unwrap_err();
            assert!(words.ends_with("which cannot be served"), "{words}");
        }
    }

    #[test]
    fn a_package_without_a_page_or_a_licence_is_refused() {
        for left_out in [0, 1] {
            let files = [LEAST[1 - left_out]];
            let error = read(&archive(&files)).unwrap_err();
            assert!(matches!(error, PackageError::Missing(_)), "{error}");
        }
        let whole = archive(&LEAST);
        assert!(read(&whole[..whole.len() / 2]).is_err());
        assert!(read(b"").is_err());
    }

    #[test]
    fn only_the_locked_bytes_are_taken() {
        // The hash of an empty file, as `npm` writes it.
        let empty = "z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==";
        let lock = Lock::parse(&format!("fauxton 1.2.3\nsha512-{empty}\n")).unwrap();
        assert_eq!(
            (lock.name.as_str(), lock.version.as_str()),
            ("fauxton", "1.2.3")
        );
        lock.check(b"").unwrap();
        let refused = lock.check(b"x").unwrap_err();
        assert!(matches!(refused, PackageError::Hash { .. }), "{refused}");
        for text in ["", "fauxton\nsha512-x", "fauxton 1\nsha1-x", "fauxton 1\n"] {
            assert!(Lock::parse(text).is_err(), "{text}");
        }
    }
}
