//! Markers as text, in the form of Mercurial's debug commands.

use super::{Marker, NO_PARENTS, VERSION, at, parse};
use std::fmt::Write;

/// A version, and lines where that is known.
pub type FormattedMarkers = (u8, Option<Vec<String>>);

/// A list of markers as text: its version, and a line for each, sorted, in the form of
/// Mercurial's debug commands. No lines where the version is not known.
///
/// # Errors
/// The number of the damaged marker, from 1, and its damage.
pub fn format_markers(bytes: &[u8]) -> Result<FormattedMarkers, (usize, &'static str)> {
    let version = bytes.first().copied().unwrap_or(VERSION);
    if version != VERSION {
        return Ok((version, None));
    }
    let mut markers = parse(bytes)?;
    markers.sort_by(|a, b| (a.old, &a.successors).cmp(&(b.old, &b.successors)));
    let lines = markers.iter().map(|marker| line(marker, bytes));
    Ok((version, Some(lines.collect())))
}

fn line(marker: &Marker, bytes: &[u8]) -> String {
    let mut line = marker.old.to_string();
    for successor in &marker.successors {
        let _ = write!(line, " {successor}");
    }
    let _ = write!(line, " {}", u8::from(marker.is_bumped_fix));
    let recorded = bytes.get(marker.range.start + at::PARENTS);
    if recorded.is_some_and(|count| *count != NO_PARENTS) {
        let parents: Vec<String> = marker.parents.iter().map(ToString::to_string).collect();
        let _ = write!(line, " {{{}}}", parents.join(", "));
    }
    let mut metadata = marker.metadata.clone();
    metadata.sort();
    let metadata: Vec<String> = metadata
        .iter()
        .map(|(key, value)| format!("{}: {}", python_repr(key), python_repr(value)))
        .collect();
    let _ = write!(
        line,
        " ({}) {{{}}}",
        marker.date.default_format(),
        metadata.join(", ")
    );
    line
}

/// Bytes between quotation marks, as Python shows them.
pub fn python_repr(bytes: &[u8]) -> String {
    let mark = match bytes.contains(&b'\'') && !bytes.contains(&b'"') {
        true => '"',
        false => '\'',
    };
    let mut out = String::from(mark);
    for byte in bytes {
        match byte {
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            b'\'' if mark == '\'' => out.push_str("\\'"),
            b' '..=b'~' => out.push(char::from(*byte)),
            other => {
                let _ = write!(out, "\\x{other:02x}");
            }
        }
    }
    out.push(mark);
    out
}

#[cfg(test)]
mod tests {
    use super::python_repr as quoted;
    use super::*;

    #[test]
    fn bytes_are_quoted_as_python_quotes_them() {
        assert_eq!(quoted(b"a b"), "'a b'");
        assert_eq!(quoted(b"it's"), "\"it's\"");
        assert_eq!(quoted(b"it's \"x\""), "'it\\'s \"x\"'");
        assert_eq!(quoted(b"\n\\\x01\xff"), "'\\n\\\\\\x01\\xff'");
    }

    #[test]
    fn an_unknown_version_and_damage_are_told() {
        assert_eq!(format_markers(b"\x07rest"), Ok((7, None)));
        assert_eq!(format_markers(b""), Ok((1, Some(Vec::new()))));
        assert!(format_markers(b"\x01cut").is_err());
    }
}
