//! Differences of a changeset to its first parent.

use crate::HistoryError;
use crate::current_files::{Entries, entries_of};
use crate::hunks::hunks;
use crate::text::text;
use varve_base::Interrupt;
use varve_json::{Object, Value};
use varve_repo::{FileText, Node, RepoView, Rev, RevlogError};

/// Files of one answer.
const MOST_FILES: usize = 1000;
/// Longer texts are not compared, in bytes.
const LONGEST: usize = 4 << 20;

/// `{"path", "change", "copied_from", "hunks"}` of each file that differs from the first parent, and is `path` or below it.
/// Files that are no texts, or longer than 4 MiB, have no hunks but `"binary": true`. At most 1,000 files.
///
/// # Errors
/// A damaged repository; [`HistoryError::Interrupted`].
pub fn differences(
    view: &RepoView,
    rev: Rev,
    path: &str,
    stop: &Interrupt,
) -> Result<Vec<Object>, HistoryError> {
    let [parent, _] = view.changelog().parents(rev);
    let own = entries_of(view, rev)?;
    let before = match parent {
        Some(parent) => entries_of(view, parent)?,
        None => Entries::new(),
    };
    let mut paths: Vec<&Vec<u8>> = own.keys().chain(before.keys()).collect();
    paths.sort_unstable();
    paths.dedup();
    let is_wanted = |file: &[u8]| {
        let rest = file.strip_prefix(path.as_bytes());
        path.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
    };
    let differs = |file: &&Vec<u8>| own.get(*file) != before.get(*file) && is_wanted(file);
    let mut found = Vec::new();
    for file in paths.into_iter().filter(differs).take(MOST_FILES) {
        stop.check()?;
        let [old, new] = [&before, &own].map(|side| side.get(file).map(|(node, _)| *node));
        found.push(difference(view, file, (old, new), &before)?);
    }
    Ok(found)
}

fn difference(
    view: &RepoView,
    file: &[u8],
    (old, new): (Option<Node>, Option<Node>),
    before: &Entries,
) -> Result<Object, HistoryError> {
    let (mut old_text, _) = read(view, file, old)?;
    let (new_text, source) = read(view, file, new)?;
    let change = match (old, new) {
        (None, _) => "added",
        (_, None) => "removed",
        _ => "modified",
    };
    let mut object = Object::new();
    object.insert("path", text(file));
    object.insert("change", change);
    // A copy whose source the parent has not was made before.
    if let Some(source) = source.filter(|_| old.is_none())
        && let Some((node, _)) = before.get(&source)
    {
        object.insert("copied_from", text(&source));
        (old_text, _) = read(view, &source, Some(*node))?;
    }
    let is_text = |content: &[u8]| content.len() <= LONGEST && !content.contains(&0);
    if is_text(&old_text) && is_text(&new_text) {
        let hunks = hunks(&old_text, &new_text);
        let hunks = hunks.iter().map(|hunk| Value::from(hunk.to_object()));
        object.insert("hunks", hunks.collect::<Value>());
    } else {
        object.insert("binary", true);
    }
    Ok(object)
}

/// Content of a file's revision, and the file that it was copied from; empty where there is none, or its text is not an
/// ordinary one.
fn read(
    view: &RepoView,
    file: &[u8],
    node: Option<Node>,
) -> Result<(Vec<u8>, Option<Vec<u8>>), HistoryError> {
    let Some(node) = node else {
        return Ok(Default::default());
    };
    let filelog = view.filelog(file)?;
    let Some(rev) = filelog.rev(&node) else {
        return Ok(Default::default());
    };
    match filelog.text(rev) {
        Ok(text) => {
            let parsed = FileText::parse(&text);
            let source = parsed.copied_from.map(|(source, _)| source.to_vec());
            Ok((parsed.content.to_vec(), source))
        }
        Err(RevlogError::Flagged { .. }) => Ok(Default::default()),
        Err(error) => Err(error.into()),
    }
}
