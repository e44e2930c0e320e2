//! `commit --amend`: a new changeset in the place of the working copy's parent.

use super::{WorkingChanges, before, closes, look, metadata, print_written, refuse_interrupted};
use crate::arguments::Matches;
use crate::commands::local::instabilities;
use crate::commands::local::rewrite::{self, refusal};
use crate::commands::local::strip;
use crate::context::{Config, Repo};
use crate::ui::{Abort, Ui, short_hex};
use varve_repo::{CommitBatch, LockKind, Node, Phase, RepoView, Repository, Rev, ViewFilter};
use varve_workdir::filesets::FilesetTarget;
use varve_workdir::{
    AMEND, AmendContext, AmendMarker, AmendRequest, ChangesetMetadata, ChosenFiles, CommitBase,
    Dirstate, PathAuditor, Status, Tree, message,
};

/// Further options of an amendment.
#[derive(Clone, Debug, Default)]
pub(crate) struct AmendOptions {
    /// The phase that they name.
    pub(crate) phase: Option<Phase>,
    /// Whether the description stays without an editor.
    pub(crate) keeps_description: bool,
    /// The user, if it is not `--user`.
    pub(crate) user: Option<Vec<u8>>,
    /// The date, if it is not `--date`.
    pub(crate) date: Option<(i64, i32)>,
    /// A note for the obsolescence marker.
    pub(crate) note: Option<Vec<u8>>,
}

impl AmendOptions {
    /// Only the phase.
    pub(super) fn of_phase(phase: Option<Phase>) -> AmendOptions {
        AmendOptions {
            phase,
            ..AmendOptions::default()
        }
    }
}

/// Puts a changeset in the place of the working copy's parent.
pub(crate) fn run(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    more: &AmendOptions,
) -> Result<u8, Abort> {
    let repository = repo.repository()?;
    let working_copy = repo.lock(ui, LockKind::WorkingCopy)?;
    let lock = repo.lock(ui, LockKind::Store)?;
    let mut dirstate = Dirstate::read(&repository)?;
    let base = before::read_base(repo, ui, &repository, &dirstate)?;
    let evolution = config.evolution()?;
    if !evolution.markers {
        repo.refuse_hooks("commit --amend", strip::UNCALLED_HOOKS)?;
    }
    if closes(matches) && !base.is_merge() {
        before::check_close(&base, matches, true, true)?;
    }
    let verbose = ui.verbosity.verbose;
    let amendable = base.amendable(evolution);
    let rev = amendable.map_err(|error| refusal::words(error, AMEND, verbose))?;
    let node = base.view().changelog().node(rev);
    let old = OldChangeset {
        rev,
        metadata: ChangesetMetadata::read(base.view(), rev)?,
    };
    refuse_interrupted(&repository)?;
    ui.note(format!("amending changeset {}\n", short_hex(&node)))?;
    // Hooks may refuse before the user has typed anything.
    let options = metadata::write_options(config, &repository)?;
    let batch = repository.begin_named(lock, options, AMEND)?;
    metadata::check(matches)?;
    let place = (&repository, &**base.view());
    let whom = (&mut *repo, &mut *ui, config);
    let changes = changes(whom, matches, place, &mut dirstate)?;
    let Some(WorkingChanges {
        status,
        chosen,
        description,
    }) = changes
    else {
        batch.finish()?;
        return Ok(super::NOTHING);
    };
    let whom = (&*repo, &mut *ui, config);
    let Some(new) = new_metadata(whom, matches, more, (&base, &old), (&status, description))?
    else {
        dirstate.write(&repository)?;
        batch.finish()?;
        ui.status("nothing changed\n")?;
        return Ok(super::NOTHING);
    };
    let plan = AmendPlan {
        old: &old,
        new: &new,
        status: &status,
        chosen: chosen.as_ref(),
        phase: more.phase.unwrap_or_else(|| base.view().phases().of(rev)),
        note: more.note.as_deref(),
        markers: evolution.markers,
    };
    let before = repository
        .view_for(ViewFilter::Unfiltered)?
        .instabilities()?;
    let node = plan.commit(repo, ui, config, (&repository, batch), &mut dirstate)?;
    before::note_new_history(ui)?;
    varve_workdir::clear_merge(&repository)?;
    drop(working_copy);
    repo.refresh();
    before::print_committed(repo, ui, &node)?;
    instabilities::report(ui, &repo.repository()?, &before)?;
    Ok(0)
}

/// The changed files that the arguments name; `None` if the user was asked, and has chosen nothing.
fn changes(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    matches: &Matches,
    (repository, view): (&Repository, &RepoView),
    dirstate: &mut Dirstate,
) -> Result<Option<WorkingChanges>, Abort> {
    let auditor = PathAuditor::new(repo.root()?);
    let matcher = repo.matcher_with(
        matches,
        matches.arguments(),
        &auditor,
        FilesetTarget::Working,
    )?;
    let status = look(
        repo,
        (ui, config, matches),
        (repository, &matcher),
        dirstate,
    )?;
    let whom = (ui, config, matches);
    WorkingChanges::of(whom, (repository, view), status, dirstate, &matcher)
}

/// The changeset that is amended.
struct OldChangeset {
    rev: Rev,
    metadata: ChangesetMetadata,
}

/// The metadata of the new changeset, from options, the old changeset and the editor; `None` if nothing would change.
fn new_metadata(
    (repo, ui, config): (&Repo, &mut Ui, &Config),
    matches: &Matches,
    more: &AmendOptions,
    (base, old): (&CommitBase, &OldChangeset),
    (status, written): (&Status, Option<Vec<u8>>),
) -> Result<Option<ChangesetMetadata>, Abort> {
    let typed_date = metadata::typed_date(matches)?.or(more.date);
    let mut new = old.metadata.clone();
    new.branch = base.branch().to_vec();
    if matches.value("user").is_some_and(|user| !user.is_empty()) {
        let typed = metadata::user(ui, matches)?;
        new.user = ui.decode(&typed)?;
    } else if let Some(user) = &more.user {
        new.user = ui.decode(user)?;
    }
    let typed = metadata::typed_message(repo, ui, matches)?;
    let typed = written.or(typed);
    let edits = matches.flag("edit") || typed.is_none() && !more.keeps_description;
    let shown = match edits {
        true => varve_workdir::amended_status(base.view(), old.rev, status)?,
        false => Status::default(),
    };
    let notes = message::EditorNotes {
        user: &new.user,
        branch: base.branch(),
        is_merge: base.view().changelog().parents(old.rev)[1].is_some(),
        bookmark: base.bookmark(),
        status: &shown,
    };
    let text = metadata::DescriptionDraft {
        typed: typed.unwrap_or_else(|| ui.local(&new.description)),
        edits,
        form: match notes.is_merge {
            true => "commit.amend.merge",
            false => "commit.amend.normal",
        },
    };
    let description = metadata::edited(ui, text, &notes)?;
    // What the terminal cannot show is kept as long as the text stays as it was shown.
    if description != ui.local(&new.description) {
        new.description = ui.decode(&description)?;
    }
    if closes(matches) {
        new.close_branch();
    }
    new.date = typed_date.unwrap_or(new.date);
    if super::is_empty(status) && new.effects(&old.metadata) == 0 {
        return Ok(None);
    }
    let updates = config.boolean("rewrite", "update-timestamp", false)?;
    if typed_date.is_none() && updates {
        new.date = metadata::now();
    }
    Ok(Some(new))
}

/// An amended changeset before anything is written.
struct AmendPlan<'a> {
    old: &'a OldChangeset,
    new: &'a ChangesetMetadata,
    status: &'a Status,
    chosen: Option<&'a ChosenFiles>,
    phase: Phase,
    /// Whether the old changeset stays, marked as obsolete.
    markers: bool,
    /// For the marker.
    note: Option<&'a [u8]>,
}

impl AmendPlan<'_> {
    fn commit(
        &self,
        repo: &mut Repo,
        ui: &mut Ui,
        config: &Config,
        (repository, batch): (&Repository, CommitBatch),
        dirstate: &mut Dirstate,
    ) -> Result<Node, Abort> {
        // For the user, should the commit fail.
        let last = repository.root().join(".hg/last-message.txt");
        let _ = std::fs::write(last, &self.new.description);
        let user = match self.markers {
            true => rewrite::marker_user(ui, config)?,
            false => Vec::new(),
        };
        let marker = AmendMarker {
            date: metadata::default_date(config)?,
            user: &user,
            note: self.note,
        };
        let place = AmendContext {
            repository,
            batch,
            chosen: self.chosen,
            stop: &ui.stop,
        };
        let request = AmendRequest {
            view: &*repository.view_for(ViewFilter::Unfiltered)?,
            old: self.old.rev,
            metadata: self.new,
            phase: self.phase,
            marker: self.markers.then_some(&marker),
        };
        let made = varve_workdir::amend(place, dirstate, self.status, &request)?;
        if ui.verbosity.verbose {
            let view = repository.view_for(ViewFilter::Unfiltered)?;
            print_amended(ui, &view, self.old.rev, (&made.node, self.status))?;
        }
        if !self.markers {
            let context = (&mut *repo, &mut *ui, config);
            let node = repository
                .view_for(ViewFilter::Unfiltered)?
                .changelog()
                .node(self.old.rev);
            let purpose = rewrite::backup_purpose(config, "amend")?;
            rewrite::strip(context, repository, &[node], (purpose, made.lock))?;
        }
        Ok(made.node)
    }
}

/// Prints the steps of the amendment with `--verbose`.
fn print_amended(
    ui: &mut Ui,
    view: &RepoView,
    old: Rev,
    (node, status): (&Node, &Status),
) -> Result<(), Abort> {
    let changelog = view.changelog();
    if super::is_empty(status) {
        let parent = changelog.node_or_null(changelog.parents(old)[0]);
        let (old, parent) = (short_hex(&changelog.node(old)), short_hex(&parent));
        ui.note(format!("copying changeset {old} to {parent}\n"))?;
    }
    let Some(rev) = changelog.rev(node) else {
        return Ok(());
    };
    let files: Vec<Vec<u8>> = view.with_changeset(rev, |changeset| {
        changeset.files().map(<[u8]>::to_vec).collect()
    })?;
    if files.is_empty() {
        return ui.note("committing changelog\n");
    }
    let tree = Tree::of(view, Some(rev))?;
    let mut there = Vec::new();
    for file in &files {
        if tree.get(file)?.is_some() {
            there.push(file);
        }
    }
    print_written(ui, &there)
}
