//! The working copy at another changeset, which may be of the batch: a working copy without changes goes there.

use crate::tree::{Tree, differences};
use crate::{Dirstate, Tracking, WorkdirError, WorkingFiles};
use varve_repo::{CommitBatch, Node, Repository};

/// Files that a checkout has written and removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedOut {
    /// Written files, sorted.
    pub written: Vec<Vec<u8>>,
    /// Removed files, sorted.
    pub removed: Vec<Vec<u8>>,
}

/// Gives the working copy, which has the files of `from`, those of `to`.
pub(super) fn check_out(
    repository: &Repository,
    dirstate: &mut Dirstate,
    (from, to): (&Tree<'_>, &Tree<'_>),
    batch: Option<&CommitBatch>,
    target: Node,
) -> Result<CheckedOut, WorkdirError> {
    let files = WorkingFiles::of(repository);
    let mut out = CheckedOut::default();
    let changed = differences(from, to)?;
    for (path, _, after) in &changed {
        if after.is_none() {
            files.audit(path)?;
            files.remove(path)?;
            dirstate.forget(path);
            out.removed.push(path.to_vec());
        }
    }
    let boundary = Dirstate::clock(repository)?;
    for (path, _, after) in &changed {
        let Some((node, kind)) = after else {
            continue;
        };
        files.audit(path)?;
        let content = match batch {
            Some(batch) => batch.file_content(path, node)?,
            None => to.content(path, node)?,
        };
        files.make_directories(path)?;
        let seen = files.write(path, &content, *kind)?;
        dirstate.set_tracking(
            path,
            Tracking {
                working: true,
                p1: true,
                p2_info: false,
            },
        );
        dirstate.set_clean(path, &seen, boundary);
        out.written.push(path.to_vec());
    }
    dirstate.set_parents([target, Node::NULL]);
    Ok(out)
}
