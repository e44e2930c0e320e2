//! `diffcontains`: changesets that added or removed lines with a match.

use super::arguments;
use crate::set::Predicate;
use crate::tree::Expr;
use crate::{Engine, RevsetError, Set};
use varve_lang::patterns::{LineSearch, PythonRegexError, why_invalid};
use varve_repo::{RepoView, Rev, changed_lines};

/// Changesets against whose first parent a line with the pattern was added or removed.
pub(super) fn diff_contains(
    engine: &Engine<'_>,
    name: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let [pattern] = arguments::keyed(name, ["pattern"], arguments)?;
    let missing = || RevsetError::parse("diffcontains takes at least 1 argument");
    let wrong = "diffcontains requires a string pattern";
    let pattern = arguments::word(pattern.ok_or_else(missing)?, wrong)?;
    let search = line_search(pattern)?;
    let test = move |engine: &Engine<'_>, rev: Rev| {
        let files: Vec<Vec<u8>> = engine.with_changeset(rev, |changeset| {
            changeset.files().map(<[u8]>::to_vec).collect()
        })?;
        changes_match(engine.view(), rev, &files, &search)
    };
    Ok(engine.everything().filter(Predicate::Rev(Box::new(test))))
}

/// The search for a text, or behind `re:` for a regular expression of Python.
fn line_search(pattern: &[u8]) -> Result<LineSearch, RevsetError> {
    let regex = match pattern.strip_prefix(b"re:") {
        Some(regex) => regex.to_vec(),
        None => escaped(pattern.strip_prefix(b"literal:").unwrap_or(pattern)),
    };
    LineSearch::new(&regex, false).map_err(|error| {
        let reason = match error {
            PythonRegexError::Invalid => why_invalid(&regex),
            other => other.to_string(),
        };
        RevsetError::parse(format!("invalid regular expression: {reason}"))
    })
}

/// A regular expression for a text.
fn escaped(text: &[u8]) -> Vec<u8> {
    let mut regex = Vec::with_capacity(text.len());
    for byte in text {
        if byte.is_ascii_punctuation() {
            regex.push(b'\\');
        }
        regex.push(*byte);
    }
    regex
}

/// Whether a line with a match is in one of a changeset and its first parent only.
fn changes_match(
    view: &RepoView,
    rev: Rev,
    files: &[Vec<u8>],
    search: &LineSearch,
) -> Result<bool, RevsetError> {
    if files.is_empty() {
        return Ok(false);
    }
    let [parent, _] = view.changelog().parents(rev);
    let manifests = [view.manifest_text(parent)?, view.manifest_text(Some(rev))?];
    for path in files {
        let [old, new] = [
            view.find_in_manifest(&manifests[0], path)?,
            view.find_in_manifest(&manifests[1], path)?,
        ];
        let Some(new) = new else { continue };
        let before = match old {
            Some(old) if old.node == new.node => continue,
            Some(old) => view.file_content(path, &old.node)?,
            None => Vec::new(),
        };
        let now = view.file_content(path, &new.node)?;
        let matched = search.lines(&now).collect();
        if !changed_lines(search, &before, matched).is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}
