//! The new changesets and the fixed working directory, with the hooks around them.

use super::{Fixed, metadata};
use crate::commands::local::commit::metadata::write_options;
use crate::commands::local::rewrite::{self, Replacement, RewriteEnd};
use crate::context::{Config, Repo};
use crate::ui::{Abort, Ui};
use std::collections::BTreeMap;
use varve_repo::hooks::{HookArgs, python};
use varve_repo::{LockKind, RepoView, Repository, Rev};
use varve_workdir::{
    Dirstate, FixPlace, FixPlan, FixRequest, FixedChangeset, WorkingFiles, fix_changesets,
    move_to_fixed,
};

/// Name of the command, for markers and bundles.
const OPERATION: &str = "fix";
/// The working copy's revision, as hooks learn it.
const WORKING_REV: &str = "2147483647";

/// Runs `postfixfile` for a file that the tools have changed; its failure is a warning.
pub(super) fn run_file_hook(
    (repo, ui): (&mut Repo, &mut Ui),
    (place, path): (FixPlace, &[u8]),
    told: &[(Vec<u8>, Option<serde_json::Value>)],
) -> Result<(), Abort> {
    let rev = match place {
        FixPlace::Rev(rev) => rev.0.to_string(),
        FixPlace::Working => WORKING_REV.to_owned(),
    };
    let told: BTreeMap<&[u8], String> = told
        .iter()
        .map(|(tool, value)| (&tool[..], metadata::shown(value.as_ref())))
        .collect();
    let args = HookArgs::from([
        ("rev", rev.into_bytes()),
        ("path", path.to_vec()),
        (
            "metadata",
            metadata::dictionary(told.into_iter()).into_bytes(),
        ),
    ]);
    repo.notify_hooks(ui, "postfixfile", &args)
}

/// Commits what the tools have changed, and writes it to the working directory.
pub(super) fn carry_out(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    (repository, view, dirstate): (&Repository, &RepoView, &mut Dirstate),
    (revs, plan, fixed): (&[Rev], &FixPlan, Fixed),
) -> Result<(), Abort> {
    let markers = config.evolution()?.markers;
    let lock = repo.lock(ui, LockKind::Store)?;
    let options = write_options(config, repository)?;
    let mut batch = repository.begin_named(lock, options, OPERATION)?;
    let request = FixRequest {
        view,
        revs,
        files: &fixed.revs,
        stop: &ui.stop.clone(),
    };
    let made = fix_changesets(&mut batch, &request)?;
    for done in &made {
        note_changeset(ui, done)?;
    }
    let mut after = dirstate.clone();
    // Without markers the old parent goes; it is better to stand on the new one than on nothing.
    if plan.has_working_copy() || !markers {
        move_to_fixed(repository, &mut batch, &mut after, (view, &made))?;
    }
    for path in fixed.working.keys() {
        after.set_possibly_dirty(path);
    }
    if let Err(refused) = run_last_hook((repo, ui), &made, &fixed) {
        drop(batch);
        ui.warn_of_rollback()?;
        return Err(refused);
    }
    batch.finish()?;
    *dirstate = after;
    dirstate.write(repository)?;
    repo.refresh();
    end_old((repo, ui, config), repository, &made)?;
    // Last: a file that cannot be written shows as a local change, and all else is done.
    let working = WorkingFiles::of(repository);
    for (path, content) in &fixed.working {
        working.replace(path, content)?;
    }
    Ok(())
}

/// Puts the new changesets in the place of the old ones.
fn end_old(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    repository: &Repository,
    made: &[FixedChangeset],
) -> Result<(), Abort> {
    let replacements: Vec<Replacement> = made
        .iter()
        .map(|fixed| Replacement::of(&fixed.done))
        .collect();
    let end = RewriteEnd::replacing(OPERATION);
    match replacements.is_empty() {
        true => Ok(()),
        false => rewrite::finish((repo, ui, config), repository, &replacements, &end),
    }
}

/// Says with `--verbose` what is done for a new changeset.
fn note_changeset(ui: &mut Ui, fixed: &FixedChangeset) -> Result<(), Abort> {
    if !ui.verbosity.verbose {
        return Ok(());
    }
    rewrite::note_files(ui, &fixed.done)?;
    for reference in &fixed.stale {
        rewrite::note_stale(ui, reference)?;
    }
    rewrite::note_commit(ui, &fixed.done)
}

/// Runs `postfix`, which may refuse everything.
fn run_last_hook(
    (repo, ui): (&mut Repo, &mut Ui),
    made: &[FixedChangeset],
    fixed: &Fixed,
) -> Result<(), Abort> {
    let replaced: BTreeMap<_, _> = made
        .iter()
        .map(|fixed| (fixed.done.old, fixed.done.node))
        .collect();
    let replaced: Vec<(Vec<u8>, String)> = replaced
        .iter()
        .map(|(old, new)| (old.0.to_vec(), python::string(&new.0)))
        .collect();
    let replaced = replaced.iter().map(|(old, new)| (&old[..], new.clone()));
    let told = fixed.metadata.iter().map(|(tool, values)| {
        let values = values.iter().map(Option::as_ref);
        (&tool[..], metadata::list(values))
    });
    let written = if fixed.working.is_empty() { "0" } else { "1" };
    let args = HookArgs::from([
        ("replacements", metadata::dictionary(replaced).into_bytes()),
        ("wdirwritten", written.as_bytes().to_vec()),
        ("metadata", metadata::dictionary(told).into_bytes()),
    ]);
    repo.run_hooks(ui, "postfix", &args)
}
