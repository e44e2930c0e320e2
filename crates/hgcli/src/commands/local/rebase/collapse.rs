//! `--collapse`: all changesets become one. Each is merged into the working copy, and the last step commits.

use super::run::RebaseRun;
use super::step;
use crate::commands::local::commit;
use crate::commands::local::rewrite::Replacement;
use crate::ui::Abort;
use std::collections::BTreeSet;
use std::path::PathBuf;
use varve_lang::patterns::Matcher;
use varve_repo::{Node, RepoView, Rev};
use varve_workdir::{ChangesetMetadata, CommitMetadata, Dirstate, external_parent};

/// Finds the second parent of the new changeset, and refuses what cannot become one changeset.
pub(super) fn prepare(run: &mut RebaseRun<'_>, view: &RepoView) -> Result<(), Abort> {
    let destinations: BTreeSet<Node> = run.targets.destinations.values().copied().collect();
    let revs: BTreeSet<Rev> = run.targets.done.keys().copied().collect();
    if destinations.len() > 1 {
        let message = "--collapse does not work with multiple destinations";
        return Err(Abort::input(message));
    }
    if run.keeps_branches {
        let mut branches = BTreeSet::new();
        for rev in &revs {
            let branch = |changeset: varve_repo::Changeset<'_>| changeset.branch().into_owned();
            branches.insert(view.with_changeset(*rev, branch)?);
        }
        if branches.len() > 1 {
            return Err(Abort::input("cannot collapse multiple named branches"));
        }
    }
    let changelog = view.changelog();
    let destination = destinations.first().and_then(|node| changelog.rev(node));
    let external = external_parent(view, &revs, destination).map_err(|outside| {
        let shown = outside.iter().map(|rev| rev.0.to_string());
        let shown = shown.collect::<Vec<_>>().join(", ");
        let at = destination.map_or(-1, |rev| i64::from(rev.0));
        Abort::state(format!(
            "unable to collapse on top of {at}, there is more than one external parent: {shown}"
        ))
    })?;
    run.external = changelog.node_or_null(external);
    Ok(())
}

fn message_file(run: &RebaseRun<'_>) -> PathBuf {
    run.repository.root().join(".hg/last-message.txt")
}

/// Keeps the description for a later call.
pub(super) fn keep_message(run: &RebaseRun<'_>) -> Result<(), Abort> {
    let text = run.message.clone().unwrap_or_default();
    let wrong = |error: std::io::Error| Abort::new(format!("cannot keep the description: {error}"));
    std::fs::write(message_file(run), [&text[..], b"\n"].concat()).map_err(wrong)
}

/// The description that an earlier call has kept. As with Mercurial that is its first line.
pub(super) fn kept_message(run: &RebaseRun<'_>) -> Result<Option<Vec<u8>>, Abort> {
    let missing = |_| Abort::new("missing .hg/last-message.txt for rebase");
    let text = std::fs::read(message_file(run)).map_err(missing)?;
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = line.trim_ascii();
    Ok((!line.is_empty()).then(|| line.to_vec()))
}

/// The description and whether the user must look at it.
fn description(run: &RebaseRun<'_>, view: &RepoView) -> Result<(Vec<u8>, bool), Abort> {
    if let Some(message) = &run.message {
        return Ok((message.clone(), run.matches.flag("edit")));
    }
    let mut text = b"Collapsed revision".to_vec();
    for rev in run.targets.done.keys() {
        let description = |changeset: varve_repo::Changeset<'_>| changeset.description.to_vec();
        let one = view.with_changeset(*rev, description)?;
        text.extend([b"\n* ", &one[..]].concat());
    }
    Ok((text, true))
}

/// Commits the working copy as the changeset that all become. If nothing changed, their destination stands for them.
pub(super) fn commit(run: &mut RebaseRun<'_>) -> Result<(), Abort> {
    let repository = run.repository;
    let view = run.repo.view()?;
    let Some(newest) = run.targets.done.keys().next_back().copied() else {
        return Ok(());
    };
    commit::refuse_unresolved(repository)?;
    let parents = [run.targets.destination(newest), run.external];
    let mut dirstate = Dirstate::read(repository)?;
    dirstate.set_parents(parents);
    let everything = Matcher::everything();
    let status = commit::working_changes(run.ui, repository, &everything, &mut dirstate)?;
    let mut old = ChangesetMetadata::read(&view, newest)?;
    let branch = step::branch(run, &view, &old, parents[0])?;
    let is_merge = !parents[1].is_null();
    let (text, edits) = description(run, &view)?;
    let is_unchanged = status.is_unchanged() && branch.is_same_as_parent && !is_merge;
    if is_unchanged && !step::keeps_empty(run)? {
        dirstate.write(repository)?;
        varve_workdir::clear_merge(repository)?;
        return Ok(());
    }
    let extras = step::extras(&view, newest, &old);
    let extras: Vec<(&[u8], &[u8])> = extras.iter().map(|(k, v)| (&k[..], &v[..])).collect();
    old.description = text;
    let description = match edits {
        true => {
            let form = (is_merge, "rebase.collapse");
            step::edited(run, &old, &branch.name, &status, form)?
        }
        false => old.description.clone(),
    };
    let words = CommitMetadata {
        user: &old.user,
        date: old.date,
        branch: &branch.name,
        extras: &extras,
        description: &description,
        phase: step::phase(&view, newest),
    };
    let whom = (&mut *run.repo, &mut *run.ui, run.config);
    let (node, _) = commit::commit_changes(whom, &mut dirstate, (&status, None), &words)?;
    varve_workdir::set_branch(repository, &branch.name)?;
    for new in run.targets.done.values_mut() {
        *new = Some(node);
    }
    Ok(())
}

/// All changesets and the one that they have become.
pub(super) fn replacement(run: &RebaseRun<'_>, view: &RepoView) -> Option<Replacement> {
    let new = run.targets.done.values().next().copied().flatten()?;
    let old = run
        .targets
        .done
        .keys()
        .map(|rev| view.changelog().node(*rev));
    Some(Replacement {
        old: old.collect(),
        new: vec![new],
        bookmarks_to: new,
        keeps_diff: false,
    })
}
