//! Which files differ between two sides, and what each had.

use crate::face::{Abort, Session};
use std::collections::BTreeMap;
use varve_repo::patterns::Matcher;
use varve_repo::{FileKind, FileText, Node, RepoView, Rev};
use varve_workdir::{Dirstate, Ignore, Listing, StatusRequest, WorkingFiles, working_status};

/// A state of all files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// A changeset, or the null revision.
    Rev(Option<Rev>),
    /// The working folder.
    Working,
}

/// Where the text of a file is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A revision of its filelog.
    Stored(Node),
    /// The file in the working folder.
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

/// A file that differs.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// Its path.
    pub(crate) path: Vec<u8>,
    /// Before; `None` if it was not there.
    pub(crate) old: Option<Version>,
    /// After.
    pub(crate) new: Option<Version>,
    /// What it is a copy of.
    pub(crate) source: Option<Vec<u8>>,
}

type Files = BTreeMap<Vec<u8>, Version>;

/// Files that match and differ between two changesets, sorted by path.
pub(crate) fn between(
    view: &RepoView,
    from: Option<Rev>,
    to: Option<Rev>,
    matcher: &Matcher,
) -> Result<Vec<Change>, Abort> {
    let (old, new) = (view.manifest_text(from)?, view.manifest_text(to)?);
    let lines = |text| super::unified::lines(text).into_iter();
    let path_of = |line: &[u8]| {
        let end = line.iter().position(|byte| *byte == 0);
        line[..end.unwrap_or(line.len())].to_vec()
    };
    let (mut old_lines, mut new_lines) = (lines(&old).peekable(), lines(&new).peekable());
    let mut paths = Vec::new();
    loop {
        match (old_lines.peek(), new_lines.peek()) {
            (None, None) => break,
            // Most files are the same.
            (Some(a), Some(b)) if a == b => {
                old_lines.next();
                new_lines.next();
            }
            (a, b) => {
                let (a, b) = (a.map(|line| path_of(line)), b.map(|line| path_of(line)));
                let first = match (&a, &b) {
                    (Some(a), Some(b)) => a.min(b).clone(),
                    (a, b) => a.clone().or(b.clone()).unwrap_or_default(),
                };
                old_lines.next_if(|_| a.as_ref() == Some(&first));
                new_lines.next_if(|_| b.as_ref() == Some(&first));
                paths.push(first);
            }
        }
    }
    let mut changes = Vec::new();
    for path in paths.into_iter().filter(|path| matcher.matches(path)) {
        let version = |text: &[u8]| -> Result<Option<Version>, Abort> {
            let entry = view.find_in_manifest(text, &path)?;
            Ok(entry.map(|entry| Version {
                content: Content::Stored(entry.node),
                kind: entry.kind,
            }))
        };
        let (before, after) = (version(&old)?, version(&new)?);
        let source = match (before, after.map(|version| version.content)) {
            (None, Some(Content::Stored(node))) => source(view, &path, &node, &old)?,
            _ => None,
        };
        changes.push(Change {
            path,
            old: before,
            new: after,
            source,
        });
    }
    Ok(changes)
}

/// What a new file was copied from, if that was there before.
fn source(
    view: &RepoView,
    path: &[u8],
    node: &Node,
    before: &[u8],
) -> Result<Option<Vec<u8>>, Abort> {
    let filelog = view.filelog(path)?;
    let Some(mut rev) = filelog.rev(node) else {
        return Ok(None);
    };
    // The copy may have been changed since.
    while let Some(parent) = filelog.parents(rev)[0] {
        rev = parent;
    }
    let text = filelog.text(rev)?;
    let Some((source, _)) = FileText::parse(&text).copied_from else {
        return Ok(None);
    };
    let there = view.find_in_manifest(before, source)?.is_some();
    Ok(there.then(|| source.to_vec()))
}

/// Files that match and differ between a changeset and the working folder.
pub(crate) fn with_working(
    session: &mut Session,
    view: &RepoView,
    from: Option<Rev>,
    matcher: &Matcher,
) -> Result<Vec<Change>, Abort> {
    let repository = session.repository()?;
    let parent = session.working_parents()?.first().copied();
    let dirstate = Dirstate::read(&repository)?;
    let status = working_status(&StatusRequest {
        repository: &repository,
        dirstate: &dirstate,
        matcher,
        ignore: &Ignore::default(),
        listing: Listing::default(),
        stop: &session.stop,
    })?
    .status;
    let (from_text, own_text) = (view.manifest_text(from)?, view.manifest_text(parent)?);
    let old = files(view, &from_text, matcher)?;
    let mut new = files(view, &own_text, matcher)?;
    for path in status.removed.iter().chain(&status.deleted) {
        new.remove(path);
    }
    let disk = WorkingFiles::new(repository.root());
    for path in status.modified.iter().chain(&status.added) {
        let (_, kind) = disk.read(path)?;
        let content = Content::Disk;
        new.insert(path.clone(), Version { content, kind });
    }
    let mut paths: Vec<&Vec<u8>> = old.keys().chain(new.keys()).collect();
    paths.sort_unstable();
    paths.dedup();
    let mut changes = Vec::new();
    for path in paths {
        let (before, after) = (old.get(path).copied(), new.get(path).copied());
        if before == after || (after.is_none() && status.deleted.contains(path)) {
            continue;
        }
        let is_new = before.is_none() && after.is_some();
        let copied = dirstate.copy_source(path).map(<[u8]>::to_vec);
        let source = match (is_new, copied) {
            (false, _) => None,
            (true, Some(copied)) => Some(copied).filter(|source| old.contains_key(source)),
            (true, None) => match view.find_in_manifest(&own_text, path)? {
                Some(entry) => source(view, path, &entry.node, &from_text)?,
                None => None,
            },
        };
        changes.push(Change {
            path: path.clone(),
            old: before,
            new: after,
            source,
        });
    }
    Ok(changes)
}

fn files(view: &RepoView, text: &[u8], matcher: &Matcher) -> Result<Files, Abort> {
    let mut files = Files::new();
    for entry in view.manifest_entries(text) {
        let entry = entry?;
        if matcher.matches(entry.path) {
            let content = Content::Stored(entry.node);
            let kind = entry.kind;
            files.insert(entry.path.to_vec(), Version { content, kind });
        }
    }
    Ok(files)
}

/// Text of one version of a file.
pub(super) fn text(
    view: &RepoView,
    path: &[u8],
    version: Option<Version>,
) -> Result<Vec<u8>, Abort> {
    match version.map(|version| version.content) {
        None => Ok(Vec::new()),
        Some(Content::Stored(node)) => Ok(view.file_content(path, &node)?),
        Some(Content::Disk) => Ok(WorkingFiles::new(view.root()).read(path)?.0),
    }
}
