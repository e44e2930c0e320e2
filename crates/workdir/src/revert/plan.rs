//! What a revert has to do.

use crate::tree::{Tracked, Tree};
use crate::update::differences;
use crate::{Dirstate, Status, WorkdirError, WorkingFiles};
use std::collections::BTreeMap;
use varve_lang::patterns::Matcher;

/// What happens to a file, in the order in which it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
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
    /// What happens.
    pub action: Action,
    /// To which file.
    pub path: Vec<u8>,
    /// The file as it will be.
    pub(super) target: Option<Tracked>,
    /// Whether something on the disk is in no changeset that the user has named.
    pub loses_content: bool,
}

/// All that a revert does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RevertPlan {
    /// In the order in which they are done.
    pub steps: Vec<RevertStep>,
}

/// How a file stands before.
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
/// What is damaged.
pub fn plan_revert(
    dirstate: &Dirstate,
    (from, to): (&Tree<'_>, &Tree<'_>),
    status: &Status,
    files: &WorkingFiles,
    matcher: &Matcher,
) -> Result<RevertPlan, WorkdirError> {
    let mut standing: BTreeMap<&[u8], Before> = BTreeMap::new();
    let differing = differences(from, to)?;
    for (path, ..) in differing.iter().filter(|(path, ..)| matcher.matches(path)) {
        let before = if dirstate.is_tracked(path) {
            Before::Clean
        } else {
            Before::Unknown
        };
        standing.insert(path, before);
    }
    for (before, list) in [
        (Before::Modified, &status.modified),
        (Before::Added, &status.added),
        (Before::Removed, &status.removed),
        (Before::Missing, &status.deleted),
    ] {
        standing.extend(list.iter().map(|path| (&path[..], before)));
    }
    let mut steps = Vec::new();
    for (path, before) in standing {
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
        (Before::Added, false) => Action::Forget,
        (Before::Clean | Before::Modified | Before::Missing, false) => Action::Remove,
        (Before::Removed | Before::Unknown, false) => return Ok(None),
        (Before::Removed, true) => Action::Undelete,
        (Before::Unknown, true) => Action::Add,
        (_, true) => Action::Revert,
    };
    let differs = match target {
        Some((node, kind)) if files.seen(path)?.is_some() => {
            let (content, there) = files.read(path)?;
            there != kind || content != to.content(path, &node)?
        }
        _ => true,
    };
    if action == Action::Revert && !differs {
        return Ok(None);
    }
    Ok(Some(RevertStep {
        action,
        path: path.to_vec(),
        target,
        loses_content: differs && before != Before::Clean && action != Action::Forget,
    }))
}
