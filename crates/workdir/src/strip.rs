//! Which changesets a strip removes, and where it leaves the working copy.

use crate::{Dirstate, Tracking, Tree, WorkdirError};
use std::collections::BTreeSet;
use varve_repo::{DEFAULT_BRANCH, Node, RepoView, Repository, Rev};

/// The changesets that are removed together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StripPlan {
    /// Those that were asked for and follow from no other one of these, sorted by hash.
    roots: Vec<Node>,
    /// Changeset that the backup is named after.
    backup: Node,
    /// All that go, oldest first.
    removed: Vec<Rev>,
    /// Those that stay and get a lower number, oldest first.
    renumbered: Vec<Rev>,
}

impl StripPlan {
    /// Removes `chosen` and all that follow them, also hidden ones; `view` is unfiltered. All changesets follow from
    /// the null revision, which is `None`.
    pub fn new(view: &RepoView, chosen: &[Option<Rev>]) -> StripPlan {
        let changelog = view.changelog();
        let everything = chosen.contains(&None);
        let chosen: BTreeSet<Rev> = chosen.iter().copied().flatten().collect();
        let first = match everything {
            true => Some(Rev(0)),
            false => chosen.first().copied(),
        };
        let mut is_removed = vec![false; changelog.len()];
        let mut plan = StripPlan {
            roots: Vec::new(),
            backup: Node::NULL,
            removed: Vec::new(),
            renumbered: Vec::new(),
        };
        let from = first.map_or(changelog.len(), Rev::index);
        for rev in changelog.revs().skip(from) {
            let mut parents = changelog.parents(rev).into_iter().flatten();
            let follows = everything || parents.any(|parent| is_removed[parent.index()]);
            if !follows && chosen.contains(&rev) {
                plan.roots.push(changelog.node(rev));
            }
            is_removed[rev.index()] = follows || chosen.contains(&rev);
            match is_removed[rev.index()] {
                true => plan.removed.push(rev),
                false => plan.renumbered.push(rev),
            }
        }
        if everything {
            plan.roots = vec![Node::NULL];
        }
        plan.roots.sort_unstable();
        plan.backup = plan.roots.last().copied().unwrap_or(Node::NULL);
        plan
    }

    /// The same for changesets that others have taken the place of: Mercurial names their backup after the newest root.
    pub fn of_replaced(view: &RepoView, replaced: &[Rev]) -> StripPlan {
        let replaced: Vec<Option<Rev>> = replaced.iter().copied().map(Some).collect();
        let mut plan = StripPlan::new(view, &replaced);
        let newest = plan.roots.iter();
        let newest = newest.max_by_key(|node| view.changelog().rev(node));
        plan.backup = newest.copied().unwrap_or(Node::NULL);
        plan
    }

    /// Divides changesets that others have taken the place of into those that may go, and those that stay because a
    /// descendant stays.
    pub fn without_orphans(view: &RepoView, replaced: &[Rev]) -> (Vec<Rev>, Vec<Rev>) {
        let chosen: BTreeSet<Rev> = replaced.iter().copied().collect();
        let mut stays = BTreeSet::new();
        for rev in view.with_descendants(replaced).into_iter().rev() {
            if !chosen.contains(&rev) || stays.contains(&rev) {
                stays.insert(rev);
                stays.extend(view.changelog().parents(rev).into_iter().flatten());
            }
        }
        chosen.into_iter().partition(|rev| !stays.contains(rev))
    }

    /// All that go, oldest first.
    pub fn removed(&self) -> &[Rev] {
        &self.removed
    }

    /// Those that stay and get a lower number, oldest first.
    pub fn renumbered(&self) -> &[Rev] {
        &self.renumbered
    }

    /// By how many heads those that get a lower number are more than those below the removed ones, as Mercurial counts
    /// when it adds them again: new ones that close their branch are one less each. None below count as none more.
    ///
    /// # Errors
    /// A damaged changeset.
    pub fn added_heads(&self, view: &RepoView) -> Result<i64, WorkdirError> {
        let first = self.removed.first().map_or(0, |rev| rev.index());
        let below = || view.changelog().revs().take(first);
        let before = heads_of(view, below()).len();
        if before == 0 {
            return Ok(0);
        }
        let after = heads_of(view, below().chain(self.renumbered.iter().copied()));
        let mut more = after.len() as i64 - before as i64;
        for rev in after.iter().filter(|rev| rev.index() >= first) {
            let closes = view.with_changeset(*rev, |changeset| changeset.closes_branch())?;
            more -= i64::from(closes);
        }
        Ok(more)
    }

    /// Whether the null revision was asked for, from which all follow.
    pub fn removes_everything(&self) -> bool {
        self.roots == [Node::NULL]
    }

    /// The changeset that Mercurial names the backup after: of those that were asked for, the one with the last hash, or of
    /// replaced ones the newest root.
    pub fn backup_node(&self) -> Node {
        self.backup
    }

    /// The changesets to hand to [`Repository::strip`].
    pub fn nodes(&self, view: &RepoView) -> Vec<Node> {
        match self.removes_everything() {
            true => view
                .changelog()
                .revs()
                .map(|rev| view.changelog().node(rev))
                .collect(),
            false => self.roots.clone(),
        }
    }

    /// Where a working copy with these parents goes, if one of these is removed: to a parent of the root with the first
    /// hash, or to the newest changeset below on the branch of the next commit. `Some(None)` is the null revision.
    ///
    /// # Errors
    /// [`WorkdirError::UnknownBranch`] if a branch has to be looked for that no changeset is on; damage.
    pub fn working_target(
        &self,
        view: &RepoView,
        parents: [Node; 2],
        branch: &[u8],
    ) -> Result<Option<Option<Rev>>, WorkdirError> {
        let changelog = view.changelog();
        let working = parents.iter().filter_map(|node| changelog.rev(node));
        let working: Vec<Rev> = working.collect();
        let is_removed = |rev: &Rev| self.removed.binary_search(rev).is_ok();
        if !working.iter().any(is_removed) {
            return Ok(None);
        }
        let first = self.roots.first().and_then(|node| changelog.rev(node));
        let Some(first) = first else {
            return Ok(Some(None));
        };
        let [p1, p2] = changelog.parents(first);
        if p2.is_some() && branch_of(view, p2)? == branch {
            return Ok(Some(p2));
        }
        if branch_of(view, p1)? == branch {
            return Ok(Some(p1));
        }
        if !view.branchmap()?.contains_key(branch) {
            let name = String::from_utf8_lossy(branch).into_owned();
            return Err(WorkdirError::UnknownBranch(name));
        }
        let ancestors = view.missing_ancestors(&working, &[]);
        let gone = ancestors.iter().filter(|rev| is_removed(rev));
        let below = gone.flat_map(|rev| changelog.parents(*rev)).flatten();
        let mut below: Vec<Rev> = below.chain(working.iter().copied()).collect();
        below.sort_unstable();
        for rev in below.into_iter().rev().filter(|rev| !is_removed(rev)) {
            if branch_of(view, Some(rev))? == branch {
                return Ok(Some(Some(rev)));
            }
        }
        Ok(Some(p1))
    }
}

/// How many of `revs`, which come oldest first, no other one of them follows from.
fn heads_of(view: &RepoView, revs: impl Iterator<Item = Rev>) -> BTreeSet<Rev> {
    let mut heads = BTreeSet::new();
    for rev in revs {
        for parent in view.changelog().parents(rev).into_iter().flatten() {
            heads.remove(&parent);
        }
        heads.insert(rev);
    }
    heads
}

fn branch_of(view: &RepoView, rev: Option<Rev>) -> Result<Vec<u8>, WorkdirError> {
    Ok(match rev {
        Some(rev) => view.with_changeset(rev, |changeset| changeset.branch().into_owned())?,
        None => DEFAULT_BRANCH.to_vec(),
    })
}

/// Makes `target` the only parent of the working copy, whose files stay as they are; a merge that is under way is
/// forgotten. The caller holds the lock of the working copy.
///
/// # Errors
/// Damage; a failure of the storage.
pub fn keep_working_files(
    repository: &Repository,
    view: &RepoView,
    dirstate: &mut Dirstate,
    target: Option<Rev>,
) -> Result<(), WorkdirError> {
    let tree = Tree::of(view, target)?;
    let working = view.changelog().rev(&dirstate.parents()[0]);
    let target_revs: Vec<Rev> = target.into_iter().collect();
    let working: Vec<Rev> = working.into_iter().collect();
    let mut paths = BTreeSet::new();
    for rev in view.missing_ancestors(&working, &target_revs) {
        view.with_changeset(rev, |changeset| {
            paths.extend(changeset.files().map(<[u8]>::to_vec));
        })?;
    }
    let normal = Tracking {
        working: true,
        p1: true,
        p2_info: false,
    };
    let others = dirstate.iter();
    let others = others.filter(|(_, entry)| entry.tracking() != normal);
    paths.extend(others.map(|(path, _)| path.to_vec()));
    for path in &paths {
        dirstate.copy(path, None);
        match tree.get(path)? {
            Some(_) => dirstate.set_tracking(path, normal),
            None => dirstate.forget(path),
        }
    }
    let node = view.changelog().node_or_null(target);
    dirstate.set_parents([node, Node::NULL]);
    dirstate.write(repository)?;
    crate::clear_merge(repository)
}
