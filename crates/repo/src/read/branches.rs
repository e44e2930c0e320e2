//! Named branches and their heads.

use crate::format::RepoError;
use crate::read::RepoView;
use crate::read::caches::{self, BranchNames};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use varve_revlog::{Rev, Revlog};

/// Named branches of the visible changesets.
pub type Branches = BTreeMap<Vec<u8>, BranchHeads>;

/// The changesets of one branch that have no descendant on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchHeads {
    /// All of them, oldest first.
    pub heads: Vec<Rev>,
    /// Those of them that closed the branch.
    pub closed: Vec<Rev>,
}

impl BranchHeads {
    /// Changeset that the branch's name refers to: the newest open head, or the newest if all are closed.
    pub fn tip(&self) -> Option<Rev> {
        let open = |rev: &&Rev| !self.closed.contains(rev);
        self.heads.iter().rfind(open).or(self.heads.last()).copied()
    }
}

/// So many older changesets may be read to bring the caches up to date after a commit.
const SOME: usize = 64;

/// The branches in view. Of changesets that the caches do not agree about the texts are read, and
/// then the caches are written anew. As in Mercurial, an obsolete changeset that is still in view, because a bookmark or
/// the working copy is there, is on no branch.
pub(crate) fn read(view: &RepoView) -> Result<Branches, RepoError> {
    let branches = read_up_to(view, usize::MAX)?.unwrap_or_default();
    let mut obsolete = view.obsolete()?;
    obsolete.retain(|rev| view.is_visible(*rev));
    if obsolete.is_empty() {
        return Ok(branches);
    }
    among(view, &|rev| {
        view.is_visible(rev) && !obsolete.contains(&rev)
    })
}

/// The branches of the changesets that count; of those that the caches lack, the texts are read.
fn among(view: &RepoView, counts: &dyn Fn(Rev) -> bool) -> Result<Branches, RepoError> {
    let mut names = BranchNames::load(view);
    let is_unknown = |rev: &Rev| counts(*rev) && names.get(*rev).is_none();
    let unknown: Vec<Rev> = view.changelog().revs().filter(is_unknown).collect();
    read_texts(view, &unknown, &mut names)?;
    Ok(heads_of(view.changelog(), &names, counts).unwrap_or_default())
}

impl RepoView {
    /// Named branches of some changesets; with a changeset, its ancestors count. Of those that the caches lack, the texts
    /// are read.
    ///
    /// # Errors
    /// A damaged changeset.
    pub fn branches_among(&self, counts: &dyn Fn(Rev) -> bool) -> Result<Branches, RepoError> {
        // Brings the caches up to date that are read then.
        let visible = self.branchmap()?;
        let is_visible = |rev: &Rev| self.is_visible(*rev);
        if self.changelog().revs().filter(is_visible).all(counts) {
            return Ok(visible.clone());
        }
        among(self, counts)
    }
}

/// Brings the caches up to date after `added` changesets, unless that would mean reading many
/// older ones.
pub(crate) fn update_caches(view: &RepoView, added: usize) -> Result<(), RepoError> {
    read_up_to(view, added.saturating_add(SOME)).map(drop)
}

/// `None` if more than `most` texts would have to be read.
fn read_up_to(view: &RepoView, most: usize) -> Result<Option<Branches>, RepoError> {
    let mut names = BranchNames::load(view);
    let cross_checked = caches::cross_checked(view, &names)?;
    let new_revs = (view.changelog().revs())
        .filter(|rev| view.is_visible(*rev))
        .filter(|rev| !cross_checked.as_ref().is_some_and(|sure| sure.has(*rev)));
    let new_revs: Vec<Rev> = new_revs.collect();
    if let Some(cross_checked) = cross_checked.filter(|_| new_revs.is_empty()) {
        return Ok(Some(cross_checked.branches));
    }
    if new_revs.len() > most {
        return Ok(None);
    }
    read_texts(view, &new_revs, &mut names)?;
    let branches = heads_of(view.changelog(), &names, &|rev| view.is_visible(rev));
    let branches = branches.unwrap_or_default();
    caches::keep_branch_heads(view, &branches)?;
    names.save(view);
    Ok(Some(branches))
}

/// From so many texts on, all cores read them.
const MANY: usize = 1000;

/// Notes the branches of changesets, in their order.
fn read_texts(view: &RepoView, revs: &[Rev], names: &mut BranchNames) -> Result<(), RepoError> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if revs.len() < MANY { 1 } else { cores };
    let found = Mutex::new(Vec::with_capacity(revs.len()));
    view.changelog()
        .for_each_text(revs, threads, &|rev, text| {
            let changeset = view.parse_changeset(rev, text)?;
            let branch = (
                rev,
                changeset.branch().into_owned(),
                changeset.closes_branch(),
            );
            found.lock().push(branch);
            Ok::<(), RepoError>(())
        })?;
    let mut found = found.into_inner();
    found.sort_unstable_by_key(|(rev, ..)| *rev);
    for (rev, branch, closes) in found {
        names.set(rev, &branch, closes);
    }
    Ok(())
}

/// The heads of all branches among the changesets that count; `None` if the branch of one of them
/// is not known. With a changeset, its ancestors count, unless they are obsolete.
pub(crate) fn heads_of(
    changelog: &Revlog,
    names: &BranchNames,
    counts: &dyn Fn(Rev) -> bool,
) -> Option<Branches> {
    let mut is_head = vec![false; changelog.len()];
    for rev in changelog.revs().filter(|rev| counts(*rev)) {
        let (branch, _) = names.get(rev)?;
        for parent in changelog.parents(rev).into_iter().flatten() {
            if names.get(parent).is_some_and(|(of, _)| of == branch) {
                is_head[parent.index()] = false;
            }
        }
        is_head[rev.index()] = true;
    }
    let mut heads = vec![Vec::new(); names.branches()];
    for rev in changelog.revs().filter(|rev| is_head[rev.index()]) {
        heads[names.get(rev)?.0 as usize].push(rev);
    }
    drop_ancestors(changelog, &mut heads);
    let mut branches = Branches::new();
    for (number, heads) in heads.into_iter().enumerate() {
        if heads.is_empty() {
            continue;
        }
        let closes = |rev: &&Rev| names.get(**rev).is_some_and(|(_, closes)| closes);
        let closed = heads.iter().filter(closes).copied().collect();
        let name = names.name(number as u32).to_vec();
        branches.insert(name, BranchHeads { heads, closed });
    }
    Some(branches)
}

/// Takes out of each list (oldest first) the ancestors of others of the same list, also by way of
/// other branches.
fn drop_ancestors(changelog: &Revlog, lists: &mut [Vec<Rev>]) {
    // Sixty-four lists at a time, one bit for each.
    let mut several: Vec<&mut Vec<Rev>> = lists.iter_mut().filter(|list| list.len() > 1).collect();
    for group in several.chunks_mut(u64::BITS as usize) {
        let ends = |end: fn(&[Rev]) -> Option<&Rev>| group.iter().filter_map(move |list| end(list));
        let (Some(oldest), Some(newest)) = (ends(<[Rev]>::first).min(), ends(<[Rev]>::last).max())
        else {
            continue;
        };
        let (first, last) = (oldest.index(), newest.index());
        let (mut below, mut listed) =
            (vec![0_u64; last + 1 - first], vec![0_u64; last + 1 - first]);
        for (bit, list) in group.iter().enumerate() {
            for rev in list.iter() {
                listed[rev.index() - first] |= 1 << bit;
            }
        }
        for at in (0..below.len()).rev() {
            let above = below[at] | listed[at];
            if above == 0 {
                continue;
            }
            for parent in changelog
                .parents(Rev((first + at) as u32))
                .into_iter()
                .flatten()
            {
                if let Some(at) = parent.index().checked_sub(first) {
                    below[at] |= above;
                }
            }
        }
        for (bit, list) in group.iter_mut().enumerate() {
            list.retain(|rev| below[rev.index() - first] & 1 << bit == 0);
        }
    }
}
