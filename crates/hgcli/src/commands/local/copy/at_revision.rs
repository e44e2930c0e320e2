//! Copies in a changeset that was committed without them.

use super::joined;
use crate::arguments::Matches;
use crate::commands::local::commit::metadata::write_options;
use crate::commands::local::rewrite::{self, Replacement, RewriteEnd, refusal};
use crate::commands::local::strip::UNCALLED_HOOKS;
use crate::context::{Config, Repo, matching};
use crate::ui::{Abort, Ui, short_hex};
use std::collections::{BTreeMap, BTreeSet};
use varve_lang::patterns::relative_to_root;
use varve_repo::{LockKind, Repository, Rev, ViewFilter};
use varve_workdir::filesets::FilesetTarget;
use varve_workdir::{AmendRefusal, Dirstate, PathAuditor};

/// Name of the command in refusals, whether copies are added or not.
const OPERATION: &str = "uncopy";

/// Paths of copies, and of the files that they are copies of; `None` takes a copy for a file of its own.
type Sources = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// `--at-rev`.
pub(super) fn run(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    matches: &Matches,
    rev: &[u8],
) -> Result<u8, Abort> {
    let forgets = matches.flag("forget");
    if !forgets && !matches.flag("after") {
        return Err(Abort::input("--at-rev requires --after"));
    }
    let repository = repo.repository()?;
    let _working_copy = repo.lock(ui, LockKind::WorkingCopy)?;
    repo.refresh();
    let Some(rev) = repo.revision(ui, Some(rev))? else {
        let refusal = AmendRefusal::NullParent.into();
        return Err(refusal::words(refusal, OPERATION, ui.verbosity.verbose));
    };
    refusal::check_all((repo, ui, config), &BTreeSet::from([rev]), OPERATION)?;
    if !config.evolution()?.markers {
        repo.refuse_hooks("copy --at-rev", UNCALLED_HOOKS)?;
    }
    let (sources, operation) = match forgets {
        true => (forgotten((repo, ui), matches, rev)?, "uncopy"),
        false => (named((repo, ui), matches, rev)?, "copy"),
    };
    if !matches.flag("dry-run") {
        replace((repo, ui, config), &repository, (rev, &sources), operation)?;
    }
    Ok(0)
}

/// The copies of a changeset that arguments mean, to be no copies.
fn forgotten(
    (repo, ui): (&mut Repo, &mut Ui),
    matches: &Matches,
    rev: Rev,
) -> Result<Sources, Abort> {
    let view = repo.view()?;
    let node = view.changelog().node(rev);
    let matcher = repo.matcher_at(matches, FilesetTarget::Rev(Some(rev)))?;
    let text = view.manifest_text(Some(rev))?;
    let entries = matching::files_of(&view, &text, &matcher, |name| {
        repo.warn_not_in_revision(ui, name, &node)
    })?;
    let parent = view.changelog().parents(rev)[0];
    let copies = varve_workdir::path_copies(&view, parent, Some(rev))?;
    let mut sources = Sources::new();
    for entry in entries {
        if copies.contains_key(entry.path) {
            sources.insert(entry.path.to_vec(), None);
        } else if matcher.is_exact(entry.path) {
            let shown = repo.display_path(entry.path)?;
            let words = b": not unmarking as copy - file is not marked as copied\n";
            ui.warn([&shown[..], words].concat())?;
        }
    }
    Ok(sources)
}

/// The copy that arguments name: one file of the changeset, of one of its first parent.
fn named((repo, ui): (&mut Repo, &mut Ui), matches: &Matches, rev: Rev) -> Result<Sources, Abort> {
    let mut arguments = matches.arguments().to_vec();
    let Some(destination) = arguments.pop() else {
        return Err(Abort::input("no source or destination specified"));
    };
    if arguments.is_empty() {
        return Err(Abort::input("no destination specified"));
    }
    let view = repo.view()?;
    let root = repo.root()?.to_owned();
    let target = relative_to_root(&root, &repo.cwd, &destination)?;
    let shown = String::from_utf8_lossy(&repo.relative_path(&target)?).into_owned();
    let text = view.manifest_text(Some(rev))?;
    let below = joined(&target, b"");
    let entries: Vec<_> = view.manifest_entries(&text).collect::<Result<_, _>>()?;
    if entries.iter().any(|entry| entry.path.starts_with(&below)) {
        let message = format!("{shown}: --at-rev does not support a directory as destination");
        return Err(Abort::input(message));
    }
    let parent = view.changelog().parents(rev)[0];
    let node = view.changelog().node_or_null(parent);
    let at = FilesetTarget::Rev(parent);
    let matcher = repo.matcher_with(matches, &arguments, &PathAuditor::new(&root), at)?;
    let before = view.manifest_text(parent)?;
    let found = matching::files_of(&view, &before, &matcher, |name| {
        repo.warn_not_in_revision(ui, name, &node)
    })?;
    let source = match &found[..] {
        [] => return Err(Abort::input("no files to copy")),
        [source] => source.path.to_vec(),
        _ => return Err(Abort::input("--at-rev requires a single source")),
    };
    if !entries.iter().any(|entry| entry.path == target) {
        let short = short_hex(&view.changelog().node(rev));
        let message = format!("{shown}: copy destination does not exist in {short}");
        return Err(Abort::input(message));
    }
    Ok(match source == target {
        true => Sources::new(),
        false => Sources::from([(target, Some(source))]),
    })
}

/// Puts a changeset with these sources in the place of another.
fn replace(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    repository: &Repository,
    (rev, sources): (Rev, &Sources),
    operation: &str,
) -> Result<(), Abort> {
    let lock = repo.lock(ui, LockKind::Store)?;
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    let mut dirstate = Dirstate::read(repository)?;
    let options = write_options(config, repository)?;
    let mut batch = repository.begin_named(lock, options, operation)?;
    let scope = (&*view, rev);
    let done = varve_workdir::change_copies(repository, &mut batch, &mut dirstate, scope, sources)?;
    rewrite::note_files(ui, &done)?;
    rewrite::note_commit(ui, &done)?;
    batch.finish()?;
    dirstate.write(repository)?;
    repo.refresh();
    let end = RewriteEnd::replacing(operation);
    rewrite::finish(
        (repo, ui, config),
        repository,
        &[Replacement::of(&done)],
        &end,
    )
}
