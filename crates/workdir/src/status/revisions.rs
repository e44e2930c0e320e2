//! Status against any changeset, and between two.

use super::compare::Baseline;
use super::directory::StatWalker;
use super::{Status, StatusRequest};
use crate::WorkdirError;
use crate::dirstate::Dirstate;
use std::collections::BTreeMap;
use varve_lang::patterns::Matcher;
use varve_repo::{FileText, ManifestEntry, Node, RepoError, RepoView, Rev};

/// The changes from changeset `old` to changeset `new`; `None` is the null changeset.
///
/// # Errors
/// Damage in the repository.
pub fn status_between(
    view: &RepoView,
    old: Option<Rev>,
    new: Option<Rev>,
    matcher: &Matcher,
    clean: bool,
) -> Result<Status, WorkdirError> {
    let (old, new) = (view.manifest_text(old)?, view.manifest_text(new)?);
    let mut status = Status::default();
    let after = view.manifest_entries(&new);
    join(
        view,
        &old,
        after,
        |entry| entry.path,
        matcher,
        |before, after| {
            let (path, list) = match (before, after) {
                (Some(before), None) => (before.path, &mut status.removed),
                (None, Some(after)) => (after.path, &mut status.added),
                (Some(before), Some(after)) if before == *after => {
                    if !clean {
                        return Ok(());
                    }
                    (after.path, &mut status.clean)
                }
                (_, Some(after)) => (after.path, &mut status.modified),
                (None, None) => return Ok(()),
            };
            list.push(path.to_vec());
            Ok(())
        },
    )?;
    Ok(status)
}

/// The changes from changeset `old` to the working copy. `working` has all lists that `request`
/// asks for; the result has them against `old`.
///
/// # Errors
/// A failure to read the repository or the working copy.
pub fn status_against(
    request: &StatusRequest<'_>,
    view: &RepoView,
    old: Option<Rev>,
    working: Status,
) -> Result<Status, WorkdirError> {
    let dirstate = request.dirstate;
    let first = view.changelog().rev(&dirstate.parents()[0]);
    let (old_text, first_text) = (view.manifest_text(old)?, view.manifest_text(first)?);
    let baseline = Baseline::of_text(request.repository.root(), view, &old_text);
    let has = |list: &Vec<Vec<u8>>, path: &[u8]| {
        list.binary_search_by(|known| known.as_slice().cmp(path))
            .is_ok()
    };
    let mut walker = StatWalker::new(request.repository.root())?;
    let mut status = Status::default();
    let tracked = dirstate.iter().filter(|(_, item)| item.is_tracked());
    let tracked = tracked.map(|(path, _)| Ok(path));
    join(
        view,
        &old_text,
        tracked,
        |path| *path,
        request.matcher,
        |before, now| {
            let path = now
                .copied()
                .or(before.map(|entry| entry.path))
                .unwrap_or_default();
            if has(&working.deleted, path) {
                return Ok(());
            }
            let list = match (before, now) {
                (_, None) => &mut status.removed,
                (None, Some(_)) => &mut status.added,
                (Some(before), Some(_)) => {
                    let changed = has(&working.modified, path) || has(&working.added, path);
                    let same = if changed {
                        match walker.see(path) {
                            Some(seen) => baseline.is_same(path, &seen)?,
                            None => false,
                        }
                    } else {
                        view.find_in_manifest(&first_text, path)? == Some(before)
                    };
                    match same {
                        true if !request.listing.clean => return Ok(()),
                        true => &mut status.clean,
                        false => &mut status.modified,
                    }
                }
            };
            list.push(path.to_vec());
            Ok(())
        },
    )?;
    status.deleted = working.deleted;
    let unless_old = |list: Vec<Vec<u8>>| -> Result<Vec<Vec<u8>>, WorkdirError> {
        let mut kept = Vec::new();
        for path in list {
            if view.find_in_manifest(&old_text, &path)?.is_none() {
                kept.push(path);
            }
        }
        Ok(kept)
    };
    status.unknown = unless_old(working.unknown)?;
    status.ignored = unless_old(working.ignored)?;
    Ok(status)
}

/// Calls `each` for every matching path of a manifest and of a sorted list, with the entries of both.
fn join<'a, T>(
    view: &'a RepoView,
    old: &'a [u8],
    new: impl Iterator<Item = Result<T, RepoError>>,
    path_of: impl Fn(&T) -> &[u8],
    matcher: &Matcher,
    mut each: impl FnMut(Option<ManifestEntry<'a>>, Option<&T>) -> Result<(), WorkdirError>,
) -> Result<(), WorkdirError> {
    let mut old = view.manifest_entries(old).peekable();
    for entry in new {
        let entry = entry?;
        let path = path_of(&entry);
        let earlier = |before: &Result<ManifestEntry<'_>, RepoError>| {
            before.as_ref().map_or(true, |before| before.path < path)
        };
        while let Some(before) = old.next_if(earlier) {
            let before = before?;
            if matcher.matches(before.path) {
                each(Some(before), None)?;
            }
        }
        let same = |before: &Result<ManifestEntry<'_>, RepoError>| {
            before.as_ref().is_ok_and(|before| before.path == path)
        };
        let before = old.next_if(same).transpose()?;
        if matcher.matches(path) {
            each(before, Some(&entry))?;
        }
    }
    for before in old {
        let before = before?;
        if matcher.matches(before.path) {
            each(Some(before), None)?;
        }
    }
    Ok(())
}

/// Longest way back through the history of one file.
const STEPS: usize = 100_000;

/// Where files come from that are new from `old` to `new`, whose difference is `status`:
/// destination and source, which `old` has. On the way back in history that is where they went.
///
/// # Errors
/// Damage in the repository.
pub fn copies_between(
    view: &RepoView,
    old: Option<Rev>,
    new: Option<Rev>,
    status: &Status,
) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, WorkdirError> {
    let (old, new) = (view.manifest_text(old)?, view.manifest_text(new)?);
    let mut copies = BTreeMap::new();
    for path in &status.removed {
        if let Some(entry) = view.find_in_manifest(&old, path)?
            && let Some(source) = origin(view, &new, path, entry.node)?
            && status.added.binary_search(&source).is_ok()
        {
            copies.insert(source, path.clone());
        }
    }
    for path in &status.added {
        if let Some(entry) = view.find_in_manifest(&new, path)?
            && let Some(source) = origin(view, &old, path, entry.node)?
        {
            copies.insert(path.clone(), source);
        }
    }
    Ok(copies)
}

/// The same up to the working copy.
///
/// # Errors
/// Damage in the repository.
pub fn copies_against(
    dirstate: &Dirstate,
    view: &RepoView,
    old: Option<Rev>,
    files: &[Vec<u8>],
) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, WorkdirError> {
    let first = view.changelog().rev(&dirstate.parents()[0]);
    let (old_text, first_text) = (view.manifest_text(old)?, view.manifest_text(first)?);
    let mut copies = BTreeMap::new();
    for path in files {
        let before = dirstate.copy_source(path).unwrap_or(path);
        if before != path && view.find_in_manifest(&old_text, before)?.is_some() {
            copies.insert(path.clone(), before.to_vec());
            continue;
        }
        let Some(entry) = view.find_in_manifest(&first_text, before)? else {
            continue;
        };
        if let Some(source) = origin(view, &old_text, before, entry.node)? {
            copies.insert(path.clone(), source);
        }
    }
    Ok(copies)
}

/// The file of `old` that a file revision comes from by copies.
fn origin(
    view: &RepoView,
    old: &[u8],
    path: &[u8],
    node: Node,
) -> Result<Option<Vec<u8>>, WorkdirError> {
    let (mut path, mut node) = (path.to_vec(), node);
    for _ in 0..STEPS {
        let filelog = view.filelog(&path)?;
        let Some(rev) = filelog.rev(&node) else {
            return Ok(None);
        };
        // A copy's source is in the text, and there is no first parent then.
        if let [Some(parent), _] = filelog.parents(rev) {
            node = filelog.node(parent);
            continue;
        }
        let text = filelog.text(rev)?;
        let Some((source, of_source)) = FileText::parse(&text).copied_from else {
            return Ok(None);
        };
        (path, node) = (source.to_vec(), of_source);
        if view.find_in_manifest(old, &path)?.is_some() {
            return Ok(Some(path));
        }
    }
    Ok(None)
}
