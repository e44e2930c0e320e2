//! The sets of changesets that Mercurial keeps caches for, from all of them down to those that no
//! longer change.

use crate::format::{Phase, RepoError};
use crate::read::{Audience, RepoView};
use sha1::{Digest, Sha1};
use varve_revlog::Rev;

/// Which changesets count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    /// All.
    All,
    /// Without those that are hidden because they are obsolete.
    Visible,
    /// Without secret ones, too.
    Served,
    /// Public ones.
    Immutable,
    /// Those before the first one that is not public.
    Base,
}

impl Filter {
    /// What an audience sees.
    pub fn of(audience: Audience) -> Filter {
        match audience {
            Audience::Everything => Filter::All,
            Audience::Owner => Filter::Visible,
            Audience::Others => Filter::Served,
        }
    }

    /// This one and those below it, each a subset of the one before.
    pub fn with_smaller(self) -> &'static [Filter] {
        const ALL: &[Filter] = &[
            Filter::All,
            Filter::Visible,
            Filter::Served,
            Filter::Immutable,
            Filter::Base,
        ];
        let at = ALL.iter().position(|filter| *filter == self);
        &ALL[at.unwrap_or_default()..]
    }

    /// A cache's file.
    pub fn file(self, cache: &str) -> String {
        let suffix = match self {
            Filter::All => "",
            Filter::Visible => "-visible",
            Filter::Served => "-served",
            Filter::Immutable => "-immutable",
            Filter::Base => "-base",
        };
        format!("{cache}{suffix}")
    }

    /// The changesets that do not count: one per changeset, or empty for none.
    pub fn hidden(self, view: &RepoView) -> Result<Vec<bool>, RepoError> {
        if self == Filter::of(view.audience()) {
            return Ok(view.hidden().to_vec());
        }
        let phases = view.phases();
        let revs = view.changelog().revs();
        match self {
            Filter::All => Ok(Vec::new()),
            Filter::Visible => view.hidden_from(Audience::Owner),
            Filter::Served => view.hidden_from(Audience::Others),
            Filter::Immutable | Filter::Base if phases.roots().is_empty() => Ok(Vec::new()),
            Filter::Immutable => Ok(revs.map(|rev| phases.of(rev) > Phase::Public).collect()),
            Filter::Base => {
                let first = phases.roots().first().map(|(_, rev)| *rev);
                Ok(revs
                    .map(|rev| first.is_some_and(|first| rev >= first))
                    .collect())
            }
        }
    }
}

/// Whether a changeset counts; see [`Filter::hidden`].
pub(crate) fn counts(hidden: &[bool], rev: Rev) -> bool {
    hidden.get(rev.index()).is_none_or(|hidden| !hidden)
}

/// What stands in a cache for the changesets up to `last` that do not count; `None` if all count.
pub(crate) fn hash_of(hidden: &[bool], last: Rev) -> Option<[u8; 20]> {
    let upto = &hidden[..hidden.len().min(last.index() + 1)];
    let mut sha1 = Sha1::new();
    let mut any = false;
    for (rev, _) in upto.iter().enumerate().filter(|(_, hidden)| **hidden) {
        any = true;
        sha1.update(format!("{rev};"));
    }
    any.then(|| sha1.finalize().into())
}
