//! Choosing the files that leave a changeset when it is uncommitted.

use crate::{WorkdirError, status_between};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use varve_lang::patterns::Matcher;
use varve_repo::{RepoView, Repository, Rev};

/// A named file that cannot be uncommitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncommitRefusal {
    /// Its path; empty for the top directory.
    pub path: Vec<u8>,
    /// Why not.
    pub reason: UncommitObstacle,
}

/// The reason why a named file cannot be uncommitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UncommitObstacle {
    /// The changeset has it as its parent does.
    Unchanged,
    /// The working copy has it, and the changeset does not.
    Untracked,
    /// The working copy lacks it.
    Missing,
}

/// The first of the named files that cannot be uncommitted from `rev`. A directory with files that can is fine.
///
/// # Errors
/// Damage in the repository.
pub fn uncommit_refusal(
    repository: &Repository,
    view: &RepoView,
    rev: Rev,
    matcher: &Matcher,
) -> Result<Option<UncommitRefusal>, WorkdirError> {
    let parent = view.changelog().parents(rev)[0];
    let status = status_between(view, parent, Some(rev), matcher, true)?;
    let lists = [&status.added, &status.modified, &status.removed];
    let eligible: BTreeSet<&Vec<u8>> = lists.into_iter().flatten().collect();
    let is_eligible = |path: &[u8]| {
        let is_below = |file: &Vec<u8>| match path {
            b"" => true,
            path => file
                .strip_prefix(path)
                .is_some_and(|rest| rest.starts_with(b"/")),
        };
        let mut files = eligible.iter();
        files.any(|file| &file[..] == path || is_below(file))
    };
    let mut named = matcher.named().iter().map(|path| &path[..]);
    let Some(path) = named.find(|path| !is_eligible(path)) else {
        return Ok(None);
    };
    let reason = if status.clean.iter().any(|clean| clean == path) {
        UncommitObstacle::Unchanged
    } else if repository.root().join(OsStr::from_bytes(path)).exists() {
        UncommitObstacle::Untracked
    } else {
        UncommitObstacle::Missing
    };
    let path = path.to_vec();
    Ok(Some(UncommitRefusal { path, reason }))
}
