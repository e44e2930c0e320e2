//! `uncommit` and `unamend`: changes leave the working copy's parent, and stay in the working copy.

use super::commit::{self, metadata};
use super::rewrite::{self, refusal};
use super::{amend, instabilities, strip};
use crate::arguments::{EXCLUDE, Flag, INCLUDE, Matches};
use crate::context::{Category, Command, Config, Context, Repo};
use crate::ui::{Abort, Ui};
use std::collections::BTreeSet;
use varve_lang::patterns::Matcher;
use varve_repo::{LockKind, RepoView, Repository, Rev, ViewFilter};
use varve_workdir::filesets::FilesetTarget;
use varve_workdir::{
    AmendMarker, ChangesetMetadata, Dirstate, ParentReplacement, PartialChangeset, PathAuditor,
    ReplaceContext, Tree, UncommitObstacle, replace_parent, uncommit_refusal,
};

/// See [`Command`]. The extension `uncommit` switches it on.
pub(crate) const UNCOMMIT: Command = Command {
    names: &["uncommit"],
    options: &[
        Flag::long_flag("keep", "keep the changeset even if nothing is left in it"),
        Flag::long_flag(
            "allow-dirty-working-copy",
            "allow changes in the working directory",
        ),
        Flag::value('n', "note", "TEXT", "a note for the obsolescence marker"),
        INCLUDE,
        EXCLUDE,
        metadata::MESSAGE,
        metadata::LOGFILE,
        metadata::DATE,
        metadata::USER,
        amend::CURRENT_DATE,
        amend::CURRENT_USER,
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... [FILE]...",
    summary: "uncommit part or all of a local changeset",
    help: "Takes the changes of FILEs out of the working directory's parent. They stay in the working \
           directory, as changes that are not committed.\n\n\
           Without FILE all changes are taken out and the changeset goes, unless --keep or the \
           setting experimental.uncommit.keep asks for an empty one.\n\n\
           Changes in the working directory are refused if they are in a FILE, or if no FILE is \
           named. --allow-dirty-working-copy and experimental.uncommitondirtywdir permit them.\n\n\
           Ends with 0; with 1 if there is nothing to uncommit.",
    category: Some(Category::Committing),
    run: |context, matches| {
        let Context {
            repo, ui, config, ..
        } = context;
        uncommit(repo, ui, config, matches)
    },
};

/// See [`Command`]. The extension `uncommit` switches it on.
pub(crate) const UNAMEND: Command = Command {
    names: &["unamend"],
    options: &[],
    arguments: 0..=0,
    synopsis: "",
    summary: "undo the most recent amend operation on a current changeset",
    help: "Puts the changeset before the last 'hg amend' in the place of the working directory's parent. \
           What was amended stays in the working directory, as changes that are not committed. The \
           obsolescence markers tell which changeset that was.\n\n\
           Ends with 0.",
    category: Some(Category::Committing),
    run: |context, _| {
        let Context {
            repo, ui, config, ..
        } = context;
        unamend(repo, ui, config)
    },
};

/// The exit code when there is nothing to uncommit.
const NOTHING: u8 = 1;

/// Extra keys of changesets that an amendment or its undoing has made.
const AMENDED: [&[u8]; 2] = [b"amend_source", ChangesetMetadata::UNAMEND_SOURCE];

fn uncommit(repo: &mut Repo, ui: &mut Ui, config: &Config, matches: &Matches) -> Result<u8, Abort> {
    // Mercurial checks the note, and writes none.
    amend::note(matches)?;
    amend::check_current(matches)?;
    let repository = repo.repository()?;
    let working_copy = repo.lock(ui, LockKind::WorkingCopy)?;
    repo.refresh();
    refuse_changes(ui, config, matches, &repository)?;
    let mut dirstate = Dirstate::read(&repository)?;
    let place = (&repository, &dirstate);
    let rev = parent(repo, ui, config, place, "uncommit")?;
    let view = repo.view()?;
    let auditor = PathAuditor::new(repo.root()?);
    let target = FilesetTarget::Rev(Some(rev));
    let matcher = repo.matcher_with(matches, matches.arguments(), &auditor, target)?;
    refuse_files(&repository, &view, rev, &matcher)?;
    let files = view.with_changeset(rev, |changeset| {
        changeset.files().map(<[u8]>::to_vec).collect::<Vec<_>>()
    })?;
    let (taken, left): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| matcher.matches(file));
    if taken.is_empty() {
        ui.status("nothing to uncommit\n")?;
        return Ok(NOTHING);
    }
    let keeps = match (matches.arguments().is_empty(), matches.switch("keep")) {
        (false, _) => true,
        (true, Some(keeps)) => keeps,
        (true, None) => config.boolean("experimental", "uncommit.keep", false)?,
    };
    let new = match keeps {
        false => None,
        true => Some(PartialChangeset {
            source: rev,
            files: left,
            metadata: new_metadata(repo, ui, matches, &view, rev)?,
            phase: view.phases().of(rev),
        }),
    };
    if new.as_ref().is_some_and(|new| new.files.is_empty()) {
        ui.status("note: keeping empty commit\n")?;
    }
    let replacement = Replacement {
        old: rev,
        new,
        operation: "uncommit",
        files: matcher,
    };
    replacement.carry_out((repo, ui, config), &repository, &mut dirstate)?;
    drop(working_copy);
    Ok(0)
}

fn unamend(repo: &mut Repo, ui: &mut Ui, config: &Config) -> Result<u8, Abort> {
    let repository = repo.repository()?;
    let working_copy = repo.lock(ui, LockKind::WorkingCopy)?;
    repo.refresh();
    let mut dirstate = Dirstate::read(&repository)?;
    let place = (&repository, &dirstate);
    let rev = parent(repo, ui, config, place, "unamend")?;
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    let node = view.changelog().node(rev);
    let current = ChangesetMetadata::read(&view, rev)?;
    let is_amended = current
        .extras
        .iter()
        .any(|(key, _)| AMENDED.contains(&&key[..]));
    if !is_amended {
        return Err(Abort::input(
            "working copy parent was not created by 'hg amend' or 'hg unamend'",
        ));
    }
    let predecessors = view.predecessors(&node)?;
    let [before] = predecessors[..] else {
        let count = predecessors.len();
        return Err(Abort::input(format!(
            "changeset must have one predecessor, found {count} predecessors"
        )));
    };
    let Some(source) = view.changelog().rev(&before) else {
        return Err(Abort::new(format!("unknown revision '{before}'")));
    };
    let mut metadata = ChangesetMetadata::read(&view, source)?;
    metadata.set_unamend_source(&node);
    let new = PartialChangeset {
        source,
        files: view.with_changeset(source, |changeset| {
            changeset.files().map(<[u8]>::to_vec).collect()
        })?,
        metadata,
        phase: view.phases().of(rev),
    };
    let replacement = Replacement {
        old: rev,
        new: Some(new),
        operation: "unamend",
        files: Matcher::everything(),
    };
    replacement.carry_out((repo, ui, config), &repository, &mut dirstate)?;
    drop(working_copy);
    Ok(0)
}

/// Refuses changes in the working copy, unless options or settings permit them.
fn refuse_changes(
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    repository: &Repository,
) -> Result<(), Abort> {
    let allows = matches.flag("allow-dirty-working-copy")
        || config.boolean("experimental", "uncommitondirtywdir", false)?;
    if allows {
        return Ok(());
    }
    if !matches.arguments().is_empty() {
        let mut dirstate = Dirstate::read(repository)?;
        let everything = Matcher::everything();
        let status = commit::working_changes(ui, repository, &everything, &mut dirstate)?;
        let lists = [
            &status.modified,
            &status.added,
            &status.removed,
            &status.deleted,
        ];
        let changed: BTreeSet<&Vec<u8>> = lists.into_iter().flatten().collect();
        // As in Mercurial, arguments count as they were typed.
        let mut typed = matches.arguments().iter();
        if !typed.any(|path| changed.contains(path)) {
            return Ok(());
        }
    }
    let hint = "requires --allow-dirty-working-copy to uncommit";
    commit::refuse_changes(ui, repository).map_err(|abort| abort.hint(hint))
}

/// The working copy's only parent, which may be rewritten and is no merge.
fn parent(
    repo: &mut Repo,
    ui: &Ui,
    config: &Config,
    (repository, dirstate): (&Repository, &Dirstate),
    operation: &str,
) -> Result<Rev, Abort> {
    let view = repo.view()?;
    let base = varve_workdir::CommitBase::read(repository, view.clone(), dirstate)?;
    let evolution = config.evolution()?;
    if !evolution.markers {
        repo.refuse_hooks(operation, strip::UNCALLED_HOOKS)?;
    }
    let verbose = ui.verbosity.verbose;
    let rev = base
        .amendable(evolution)
        .map_err(|error| refusal::words(error, operation, verbose))?;
    match view.changelog().parents(rev)[1] {
        Some(_) => Err(Abort::input(format!("cannot {operation} merge changeset"))),
        None => Ok(rev),
    }
}

/// Refuses named files that cannot be uncommitted.
fn refuse_files(
    repository: &Repository,
    view: &RepoView,
    rev: Rev,
    matcher: &Matcher,
) -> Result<(), Abort> {
    let Some(refusal) = uncommit_refusal(repository, view, rev, matcher)? else {
        return Ok(());
    };
    let path = String::from_utf8_lossy(&refusal.path);
    let hint = match refusal.reason {
        UncommitObstacle::Unchanged => "file was not changed in working directory parent",
        UncommitObstacle::Untracked => "file was untracked in working directory parent",
        UncommitObstacle::Missing => "file does not exist",
    };
    Err(Abort::input(format!("cannot uncommit \"{path}\"")).hint(hint))
}

/// The metadata of the changeset without the files.
fn new_metadata(
    repo: &Repo,
    ui: &mut Ui,
    matches: &Matches,
    view: &RepoView,
    rev: Rev,
) -> Result<ChangesetMetadata, Abort> {
    metadata::check(matches)?;
    let mut new = ChangesetMetadata::read(view, rev)?;
    if let Some(typed) = metadata::typed_message(repo, ui, matches)? {
        new.description = varve_workdir::message::tidy(&ui.decode(&typed)?);
    }
    if matches.flag("currentdate") {
        new.date = metadata::now();
    } else if let Some(date) = metadata::typed_date(matches)? {
        new.date = date;
    }
    if matches.flag("currentuser") {
        let user = ui.username()?;
        new.user = ui.decode(&user)?;
    } else if matches.value("user").is_some_and(|user| !user.is_empty()) {
        let user = metadata::user(ui, matches)?;
        new.user = ui.decode(&user)?;
    }
    Ok(new)
}

/// Changeset that takes the place of the working copy's parent.
struct Replacement {
    old: Rev,
    /// `None` if only its parent is left.
    new: Option<PartialChangeset>,
    operation: &'static str,
    /// Files that are local changes afterwards.
    files: Matcher,
}

impl Replacement {
    fn carry_out(
        &self,
        (repo, ui, config): (&mut Repo, &mut Ui, &Config),
        repository: &Repository,
        dirstate: &mut Dirstate,
    ) -> Result<(), Abort> {
        let markers = config.evolution()?.markers;
        repo.warn_of_disabled_markers(ui)?;
        let lock = repo.lock(ui, LockKind::Store)?;
        let view = repository.view_for(ViewFilter::Unfiltered)?;
        let old = view.changelog().node(self.old);
        let unstable = view.instabilities()?;
        if let Some(new) = &self.new {
            print_files(ui, &view, new)?;
        }
        let user = match markers {
            true => rewrite::marker_user(ui, config)?,
            false => Vec::new(),
        };
        let marker = AmendMarker {
            date: metadata::default_date(config)?,
            user: &user,
            note: None,
        };
        let options = metadata::write_options(config, repository)?;
        let place = ReplaceContext {
            repository,
            batch: repository.begin_named(lock, options, self.operation)?,
            stop: &ui.stop,
        };
        let what = ParentReplacement {
            view: &view,
            old: self.old,
            new: self.new.as_ref(),
            operation: self.operation,
            marker: markers.then_some(&marker),
            files: &self.files,
        };
        let (_, lock) = replace_parent(place, dirstate, &what)?;
        if !markers {
            let whom = (&mut *repo, &mut *ui, config);
            rewrite::strip(whom, repository, &[old], (Some(self.operation), lock))?;
        }
        repo.refresh();
        instabilities::report(ui, repository, &unstable)
    }
}

/// Prints the files that are written with `--verbose`.
fn print_files(ui: &mut Ui, view: &RepoView, new: &PartialChangeset) -> Result<(), Abort> {
    if new.files.is_empty() {
        return ui.note("committing changelog\n");
    }
    let tree = Tree::of(view, Some(new.source))?;
    let mut there = Vec::new();
    for file in &new.files {
        if tree.get(file)?.is_some() {
            there.push(file);
        }
    }
    commit::print_written(ui, &there)
}
