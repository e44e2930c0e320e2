//! Stripping changesets, with a bundle of them.

use crate::commands::local::commit::metadata;
use crate::context::{Config, Repo};
use crate::remote::incoming;
use crate::ui::{Abort, Ui};
use varve_exchange::generate::SectionSizes;
use varve_repo::{Lock, LockKind, Node, Repository, Rev, ViewFilter};

/// Hooks of Mercurial for the changesets that it bundles and restores when it removes one.
pub(crate) const OF_STRIPPING: &[&str] = &[
    "preoutgoing",
    "outgoing",
    "prechangegroup",
    "pretxnchangegroup",
    "changegroup",
    "incoming",
];

/// Strips changesets and what follows them, after a bundle below `.hg/strip-backup`, whose name has `purpose`, has got
/// them. Takes the store's lock unless it is given.
pub(crate) fn strip(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    repository: &Repository,
    nodes: &[Node],
    (purpose, lock): (&str, Option<Lock>),
) -> Result<(), Abort> {
    let lock = match lock {
        Some(lock) => lock,
        None => repo.lock(ui, LockKind::Store)?,
    };
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    let storage = repository.storage().as_ref();
    let revs: Vec<Rev> = nodes
        .iter()
        .filter_map(|node| view.changelog().rev(node))
        .collect();
    let revs = view.with_descendants(&revs);
    let backup = varve_exchange::generate::save_backup(&view, storage, &revs, purpose)?;
    print_bundle(ui, revs.len(), &backup.sizes)?;
    ui.status(format!(
        "saved backup bundle to {}\n",
        backup.path.display()
    ))?;
    let first = revs.first().map_or(0, |first| first.index());
    let again = view.changelog().revs().skip(first);
    let again: Vec<Rev> = again
        .filter(|rev| revs.binary_search(rev).is_err())
        .collect();
    if ui.verbosity.verbose && !again.is_empty() {
        let sizes = varve_exchange::generate::measure_bundle(&view, &again)?;
        print_bundle(ui, again.len(), &sizes)?;
        ui.note(format!(
            "adding branch\nadding changesets\nadding manifests\nadding file changes\n\
             added {} changesets with {} changes to {} files\n",
            again.len(),
            sizes.file_revisions,
            sizes.files.len()
        ))?;
    }
    let options = metadata::write_options(config, repository)?;
    let stripped = repository.strip(lock, nodes, options, &ui.stop);
    if stripped.is_err() {
        let path = backup.path.display();
        ui.warn(format!("strip failed, backup bundle stored in '{path}'\n"))?;
    }
    stripped?;
    repo.refresh();
    Ok(())
}

/// Prints the contents of a bundle with `--verbose`.
fn print_bundle(ui: &mut Ui, changesets: usize, sizes: &SectionSizes) -> Result<(), Abort> {
    ui.note(format!("{changesets} changesets found\n"))?;
    incoming::note_sizes(ui, sizes)
}
