//! State of one file of the working copy relative to the first parent.

use crate::files::kind_of_mode;
use crate::{Dirstate, EntryState, StatMatch, Tree, WorkdirError, WorkingFiles};

/// State of a file relative to the first parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LocalState {
    /// The same as in the first parent.
    Clean,
    /// Different, or changed by a merge.
    Modified,
    /// Tracked, and not in the first parent.
    Added,
    /// No longer tracked.
    Removed,
    /// Tracked, and not on the disk.
    Missing,
    /// Not tracked, and not in the first parent.
    Unknown,
}

/// Determines the state of one file. `parent` has the files of the first parent.
///
/// # Errors
/// A failure to read the repository or the working copy.
pub fn local_state(
    path: &[u8],
    dirstate: &Dirstate,
    parent: &Tree<'_>,
    files: &WorkingFiles,
) -> Result<LocalState, WorkdirError> {
    let Some(item) = dirstate.get(path) else {
        return Ok(LocalState::Unknown);
    };
    if !item.is_tracked() {
        return Ok(LocalState::Removed);
    }
    let Some(seen) = files.stat(path)? else {
        return Ok(LocalState::Missing);
    };
    if item.state() == EntryState::Added {
        return Ok(LocalState::Added);
    }
    match item.compare(&seen) {
        StatMatch::Same => Ok(LocalState::Clean),
        StatMatch::Different => Ok(LocalState::Modified),
        StatMatch::Unsure => {
            let Some((node, kind)) = parent.get(path)? else {
                return Ok(LocalState::Modified);
            };
            let same = kind == kind_of_mode(seen.mode)
                && files.read(path)?.0 == parent.content(path, &node)?;
            Ok(if same {
                LocalState::Clean
            } else {
                LocalState::Modified
            })
        }
    }
}
