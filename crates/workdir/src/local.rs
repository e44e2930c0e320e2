//! How a tracked file of the working copy stands against the first parent.

use crate::files::kind_of_mode;
use crate::{Dirstate, Match, State, Tree, WorkdirError, WorkingFiles};

/// How a file stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// As in the first parent.
    Clean,
    /// Different, or touched by a merge.
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

/// Tells how one file stands. `parent` has the files of the first parent.
///
/// # Errors
/// What cannot be read.
pub fn standing(
    path: &[u8],
    dirstate: &Dirstate,
    parent: &Tree<'_>,
    files: &WorkingFiles,
) -> Result<Standing, WorkdirError> {
    let Some(item) = dirstate.get(path) else {
        return Ok(Standing::Unknown);
    };
    if !item.is_tracked() {
        return Ok(Standing::Removed);
    }
    let Some(seen) = files.seen(path)? else {
        return Ok(Standing::Missing);
    };
    if item.state() == State::Added {
        return Ok(Standing::Added);
    }
    match item.compare(&seen) {
        Match::Same => Ok(Standing::Clean),
        Match::Different => Ok(Standing::Modified),
        Match::Unsure => {
            let Some((node, kind)) = parent.get(path)? else {
                return Ok(Standing::Modified);
            };
            let same = kind == kind_of_mode(seen.mode)
                && files.read(path)?.0 == parent.content(path, &node)?;
            Ok(if same {
                Standing::Clean
            } else {
                Standing::Modified
            })
        }
    }
}
