//! The lines of an `hgrc` file.
//!
//! ```text
//! # a comment, also ; at the beginning of a line
//! [section]
//! key = value            to the end of the line, whatever is in it
//!  more                  an indented line continues the value above it
//! %unset key             forgets the value from an earlier line or file
//! %include other/file    read here; relative to this file's directory; may be missing
//! ```

use super::{Files, Hgrc, HgrcError, SettingSource, is_absent};
use std::path::Path;

/// How deep files may include each other.
const MAX_DEPTH: usize = 50;

/// One line, by its form alone.
enum Line<'a> {
    Blank,
    Section(&'a [u8]),
    Pair(&'a [u8], &'a [u8]),
    Indented(&'a [u8]),
    Unset(&'a [u8]),
    Include(&'a [u8]),
    Malformed,
}

pub(super) fn add(
    hgrc: &mut Hgrc,
    files: &dyn Files,
    path: &Path,
    text: &[u8],
    depth: usize,
) -> Result<(), HgrcError> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut section: Vec<u8> = Vec::new();
    // The value that an indented line would continue, and whether only comments stand between.
    let mut open: Option<(Vec<u8>, Vec<u8>)> = None;
    for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let place = || SettingSource::Line(path.to_owned(), index + 1);
        let refuse = |text: String| HgrcError::Syntax {
            place: place(),
            text,
        };
        let shown = String::from_utf8_lossy(line);
        match sort(line) {
            Line::Indented(more) => {
                let (key, value) = open.as_mut().ok_or_else(|| {
                    refuse(format!(
                        "unexpected leading whitespace: {}",
                        shown.trim_end()
                    ))
                })?;
                value.push(b'\n');
                value.extend_from_slice(more);
                // The value counts as written where it ends.
                hgrc.set(&section, key, value, place());
                continue;
            }
            Line::Blank if line.starts_with(b"#") || line.starts_with(b";") => continue,
            Line::Blank => {}
            Line::Section(name) => {
                section = name.to_vec();
                hgrc.begin_section(name);
            }
            Line::Pair(key, value) => {
                hgrc.set(&section, key, value, place());
                open = Some((key.to_vec(), value.to_vec()));
                continue;
            }
            Line::Unset(key) => hgrc.unset(&section, key),
            Line::Include(name) => include(hgrc, files, path, name, depth)
                .map_err(|fault| fault.unwrap_or_else(refuse))?,
            Line::Malformed => return Err(refuse(shown.trim_end().to_owned())),
        }
        open = None;
    }
    Ok(())
}

/// Why a file was not included: an error inside it, or words about this line.
enum Fault {
    Inside(HgrcError),
    Here(String),
}

impl Fault {
    fn unwrap_or_else(self, refuse: impl Fn(String) -> HgrcError) -> HgrcError {
        match self {
            Fault::Inside(error) => error,
            Fault::Here(text) => refuse(text),
        }
    }
}

fn include(
    hgrc: &mut Hgrc,
    files: &dyn Files,
    from: &Path,
    name: &[u8],
    depth: usize,
) -> Result<(), Fault> {
    let written = files.expand(name);
    let path = from
        .parent()
        .map_or(written.clone(), |dir| dir.join(&written));
    let cannot =
        |reason: &str| Fault::Here(format!("cannot include {} ({reason})", written.display()));
    if depth == MAX_DEPTH {
        return Err(cannot("files include each other too deeply"));
    }
    match files.read(&path) {
        Ok(text) => add(hgrc, files, &path, &text, depth + 1).map_err(Fault::Inside),
        Err(error) if is_absent(&error) => Ok(()),
        Err(error) => Err(cannot(reason(&error))),
    }
}

/// The system's words without Rust's `(os error 21)`.
fn reason(error: &std::io::Error) -> &'static str {
    use std::io::ErrorKind::{IsADirectory, PermissionDenied};
    match error.kind() {
        IsADirectory => "Is a directory",
        PermissionDenied => "Permission denied",
        _ => "it cannot be read",
    }
}

fn sort(line: &[u8]) -> Line<'_> {
    let text = line.trim_ascii_end();
    match text {
        [] | [b'#' | b';', ..] => Line::Blank,
        [first, ..] if first.is_ascii_whitespace() => Line::Indented(text.trim_ascii_start()),
        [b'[', rest @ ..] => {
            let end = rest.iter().position(|byte| *byte == b']');
            match end {
                Some(end) if end > 0 && !rest[..end].contains(&b'[') => Line::Section(&rest[..end]),
                _ => Line::Malformed,
            }
        }
        _ => pair_or_directive(text),
    }
}

fn pair_or_directive(text: &[u8]) -> Line<'_> {
    if let Some(equals) = text.iter().position(|byte| *byte == b'=') {
        return match text[..equals].trim_ascii_end() {
            [] => Line::Malformed,
            key => Line::Pair(key, text[equals + 1..].trim_ascii()),
        };
    }
    let words = |name: &[u8]| {
        let rest = text.strip_prefix(name)?;
        let rest = rest.first()?.is_ascii_whitespace().then_some(rest)?;
        Some(rest.trim_ascii())
    };
    if let Some(name) = words(b"%include") {
        return Line::Include(name);
    }
    match words(b"%unset") {
        Some(rest) => {
            let mut parts = rest.split(u8::is_ascii_whitespace);
            Line::Unset(parts.next().unwrap_or_default())
        }
        None => Line::Malformed,
    }
}
