//! `branch2-…`: the heads of all branches.
//!
//! ```text
//! key                          see [`Key`]
//! node o branch                one line per head, sorted by branch and age; `c` instead of `o`
//! node c branch                if the head closes the branch
//! ```

use super::CacheDirectory;
use super::branch_names::BranchNames;
use super::filter::{CacheFilter, counts};
use super::key::{Key, LONGEST};
use crate::format::RepoError;
use crate::read::RepoView;
use crate::read::branches::{Branches, heads_of};
use varve_revlog::Rev;

pub(super) const CACHE: &str = "branch2";

/// Changesets for which two caches agree on the branch.
#[derive(Debug)]
pub(crate) struct CrossChecked {
    hidden: Vec<bool>,
    last: Rev,
    /// Heads among them.
    pub branches: Branches,
}

impl CrossChecked {
    /// Whether the branch of `rev` is known for sure.
    pub fn has(&self, rev: Rev) -> bool {
        rev <= self.last && counts(&self.hidden, rev)
    }
}

/// Finds the most changesets of `view` for which a cache of heads agrees with `names`.
pub(crate) fn cross_checked(
    view: &RepoView,
    names: &BranchNames,
) -> Result<Option<CrossChecked>, RepoError> {
    for filter in CacheFilter::of(view.filter()).with_smaller() {
        let (directory, file) = (view.caches(), filter.file(CACHE));
        let Some(key) = Key::parse(&directory.read(&file, LONGEST)) else {
            continue;
        };
        let hidden = filter.hidden(view)?;
        if !key.holds(view, &hidden) {
            continue;
        }
        let last = key.last;
        let branches = heads_of(view.changelog(), names, &|rev| {
            rev <= last && counts(&hidden, rev)
        });
        let Some(branches) = branches else { continue };
        let expected = encode(view, &key, &branches);
        if expected.len() as u64 == directory.len(&file)
            && expected == directory.read(&file, expected.len())
        {
            return Ok(Some(CrossChecked {
                hidden,
                last,
                branches,
            }));
        }
    }
    Ok(None)
}

/// Whether there is a cache for the filter "served" or a smaller one.
pub(crate) fn has_branch_cache(directory: CacheDirectory<'_>) -> bool {
    let mut files = CacheFilter::Served.with_smaller().iter();
    files.any(|filter| directory.len(&filter.file(CACHE)) > 0)
}

/// Writes the heads of all branches, where Mercurial keeps those of this set of changesets.
pub(crate) fn keep(view: &RepoView, branches: &Branches) -> Result<(), RepoError> {
    let Some(tip) = view.tip() else {
        return Ok(());
    };
    // A name with a newline would be two lines; Mercurial allows none.
    if branches.keys().any(|name| name.contains(&b'\n')) {
        return Ok(());
    }
    let key = Key::of(view, view.hidden(), tip);
    let file = smallest(view)?.file(CACHE);
    view.caches().replace(&file, &encode(view, &key, branches));
    Ok(())
}

/// The smallest set that Mercurial has a name for and that is the one in view.
fn smallest(view: &RepoView) -> Result<CacheFilter, RepoError> {
    let own = CacheFilter::of(view.filter());
    let mut smallest = own;
    for filter in own.with_smaller().iter().skip(1) {
        let hidden = filter.hidden(view)?;
        let same = view
            .changelog()
            .revs()
            .all(|rev| counts(&hidden, rev) == view.is_visible(rev));
        if !same {
            break;
        }
        smallest = *filter;
    }
    Ok(smallest)
}

fn encode(view: &RepoView, key: &Key, branches: &Branches) -> Vec<u8> {
    let mut bytes = key.encode();
    for (name, branch) in branches {
        for head in &branch.heads {
            bytes.extend_from_slice(&view.changelog().node(*head).to_hex());
            let closed = branch.closed.contains(head);
            bytes.extend_from_slice(if closed { b" c " } else { b" o " });
            bytes.extend_from_slice(name);
            bytes.push(b'\n');
        }
    }
    bytes
}
