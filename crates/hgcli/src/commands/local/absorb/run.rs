//! The new changesets, and the end of the old ones.

use crate::commands::local::commit::metadata;
use crate::commands::local::rewrite::{self, Replacement, RewriteEnd};
use crate::context::{Config, Repo};
use crate::ui::{Abort, FailureKind, Ui, short_hex};
use varve_repo::{LockKind, Node, RepoView, Repository, ViewFilter};
use varve_workdir::{
    AbsorbOutcome, AbsorbRequest, AbsorbStack, AbsorbedChangeset, AbsorbedFile, Dirstate,
};

/// Name of the command, for markers and bundles.
const OPERATION: &str = "absorb";

/// Puts new changesets in the place of those that absorb changes.
pub(super) fn carry_out(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    (repository, dirstate): (&Repository, &mut Dirstate),
    (stack, files): (&AbsorbStack, &[AbsorbedFile]),
) -> Result<(), Abort> {
    let markers = config.evolution()?.markers;
    let keeps_empty = keeps_empty(config)?;
    let adds_noise = config.boolean("absorb", "add-noise", true)?;
    let lock = repo.lock(ui, LockKind::Store)?;
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    let options = metadata::write_options(config, repository)?;
    let batch = repository.begin_named(lock, options, OPERATION)?;
    let request = AbsorbRequest {
        view: &view,
        stack,
        files,
        keeps_empty,
        names_source: markers && adds_noise,
        stop: &ui.stop,
    };
    let made = varve_workdir::absorb(repository, batch, dirstate, &request)?;
    repo.refresh();
    let after = repository.view_for(ViewFilter::Unfiltered)?;
    for done in &made {
        note_changeset(ui, &after, done)?;
    }
    note_bookmarks(ui, &view, &made)?;
    let replacements = made.iter().filter(|done| done.node() != Some(done.old));
    let replacements: Vec<Replacement> = replacements
        .map(|done| Replacement {
            old: vec![done.old],
            new: done.node().into_iter().collect(),
            // The bookmarks have moved already.
            bookmarks_to: done.node().unwrap_or(Node::NULL),
            keeps_diff: false,
        })
        .collect();
    let end = RewriteEnd::replacing(OPERATION);
    rewrite::finish((repo, ui, config), repository, &replacements, &end)?;
    report(ui, files)
}

/// The value of `rewrite.empty-successor`: true if changesets that become empty are kept.
fn keeps_empty(config: &Config) -> Result<bool, Abort> {
    match config.text("rewrite", "empty-successor").as_deref() {
        Some("keep") => Ok(true),
        Some("skip") | None => Ok(false),
        Some(other) => Err(Abort::of_kind(
            FailureKind::Configuration,
            format!("unknown value for rewrite.empty-successor: {other}"),
        )),
    }
}

/// Says with `--verbose` what has become of a changeset.
fn note_changeset(ui: &mut Ui, view: &RepoView, done: &AbsorbedChangeset) -> Result<(), Abort> {
    if !ui.verbosity.verbose {
        return Ok(());
    }
    let named = |node: &Node, rev: u32| format!("{rev}:{}", short_hex(node));
    let old = named(&done.old, done.rev.0);
    let (node, is_empty, files, has_manifest) = match &done.outcome {
        AbsorbOutcome::Dropped => return ui.note(format!("{old}: became empty and was dropped\n")),
        AbsorbOutcome::Committed {
            node,
            is_empty,
            files,
            has_manifest,
            stale,
        } => {
            for reference in stale {
                rewrite::note_stale(ui, reference)?;
            }
            (node, *is_empty, files, *has_manifest)
        }
    };
    if !files.is_empty() {
        ui.note("committing files:\n")?;
        for file in files {
            ui.note([&file[..], b"\n"].concat())?;
        }
        if has_manifest {
            ui.note("committing manifest\n")?;
        }
    }
    ui.note("committing changelog\n")?;
    let rev = view.changelog().rev(node).map_or(0, |rev| rev.0);
    let became = match is_empty {
        true => "became empty as",
        false => "became",
    };
    ui.note(format!(
        "{old}: {} file(s) changed, {became} {}\n",
        done.changed,
        named(node, rev)
    ))
}

/// Says with `--verbose` which bookmarks have moved, and which are gone.
fn note_bookmarks(ui: &mut Ui, before: &RepoView, made: &[AbsorbedChangeset]) -> Result<(), Abort> {
    for (name, at) in before.bookmarks() {
        let Some(done) = made.iter().find(|done| done.old == *at) else {
            continue;
        };
        let name = ui.local(name);
        ui.note(match done.node() {
            Some(node) => {
                let to = format!(" to {node}\n");
                [b"moving bookmark ", &name[..], to.as_bytes()].concat()
            }
            None => [b"deleting bookmark ", &name[..], b"\n"].concat(),
        })?;
    }
    Ok(())
}

/// Says how many changes were absorbed, of each file with `--verbose`.
fn report(ui: &mut Ui, files: &[AbsorbedFile]) -> Result<(), Abort> {
    let words = |applied: usize, all: usize| format!("{applied} of {all} chunk(s) applied\n");
    if !ui.verbosity.verbose {
        let applied = files.iter().map(|file| file.applied).sum();
        let all = files.iter().map(|file| file.count).sum();
        return ui.status(words(applied, all));
    }
    for file in files.iter().filter(|file| file.applied > 0) {
        let words = words(file.applied, file.count);
        ui.note([&file.path[..], b": ", words.as_bytes()].concat())?;
    }
    Ok(())
}
