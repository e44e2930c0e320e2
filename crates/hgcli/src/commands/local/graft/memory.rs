//! Grafting without the working copy, several changesets in one transaction.
//!
//! This way is taken where its result and its output are those of the working copy's way: without hooks, editors and verbose output,
//! and as long as files need no more than a merge of their lines. The working copy follows at the end.

use super::step::{self, GraftRun, GraftSettings};
use crate::commands::local::attend;
use crate::commands::local::commit::metadata;
use crate::commands::local::instabilities;
use crate::commands::local::update;
use crate::ui::Abort;
use std::io;
use std::os::unix::ffi::OsStrExt;
use varve_repo::{CommitBatch, LockKind, Node, RepoView, Rev};
use varve_workdir::{
    ChangesetMetadata, CommitMetadata, Dirstate, LocalChanges, ReplayPlan, ReplayStep, Replayed,
    Replayer, graft_extras, message,
};

/// Grafts that are not in the store yet.
struct MemoryRun<'a> {
    view: &'a RepoView,
    batch: CommitBatch,
    parent: Node,
    /// The new changesets are orphans, of which the user is warned.
    makes_orphans: bool,
    branch: Vec<u8>,
    /// The branch of `parent`.
    of_parent: Vec<u8>,
    made: Vec<Node>,
}

fn is_possible(run: &GraftRun<'_>, settings: &GraftSettings) -> Result<bool, Abort> {
    let tool = attend::tool_choice(run.config, run.matches.value("tool"))?;
    let is_seen = run.ui.verbosity.verbose || run.ui.verbosity.debug;
    let is_plain = settings.base.is_none() && !settings.no_commit;
    Ok(is_plain
        && !is_seen
        && tool.merges_only_lines()
        && !run.repo.has_hooks()
        && !["edit", "dry-run"]
            .iter()
            .any(|name| run.matches.flag(name)))
}

/// Grafts the first of `nodes`, as many as it can; returns how many that were, and adds the new ones to `new_nodes`.
pub(super) fn replay(
    run: &mut GraftRun<'_>,
    settings: &GraftSettings,
    nodes: &[Node],
    new_nodes: &mut Vec<Node>,
) -> Result<usize, Abort> {
    let dirstate = Dirstate::read(run.repository)?;
    let [parent, second] = dirstate.parents();
    if !is_possible(run, settings)? || !second.is_null() {
        return Ok(0);
    }
    let view = run.repo.view()?;
    let of_parent = match view.changelog().rev(&parent) {
        Some(rev) => view.with_changeset(rev, |changeset| changeset.branch().into_owned())?,
        None => varve_repo::DEFAULT_BRANCH.to_vec(),
    };
    let lock = run.repo.lock(run.ui, LockKind::Store)?;
    let options = metadata::write_options(run.config, run.repository)?;
    let mut memory = MemoryRun {
        view: &view,
        batch: run.repository.begin_with_view(lock, &view, options)?,
        makes_orphans: instabilities::makes_orphans(run.ui, run.repository, &parent)?,
        parent,
        branch: varve_workdir::branch(run.repository)?,
        of_parent,
        made: Vec::new(),
    };
    let mut replayer = Replayer::new(&view);
    let mut count = 0;
    for node in nodes {
        run.ui
            .stop
            .check()
            .map_err(varve_workdir::WorkdirError::from)?;
        if !memory.graft(run, settings, &mut replayer, node)? {
            break;
        }
        count += 1;
    }
    memory.store(run, parent, new_nodes)?;
    Ok(count)
}

impl MemoryRun<'_> {
    /// Grafts one changeset; returns false if that needs the working copy.
    fn graft(
        &mut self,
        run: &mut GraftRun<'_>,
        settings: &GraftSettings,
        replayer: &mut Replayer<'_>,
        node: &Node,
    ) -> Result<bool, Abort> {
        let Some(rev) = self.view.changelog().rev(node) else {
            return Ok(false);
        };
        let at = ReplayStep {
            rev,
            base: self.view.changelog().parents(rev)[0],
            parents: [self.parent, Node::NULL],
        };
        let Replayed::Plan(plan) = replayer.plan(&self.batch, &at)? else {
            return Ok(false);
        };
        if has_obstacle(run, &plan)? {
            return Ok(false);
        }
        step::announce(run, self.view, rev, !self.made.is_empty())?;
        for path in &plan.merged {
            run.ui.status([b"merging ", &path[..], b"\n"].concat())?;
        }
        let allows_empty = run.config.boolean("ui", "allowemptycommit", false)?;
        if plan.is_unchanged() && self.branch == self.of_parent && !allows_empty {
            step::note_unchanged(run, rev)?;
            return Ok(true);
        }
        self.commit(run, settings, rev, &plan)?;
        Ok(true)
    }

    fn commit(
        &mut self,
        run: &mut GraftRun<'_>,
        settings: &GraftSettings,
        rev: Rev,
        plan: &ReplayPlan,
    ) -> Result<(), Abort> {
        let old = ChangesetMetadata::read(self.view, rev)?;
        let (user, date) = step::user_and_date(run.ui, settings, &old)?;
        let description = message::tidy(&step::logged(settings, self.view, rev, &old));
        let extras = graft_extras(self.view, rev)?;
        let extras: Vec<(&[u8], &[u8])> = extras.iter().map(|(k, v)| (&k[..], &v[..])).collect();
        let words = CommitMetadata {
            user: &user,
            date,
            branch: &self.branch,
            extras: &extras,
            description: &description,
            phase: metadata::new_phase(run.config)?,
        };
        let node = plan.commit(&mut self.batch, &words)?;
        // For the user, as with every commit.
        let last = run.repository.root().join(".hg/last-message.txt");
        let _ = std::fs::write(last, &description);
        self.of_parent.clone_from(&self.branch);
        self.parent = node;
        instabilities::warn(run.ui, usize::from(self.makes_orphans), "orphan")?;
        self.made.push(node);
        Ok(())
    }

    /// Writes what there is, and brings the working copy and the active bookmark from `before` to it.
    fn store(
        mut self,
        run: &mut GraftRun<'_>,
        before: Node,
        new_nodes: &mut Vec<Node>,
    ) -> Result<(), Abort> {
        if self.made.is_empty() {
            return Ok(());
        }
        let active = varve_workdir::active_bookmark(run.repository)?;
        let mut bookmarks = self.batch.bookmarks().clone();
        let at = active.and_then(|name| bookmarks.get_mut(&name));
        if let Some(at) = at.filter(|at| **at == before) {
            *at = self.parent;
            self.batch.transaction().set_bookmarks(&bookmarks)?;
        }
        self.batch.finish()?;
        run.repo.refresh();
        let view = run.repo.view()?;
        let mut dirstate = Dirstate::read(run.repository)?;
        let at = (run.repository, &*view);
        let target = view.changelog().rev(&self.parent);
        let (ui, config, matches) = (&mut *run.ui, run.config, run.matches);
        let local = LocalChanges::Discard;
        update::go_to(ui, config, matches, at, &mut dirstate, target, local)?;
        new_nodes.extend(self.made);
        Ok(())
    }
}

/// Whether something untracked stands where a new file would be.
fn has_obstacle(run: &GraftRun<'_>, plan: &ReplayPlan) -> Result<bool, Abort> {
    for path in plan.added() {
        let path = run
            .repository
            .root()
            .join(std::ffi::OsStr::from_bytes(path));
        match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            _ => return Ok(true),
        }
    }
    Ok(false)
}
