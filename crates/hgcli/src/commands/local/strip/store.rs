//! Taking changesets out of the store, for commands that put others in their place too.

use crate::commands::local::commit::metadata;
use crate::context::{Config, Repo};
use crate::remote::incoming;
use crate::ui::{Abort, Ui};
use varve_exchange::generate::{SectionSizes, measure_bundle, save_backup};
use varve_repo::{Lock, RepoView, Repository};
use varve_workdir::StripPlan;

/// Hooks of Mercurial for the changesets that it bundles and restores; they are not called here.
pub(crate) const UNCALLED_HOOKS: &[&str] = &[
    "preoutgoing",
    "outgoing",
    "prechangegroup",
    "pretxnchangegroup",
    "changegroup",
    "incoming",
];

/// Removes the changesets of a plan that was made of the unfiltered `view`, under the store's lock. With a purpose, a
/// bundle in `.hg/strip-backup` keeps them, whose name tells it. The working copy must be at none of them.
pub(crate) fn remove(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    (repository, view): (&Repository, &RepoView),
    lock: Lock,
    (plan, purpose): (&StripPlan, Option<&str>),
) -> Result<(), Abort> {
    let storage = repository.storage().as_ref();
    let markers = repository.count_markers()?;
    let mut backup = None;
    if let Some(purpose) = purpose {
        let content = (&plan.backup_node(), plan.removed());
        let saved = save_backup(view, storage, content, purpose)?;
        // Mercurial counts the null revision, from which others follow.
        let has_null = plan.removes_everything() && !plan.removed().is_empty();
        let found = plan.removed().len() + usize::from(has_null);
        print_bundle(ui, found, &saved.sizes)?;
        let path = saved.path.display();
        ui.status(format!("saved backup bundle to {path}\n"))?;
        backup = Some(saved.path);
    }
    if ui.verbosity.verbose && !plan.renumbered().is_empty() {
        print_stored_again(ui, view, plan)?;
    }
    let options = metadata::strip_options(config, repository)?;
    let stripped = repository.strip(lock, &plan.nodes(view), options, &ui.stop);
    repo.refresh();
    if let (Err(_), Some(path)) = (&stripped, backup) {
        let path = path.display();
        ui.warn(format!("strip failed, backup bundle stored in '{path}'\n"))?;
    }
    stripped?;
    match repository.count_markers()? == markers {
        true => Ok(()),
        false => repo.warn_of_remaining_markers(ui),
    }
}

/// Mercurial's words about the changesets above the removed ones, which it bundles and adds again.
fn print_stored_again(ui: &mut Ui, view: &RepoView, plan: &StripPlan) -> Result<(), Abort> {
    let sizes = measure_bundle(view, plan.renumbered())?;
    let count = plan.renumbered().len();
    print_bundle(ui, count, &sizes)?;
    let heads = match plan.added_heads(view)? {
        0 => String::new(),
        more => format!(" ({more:+} heads)"),
    };
    ui.note(format!(
        "adding branch\nadding changesets\nadding manifests\nadding file changes\n\
         added {count} changesets with {} changes to {} files{heads}\n",
        sizes.file_revisions,
        sizes.files.len()
    ))
}

/// Prints the contents of a bundle with `--verbose`.
pub(crate) fn print_bundle(
    ui: &mut Ui,
    changesets: usize,
    sizes: &SectionSizes,
) -> Result<(), Abort> {
    ui.note(format!("{changesets} changesets found\n"))?;
    incoming::note_sizes(ui, sizes)
}
