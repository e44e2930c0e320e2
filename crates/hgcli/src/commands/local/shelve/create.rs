//! Shelving: the changes are committed beside the repository, bundled, and taken out of the working copy.

use crate::arguments::Matches;
use crate::commands::history::export;
use crate::commands::local::attend::{self, Watcher};
use crate::commands::local::commit::{self, interactive, metadata};
use crate::commands::local::{strip, unfinished, update};
use crate::context::{Config, Repo, disk};
use crate::render::diff::DiffOptions;
use crate::ui::{Abort, Ui};
use varve_exchange::generate::save_shelf;
use varve_lang::patterns::Matcher;
use varve_repo::{DEFAULT_BRANCH, LockKind, Node, Phase, RepoView, Repository, ViewFilter};
use varve_workdir::filesets::FilesetTarget;
use varve_workdir::{
    ChosenFiles, CommitContext, CommitMetadata, Dirstate, LocalChanges, MergeLabels, PathAuditor,
    ShelfDirectory, ShelfFile, ShelvedChanges, Status, StatusLists, StatusRequest, UpdateRequest,
    message, working_status,
};

/// The exit code when there is nothing to shelve.
const NOTHING: u8 = 1;

/// User of a shelved changeset.
pub(crate) const USER: &[u8] = b"shelve@localhost";
/// Extra key and value of changesets that are not part of the history.
pub(crate) const INTERNAL: (&[u8], &[u8]) = (b"internal", b"shelve");
/// Extra key of the files that were not tracked, each behind a null byte but the first.
pub(crate) const UNKNOWN_FILES: &[u8] = b"shelve_unknown";

/// Hooks of Mercurial for its transaction, which it rolls back at the end; there is none here.
pub(crate) const UNCALLED_HOOKS: &[&str] =
    &["pretxnopen", "pretxncommit", "txnabort", "pretxnclose"];

/// Changes that are being shelved.
struct Changes {
    status: Status,
    /// Files that were not tracked; they are among the added ones of the status.
    unknown: Vec<Vec<u8>>,
    /// Whether only some changes are meant.
    is_partial: bool,
    /// Contents of the files, where the user has chosen among the changes.
    chosen: Option<ChosenFiles>,
    /// The description, if the user has written it while choosing.
    description: Option<Vec<u8>>,
}

pub(super) fn run(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
) -> Result<u8, Abort> {
    if matches.flag("interactive") {
        interactive::check(ui)?;
    }
    let repository = repo.repository()?;
    let _lock = repo.lock(ui, LockKind::WorkingCopy)?;
    repo.refresh();
    unfinished::refuse(&repository)?;
    commit::refuse_interrupted(&repository)?;
    let mut dirstate = Dirstate::read(&repository)?;
    let [parent, second] = dirstate.parents();
    if !second.is_null() {
        return Err(Abort::state("outstanding uncommitted merge")
            .hint("use 'hg commit' or 'hg merge --abort'"));
    }
    repo.refuse_hooks("shelve", UNCALLED_HOOKS)?;
    let view = repo.view()?;
    let (of_parent, first_line) = parent_names(&view, &parent)?;
    let directory = ShelfDirectory::of(&repository);
    let name = name(matches, &repository, &directory, &of_parent)?;
    let before = dirstate.clone();
    let whom = (&mut *repo, &mut *ui, config);
    let changes = changes(whom, matches, (&repository, &view), &mut dirstate)?;
    if changes.status.is_unchanged() {
        return nothing_changed(ui, &changes.status);
    }
    commit::refuse_unresolved(&repository)?;
    let branch = match changes.is_partial {
        true => of_parent.clone(),
        false => varve_workdir::branch(&repository)?,
    };
    let description = description(ui, matches, first_line, (&branch, &changes))?;
    let unknown = changes.unknown.join(&0);
    let mut extras = vec![INTERNAL];
    if !unknown.is_empty() {
        extras.push((UNKNOWN_FILES, &unknown));
    }
    let words = CommitMetadata {
        user: USER,
        date: metadata::date(config, matches)?,
        branch: &branch,
        extras: &extras,
        description: &description,
        phase: Phase::Draft,
    };
    repo.before_commit(ui, &[parent, Node::NULL])?;
    commit::print_files(ui, &changes.status)?;
    let overlay = repo.scratch_overlay()?;
    let node = commit_beside(
        (ui, config),
        &overlay,
        &mut dirstate,
        (&changes.status, changes.chosen.as_ref(), &words),
    )?;
    let shelved = overlay.view_for(ViewFilter::Unfiltered)?;
    directory.create()?;
    let shelf = directory.shelf(&name);
    save(ui, &shelved, &node, (&shelf, &shelf))?;
    ui.status([b"shelved as ", &name[..], b"\n"].concat())?;
    if matches.flag("keep") {
        keep_tracked(before, &changes.status).write(&repository)?;
        return Ok(0);
    }
    go_back(
        repo,
        (ui, config),
        (&repository, &shelved),
        &mut dirstate,
        (parent, (!changes.is_partial).then_some(&of_parent[..])),
    )?;
    Ok(0)
}

/// Tracks in the working copy what `--addremove` and `--unknown` have found, and no longer tracks what is gone.
fn keep_tracked(mut dirstate: Dirstate, status: &Status) -> Dirstate {
    for path in &status.added {
        if !dirstate.is_tracked(path) {
            dirstate.add(path);
        }
    }
    for path in &status.removed {
        dirstate.remove(path);
    }
    dirstate
}

/// The branch of the parent, and the first line of its description.
fn parent_names(view: &RepoView, parent: &Node) -> Result<(Vec<u8>, Option<Vec<u8>>), Abort> {
    let Some(rev) = view.changelog().rev(parent) else {
        return Ok((DEFAULT_BRANCH.to_vec(), None));
    };
    Ok(view.with_changeset(rev, |changeset| {
        let line = changeset.description.split(|byte| *byte == b'\n').next();
        let line = line.unwrap_or_default().to_vec();
        (changeset.branch().into_owned(), Some(line))
    })?)
}

/// `--name`, or one made of the active bookmark or the branch.
fn name(
    matches: &Matches,
    repository: &Repository,
    directory: &ShelfDirectory,
    branch: &[u8],
) -> Result<Vec<u8>, Abort> {
    let typed = matches.value("name").filter(|name| !name.is_empty());
    if let Some(typed) = typed {
        let shown = String::from_utf8_lossy(typed);
        if directory.shelf(typed).exists() {
            let message = format!("a shelved change named '{shown}' already exists");
            return Err(Abort::new(message));
        }
        if typed.iter().any(|byte| matches!(byte, b'/' | b'\\')) {
            return Err(Abort::new("shelved change names can not contain slashes"));
        }
        if typed.starts_with(b".") {
            return Err(Abort::new("shelved change names can not start with '.'"));
        }
        return Ok(typed.to_vec());
    }
    let label = varve_workdir::active_bookmark(repository)?;
    let mut label = label.unwrap_or_else(|| branch.to_vec());
    for byte in &mut label {
        if matches!(byte, b'/' | b'\\') {
            *byte = b'_';
        }
    }
    if let Some(first @ b'.') = label.first_mut() {
        *first = b'_';
    }
    directory.free_name(&label).ok_or_else(|| {
        let label = String::from_utf8_lossy(&label);
        Abort::new(format!("too many shelved changes named '{label}'"))
    })
}

/// The changes that the arguments mean, after `--addremove` and `--unknown`.
fn changes(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    matches: &Matches,
    (repository, view): (&Repository, &RepoView),
    dirstate: &mut Dirstate,
) -> Result<Changes, Abort> {
    let auditor = PathAuditor::new(repository.root());
    let (names, at) = (matches.arguments(), FilesetTarget::Working);
    let matcher = repo.matcher_with(matches, names, &auditor, at)?;
    let mut status = commit::look(
        repo,
        (ui, config, matches),
        (repository, &matcher),
        dirstate,
    )?;
    let unknown = match matches.flag("unknown") {
        true => unknown_files(repo, ui, (repository, &matcher), dirstate)?,
        false => Vec::new(),
    };
    for path in &unknown {
        dirstate.check_clash(path)?;
        dirstate.add(path);
    }
    status.added.extend(unknown.iter().cloned());
    status.added.sort_unstable();
    commit::before::check_named_files(repo, repository, dirstate, &matcher, &status)?;
    let (mut chosen, mut written) = (None, None);
    if matches.flag("interactive") {
        let whom = (ui, config, matches);
        let some = interactive::choose_changes(whom, (repository, view), dirstate, &matcher)?;
        if let Some(some) = some {
            (chosen, written) = (Some(some.files), some.description);
        }
        let none = ChosenFiles::default();
        chosen.as_ref().unwrap_or(&none).restrict(&mut status);
    }
    let is_given = |name| !matches.list(name).is_empty();
    let is_narrow = !names.is_empty() || is_given("include") || is_given("exclude");
    Ok(Changes {
        status,
        unknown,
        is_partial: is_narrow || chosen.is_some(),
        chosen,
        description: written,
    })
}

fn unknown_files(
    repo: &Repo,
    ui: &mut Ui,
    (repository, matcher): (&Repository, &Matcher),
    dirstate: &Dirstate,
) -> Result<Vec<Vec<u8>>, Abort> {
    let ignore = repo.ignore(ui)?;
    let request = StatusRequest {
        repository,
        dirstate,
        matcher,
        ignore: &ignore,
        listing: StatusLists {
            unknown: true,
            ..StatusLists::default()
        },
        stop: &ui.stop,
    };
    Ok(working_status(&request)?.status.unknown)
}

fn nothing_changed(ui: &mut Ui, status: &Status) -> Result<u8, Abort> {
    ui.status(match status.deleted.len() {
        0 => "nothing changed\n".to_owned(),
        missing => format!("nothing changed ({missing} missing files, see 'hg status')\n"),
    })?;
    Ok(NOTHING)
}

/// `--message`, or words about the parent, after the editor if that is asked for.
fn description(
    ui: &mut Ui,
    matches: &Matches,
    first_line: Option<Vec<u8>>,
    (branch, changes): (&[u8], &Changes),
) -> Result<Vec<u8>, Abort> {
    let typed = matches.value("message").filter(|text| !text.is_empty());
    let written = changes.description.as_deref();
    let text = match (written.or(typed), first_line) {
        (Some(typed), _) => typed.to_vec(),
        (None, Some(line)) => [b"changes to: ", &line[..]].concat(),
        (None, None) => b"(changes in empty repository)".to_vec(),
    };
    let notes = message::EditorNotes {
        user: USER,
        branch,
        is_merge: false,
        bookmark: None,
        status: &changes.status,
    };
    let draft = metadata::DescriptionDraft {
        typed: text,
        edits: matches.flag("edit"),
        form: "shelve.shelve",
    };
    let text = metadata::edited(ui, draft, &notes)?;
    Ok(message::tidy(&ui.decode(&text)?))
}

/// Commits changes to an overlay; `dirstate` then describes the new changeset.
pub(crate) fn commit_beside(
    (ui, config): (&Ui, &Config),
    overlay: &Repository,
    dirstate: &mut Dirstate,
    (status, chosen, words): (&Status, Option<&ChosenFiles>, &CommitMetadata<'_>),
) -> Result<Node, Abort> {
    let view = overlay.view_for(ViewFilter::Unfiltered)?;
    let place = CommitContext {
        chosen,
        repository: overlay,
        lock: overlay.try_lock(LockKind::Store)?,
        seen: &view,
        options: metadata::write_options(config, overlay)?,
        stop: &ui.stop,
    };
    Ok(varve_workdir::commit(place, dirstate, status, words)?)
}

/// Writes the files of a shelved change, which is named as another one where that will have them.
pub(crate) fn save(
    ui: &mut Ui,
    view: &RepoView,
    node: &Node,
    (shelf, named): (&ShelvedChanges<'_>, &ShelvedChanges<'_>),
) -> Result<(), Abort> {
    let Some(rev) = view.changelog().rev(node) else {
        return Ok(());
    };
    let bundle = shelf.path(ShelfFile::Bundle);
    let (count, sizes) = save_shelf(view, disk().as_ref(), rev, &bundle)?;
    strip::print_bundle(ui, count, &sizes)?;
    let patch = export::patch(view, rev, &DiffOptions::of_kept_patch())?;
    // Mercurial lists a shelf that has a patch and no note of its node, and falls over one that is the other way round.
    shelf.write(ShelfFile::Patch, &patch)?;
    shelf.write(ShelfFile::Info, &ShelvedChanges::info(node))?;
    let path = named.path(ShelfFile::Patch);
    ui.note(format!("{}\n", path.display()))
}

/// Gives the working copy the files of its parent.
fn go_back(
    repo: &mut Repo,
    (ui, config): (&mut Ui, &Config),
    (repository, view): (&Repository, &RepoView),
    dirstate: &mut Dirstate,
    (parent, branch): (Node, Option<&[u8]>),
) -> Result<(), Abort> {
    let parents = [parent, Node::NULL];
    let tool = attend::tool_choice(config, None)?;
    repo.before_update(ui, &parents)?;
    let progress = std::mem::replace(&mut ui.progress, Box::new(varve_base::Silent));
    let stop = ui.stop.clone();
    let request = UpdateRequest {
        repository,
        view,
        target: view.changelog().rev(&parent),
        local: LocalChanges::Discard,
        tool: &tool,
        progress: progress.as_ref(),
        stop: &stop,
    };
    let mut watcher = Watcher::new(ui, config, &MergeLabels::of_update())?;
    let updated = varve_workdir::leave_changeset(&request, dirstate, &mut watcher);
    let told = watcher.finish();
    ui.progress = progress;
    told?;
    let updated = updated?;
    if let Some(branch) = branch {
        varve_workdir::set_branch(repository, branch)?;
    }
    repo.after_update(ui, &parents, updated.unresolved)?;
    update::report(ui, &updated)?;
    Ok(())
}
