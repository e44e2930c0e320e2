//! `log --follow`: ancestors, and the history of files along their copies.

use super::{changing, has_plain_names};
use crate::arguments::Matches;
use crate::context::Repo;
use crate::render::changesets::ShownFiles;
use crate::ui::{Abort, Ui};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use varve_lang::patterns::Matcher;
use varve_repo::{Node, RepoView, WORKING_NODE};
use varve_revset::{Engine, FileHistory, FollowedParents, Member, Set, WORKING_COPY};
use varve_workdir::Dirstate;

/// Ancestors of the given changesets or else of the working copy's parent that changed files which
/// match; newest first. Copies are followed if nothing but files is named.
pub(super) fn followed(
    repo: &mut Repo,
    ui: &mut Ui,
    engine: &Engine<'_>,
    given: Option<&Set>,
    matches: &Matches,
    matcher: Matcher,
) -> Result<(Set, ShownFiles), Abort> {
    let parents = match matches.flag("follow-first") {
        true => FollowedParents::First,
        false => FollowedParents::All,
    };
    let start: Vec<Member> = match given {
        Some(given) => given.all_members(engine).collect::<Result<_, _>>()?,
        // Without a parent there is nothing to follow, not even the null revision.
        None if engine.context().parents.is_empty() => {
            return Ok((
                Set::list(Vec::new()),
                ShownFiles::Matching(Box::new(matcher)),
            ));
        }
        None => vec![engine.context().parents.first().copied()],
    };
    if start.is_empty() {
        return Ok((Set::list(start), ShownFiles::Matching(Box::new(matcher))));
    }
    let follows_files = has_plain_names(matches, &matcher)
        && names_only_files(repo, engine.view(), &start, given.is_none(), &matcher)?;
    if follows_files && !matcher.is_everything() {
        let history = file_history(repo, ui, engine, &start, matcher.named(), parents)?;
        let set = Set::list(history.keys().rev().copied().map(Some).collect());
        return Ok((set, ShownFiles::Followed(history)));
    }
    let ancestors = match parents {
        FollowedParents::All => engine.ancestors_of(&Set::list(start))?,
        FollowedParents::First => first_ancestors(engine, &start).ascending(engine)?,
    };
    let mut set = ancestors.reversed(engine)?;
    if !matcher.is_everything() {
        set = set.and(changing(engine, matcher.clone()));
    }
    Ok((set, ShownFiles::Matching(Box::new(matcher))))
}

/// Whether all names are those of files: of the working copy, or of one of the given changesets.
/// Directories may be named too.
///
/// # Errors
/// A name of neither.
fn names_only_files(
    repo: &mut Repo,
    view: &RepoView,
    start: &[Member],
    in_working_copy: bool,
    matcher: &Matcher,
) -> Result<bool, Abort> {
    let refusal = |words: &str, name: &[u8]| {
        let name = String::from_utf8_lossy(name);
        Err(Abort::state(format!("cannot follow {words}: \"{name}\"")))
    };
    let mut only_files = true;
    let dirstate = match in_working_copy {
        true => Some(Dirstate::read(&repo.repository()?)?),
        false => None,
    };
    for name in matcher.named() {
        if name.is_empty() {
            only_files = false;
            continue;
        }
        only_files &= match &dirstate {
            Some(dirstate) if dirstate.is_tracked(name) => {
                if !has_history(view, name)? {
                    return refusal("nonexistent file", name);
                }
                true
            }
            Some(_) if view.root().join(OsStr::from_bytes(name)).exists() => false,
            Some(_) => return refusal("file not in parent revision", name),
            None => match kind_in_any(repo, view, start, name)? {
                Some(kind) => kind == NameKind::File,
                None => return refusal("file not in any of the specified revisions", name),
            },
        };
    }
    // Names that the history does not have are looked for in the changesets alone.
    Ok(only_files || !any_was_tracked(view, matcher.named())?)
}

/// Whether any of the names was ever that of a tracked file, or of a directory with one.
fn any_was_tracked(view: &RepoView, names: &[Vec<u8>]) -> Result<bool, Abort> {
    if names.iter().any(Vec::is_empty) {
        return Ok(true);
    }
    let tracked = view.files_with_history()?;
    Ok(names.iter().any(|name| {
        let below = [&name[..], b"/"].concat();
        let is_meant = |file: &Vec<u8>| file == name || file.starts_with(&below);
        tracked.iter().any(is_meant)
    }))
}

/// Meaning of a name in a manifest.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NameKind {
    File,
    Directory,
}

/// Meaning of the name in changesets: a directory if it is one in any.
fn kind_in_any(
    repo: &mut Repo,
    view: &RepoView,
    start: &[Member],
    name: &[u8],
) -> Result<Option<NameKind>, Abort> {
    let directory = [name, b"/"].concat();
    let mut kind = None;
    for rev in start {
        if *rev == Some(WORKING_COPY) {
            let dirstate = Dirstate::read(&repo.repository()?)?;
            let mut below = dirstate.below(name);
            if dirstate.is_tracked(name) {
                kind = Some(NameKind::File);
            } else if below.any(|(_, item)| item.is_tracked()) {
                return Ok(Some(NameKind::Directory));
            }
            continue;
        }
        let text = view.manifest_text(*rev)?;
        if view.find_in_manifest(&text, name)?.is_some() {
            kind = Some(NameKind::File);
            continue;
        }
        for entry in view.manifest_entries(&text) {
            if name.is_empty() || entry?.path.starts_with(&directory) {
                return Ok(Some(NameKind::Directory));
            }
        }
    }
    Ok(kind)
}

/// Whether a file of this name was ever committed.
fn has_history(view: &RepoView, name: &[u8]) -> Result<bool, Abort> {
    match view.filelog(name) {
        Ok(filelog) => Ok(!filelog.is_empty()),
        Err(varve_repo::RepoError::Revlog(varve_repo::RevlogError::Storage(_))) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The history of the named files from each starting changeset on.
fn file_history(
    repo: &mut Repo,
    ui: &mut Ui,
    engine: &Engine<'_>,
    start: &[Member],
    names: &[Vec<u8>],
    parents: FollowedParents,
) -> Result<FileHistory, Abort> {
    let view = engine.view();
    let mut all = FileHistory::default();
    for rev in start {
        if *rev == Some(WORKING_COPY) {
            add_working_history(repo, ui, engine, names, parents, &mut all)?;
            continue;
        }
        let text = view.manifest_text(*rev)?;
        let mut files: Vec<(Vec<u8>, Node)> = Vec::new();
        for name in names {
            match view.find_in_manifest(&text, name)? {
                Some(entry) => files.push((name.clone(), entry.node)),
                None => {
                    let node = view.changelog().node_or_null(*rev);
                    repo.warn_not_in_revision(ui, name, &node)?;
                }
            }
        }
        for (rev, paths) in engine.file_history(*rev, files, parents)? {
            all.entry(rev).or_default().extend(paths);
        }
    }
    Ok(all)
}

/// Adds the working copy for each tracked file, changed or not, and the history of the revisions that the file has
/// in the working copy's parents.
fn add_working_history(
    repo: &mut Repo,
    ui: &mut Ui,
    engine: &Engine<'_>,
    names: &[Vec<u8>],
    parents: FollowedParents,
    all: &mut FileHistory,
) -> Result<(), Abort> {
    let dirstate = Dirstate::read(&repo.repository()?)?;
    for name in names {
        if !dirstate.is_tracked(name) {
            repo.warn_not_in_revision(ui, name, &WORKING_NODE)?;
            continue;
        }
        all.entry(WORKING_COPY).or_default().insert(name.clone());
        let mut origins = repo.origins_of_working_file(engine.view(), name)?;
        if parents == FollowedParents::First {
            origins.truncate(1);
        }
        for origin in origins {
            let files = vec![(origin.path, origin.node)];
            for (rev, paths) in engine.file_history(Some(origin.changeset), files, parents)? {
                all.entry(rev).or_default().extend(paths);
            }
        }
    }
    Ok(())
}

/// Changesets that the first parents lead to, those of `start` included.
pub(crate) fn first_ancestors(engine: &Engine<'_>, start: &[Member]) -> Set {
    let mut found = BTreeSet::new();
    for first in start {
        let mut next = Some(*first);
        while let Some(member) = next {
            if !found.insert(member) {
                break;
            }
            let parent = match member {
                Some(WORKING_COPY) => engine.context().parents.first().copied(),
                Some(rev) => engine.view().changelog().parents(rev)[0],
                None => None,
            };
            next = parent.map(Some);
        }
    }
    Set::list(found.into_iter().collect())
}
