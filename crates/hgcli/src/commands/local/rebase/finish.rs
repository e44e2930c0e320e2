//! The end of a rebase: the working copy, bookmarks, and the old changesets.

use super::OPERATION;
use super::run::RebaseRun;
use super::{collapse, step};
use crate::commands::local::rewrite::{self, Replacement, RewriteEnd};
use crate::render::formatter::Formatter;
use crate::ui::Abort;
use varve_repo::{Node, RepoView};
use varve_workdir::{Dirstate, RebaseState};

pub(super) fn finish(run: &mut RebaseRun<'_>) -> Result<(), Abort> {
    run.repo.refresh();
    run.ui.note("rebase merging completed\n")?;
    if run.collapses {
        collapse::commit(run)?;
    }
    let view = run.repo.view()?;
    let original = view.changelog().rev(&run.original);
    let moved = original.and_then(|rev| run.targets.done.get(&rev).copied().flatten());
    let target = moved.unwrap_or(run.original);
    if Dirstate::read(run.repository)?.parents()[0] != target {
        run.ui
            .note("update back to initial working directory parent\n")?;
        step::go_to(run, &view, target)?;
    } else {
        // As after an update, the branch that was set is forgotten.
        let branch = step::branch_of(&view, &target)?;
        varve_workdir::set_branch(run.repository, &branch)?;
    }
    let replacements = replacements(run, &view);
    let end = RewriteEnd {
        operation: OPERATION,
        backup: rewrite::backup_purpose(run.config, OPERATION)?,
        keeps: run.keeps,
        note: None,
    };
    // As in Mercurial, a rebase that is only tried tells nothing through a template, nor does one that did nothing.
    let is_tried = run.matches.flag("dry-run") || run.matches.flag("confirm");
    let out = match is_tried {
        true => None,
        false => Some(Formatter::new(run.ui, run.config, run.matches, OPERATION)?),
    };
    let whom = (&mut *run.repo, &mut *run.ui, run.config);
    rewrite::finish_all(whom, run.repository, &run.before, (&replacements, &end))?;
    if let Some(mut out) = out {
        out.item(run.ui)?;
        out.data("nodechanges", rewrite::node_changes(&replacements));
        out.end(run.ui)?;
    }
    forget(run, false)?;
    run.ui.note("rebase completed\n")?;
    let skipped = run.targets.skipped.len() + run.notes.len();
    if skipped > 0 {
        run.ui
            .note(format!("{skipped} revisions have been skipped\n"))?;
    }
    Ok(())
}

/// The changesets whose place others take.
fn replacements(run: &RebaseRun<'_>, view: &RepoView) -> Vec<Replacement> {
    if run.collapses {
        return collapse::replacement(run, view).into_iter().collect();
    }
    let mut replacements = Vec::new();
    for (rev, new) in &run.targets.done {
        let old = view.changelog().node(*rev);
        let Some(new) = new.filter(|new| *new != old) else {
            continue;
        };
        let is_skipped = run.targets.skipped.contains(rev);
        replacements.push(Replacement {
            old: vec![old],
            new: if is_skipped { Vec::new() } else { vec![new] },
            bookmarks_to: new,
            keeps_diff: run.same_diffs.contains(rev),
        });
    }
    replacements
}

/// Removes the state, and activates the bookmark that was active; unless the rebase was given up, only if the working
/// copy is there.
pub(super) fn forget(run: &mut RebaseRun<'_>, is_given_up: bool) -> Result<(), Abort> {
    RebaseState::clear(run.repository)?;
    let last = run.repository.root().join(".hg/last-message.txt");
    // Mercurial keeps the description of a collapsed set there.
    let _ = std::fs::remove_file(last);
    let Some(active) = &run.active else {
        return Ok(());
    };
    run.repo.refresh();
    let view = run.repo.view()?;
    let at: Node = Dirstate::read(run.repository)?.parents()[0];
    let marked = view.bookmarks().get(active);
    if marked == Some(&at) || is_given_up && marked.is_some() {
        varve_workdir::set_active_bookmark(run.repository, Some(active))?;
    }
    Ok(())
}
