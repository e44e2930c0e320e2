//! The sets of changesets that Mercurial keeps caches for, from all of them down to those that no
//! longer change.

use crate::format::{Phase, RepoError};
use crate::read::{RepoView, ViewFilter};
use sha1::{Digest, Sha1};
use varve_revlog::Rev;

/// Which changesets count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CacheFilter {
    /// No changeset is left out.
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

impl CacheFilter {
    pub fn of(filter: ViewFilter) -> CacheFilter {
        match filter {
            ViewFilter::Unfiltered => CacheFilter::All,
            ViewFilter::Visible => CacheFilter::Visible,
            ViewFilter::Served => CacheFilter::Served,
        }
    }

    /// This one and those below it, each a subset of the one before.
    pub fn with_smaller(self) -> &'static [CacheFilter] {
        const ALL: &[CacheFilter] = &[
            CacheFilter::All,
            CacheFilter::Visible,
            CacheFilter::Served,
            CacheFilter::Immutable,
            CacheFilter::Base,
        ];
        let at = ALL.iter().position(|filter| *filter == self);
        &ALL[at.unwrap_or_default()..]
    }

    /// A cache's file.
    pub fn file(self, cache: &str) -> String {
        let suffix = match self {
            CacheFilter::All => "",
            CacheFilter::Visible => "-visible",
            CacheFilter::Served => "-served",
            CacheFilter::Immutable => "-immutable",
            CacheFilter::Base => "-base",
        };
        format!("{cache}{suffix}")
    }

    /// The changesets that do not count: one per changeset, or empty for none.
    pub fn hidden(self, view: &RepoView) -> Result<Vec<bool>, RepoError> {
        if self == CacheFilter::of(view.filter()) {
            return Ok(view.hidden().to_vec());
        }
        let phases = view.phases();
        let revs = view.changelog().revs();
        match self {
            CacheFilter::All => Ok(Vec::new()),
            CacheFilter::Visible => view.hidden_from(ViewFilter::Visible),
            CacheFilter::Served => view.hidden_from(ViewFilter::Served),
            CacheFilter::Immutable | CacheFilter::Base if phases.roots().is_empty() => {
                Ok(Vec::new())
            }
            CacheFilter::Immutable => Ok(revs.map(|rev| phases.of(rev) > Phase::Public).collect()),
            CacheFilter::Base => {
                let first = phases.roots().first().map(|(_, rev)| *rev);
                Ok(revs
                    .map(|rev| first.is_some_and(|first| rev >= first))
                    .collect())
            }
        }
    }
}

/// Whether a changeset counts; see [`CacheFilter::hidden`].
pub(crate) fn counts(hidden: &[bool], rev: Rev) -> bool {
    hidden.get(rev.index()).is_none_or(|hidden| !hidden)
}

/// Hash in a cache over the changesets up to `last` that do not count; `None` if all count.
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
