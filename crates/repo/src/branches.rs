//! Named branches and their heads.

use crate::{RepoError, RepoView};
use std::collections::{BTreeMap, HashMap};
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
    /// What the branch's name means: the newest open head, or the newest one if all are closed.
    pub fn tip(&self) -> Option<Rev> {
        let open = |rev: &&Rev| !self.closed.contains(rev);
        self.heads.iter().rfind(open).or(self.heads.last()).copied()
    }
}

pub(crate) fn read(view: &RepoView) -> Result<Branches, RepoError> {
    let changelog = view.changelog();
    let mut ids: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut candidates: Vec<Vec<Rev>> = Vec::new();
    let mut closers = Vec::new();
    let mut branch_of = vec![usize::MAX; changelog.len()];
    let mut reader = changelog.reader();
    for rev in changelog.revs().filter(|rev| view.is_visible(*rev)) {
        let changeset = view.parse_changeset(rev, reader.text(rev)?)?;
        let branch = changeset.branch();
        let id = match ids.get(branch.as_ref()) {
            Some(id) => *id,
            None => {
                ids.insert(branch.into_owned(), candidates.len());
                candidates.push(Vec::new());
                candidates.len() - 1
            }
        };
        branch_of[rev.index()] = id;
        for parent in changelog.parents(rev).into_iter().flatten() {
            if branch_of[parent.index()] == id {
                candidates[id].retain(|head| *head != parent);
            }
        }
        candidates[id].push(rev);
        if changeset.closes_branch() {
            closers.push(rev);
        }
    }
    let with_heads = |(name, id): (Vec<u8>, usize)| {
        let mut heads = std::mem::take(&mut candidates[id]);
        drop_ancestors(changelog, &mut heads);
        let closed = heads.iter().filter(|head| closers.contains(head));
        let closed = closed.copied().collect();
        (name, BranchHeads { heads, closed })
    };
    Ok(ids.into_iter().map(with_heads).collect())
}

/// Takes out what other `heads` (oldest first) descend from, also by way of other branches.
fn drop_ancestors(changelog: &Revlog, heads: &mut Vec<Rev>) {
    let [oldest, .., newest] = heads[..] else {
        return;
    };
    let first = oldest.index();
    let mut is_ancestor = vec![false; newest.index() + 1 - first];
    let mut heads_left = heads.clone();
    for index in (first..=newest.index()).rev() {
        let rev = Rev(index as u32);
        let is_head = heads_left.pop_if(|head| *head == rev).is_some();
        if !is_head && !is_ancestor[index - first] {
            continue;
        }
        for parent in changelog.parents(rev).into_iter().flatten() {
            if let Some(at) = parent.index().checked_sub(first) {
                is_ancestor[at] = true;
            }
        }
    }
    heads.retain(|head| !is_ancestor[head.index() - first]);
}
