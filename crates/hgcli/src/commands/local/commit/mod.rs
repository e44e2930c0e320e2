//! `commit`: changes in the working copy become a changeset.

pub(crate) mod amend;
pub(crate) mod before;
mod chooser;
pub(crate) mod editor;
pub(crate) mod interactive;
pub(crate) mod metadata;
pub(crate) mod options;

use crate::arguments::{EXCLUDE, INCLUDE, Matches};
use crate::commands::local::{instabilities, unfinished};
use crate::context::{Category, Command, Config, Context, Repo};
use crate::ui::{Abort, Ui};
use amend::AmendOptions;
use varve_lang::patterns::Matcher;
use varve_repo::{Lock, LockKind, Node, RepoView, Repository};
use varve_workdir::filesets::FilesetTarget;
use varve_workdir::{
    ChosenFiles, CommitBase, CommitContext, CommitMetadata, Dirstate, Ignore, PathAuditor, Status,
    StatusLists, StatusRequest, WorkdirError, WorkingFiles, message, working_status,
};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["commit", "ci"],
    options: &[
        options::ADDREMOVE,
        options::CLOSE_BRANCH,
        options::AMEND,
        options::SECRET,
        options::DRAFT,
        options::EDIT,
        options::FORCE_CLOSE_BRANCH,
        interactive::INTERACTIVE,
        INCLUDE,
        EXCLUDE,
        metadata::MESSAGE,
        metadata::LOGFILE,
        metadata::DATE,
        metadata::USER,
        options::SUBREPOS,
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... [FILE]...",
    summary: "commit the specified files or all outstanding changes",
    help: "Names and patterns choose files; without any, all that changed are committed. A merge \
           can only be committed whole.\n\n\
           Without a description an editor asks for one. If the commit fails, the description is \
           kept in .hg/last-message.txt.\n\n\
           With --amend the new changeset has what the working directory's parent did and what changed \
           since, and that parent is removed; a bundle in .hg/strip-backup keeps it. If \
           experimental.evolution allows createmarkers, it is marked as obsolete instead. \
           Description, user and date stay unless they are given. Public changesets and those with \
           children are not amended.\n\n\
           Ends with 0; with 1 if nothing changed.",
    category: Some(Category::Committing),
    run,
};

/// The exit code when there is nothing to commit.
const NOTHING: u8 = 1;

/// Extras of a changeset that closes its branch.
const CLOSING: &[(&[u8], &[u8])] = &[CommitMetadata::CLOSING];

fn closes(matches: &Matches) -> bool {
    matches.flag("close-branch") || matches.flag("force-close-branch")
}

/// Refuses options that are not there, by name.
fn refuse(repo: &Repo, ui: &Ui, matches: &Matches) -> Result<(), Abort> {
    if matches.flag("subrepos") {
        if matches.flag("amend") {
            return Err(Abort::input("cannot specify both --subrepos and --amend"));
        }
        if repo.root()?.join(".hgsub").symlink_metadata().is_ok() {
            return Err(Abort::input("subrepositories are not supported"));
        }
    }
    match matches.flag("interactive") {
        false => Ok(()),
        true => interactive::check(ui),
    }
}

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    commit_working_copy((repo, ui, config), matches)
}

/// Commits the working copy, or amends its parent, as the options say.
pub(crate) fn commit_working_copy(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    matches: &Matches,
) -> Result<u8, Abort> {
    let phase = metadata::phase(matches)?;
    refuse(repo, ui, matches)?;
    unfinished::refuse_commit(&repo.repository()?)?;
    if matches.flag("amend") {
        return amend::run(repo, ui, config, matches, &AmendOptions::of_phase(phase));
    }
    metadata::check(matches)?;
    let date = metadata::date(config, matches)?;
    let typed = metadata::typed_message(repo, ui, matches)?;
    let repository = repo.repository()?;
    let working_copy = repo.lock(ui, LockKind::WorkingCopy)?;
    let lock = repo.lock(ui, LockKind::Store)?;
    let mut dirstate = Dirstate::read(&repository)?;
    let base = before::read_base(repo, ui, &repository, &dirstate)?;
    let close = closes(matches);
    let whom = (&mut *repo, &mut *ui, config);
    let changes = changes(whom, matches, (&repository, &base), &mut dirstate)?;
    let Some(found) = changes else {
        // Keeps what --addremove has done.
        dirstate.write(&repository)?;
        return Ok(NOTHING);
    };
    let (status, chosen, typed) = (found.status, found.chosen, found.description.or(typed));
    let is_new = base.is_merge() || base.changes_branch() || close;
    if is_empty(&status) && !is_new && !config.boolean("ui", "allowemptycommit", false)? {
        dirstate.write(&repository)?;
        return nothing_changed(ui, &status);
    }
    let phase = phase.map_or_else(|| metadata::new_phase(config), Ok)?;
    let user = metadata::user(ui, matches)?;
    let notes = message::EditorNotes {
        user: &user,
        branch: base.branch(),
        is_merge: base.is_merge(),
        bookmark: base.bookmark(),
        status: &status,
    };
    let edited = typed.is_none() || matches.flag("edit");
    let description = metadata::description(ui, matches, typed, &notes)?;
    let words = CommitMetadata {
        user: &user,
        date,
        branch: base.branch(),
        extras: if close { CLOSING } else { &[] },
        description: &description,
        phase,
    };
    let parents = dirstate.parents();
    // For the user, should the commit fail.
    let _ = std::fs::write(repository.root().join(".hg/last-message.txt"), &description);
    let made = make(
        repo,
        ui,
        config,
        lock,
        (&base, &mut dirstate),
        (&status, chosen.as_ref()),
        &words,
    );
    if made.is_err() && edited {
        ui.warn(
            "note: commit message saved in .hg/last-message.txt\n\
             note: use 'hg commit --logfile .hg/last-message.txt --edit' to reuse it\n",
        )?;
    }
    let node = made?;
    repo.after_commit(&node, &parents);
    drop(working_copy);
    repo.refresh();
    instabilities::report_orphans(ui, &repository, &[node])?;
    before::report(repo, ui, &base, (&node, close))?;
    Ok(0)
}

fn make(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    lock: Lock,
    (base, dirstate): (&CommitBase, &mut Dirstate),
    (status, chosen): (&Status, Option<&ChosenFiles>),
    words: &CommitMetadata<'_>,
) -> Result<Node, Abort> {
    let repository = &repo.repository()?;
    repo.before_commit(ui, &dirstate.parents())?;
    print_files(ui, status)?;
    let (user, description) = metadata::texts(ui, words)?;
    let words = &CommitMetadata {
        user: &user,
        description: &description,
        ..*words
    };
    let place = CommitContext {
        repository,
        lock,
        seen: base.view(),
        chosen,
        options: metadata::write_options(config, repository)?,
        stop: &ui.stop,
    };
    let node = varve_workdir::commit(place, dirstate, status, words)?;
    if base.view().changelog().rev(&node).is_none() {
        before::note_new_history(ui)?;
    }
    Ok(node)
}

/// Commits the changes in `status`, chosen ones if the user was asked, between its hooks; returns the new changeset, and the state that it was built on.
/// The caller holds the lock of the working copy.
pub(crate) fn commit_changes(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    dirstate: &mut Dirstate,
    (status, chosen): (&Status, Option<&ChosenFiles>),
    words: &CommitMetadata<'_>,
) -> Result<(Node, CommitBase), Abort> {
    let repository = repo.repository()?;
    refuse_unresolved(&repository)?;
    let parents = dirstate.parents();
    // For the user, should the commit fail.
    let last = repository.root().join(".hg/last-message.txt");
    let _ = std::fs::write(last, words.description);
    let lock = repo.lock(ui, LockKind::Store)?;
    let base = before::read_base(repo, ui, &repository, dirstate)?;
    let parts = (&base, dirstate);
    let node = make(repo, ui, config, lock, parts, (status, chosen), words)?;
    repo.after_commit(&node, &parents);
    repo.refresh();
    Ok((node, base))
}

/// The changed files that `matcher` has, for commands that commit what they have changed.
pub(crate) fn working_changes(
    ui: &Ui,
    repository: &Repository,
    matcher: &Matcher,
    dirstate: &mut Dirstate,
) -> Result<Status, Abort> {
    let looked = working_status(&StatusRequest {
        repository,
        dirstate,
        matcher,
        ignore: &Ignore::default(),
        listing: StatusLists::default(),
        stop: &ui.stop,
    })?;
    looked.teach(dirstate);
    Ok(looked.status)
}

/// Refuses a working copy with changes or a second parent.
pub(crate) fn refuse_changes(ui: &Ui, repository: &Repository) -> Result<(), Abort> {
    let mut dirstate = Dirstate::read(repository)?;
    if !dirstate.parents()[1].is_null() {
        return Err(Abort::state("outstanding uncommitted merge")
            .hint("use 'hg commit' or 'hg merge --abort'"));
    }
    let everything = Matcher::everything();
    let status = working_changes(ui, repository, &everything, &mut dirstate)?;
    match status.is_unchanged() {
        true => Ok(()),
        false => Err(Abort::state("uncommitted changes")),
    }
}

/// Refuses a commit while files are unresolved.
pub(crate) fn refuse_unresolved(repository: &Repository) -> Result<(), Abort> {
    match varve_workdir::has_unresolved(repository)? {
        true => Err(Abort::state(
            "unresolved merge conflicts (see 'hg help resolve')",
        )),
        false => Ok(()),
    }
}

/// Changes to be committed.
struct WorkingChanges {
    status: Status,
    /// Contents of the files, where the user has chosen among the changes.
    chosen: Option<ChosenFiles>,
    /// The description, if the user has written it while choosing.
    description: Option<Vec<u8>>,
}

impl WorkingChanges {
    /// All of `status`, or with `--interactive` what the user chooses of it, if anything.
    fn of(
        (ui, config, matches): (&mut Ui, &Config, &Matches),
        place: (&Repository, &RepoView),
        mut status: Status,
        dirstate: &Dirstate,
        matcher: &Matcher,
    ) -> Result<Option<WorkingChanges>, Abort> {
        if !matches.flag("interactive") {
            return Ok(Some(WorkingChanges {
                status,
                chosen: None,
                description: None,
            }));
        }
        let whom = (ui, config, matches);
        let chosen = interactive::choose_changes(whom, place, dirstate, matcher)?;
        Ok(chosen.map(|chosen| {
            chosen.files.restrict(&mut status);
            WorkingChanges {
                status,
                chosen: Some(chosen.files),
                description: chosen.description,
            }
        }))
    }
}

/// Changes to be committed; refuses a commit that is not possible. `None` if the user has chosen none.
fn changes(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    matches: &Matches,
    (repository, base): (&Repository, &CommitBase),
    dirstate: &mut Dirstate,
) -> Result<Option<WorkingChanges>, Abort> {
    let auditor = PathAuditor::new(repo.root()?);
    let matcher = repo.matcher_with(
        matches,
        matches.arguments(),
        &auditor,
        FilesetTarget::Working,
    )?;
    if base.is_merge() && matches.flag("interactive") {
        let message = "cannot partially commit a merge (use \"hg commit\" instead)";
        return Err(Abort::input(message));
    }
    if base.is_merge() && !matcher.is_everything() {
        let message = "cannot partially commit a merge (do not specify files or patterns)";
        return Err(Abort::new(message));
    }
    refuse_unresolved(repository)?;
    refuse_interrupted(repository)?;
    let status = look(
        repo,
        (ui, config, matches),
        (repository, &matcher),
        dirstate,
    )?;
    if closes(matches) {
        before::check_close(base, matches, false, is_empty(&status))?;
    }
    before::check_named_files(repo, repository, dirstate, &matcher, &status)?;
    let place = (repository, &**base.view());
    let whom = (ui, config, matches);
    WorkingChanges::of(whom, place, status, dirstate, &matcher)
}

pub(crate) fn refuse_interrupted(repository: &Repository) -> Result<(), Abort> {
    if varve_workdir::is_interrupted(repository)? {
        return Err(Abort::state("last update was interrupted")
            .hint("use 'hg update' to get a consistent checkout"));
    }
    Ok(())
}

/// Changed files, after `--addremove` if that is asked for.
pub(crate) fn look(
    repo: &Repo,
    (ui, config, matches): (&mut Ui, &Config, &Matches),
    (repository, matcher): (&Repository, &Matcher),
    dirstate: &mut Dirstate,
) -> Result<Status, Abort> {
    let adds = matches.flag("addremove");
    let ignore = match adds {
        true => repo.ignore(ui)?,
        false => Ignore::default(),
    };
    let stop = ui.stop.clone();
    let look = |dirstate: &mut Dirstate, unknown: bool| {
        let looked = working_status(&StatusRequest {
            repository,
            dirstate,
            matcher,
            ignore: &ignore,
            listing: StatusLists {
                unknown,
                ..StatusLists::default()
            },
            stop: &stop,
        })?;
        looked.teach(dirstate);
        Ok::<_, WorkdirError>(looked.status)
    };
    let mut status = look(dirstate, adds)?;
    if adds {
        let files = WorkingFiles::new(repository.root());
        let mut back = Vec::new();
        for path in &status.removed {
            if files.has_file(path)? {
                back.push(path.clone());
            }
        }
        status.unknown.extend(back.iter().cloned());
        let missing = repo.warn_of_missing_files(ui, matcher, dirstate)?;
        let whom = (&mut *ui, config);
        before::add_and_remove(repo, whom, dirstate, &mut status, matcher)?;
        if !missing.is_empty() {
            return Err(Abort::new(
                "failed to mark all new/missing files as added/removed",
            ));
        }
        if !back.is_empty() {
            // They may be changed, or as they were.
            status = look(dirstate, false)?;
        }
    }
    Ok(status)
}

fn is_empty(status: &Status) -> bool {
    [&status.modified, &status.added, &status.removed]
        .iter()
        .all(|list| list.is_empty())
}

fn nothing_changed(ui: &mut Ui, status: &Status) -> Result<u8, Abort> {
    let missing = status.deleted.len();
    ui.debug("nothing to commit, clearing merge state\n")?;
    ui.status(if missing == 0 {
        "nothing changed\n".to_owned()
    } else {
        format!("nothing changed ({missing} missing files, see 'hg status')\n")
    })?;
    Ok(NOTHING)
}

pub(crate) fn print_files(ui: &mut Ui, status: &Status) -> Result<(), Abort> {
    let mut files: Vec<_> = status.modified.iter().chain(&status.added).collect();
    files.sort_unstable();
    print_written(ui, &files)
}

/// Prints the steps of writing these files with `--verbose`.
pub(crate) fn print_written(ui: &mut Ui, files: &[&Vec<u8>]) -> Result<(), Abort> {
    ui.note("committing files:\n")?;
    for file in files {
        ui.note([&file[..], b"\n"].concat())?;
    }
    ui.note("committing manifest\n")?;
    ui.note("committing changelog\n")
}
