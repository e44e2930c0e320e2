//! Bringing back a shelved change, as far as that needs nothing in the store: the shelved changeset, and the commit of
//! local changes, are in an overlay.

use super::{Unshelve, finish, in_store};
use crate::commands::local::attend;
use crate::commands::local::commit::{self, metadata};
use crate::commands::local::revert;
use crate::commands::local::shelve::{INTERNAL, UNCALLED_HOOKS, USER, commit_beside};
use crate::ui::Abort;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use varve_lang::patterns::Matcher;
use varve_repo::{LockKind, Node, Phase, RepoView, Repository, Rev, ViewFilter};
use varve_workdir::{
    ChangesetMetadata, CommitMetadata, Dirstate, ReplayPlan, ReplayStep, Replayed, Replayer,
    ShelfFile, ShelvedChanges, Status, UpdateStats, WorkingFiles,
};

/// Description of the commit of local changes.
const PENDING: &[u8] = b"pending changes temporary commit";
/// Message before the shelved changes are merged.
const REBASING: &str = "rebasing shelved changes\n";

/// A shelved change over the working copy.
pub(super) struct Restoring<'a> {
    pub(super) shelf: &'a ShelvedChanges<'a>,
    /// The repository with the bundle, and with the commit of local changes.
    pub(super) overlay: Repository,
    /// The parent of the working copy.
    pub(super) original: Node,
    /// The commit of local changes; the parent if there are none.
    pub(super) pending: Node,
    /// The shelved changeset.
    pub(super) shelved: Node,
    /// Local changes.
    pub(super) status: Status,
    /// The date of the commit of local changes.
    pub(super) date: (i64, i32),
}

/// Brings back the changes of a shelf.
pub(super) fn run(unshelve: &mut Unshelve<'_>, shelf: &ShelvedChanges<'_>) -> Result<u8, Abort> {
    unshelve.repo.refuse_hooks("unshelve", UNCALLED_HOOKS)?;
    let mut dirstate = Dirstate::read(unshelve.repository)?;
    let restoring = prepare(unshelve, shelf, &mut dirstate)?;
    let view = restoring.overlay.view_for(ViewFilter::Unfiltered)?;
    let rev = known(&view, &restoring.shelved)?;
    refuse_missing(&view, rev, &restoring.status)?;
    if unshelve.matches.flag("interactive") {
        unshelve.ui.status(REBASING)?;
        return in_store::merge(unshelve, &restoring, dirstate);
    }
    let parent = view.changelog().parents(rev)[0];
    if view.changelog().node_or_null(parent) == restoring.pending {
        let result = restoring.shelved;
        show(unshelve, &restoring, &mut dirstate, (&view, result))?;
        return finish::end(unshelve, &restoring, (&view, rev));
    }
    unshelve.ui.status(REBASING)?;
    let Some(result) = replay(unshelve, &restoring, (&view, rev))? else {
        return in_store::merge(unshelve, &restoring, dirstate);
    };
    let view = restoring.overlay.view_for(ViewFilter::Unfiltered)?;
    show(unshelve, &restoring, &mut dirstate, (&view, result))?;
    finish::set_branch_of_parent(unshelve, &view, &restoring.original)?;
    finish::end(unshelve, &restoring, (&view, rev))
}

/// A changeset that the bundle must have.
pub(super) fn known(view: &RepoView, node: &Node) -> Result<Rev, Abort> {
    let rev = view.changelog().rev(node);
    rev.ok_or_else(|| Abort::new(format!("unknown revision '{node}'")))
}

/// Refuses to change tracked files that are not in the working copy.
fn refuse_missing(view: &RepoView, shelved: Rev, status: &Status) -> Result<(), Abort> {
    let is_missing = |path: &[u8]| status.deleted.iter().any(|missing| missing == path);
    let touches = view.with_changeset(shelved, |changeset| changeset.files().any(is_missing))?;
    match touches {
        true => Err(Abort::new("shelved change touches missing files")
            .hint("run hg status to see which files are missing")),
        false => Ok(()),
    }
}

/// Opens the bundle, and commits local changes over it.
fn prepare<'a>(
    unshelve: &mut Unshelve<'_>,
    shelf: &'a ShelvedChanges<'a>,
    dirstate: &mut Dirstate,
) -> Result<Restoring<'a>, Abort> {
    let Unshelve {
        repo,
        ui,
        config,
        matches,
        repository,
    } = unshelve;
    let everything = Matcher::everything();
    let status = commit::working_changes(ui, repository, &everything, dirstate)?;
    let original = dirstate.parents()[0];
    let lists = [&status.modified, &status.added, &status.removed];
    let has_changes = lists.iter().any(|list| !list.is_empty());
    if has_changes {
        ui.status("temporarily committing pending changes (restore with 'hg unshelve --abort')\n")?;
    }
    let bundle = shelf.path(ShelfFile::Bundle);
    let overlay = repo.overlay_bundle_file(bundle.as_os_str().as_bytes())?;
    ui.note("adding changesets\nadding manifests\nadding file changes\n")?;
    let shelved = match shelf.node()? {
        Some(node) => node,
        None => {
            let view = overlay.view_for(ViewFilter::Unfiltered)?;
            let tip = view.changelog().revs().next_back();
            view.changelog().node_or_null(tip)
        }
    };
    let mut restoring = Restoring {
        shelf,
        overlay,
        original,
        pending: original,
        shelved,
        status,
        date: metadata::date(config, matches)?,
    };
    if has_changes {
        let mut committed = dirstate.clone();
        let branch = varve_workdir::branch(repository)?;
        restoring.pending = commit_beside(
            (ui, config),
            &restoring.overlay,
            &mut committed,
            (&restoring.status, None, &pending_words(&restoring, &branch)),
        )?;
    }
    Ok(restoring)
}

/// The metadata of the commit of local changes.
pub(super) fn pending_words<'w>(restoring: &Restoring<'_>, branch: &'w [u8]) -> CommitMetadata<'w> {
    CommitMetadata {
        user: USER,
        date: restoring.date,
        branch,
        extras: &[INTERNAL],
        description: PENDING,
        phase: Phase::Secret,
    }
}

/// Makes the shelved changeset again on the commit of local changes, without the working copy; `None` if that needs it.
fn replay(
    unshelve: &mut Unshelve<'_>,
    restoring: &Restoring<'_>,
    (view, rev): (&RepoView, Rev),
) -> Result<Option<Node>, Abort> {
    let verbosity = &unshelve.ui.verbosity;
    let is_seen = verbosity.verbose || verbosity.debug;
    let tool = attend::tool_choice(unshelve.config, unshelve.matches.value("tool"))?;
    if is_seen || unshelve.repo.has_hooks() || !tool.merges_only_lines() {
        return Ok(None);
    }
    let lock = restoring.overlay.try_lock(LockKind::Store)?;
    let options = metadata::write_options(unshelve.config, &restoring.overlay)?;
    let mut batch = restoring.overlay.begin_with_view(lock, view, options)?;
    let step = ReplayStep {
        rev,
        base: view.changelog().parents(rev)[0],
        parents: [restoring.pending, Node::NULL],
    };
    let Replayed::Plan(plan) = Replayer::new(view).plan(&batch, &step)? else {
        return Ok(None);
    };
    if has_obstacle(unshelve, &plan) {
        return Ok(None);
    }
    for path in &plan.merged {
        unshelve
            .ui
            .status([b"merging ", &path[..], b"\n"].concat())?;
    }
    if plan.is_unchanged() {
        finish::note_unchanged(unshelve.ui)?;
        return Ok(Some(restoring.pending));
    }
    let old = ChangesetMetadata::read(view, rev)?;
    let words = finish::words(&old);
    let node = plan.commit(&mut batch, &words)?;
    batch.finish()?;
    Ok(Some(node))
}

/// Whether something untracked stands where a new file would be.
fn has_obstacle(unshelve: &Unshelve<'_>, plan: &ReplayPlan) -> bool {
    let root = unshelve.repository.root();
    let mut added = plan.added();
    added.any(|path| {
        root.join(OsStr::from_bytes(path))
            .symlink_metadata()
            .is_ok()
    })
}

/// Gives the working copy the changes of `result`, which is the commit of local changes or follows it.
fn show(
    unshelve: &mut Unshelve<'_>,
    restoring: &Restoring<'_>,
    dirstate: &mut Dirstate,
    (view, result): (&RepoView, Node),
) -> Result<(), Abort> {
    let changelog = view.changelog();
    let parents = [restoring.original, Node::NULL];
    unshelve.repo.before_update(unshelve.ui, &parents)?;
    unshelve.repo.after_update(unshelve.ui, &parents, 0)?;
    let original = changelog.rev(&restoring.original);
    let revs = [restoring.pending, result].map(|node| changelog.rev(&node));
    give_changes(unshelve, (view, original), dirstate, revs)?;
    let shelved = known(view, &restoring.shelved)?;
    let unknown: BTreeSet<Vec<u8>> = finish::unknown_files(view, shelved)?;
    let was_added = |path: &Vec<u8>| restoring.status.added.contains(path);
    for path in unknown.iter().filter(|path| !was_added(path)) {
        dirstate.remove(path);
    }
    Ok(dirstate.write(unshelve.repository)?)
}

/// From the changes of `before` over `original`, which the working copy has, to those of `after`. The caller writes the
/// dirstate.
pub(super) fn give_changes(
    unshelve: &mut Unshelve<'_>,
    (view, original): (&RepoView, Option<Rev>),
    dirstate: &mut Dirstate,
    [before, after]: [Option<Rev>; 2],
) -> Result<(), Abort> {
    let Unshelve {
        repo,
        ui,
        config,
        repository,
        ..
    } = unshelve;
    let stop = ui.stop.clone();
    let place = (*repository, view);
    let plan = varve_workdir::plan_local_changes(place, dirstate, [before, after], &stop)?;
    let backups = attend::backup_directory(config);
    if ui.verbosity.verbose {
        crate::commands::local::update::print_stats(ui, &UpdateStats::default())?;
        let files = WorkingFiles::new(repository.root());
        revert::report(repo, ui, &plan, &Matcher::everything(), (&files, &backups))?;
    }
    varve_workdir::revert(repository, view, dirstate, &plan, &backups, &stop)?;
    varve_workdir::record_reverted_copies(view, dirstate, &plan, original, after)?;
    Ok(())
}
