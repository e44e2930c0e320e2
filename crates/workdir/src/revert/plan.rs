//! The plan of a revert.

use crate::tree::differences;
use crate::tree::{Tree, TreeEntry};
use crate::{Dirstate, Status, WorkdirError, WorkingFiles};
use std::collections::BTreeMap;
use varve_lang::patterns::Matcher;

/// A change to a file; variants are in the order in which they are applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RevertAction {
    /// No longer tracked; it stays on the disk.
    Forget,
    /// No longer tracked, and taken away.
    Remove,
    /// Written.
    Revert,
    /// Written, and tracked from now on.
    Add,
    /// Written, and tracked again.
    Undelete,
}

/// One file of a revert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevertStep {
    /// The change.
    pub action: RevertAction,
    /// To which file.
    pub path: Vec<u8>,
    /// The file as it will be.
    pub(super) target: Option<TreeEntry>,
    /// Whether something on the disk is in no changeset that the user has named.
    pub loses_content: bool,
}

/// The changes of a revert.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RevertPlan {
    /// In the order in which they are done.
    pub steps: Vec<RevertStep>,
}

/// State of a file before the revert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    Clean,
    Modified,
    Added,
    Removed,
    Missing,
    Unknown,
}

/// Plans to give the files that match the content that they have in `to`. `status` is that of the
/// working copy against `from`, its first parent.
///
/// # Errors
/// Damage in the repository.
pub fn plan_revert(
    dirstate: &Dirstate,
    (from, to): (&Tree<'_>, &Tree<'_>),
    status: &Status,
    files: &WorkingFiles,
    matcher: &Matcher,
) -> Result<RevertPlan, WorkdirError> {
    let mut local_state: BTreeMap<&[u8], Before> = BTreeMap::new();
    let differing = differences(from, to)?;
    for (path, ..) in differing.iter().filter(|(path, ..)| matcher.matches(path)) {
        let before = if dirstate.is_tracked(path) {
            Before::Clean
        } else {
            Before::Unknown
        };
        local_state.insert(path, before);
    }
    for (before, list) in [
        (Before::Modified, &status.modified),
        (Before::Added, &status.added),
        (Before::Removed, &status.removed),
        (Before::Missing, &status.deleted),
    ] {
        local_state.extend(list.iter().map(|path| (&path[..], before)));
    }
    let mut steps = Vec::new();
    for (path, before) in local_state {
        let before = match before {
            // Added, and gone before it was committed.
            Before::Missing if from.get(path)?.is_none() => Before::Added,
            before => before,
        };
        steps.extend(step(path, before, to, files)?);
    }
    steps.sort_by_key(|step| step.action);
    Ok(RevertPlan { steps })
}

fn step(
    path: &[u8],
    before: Before,
    to: &Tree<'_>,
    files: &WorkingFiles,
) -> Result<Option<RevertStep>, WorkdirError> {
    let target = to.get(path)?;
    let action = match (before, target.is_some()) {
        (Before::Added, false) => RevertAction::Forget,
        (Before::Clean | Before::Modified | Before::Missing, false) => RevertAction::Remove,
        (Before::Removed | Before::Unknown, false) => return Ok(None),
        (Before::Removed, true) => RevertAction::Undelete,
        (Before::Unknown, true) => RevertAction::Add,
        (_, true) => RevertAction::Revert,
    };
    let differs = match target {
        Some((node, kind)) if files.stat(path)?.is_some() => {
            let (content, there) = files.read(path)?;
            there != kind || content != to.content(path, &node)?
        }
        _ => true,
    };
    if action == RevertAction::Revert && !differs {
        return Ok(None);
    }
    Ok(Some(RevertStep {
        action,
        path: path.to_vec(),
        target,
        loses_content: differs && before != Before::Clean && action != RevertAction::Forget,
    }))
}
