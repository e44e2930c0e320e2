//! Rebasing without the working copy, several changesets in one transaction.
//!
//! This way is taken where its result and its output are those of the working copy's way: without hooks, editors and verbose output,
//! and as long as files need no more than a merge of their lines.

use super::run::RebaseRun;
use super::{finish, step};
use crate::commands::local::attend;
use crate::commands::local::commit::metadata;
use crate::ui::Abort;
use std::collections::HashMap;
use std::sync::Arc;
use varve_repo::{CommitBatch, LockKind, Node, RepoView, Rev};
use varve_workdir::{
    ChangesetMetadata, CommitMetadata, ReplayPlan, ReplayStep, Replayed, Replayer, message,
};

/// Why a run in memory has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemoryEnd {
    /// All is done.
    Complete,
    /// A file has a conflict.
    Conflict,
    /// The next changeset needs the working copy, or the copies so far in the store.
    NeedsStore,
}

/// Rebased changesets that are not in the store yet.
struct MemoryRun {
    view: Arc<RepoView>,
    batch: Option<CommitBatch>,
    /// Branches of the new changesets.
    branches: HashMap<Node, Vec<u8>>,
    /// How many changesets were dealt with.
    count: usize,
}

fn is_possible(run: &RebaseRun<'_>) -> Result<bool, Abort> {
    let tool = attend::tool_choice(run.config, run.matches.value("tool"))?;
    let is_seen = run.ui.verbosity.verbose || run.ui.verbosity.debug;
    Ok(tool.merges_only_lines() && !is_seen && !run.repo.has_hooks() && !run.matches.flag("edit"))
}

/// Rebases the first of `order`, as many as it can; returns how many that were.
pub(super) fn replay(run: &mut RebaseRun<'_>, order: &[Rev]) -> Result<usize, Abort> {
    if run.collapses || !is_possible(run)? {
        return Ok(0);
    }
    let (memory, end) = MemoryRun::carry_out(run, order)?;
    let count = memory.count;
    if memory.store(run)? {
        run.save()?;
    }
    let is_asked_for = run
        .config
        .boolean("rebase", "experimental.inmemory", false)?;
    if end == MemoryEnd::Conflict && is_asked_for {
        run.ui
            .status("hit merge conflicts; rebasing that commit again in the working copy\n")?;
    }
    Ok(count)
}

/// `--dry-run` and `--confirm`: everything in memory, and then maybe into the store. With `--collapse` the changesets of the
/// trial, one on the other, meet the same conflicts as the one that they become; that one is made in the working copy.
pub(super) fn try_first(run: &mut RebaseRun<'_>) -> Result<u8, Abort> {
    /// The exit code when there is a conflict.
    const CONFLICT: u8 = 1;
    let dry = run.matches.flag("dry-run");
    let option = if dry { "dry-run" } else { "confirm" };
    let unseen = |what: &str| Abort::input(format!("rebase --{option} does not foresee {what}"));
    if !is_possible(run)? {
        return Err(unseen("hooks, editors, and verbose merges"));
    }
    let order = run.order()?;
    let before = run.targets.clone();
    let (memory, end) = MemoryRun::carry_out(run, &order)?;
    match end {
        MemoryEnd::Complete => {}
        MemoryEnd::Conflict => {
            run.ui.status("hit a merge conflict\n")?;
            return Ok(CONFLICT);
        }
        MemoryEnd::NeedsStore => {
            return Err(unseen("what renames, links or merges need"));
        }
    }
    if dry {
        run.ui.status(
            "dry-run rebase completed successfully; run without -n/--dry-run to perform this \
             rebase\n",
        )?;
        return Ok(0);
    }
    run.ui.status("rebase completed successfully\n")?;
    if !run.ui.confirm("apply changes")? {
        return Ok(0);
    }
    if run.collapses {
        drop(memory);
        run.targets = before;
        run.left_at = None;
        return collapse_tried(run, &order);
    }
    if memory.store(run)? {
        run.save()?;
    }
    finish::finish(run)?;
    Ok(0)
}

/// Makes one changeset of those that a trial has shown already.
fn collapse_tried(run: &mut RebaseRun<'_>, order: &[Rev]) -> Result<u8, Abort> {
    run.begin_steps()?;
    let was_quiet = std::mem::replace(&mut run.ui.verbosity.quiet, true);
    let merged = order.iter().try_for_each(|rev| {
        if !run.print_done(*rev)? {
            step::rebase(run, *rev)?;
            run.save()?;
        }
        Ok(())
    });
    run.ui.verbosity.quiet = was_quiet;
    merged.and_then(|()| finish::finish(run)).map(|()| 0)
}

impl MemoryRun {
    fn carry_out(run: &mut RebaseRun<'_>, order: &[Rev]) -> Result<(MemoryRun, MemoryEnd), Abort> {
        let view = run.repo.view()?;
        let mut memory = MemoryRun {
            view: Arc::clone(&view),
            batch: None,
            branches: HashMap::new(),
            count: 0,
        };
        let mut replayer = Replayer::new(&view);
        let mut end = MemoryEnd::Complete;
        for rev in order {
            run.ui
                .stop
                .check()
                .map_err(varve_workdir::WorkdirError::from)?;
            if !run.print_done(*rev)? {
                end = memory.rebase(run, &mut replayer, *rev)?;
            }
            if end != MemoryEnd::Complete {
                break;
            }
            memory.count += 1;
        }
        Ok((memory, end))
    }

    fn rebase(
        &mut self,
        run: &mut RebaseRun<'_>,
        replayer: &mut Replayer<'_>,
        rev: Rev,
    ) -> Result<MemoryEnd, Abort> {
        let is_merge = self.view.changelog().parents(rev)[1].is_some();
        if is_merge && !self.branches.is_empty() {
            return Ok(MemoryEnd::NeedsStore);
        }
        let Ok(place) = run.targets.parents(&self.view, rev)? else {
            return Ok(MemoryEnd::NeedsStore);
        };
        let at = ReplayStep {
            rev,
            base: place.base,
            parents: place.parents,
        };
        let outcome = replayer.plan(self.batch(run)?, &at)?;
        let shown = run.describe(&self.view, rev)?;
        let is_tried = run.is_in_memory();
        let plan = match outcome {
            Replayed::Plan(plan) => plan,
            Replayed::Conflict { merged } => {
                if is_tried {
                    announce(run, &shown, &merged)?;
                    run.announced = Some(rev);
                }
                return Ok(MemoryEnd::Conflict);
            }
            Replayed::NeedsWorkingCopy => return Ok(MemoryEnd::NeedsStore),
        };
        if run.collapses && plan.has_copies() {
            // Where nothing is committed between them, later changesets merge the copy once more.
            return Ok(MemoryEnd::NeedsStore);
        }
        announce(run, &shown, &plan.merged)?;
        self.commit(run, &plan, rev, &shown)?;
        Ok(MemoryEnd::Complete)
    }

    /// The transaction, which begins with the first changeset.
    fn batch(&mut self, run: &mut RebaseRun<'_>) -> Result<&mut CommitBatch, Abort> {
        if self.batch.is_none() {
            let lock = run.repo.lock(run.ui, LockKind::Store)?;
            let options = metadata::write_options(run.config, run.repository)?;
            let batch = run.repository.begin_named(lock, options, "rebase")?;
            self.batch = Some(batch);
        }
        self.batch
            .as_mut()
            .ok_or_else(|| Abort::new("no transaction"))
    }

    fn commit(
        &mut self,
        run: &mut RebaseRun<'_>,
        plan: &ReplayPlan,
        rev: Rev,
        shown: &[u8],
    ) -> Result<(), Abort> {
        let view = Arc::clone(&self.view);
        let mut old = ChangesetMetadata::read(&view, rev)?;
        old.description = run.with_new_names(old.description)?;
        let [parent, second] = plan.parents();
        let branch = match self.branches.get(&parent) {
            Some(branch) => step::of_branches(run, &old, branch.clone()),
            None => step::branch(run, &view, &old, parent)?,
        };
        let is_empty = plan.is_unchanged() && branch.is_same_as_parent && second.is_null();
        if is_empty && run.collapses {
            run.left_at = Some(parent);
            run.targets.done.insert(rev, Some(parent));
            return Ok(());
        }
        if is_empty && !step::keeps_empty(run)? {
            return run.skip(rev, parent, shown);
        }
        let extras = step::extras(&view, rev, &old);
        let extras: Vec<(&[u8], &[u8])> = extras.iter().map(|(k, v)| (&k[..], &v[..])).collect();
        let description = message::tidy(&old.description);
        let words = CommitMetadata {
            user: &old.user,
            date: old.date,
            branch: &branch.name,
            extras: &extras,
            description: &description,
            phase: step::phase(&view, rev),
        };
        let node = plan.commit(self.batch(run)?, &words)?;
        if is_empty {
            step::note_empty(run.ui, shown)?;
        }
        self.branches.insert(node, branch.name);
        run.targets.done.insert(rev, Some(node));
        run.left_at = Some(node);
        if plan.keeps_diff {
            run.same_diffs.insert(rev);
        }
        Ok(())
    }

    /// Writes what there is; false if that is nothing.
    fn store(self, run: &mut RebaseRun<'_>) -> Result<bool, Abort> {
        let is_new = !self.branches.is_empty();
        if let Some(batch) = self.batch.filter(|_| is_new) {
            batch.finish()?;
        }
        run.repo.refresh();
        Ok(is_new)
    }
}

fn announce(run: &mut RebaseRun<'_>, shown: &[u8], merged: &[Vec<u8>]) -> Result<(), Abort> {
    run.ui.status([b"rebasing ", shown, b"\n"].concat())?;
    for path in merged {
        run.ui.status([b"merging ", &path[..], b"\n"].concat())?;
    }
    Ok(())
}
