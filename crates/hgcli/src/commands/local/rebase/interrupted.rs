//! A rebase that left conflicts: going on, giving it up, and ending it early.

use super::run::RebaseRun;
use super::{collapse, finish, step};
use crate::commands::local::commit;
use crate::commands::local::rewrite;
use crate::ui::{Abort, short_hex};
use std::collections::BTreeSet;
use varve_repo::{Node, Phase, RepoView, Rev, ViewFilter};
use varve_workdir::{Dirstate, RebaseState};

/// Takes over the state that an earlier call has left; the changesets that are not there any more are listed.
fn resume(run: &mut RebaseRun<'_>) -> Result<Vec<Node>, Abort> {
    let state = RebaseState::read(run.repository)?;
    let state = state.ok_or_else(|| Abort::state("no rebase in progress"))?;
    let view = run.repository.view_for(ViewFilter::Unfiltered)?;
    let mut missing = Vec::new();
    run.original = state.original;
    run.active = state.active_bookmark;
    run.keeps = state.keeps;
    run.keeps_branches = state.keeps_branches;
    run.collapses = state.collapses;
    run.external = state.external;
    for step in state.steps {
        let Some(rev) = view.changelog().rev(&step.old) else {
            missing.push(step.old);
            continue;
        };
        run.targets.done.insert(rev, step.new);
        run.targets.destinations.insert(rev, step.destination);
        let Some(new) = step.new.filter(|new| !new.is_null()) else {
            continue;
        };
        let Some(new_rev) = view.changelog().rev(&new) else {
            missing.push(new);
            continue;
        };
        if !state.collapses && !is_copy(&view, step.old, new_rev)? {
            run.targets.skipped.insert(rev);
        }
    }
    Ok(missing)
}

/// Whether `new` was made of `old`, or is `old`; else it is the new parent of one that was skipped.
fn is_copy(view: &RepoView, old: Node, new: Rev) -> Result<bool, Abort> {
    let hex = old.to_hex();
    let names = view.with_changeset(new, |changeset| {
        let mut extras = changeset.extras();
        extras.any(|(key, value)| &*key == b"rebase_source" && *value == hex[..])
    })?;
    Ok(names || view.changelog().node(new) == old)
}

/// `--continue`.
pub(super) fn go_on(run: &mut RebaseRun<'_>) -> Result<u8, Abort> {
    let missing = resume(run)?;
    if !missing.is_empty() {
        return Err(Abort::state("cannot continue inconsistent rebase")
            .hint("use \"hg rebase --abort\" to clear broken state"));
    }
    commit::refuse_unresolved(run.repository)?;
    if run.collapses {
        run.message = collapse::kept_message(run)?;
    }
    run.resumes = true;
    run.rebase_all()
}

/// `--stop`: what was rebased stays, and the rest is left where it was.
pub(super) fn stop(run: &mut RebaseRun<'_>) -> Result<u8, Abort> {
    resume(run)?;
    if run.collapses {
        return Err(Abort::state("cannot stop in --collapse session"));
    }
    if !run.keeps && !run.config.evolution()?.unstable && leaves_descendants(run)? {
        return Err(Abort::state(
            "cannot remove original changesets with unrebased descendants",
        )
        .hint(
            "either enable obsmarkers to allow unstable revisions or use --keep to keep original \
             changesets",
        ));
    }
    let view = run.repo.view()?;
    let parent = Dirstate::read(run.repository)?.parents()[0];
    step::update_to(run, &view, parent)?;
    run.targets.done.retain(|_, new| new.is_some());
    finish::finish(run)?;
    Ok(0)
}

/// Whether a changeset that is still to come follows from one that was rebased.
fn leaves_descendants(run: &mut RebaseRun<'_>) -> Result<bool, Abort> {
    let view = run.repo.view()?;
    let is_moved = |rev: &Rev, new: &Node| view.changelog().node(*rev) != *new;
    let done = run.targets.done.iter();
    let moved = done.filter(|(rev, new)| new.is_some_and(|new| is_moved(rev, &new)));
    let moved: Vec<Rev> = moved.map(|(rev, _)| *rev).collect();
    let below = view.with_descendants(&moved);
    Ok(below.iter().any(|rev| !moved.contains(rev)))
}

/// `--abort`: as it was before, without the changesets that were made.
pub(super) fn abort(run: &mut RebaseRun<'_>) -> Result<u8, Abort> {
    if run
        .matches
        .value("tool")
        .is_some_and(|tool| !tool.is_empty())
    {
        run.ui.warn("tool option will be ignored\n")?;
    }
    resume(run)?;
    let view = run.repo.view()?;
    let changelog = view.changelog();
    let mut made = BTreeSet::new();
    for (rev, new) in &run.targets.done {
        let is_made =
            |new: &Node| *new != changelog.node(*rev) && *new != run.targets.destination(*rev);
        let Some(new) = new.filter(is_made) else {
            continue;
        };
        let new = changelog
            .rev(&new)
            .filter(|_| !run.targets.skipped.contains(rev));
        made.extend(new);
    }
    let made: Vec<Rev> = made.into_iter().collect();
    let cleans = may_strip(run, &view, &made)?;
    if cleans {
        let parent = Dirstate::read(run.repository)?.parents()[0];
        let mut destinations = run.targets.destinations.values();
        let is_ours = destinations.any(|at| *at == parent)
            || changelog
                .rev(&parent)
                .is_some_and(|rev| made.contains(&rev))
            || parent == run.original;
        if is_ours {
            step::update_to(run, &view, run.original)?;
        }
        if !made.is_empty() {
            let nodes: Vec<Node> = made.iter().map(|rev| changelog.node(*rev)).collect();
            let whom = (&mut *run.repo, &mut *run.ui, run.config);
            rewrite::strip(whom, run.repository, &nodes, (Some("backup"), None))?;
        }
    }
    finish::forget(run, true)?;
    run.ui.warn("rebase aborted\n")?;
    Ok(0)
}

/// Whether the changesets that the rebase has made can go; says why not.
fn may_strip(run: &mut RebaseRun<'_>, view: &RepoView, made: &[Rev]) -> Result<bool, Abort> {
    let changelog = view.changelog();
    let mut cleans = true;
    let public = made
        .iter()
        .filter(|rev| view.phases().of(**rev) == Phase::Public);
    let public: Vec<String> = public.map(|rev| short_hex(&changelog.node(*rev))).collect();
    if !public.is_empty() {
        let public = public.join(", ");
        run.ui.warn(format!(
            "warning: can't clean up public changesets {public}\n"
        ))?;
        cleans = false;
    }
    let below = view.with_descendants(made);
    if below.iter().any(|rev| !made.contains(rev)) {
        run.ui
            .warn("warning: new changesets detected on destination branch, can't strip\n")?;
        cleans = false;
    }
    Ok(cleans)
}
