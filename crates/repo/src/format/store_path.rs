//! From a tracked file's name to the file of the store that holds its history.
//!
//! Names go through up to three steps, so that any name can be stored on any file system:
//! 1. directories that look like revlogs (`x.i/`, `x.d/`, `x.hg/`) get `.hg` appended;
//! 2. capitals become `_` and the small letter, `_` is doubled, and bytes that some system does
//!    not allow become `~` and two hexadecimal digits;
//! 3. per component, names that Windows reserves and dots or spaces at an end are escaped.
//!
//! If the result is longer than 120 bytes, the name becomes `dh/`, shortened directories and a hash.
//! Source: the behaviour of Mercurial 7.2's `store.py`, recorded in `tests/golden/store-paths.txt`.

use crate::format::Requirements;
use sha1::{Digest, Sha1};
use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use varve_revlog::Node;

/// Longest path below the store that is not hashed.
const LONGEST_PLAIN: usize = 120;
/// Bytes kept of each directory of a hashed name.
const DIRECTORY_PREFIX: usize = 8;
/// Bytes of all kept directories together, slashes between them included.
const DIRECTORIES_LEN: usize = 68;

/// Which of the steps a repository uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreLayout {
    /// Steps 1 and 2 only; no list of files is kept.
    Plain,
    /// All steps with a list of files; `dotencode` escapes a leading dot or space too.
    Listed { dotencode: bool },
}

impl StoreLayout {
    pub fn of(requirements: &Requirements) -> StoreLayout {
        if requirements.has("fncache") {
            StoreLayout::Listed {
                dotencode: requirements.has("dotencode"),
            }
        } else {
            StoreLayout::Plain
        }
    }

    /// Path below the store of a name such as `data/src/a.c.i`.
    pub fn path(self, name: &[u8]) -> PathBuf {
        let encoded = match self {
            StoreLayout::Plain => escape(&encode_directories(name), true),
            StoreLayout::Listed { dotencode } => encode(name, dotencode),
        };
        PathBuf::from(OsStr::from_bytes(&encoded))
    }
}

/// Step 1, as names stand in `fncache` and in the first version of stream clones.
pub fn encode_directories(name: &[u8]) -> Cow<'_, [u8]> {
    let looks_like_revlog = |directory: &&[u8]| {
        [&b".i"[..], b".d", b".hg"]
            .iter()
            .any(|end| directory.ends_with(end))
    };
    let Some(slash) = name.iter().rposition(|byte| *byte == b'/') else {
        return Cow::Borrowed(name);
    };
    let (directories, file) = name.split_at(slash);
    if !directories.split(is_slash).any(|f| looks_like_revlog(&f)) {
        return Cow::Borrowed(name);
    }
    let mut out = Vec::with_capacity(name.len() + 8);
    for directory in directories.split(is_slash) {
        out.extend_from_slice(directory);
        if looks_like_revlog(&directory) {
            out.extend_from_slice(b".hg");
        }
        out.push(b'/');
    }
    out.extend_from_slice(&file[1..]);
    Cow::Owned(out)
}

/// Undoes step 1.
pub fn decode_directories(name: &[u8]) -> Cow<'_, [u8]> {
    let encoded = |directory: &&[u8]| {
        [&b".i.hg"[..], b".d.hg", b".hg.hg"]
            .iter()
            .any(|end| directory.ends_with(end))
    };
    let Some(slash) = name.iter().rposition(|byte| *byte == b'/') else {
        return Cow::Borrowed(name);
    };
    let (directories, file) = name.split_at(slash);
    if !directories.split(is_slash).any(|f| encoded(&f)) {
        return Cow::Borrowed(name);
    }
    let mut out = Vec::with_capacity(name.len());
    for directory in directories.split(is_slash) {
        let keep = directory.len() - if encoded(&directory) { 3 } else { 0 };
        out.extend_from_slice(&directory[..keep]);
        out.push(b'/');
    }
    out.extend_from_slice(&file[1..]);
    Cow::Owned(out)
}

fn is_slash(byte: &u8) -> bool {
    *byte == b'/'
}

fn push_escaped(byte: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |half: u8| DIGITS[usize::from(half & 15)];
    out.extend_from_slice(&[b'~', digit(byte >> 4), digit(byte)]);
}

/// Step 2. Without `reversible`, capitals only become small letters.
pub(crate) fn escape(name: &[u8], reversible: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len() + 16);
    for byte in name {
        match byte {
            0..=31 | 126..=255 => push_escaped(*byte, &mut out),
            b'\\' | b':' | b'*' | b'?' | b'"' | b'<' | b'>' | b'|' => {
                push_escaped(*byte, &mut out);
            }
            b'_' if reversible => out.extend_from_slice(b"__"),
            b'A'..=b'Z' => {
                if reversible {
                    out.push(b'_');
                }
                out.push(byte.to_ascii_lowercase());
            }
            _ => out.push(*byte),
        }
    }
    out
}

/// Undoes step 2; `None` if the name did not come from it.
pub(crate) fn unescape(name: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(name.len());
    let mut rest = name;
    loop {
        rest = match rest {
            [] => return Some(out),
            [b'~', high, low, rest @ ..] => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                out.push(u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()?);
                rest
            }
            [b'_', b'_', rest @ ..] => {
                out.push(b'_');
                rest
            }
            [b'_', small @ b'a'..=b'z', rest @ ..] => {
                out.push(small.to_ascii_uppercase());
                rest
            }
            [b'~' | b'_' | b'A'..=b'Z', ..] => return None,
            [byte, rest @ ..] => {
                out.push(*byte);
                rest
            }
        };
    }
}

/// Step 3 for one component.
fn guard(component: &[u8], dotencode: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(component.len() + 4);
    let stem = component
        .split(|byte| *byte == b'.')
        .next()
        .unwrap_or_default();
    let mut rest = component;
    match component {
        [first @ (b'.' | b' '), after @ ..] if dotencode => {
            push_escaped(*first, &mut out);
            rest = after;
        }
        [a, b, third, after @ ..] if is_reserved(stem) => {
            out.extend_from_slice(&[*a, *b]);
            push_escaped(*third, &mut out);
            rest = after;
        }
        _ => {}
    }
    match rest {
        [body @ .., last @ (b'.' | b' ')] => {
            out.extend_from_slice(body);
            push_escaped(*last, &mut out);
        }
        _ => out.extend_from_slice(rest),
    }
    out
}

fn is_reserved(stem: &[u8]) -> bool {
    matches!(
        stem,
        b"aux"
            | b"con"
            | b"prn"
            | b"nul"
            | [b'c', b'o', b'm', b'1'..=b'9']
            | [b'l', b'p', b't', b'1'..=b'9']
    )
}

fn guard_all(name: &[u8], dotencode: bool) -> Vec<Vec<u8>> {
    name.split(is_slash)
        .map(|part| guard(part, dotencode))
        .collect()
}

fn encode(name: &[u8], dotencode: bool) -> Vec<u8> {
    let name = encode_directories(name);
    let plain = guard_all(&escape(&name, true), dotencode).join(&b'/');
    if plain.len() <= LONGEST_PLAIN {
        plain
    } else {
        hashed(&name, dotencode)
    }
}

/// `name` is `data/…` after step 1.
fn hashed(name: &[u8], dotencode: bool) -> Vec<u8> {
    let below = name.get("data/".len()..).unwrap_or_default();
    let parts = guard_all(&escape(below, false), dotencode);
    let Some((file, directories)) = parts.split_last() else {
        return Vec::new();
    };
    let mut path = b"dh/".to_vec();
    let directories_start = path.len();
    for directory in directories {
        let mut short = directory[..directory.len().min(DIRECTORY_PREFIX)].to_vec();
        if let Some(last @ (b'.' | b' ')) = short.last_mut() {
            *last = b'_';
        }
        if path.len() - directories_start + short.len() > DIRECTORIES_LEN {
            break;
        }
        path.extend_from_slice(&short);
        path.push(b'/');
    }
    let digest = Sha1::digest(name);
    let hex = digest.iter().flat_map(|byte| {
        let mut pair = Vec::new();
        push_escaped(*byte, &mut pair);
        [pair[1], pair[2]]
    });
    let extension = Path::new(OsStr::from_bytes(file)).extension();
    let extension = extension.map_or_else(Vec::new, |e| [b".", e.as_bytes()].concat());
    let used = path.len() + 2 * Node::LEN + extension.len();
    let filler = LONGEST_PLAIN.saturating_sub(used).min(file.len());
    path.extend_from_slice(&file[..filler]);
    path.extend(hex);
    path.extend_from_slice(&extension);
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unquote(text: &str) -> Vec<u8> {
        let mut parts = text.split('%');
        let mut out = parts.next().unwrap().as_bytes().to_vec();
        for part in parts {
            out.push(u8::from_str_radix(&part[..2], 16).unwrap());
            out.extend_from_slice(&part.as_bytes()[2..]);
        }
        out
    }

    #[test]
    fn golden_names_are_encoded_as_mercurial_encodes_them() {
        let golden = include_str!("../../tests/golden/store-paths.txt");
        let mut count = 0;
        for line in golden.lines().skip(1) {
            let columns: Vec<_> = line.split('\t').map(unquote).collect();
            let [name, dotencode, listed, plain] = &columns[..] else {
                panic!("{line}");
            };
            let shown = String::from_utf8_lossy;
            assert_eq!(shown(&encode(name, true)), shown(dotencode), "{line}");
            assert_eq!(shown(&encode(name, false)), shown(listed), "{line}");
            let path = StoreLayout::Plain.path(name);
            assert_eq!(shown(path.as_os_str().as_bytes()), shown(plain), "{line}");
            count += 1;
        }
        assert!(count > 20, "only {count} names");
    }

    proptest! {
        #[test]
        fn what_is_reversible_comes_back(name in "data/([a-cA-C_~. é]{1,4}(\\.i|\\.d|\\.hg)?/){0,3}[a-c_A]{1,3}") {
            let name = name.as_bytes();
            prop_assert_eq!(decode_directories(&encode_directories(name)).into_owned(), name);
            prop_assert_eq!(unescape(&escape(name, true)), Some(name.to_vec()));
        }

        #[test]
        fn no_name_panics(name in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = (encode(&name, true), encode(&name, false), unescape(&name));
        }
    }
}
