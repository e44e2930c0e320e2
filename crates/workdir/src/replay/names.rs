//! Files in the place of directories.

use crate::WorkdirError;
use crate::tree::{Difference, Tree};

/// Whether no new file would stand where our side has a directory, nor below a file of our side.
pub(super) fn are_free(
    [_, ours, _]: [&Tree<'_>; 3],
    changed: &[Difference<'_>],
) -> Result<bool, WorkdirError> {
    for (path, _, after) in changed {
        if after.is_none() || ours.get(path)?.is_some() {
            continue;
        }
        let above = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        for (slash, _) in above {
            if ours.get(&path[..slash])?.is_some() {
                return Ok(false);
            }
        }
        let below = [path, &b"/"[..]].concat();
        for entry in ours.iter() {
            if entry?.path.starts_with(&below) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
