//! Files that differ between two sides, and their versions on each.

use crate::context::Repo;
use crate::ui::{Abort, Ui};
use std::collections::BTreeMap;
use varve_base::Interrupt;
use varve_lang::patterns::Matcher;
use varve_repo::{FileKind, Node, ReaderState, RepoView, Repository, Rev};
use varve_workdir::{
    Dirstate, Ignore, Status, StatusLists, StatusRequest, WorkingFiles, path_copies,
    path_copies_to_working_copy, working_status,
};

/// A state of all files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiffSide {
    /// A changeset, or the null revision.
    Rev(Option<Rev>),
    /// The working copy.
    Working,
}

/// Where the text of a file is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A revision of its filelog.
    Stored(Node),
    /// The file in the working copy.
    Disk,
}

/// A file on one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    /// Its text.
    pub(crate) content: Content,
    /// Executable, link or neither.
    pub(crate) kind: FileKind,
}

/// The file that a copy was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CopySource {
    pub(crate) path: Vec<u8>,
    /// Version of the source.
    pub(crate) version: Version,
}

/// A file that differs.
#[derive(Clone, Debug)]
pub(crate) struct DiffedFile {
    pub(crate) path: Vec<u8>,
    /// Before; `None` if it was not there.
    pub(crate) old: Option<Version>,
    /// After.
    pub(crate) new: Option<Version>,
    /// Source of a copied new file.
    pub(crate) source: Option<CopySource>,
}

/// Files that match and differ between two changesets, sorted by path.
pub(crate) fn between(
    view: &RepoView,
    from: Option<Rev>,
    to: Option<Rev>,
    matcher: &Matcher,
    with_copies: bool,
) -> Result<Vec<DiffedFile>, Abort> {
    let (old, new) = (view.manifest_text(from)?, view.manifest_text(to)?);
    let mut changes = Vec::new();
    for path in differing(&old, &new) {
        // Files that do not match also tell about copies.
        if !with_copies && !matcher.matches(&path) {
            continue;
        }
        changes.push(DiffedFile {
            old: version(view, &old, &path)?,
            new: version(view, &new, &path)?,
            path,
            source: None,
        });
    }
    if with_copies {
        let copies = path_copies(view, from, to)?;
        for change in changes.iter_mut().filter(|change| change.old.is_none()) {
            change.source = source(view, &old, copies.get(&change.path))?;
        }
        changes.retain(|change| matcher.matches(&change.path));
    }
    Ok(changes)
}

/// Paths whose lines in two manifests are not the same, sorted.
fn differing(mut old: &[u8], mut new: &[u8]) -> Vec<Vec<u8>> {
    let mut paths = Vec::new();
    loop {
        // Most files are the same.
        let same = equal_lines(old, new);
        (old, new) = (&old[same..], &new[same..]);
        let (a, b) = (first_path(old), first_path(new));
        let first = match (a, b) {
            (None, None) => return paths,
            (Some(a), Some(b)) => a.min(b),
            (Some(path), None) | (None, Some(path)) => path,
        };
        paths.push(first.to_vec());
        if a == Some(first) {
            old = behind_line(old);
        }
        if b == Some(first) {
            new = behind_line(new);
        }
    }
}

/// Length of the whole lines that two texts begin with alike. Blocks are compared first, as a library's comparison of
/// memory is many times faster than one of bytes.
fn equal_lines(a: &[u8], b: &[u8]) -> usize {
    const BLOCK: usize = 256;
    let blocks = a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK));
    let skipped = BLOCK * blocks.take_while(|(a, b)| a == b).count();
    let bytes = a[skipped..].iter().zip(&b[skipped..]);
    let same = skipped + bytes.take_while(|(a, b)| a == b).count();
    if same == a.len().max(b.len()) {
        return same;
    }
    let newline = a[..same].iter().rposition(|byte| *byte == b'\n');
    newline.map_or(0, |newline| newline + 1)
}

/// Path of the first line; `None` at the end of the text.
fn first_path(text: &[u8]) -> Option<&[u8]> {
    let line = text.split(|byte| *byte == b'\n').next();
    let line = line.filter(|_| !text.is_empty())?;
    line.split(|byte| *byte == 0).next()
}

fn behind_line(text: &[u8]) -> &[u8] {
    let newline = text.iter().position(|byte| *byte == b'\n');
    newline.map_or(&[], |newline| &text[newline + 1..])
}

fn version(view: &RepoView, manifest: &[u8], path: &[u8]) -> Result<Option<Version>, Abort> {
    let entry = view.find_in_manifest(manifest, path)?;
    Ok(entry.map(|entry| Version {
        content: Content::Stored(entry.node),
        kind: entry.kind,
    }))
}

/// A copied file as it was before.
fn source(
    view: &RepoView,
    old: &[u8],
    path: Option<&Vec<u8>>,
) -> Result<Option<CopySource>, Abort> {
    let Some(path) = path else { return Ok(None) };
    let version = version(view, old, path)?;
    let path = path.clone();
    Ok(version.map(|version| CopySource { path, version }))
}

/// Files that match and differ between a changeset and the working copy.
pub(crate) fn with_working(
    repo: &mut Repo,
    ui: &Ui,
    view: &RepoView,
    from: Option<Rev>,
    matcher: &Matcher,
    with_copies: bool,
) -> Result<Vec<DiffedFile>, Abort> {
    let repository = repo.repository()?;
    let dirstate = Dirstate::read(&repository)?;
    let place = (&repository, &dirstate);
    with_dirstate(place, &ui.stop, view, from, matcher, with_copies)
}

/// The same by a dirstate that need not be stored.
pub(crate) fn with_dirstate(
    (repository, dirstate): (&Repository, &Dirstate),
    stop: &Interrupt,
    view: &RepoView,
    from: Option<Rev>,
    matcher: &Matcher,
    with_copies: bool,
) -> Result<Vec<DiffedFile>, Abort> {
    let parent = view.changelog().rev(&dirstate.parents()[0]);
    let status = working_status(&StatusRequest {
        repository,
        dirstate,
        matcher,
        ignore: &Ignore::default(),
        listing: StatusLists::default(),
        stop,
    })?
    .status;
    let (from_text, own_text) = (view.manifest_text(from)?, view.manifest_text(parent)?);
    let local: BTreeMap<&Vec<u8>, Option<Version>> = local_versions(repository, &status)?;
    let mut paths = differing(&from_text, &own_text);
    paths.retain(|path| matcher.matches(path));
    paths.extend(local.keys().map(|path| path.to_vec()));
    paths.sort_unstable();
    paths.dedup();
    let mut changes = Vec::new();
    for path in paths {
        let old = version(view, &from_text, &path)?;
        let new = match local.get(&path) {
            Some(new) => *new,
            None => version(view, &own_text, &path)?,
        };
        if old == new || (new.is_none() && status.deleted.contains(&path)) {
            continue;
        }
        changes.push(DiffedFile {
            path,
            old,
            new,
            source: None,
        });
    }
    if with_copies {
        let copies = path_copies_to_working_copy(view, from, dirstate)?;
        for change in changes.iter_mut().filter(|change| change.old.is_none()) {
            change.source = source(view, &from_text, copies.get(&change.path))?;
        }
    }
    Ok(changes)
}

/// Files that are not as in the parent of the working copy; `None` for those that are gone.
fn local_versions<'s>(
    repository: &Repository,
    status: &'s Status,
) -> Result<BTreeMap<&'s Vec<u8>, Option<Version>>, Abort> {
    let gone = status.removed.iter().chain(&status.deleted);
    let mut versions: BTreeMap<_, _> = gone.map(|path| (path, None)).collect();
    let disk = WorkingFiles::new(repository.root());
    for path in status.modified.iter().chain(&status.added) {
        let (_, kind) = disk.read(path)?;
        let content = Content::Disk;
        versions.insert(path, Some(Version { content, kind }));
    }
    Ok(versions)
}

/// The same changes in reverse: renamed files get their old names back.
pub(crate) fn undone(changes: Vec<DiffedFile>) -> Vec<DiffedFile> {
    let mut back = BTreeMap::new();
    for change in &changes {
        if let (Some(source), Some(version)) = (&change.source, change.new) {
            let path = change.path.clone();
            back.insert(source.path.clone(), CopySource { path, version });
        }
    }
    let turned = changes.into_iter().map(|change| DiffedFile {
        source: match change.new {
            None => back.remove(&change.path),
            Some(_) => None,
        },
        old: change.new,
        new: change.old,
        path: change.path,
    });
    turned.collect()
}

/// Text of one version of a file. The buffers and contexts of `reader` go from file to file.
pub(super) fn text(
    view: &RepoView,
    path: &[u8],
    version: Option<Version>,
    reader: &mut ReaderState,
) -> Result<Vec<u8>, Abort> {
    match version.map(|version| version.content) {
        None => Ok(Vec::new()),
        Some(Content::Stored(node)) => Ok(view.file_content_with(path, &node, reader)?),
        Some(Content::Disk) => Ok(WorkingFiles::of_view(view).read(path)?.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn manifests_differ_where_maps_of_their_lines_do(
            shared in proptest::collection::btree_map("[a-c/]{1,5}", "[01]{40}x?", 0..40),
            old in proptest::collection::btree_map("[a-c/]{1,5}", "[01]{40}x?", 0..6),
            new in proptest::collection::btree_map("[a-c/]{1,5}", "[01]{40}x?", 0..6),
        ) {
            let sides = [old, new].map(|side| {
                let mut files = shared.clone();
                files.extend(side);
                files
            });
            let texts = sides.each_ref().map(|files| {
                let lines = files.iter().map(|(path, rest)| format!("{path}\0{rest}\n"));
                lines.collect::<String>().into_bytes()
            });
            let all: std::collections::BTreeSet<_> = sides.iter().flat_map(BTreeMap::keys).collect();
            let wanted = all.into_iter().filter(|path| sides[0].get(*path) != sides[1].get(*path));
            let wanted: Vec<Vec<u8>> = wanted.map(|path| path.clone().into_bytes()).collect();
            prop_assert_eq!(differing(&texts[0], &texts[1]), wanted);
        }

        #[test]
        fn any_two_texts_are_compared(a in "[ab\0\n]{0,20}", b in "[ab\0\n]{0,20}") {
            differing(a.as_bytes(), b.as_bytes());
        }
    }
}
