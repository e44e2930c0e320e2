//! The changesets that are documents.

use sha1::{Digest, Sha1};
use varve_repo::{Phase, RepoError, RepoView, Rev};

/// Changesets of a view that are documents, with their phases.
pub(crate) struct ShownChangesets<'v> {
    pub(crate) view: &'v RepoView,
    /// One per changeset of the repository.
    is_shown: Vec<bool>,
}

impl<'v> ShownChangesets<'v> {
    /// The visible public changesets, and the drafts if they are included. Secret ones never are.
    pub(crate) fn of(view: &'v RepoView, includes_drafts: bool) -> Self {
        let most = match includes_drafts {
            true => Phase::Draft,
            false => Phase::Public,
        };
        let is_shown = |rev: Rev| view.is_visible(rev) && view.phases().of(rev) <= most;
        ShownChangesets {
            view,
            is_shown: view.changelog().revs().map(is_shown).collect(),
        }
    }

    pub(crate) fn contains(&self, rev: Rev) -> bool {
        self.is_shown.get(rev.index()).copied().unwrap_or_default()
    }

    /// Number of changesets of the repository, shown or not.
    pub(crate) fn end(&self) -> usize {
        self.is_shown.len()
    }

    /// Those with numbers from `from` on, oldest first.
    pub(crate) fn from(&self, from: usize) -> impl Iterator<Item = Rev> + '_ {
        let revs = (from..self.is_shown.len()).map(|rev| Rev(rev as u32));
        revs.filter(|rev| self.contains(*rev))
    }

    /// Names numbers, phases and nodes of those whose numbers are below each of `ends`, which ascend: equal digests, equal
    /// documents.
    pub(crate) fn digest(&self, end: usize) -> String {
        let mut digest = Digests::new(self);
        digest.up_to(end)
    }

    /// Shown changesets without shown children, oldest first.
    pub(crate) fn heads(&self) -> Vec<Rev> {
        let changelog = self.view.changelog();
        let mut has_child = vec![false; self.is_shown.len()];
        for rev in self.from(0) {
            for parent in changelog.parents(rev).into_iter().flatten() {
                has_child[parent.index()] = true;
            }
        }
        self.from(0).filter(|rev| !has_child[rev.index()]).collect()
    }

    /// The branches of the shown changesets.
    ///
    /// # Errors
    /// A damaged changeset.
    pub(crate) fn branches(&self) -> Result<varve_repo::Branches, RepoError> {
        self.view.branches_among(&|rev| self.contains(rev))
    }
}

/// Digests of a growing run of changesets.
pub(crate) struct Digests<'s> {
    shown: &'s ShownChangesets<'s>,
    hash: Sha1,
    next: usize,
}

impl<'s> Digests<'s> {
    pub(crate) fn new(shown: &'s ShownChangesets<'s>) -> Self {
        Digests {
            shown,
            hash: Sha1::new(),
            next: 0,
        }
    }

    /// The digest of the shown changesets with numbers below `end`, which is never less than in the call before.
    pub(crate) fn up_to(&mut self, end: usize) -> String {
        let view = self.shown.view;
        for rev in self
            .shown
            .from(self.next)
            .take_while(|rev| rev.index() < end)
        {
            self.hash.update(rev.0.to_be_bytes());
            self.hash.update([view.phases().of(rev).number()]);
            self.hash.update(view.changelog().node(rev).0);
        }
        self.next = self.next.max(end);
        let digest = self.hash.clone().finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
