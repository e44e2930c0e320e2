//! Which changesets go, and which number the others get.

use super::kept::Cut;
use crate::format::RepoError;
use crate::read::RepoView;
use varve_revlog::{Node, Rev};

pub(super) struct Renumbering {
    /// The oldest changeset that goes; those before it keep their numbers.
    first: usize,
    /// From `first` on: the new number, or `None` for a removed changeset.
    after: Vec<Option<Rev>>,
}

impl Renumbering {
    /// All go that are among `nodes` or follow one of them.
    pub fn without(view: &RepoView, nodes: &[Node]) -> Result<Renumbering, RepoError> {
        let changelog = view.changelog();
        let mut gone = vec![false; changelog.len()];
        for node in nodes {
            let rev = changelog.rev(node).ok_or(RepoError::MissingNode {
                what: "changeset",
                node: *node,
                path: changelog.path().to_owned(),
            })?;
            gone[rev.index()] = true;
        }
        let first = gone.iter().position(|gone| *gone);
        let first = first.unwrap_or(changelog.len());
        let mut next = first as u32;
        let mut after = Vec::new();
        for rev in changelog.revs().skip(first) {
            let mut parents = changelog.parents(rev).into_iter().flatten();
            gone[rev.index()] |= parents.any(|parent| gone[parent.index()]);
            after.push((!gone[rev.index()]).then_some(Rev(next)));
            next += u32::from(!gone[rev.index()]);
        }
        Ok(Renumbering { first, after })
    }

    /// Number of changesets that go.
    pub fn removed(&self) -> usize {
        self.after.iter().filter(|rev| rev.is_none()).count()
    }

    /// The oldest changeset that goes.
    pub fn first(&self) -> usize {
        self.first
    }

    /// New number of a changeset; `None` if it goes.
    pub fn after(&self, rev: Rev) -> Option<Rev> {
        match rev.index().checked_sub(self.first) {
            None => Some(rev),
            Some(at) => self.after.get(at).copied().flatten(),
        }
    }

    /// Changesets that stay with another number: old and new one, oldest first.
    pub fn again(&self) -> impl Iterator<Item = (Rev, Rev)> + '_ {
        let old = (self.first as u32..).map(Rev);
        old.zip(&self.after)
            .filter_map(|(old, new)| Some((old, (*new)?)))
    }

    /// The cut of the changelog, where every revision is linked to itself.
    pub fn cut(&self) -> Cut {
        Cut {
            kept: self.first,
            again: self.again().collect(),
        }
    }

    /// The newest changeset that stays and has a child that goes.
    pub fn newest_below(&self, view: &RepoView) -> Option<Rev> {
        let changelog = view.changelog();
        let goes = |rev: &Rev| self.after(*rev).is_none();
        let gone = changelog.revs().skip(self.first).filter(goes);
        let parents = gone.flat_map(|rev| changelog.parents(rev).into_iter().flatten());
        parents.filter(|parent| !goes(parent)).max()
    }
}
