//! Files of an amended changeset relative to its first parent.

use crate::{Status, Tree, WorkdirError, status_between};
use varve_lang::patterns::Matcher;
use varve_repo::{RepoView, Rev};

/// The status of an amended changeset relative to its first parent: the changes of the changeset `old` and, over
/// them, those in `status`.
///
/// # Errors
/// Damage in the repository.
pub fn amended_status(view: &RepoView, old: Rev, status: &Status) -> Result<Status, WorkdirError> {
    let parent = view.changelog().parents(old)[0];
    let tree = Tree::of(view, parent)?;
    let before = status_between(view, parent, Some(old), &Matcher::everything(), false)?;
    let mut amended = Status::default();
    let changed = [&before.modified, &before.added, &before.removed];
    let now = [&status.modified, &status.added, &status.removed];
    let mut paths: Vec<&Vec<u8>> = changed.into_iter().chain(now).flatten().collect();
    paths.sort_unstable();
    paths.dedup();
    for path in paths {
        let is_in = |list: &Vec<Vec<u8>>| list.binary_search(path).is_ok();
        let is_written = is_in(&status.modified) || is_in(&status.added);
        let is_gone = is_in(&status.removed) || is_in(&before.removed) && !is_written;
        let list = match (tree.get(path)?.is_some(), is_gone) {
            (true, true) => &mut amended.removed,
            (true, false) => &mut amended.modified,
            (false, true) => continue,
            (false, false) => &mut amended.added,
        };
        list.push(path.clone());
    }
    Ok(amended)
}
