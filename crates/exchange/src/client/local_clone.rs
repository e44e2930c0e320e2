//! Clones of a repository of this machine that copy revisions: their obsolescence markers, and a summary.

use crate::ExchangeError;
use crate::apply::{InstabilityChange, InstabilitySnapshot};
use varve_repo::{LockKind, Phase, RepoView, Repository, ViewFilter, WriteOptions};
use varve_revlog::{Node, Rev};

/// Obsolescence markers that a clone got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedMarkers {
    /// Number of new markers.
    pub markers: usize,
    /// Changesets of the clone that the markers make unstable.
    pub unstable: Vec<InstabilityChange>,
}

/// Copies the obsolescence markers of `source` that belong to the changesets of the clone `target`; `None` if there
/// are none.
///
/// # Errors
/// If the markers are damaged or the store of `target` is locked; a failure of the storage.
pub fn copy_markers(
    source: &RepoView,
    target: &Repository,
    write: WriteOptions,
) -> Result<Option<CopiedMarkers>, ExchangeError> {
    let view = target.view_for(ViewFilter::Unfiltered)?;
    let changelog = view.changelog();
    let nodes: Vec<Node> = changelog.revs().map(|rev| changelog.node(rev)).collect();
    let bytes = source.relevant_markers(&nodes)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    let before = InstabilitySnapshot::of(target)?;
    let mut receiver = target.receive(target.try_lock(LockKind::Store)?, write, "clone")?;
    let markers = receiver.markers(&bytes)?;
    drop(receiver.finish()?);
    let changes = before.changes_since(target)?.into_iter();
    let is_unstable = |change: &InstabilityChange| match change {
        InstabilityChange::Unstable { .. } => true,
        InstabilityChange::Obsoleted(_) => false,
    };
    Ok(Some(CopiedMarkers {
        markers,
        unstable: changes.filter(is_unstable).collect(),
    }))
}

/// Summary of the history of a new clone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CloneSummary {
    /// Open heads beyond the first one; -1 if all heads close their branch.
    pub more_heads: i64,
    /// Number of changesets that are not public.
    pub drafts: usize,
    /// The oldest changeset.
    pub first: Node,
    /// The newest changeset.
    pub last: Node,
}

impl CloneSummary {
    /// Reads the summary of a clone; `None` without changesets.
    ///
    /// # Errors
    /// Damage in the repository.
    pub fn of(target: &Repository) -> Result<Option<CloneSummary>, ExchangeError> {
        let view = target.view_for(ViewFilter::Unfiltered)?;
        let changelog = view.changelog();
        let mut revs = changelog.revs();
        let Some(first) = revs.next() else {
            return Ok(None);
        };
        let last = revs.next_back().unwrap_or(first);
        let mut more_heads = -1;
        for head in view.heads() {
            let closes = view.with_changeset(head, |changeset| changeset.closes_branch())?;
            more_heads += i64::from(!closes);
        }
        let is_draft = |rev: &Rev| view.phases().of(*rev) > Phase::Public;
        Ok(Some(CloneSummary {
            more_heads,
            drafts: changelog.revs().filter(is_draft).count(),
            first: changelog.node(first),
            last: changelog.node(last),
        }))
    }
}
