//! Names of output files by a form in which letters behind `%` stand for something else.

use crate::ui::{Abort, short_hex};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use varve_repo::{RepoView, Rev, WORKING_NODE};
use varve_revset::WORKING_COPY;

/// The content of a file that gets a name; some letters are about one kind only.
pub(super) enum OutputContent<'a> {
    /// The file at this path of the changeset.
    File(&'a [u8]),
    /// One of a series of patches, by its index.
    Patch(&'a [Option<Rev>], usize),
    /// All files of the changeset.
    Archive,
}

/// The name that a form gives to a file.
///
/// # Errors
/// A letter stands for nothing, or for nothing in such content; damage in the repository.
pub(super) fn output_name(
    form: &[u8],
    (view, rev): (&RepoView, Option<Rev>),
    content: &OutputContent<'_>,
) -> Result<OsString, Abort> {
    let mut out = Vec::new();
    let mut bytes = form.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let letter = bytes.next();
        let letter =
            letter.ok_or_else(|| Abort::new("incomplete format spec in output filename"))?;
        let text = match of_changeset(letter, view, rev)? {
            Some(text) => Some(text),
            None => match content {
                OutputContent::File(path) => of_file(letter, path, rev),
                OutputContent::Patch(revs, index) => of_patch(letter, revs, *index),
                OutputContent::Archive => {
                    (letter == b'r').then(|| number(rev).to_string().into_bytes())
                }
            },
        };
        out.extend(text.ok_or_else(|| {
            let letter = char::from(letter);
            Abort::new(format!(
                "invalid format spec '%{letter}' in output filename"
            ))
        })?);
    }
    Ok(OsString::from_vec(out))
}

fn number(rev: Option<Rev>) -> i64 {
    rev.map_or(-1, |rev| i64::from(rev.0))
}

fn of_changeset(letter: u8, view: &RepoView, rev: Option<Rev>) -> Result<Option<Vec<u8>>, Abort> {
    let node = match rev {
        Some(WORKING_COPY) => WORKING_NODE,
        rev => view.changelog().node_or_null(rev),
    };
    Ok(Some(match letter {
        b'%' => b"%".to_vec(),
        b'b' => {
            let base = view.root().file_name().unwrap_or_default();
            base.as_bytes().to_vec()
        }
        b'h' => short_hex(&node).into(),
        b'H' => node.to_hex().to_vec(),
        b'R' => number(rev).to_string().into_bytes(),
        b'm' => first_line(view, rev)?,
        _ => return Ok(None),
    }))
}

fn of_file(letter: u8, path: &[u8], rev: Option<Rev>) -> Option<Vec<u8>> {
    let slash = path.iter().rposition(|byte| *byte == b'/');
    Some(match letter {
        b'd' => slash.map_or(&b"."[..], |slash| &path[..slash]).to_vec(),
        b's' => slash.map_or(path, |slash| &path[slash + 1..]).to_vec(),
        b'p' => path.to_vec(),
        // For series of files `%r` has leading zeros; here each is alone.
        b'r' => number(rev).to_string().into_bytes(),
        _ => return None,
    })
}

fn of_patch(letter: u8, revs: &[Option<Rev>], index: usize) -> Option<Vec<u8>> {
    let total = revs.len().to_string();
    Some(match letter {
        b'N' => total.into_bytes(),
        b'n' => format!("{:0width$}", index + 1, width = total.len()).into_bytes(),
        b'r' => {
            let newest = revs.iter().copied().map(number).max();
            let width = newest.unwrap_or_default().to_string().len();
            let rev = revs.get(index).copied().flatten();
            format!("{:0width$}", number(rev)).into_bytes()
        }
        _ => return None,
    })
}

/// The first line of a description, with `_` for all but letters, digits and `_`.
fn first_line(view: &RepoView, rev: Option<Rev>) -> Result<Vec<u8>, Abort> {
    let Some(rev) = rev.filter(|rev| *rev != WORKING_COPY) else {
        return Ok(Vec::new());
    };
    let line = view.with_changeset(rev, |changeset| {
        let text = changeset.description.trim_ascii();
        text.split(|byte| *byte == b'\n').next().map(<[u8]>::to_vec)
    })?;
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let line = line.unwrap_or_default();
    Ok(line
        .iter()
        .map(|byte| if is_word(byte) { *byte } else { b'_' })
        .collect())
}
