//! The history of a file, and of its lines.

use super::{RequestedPath, internal, lossy, missing};
use crate::Failure;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use varve_base::Interrupt;
use varve_delta::Blanks;
use varve_history::{changeset_summary, differences};
use varve_json::{Object, Value};
use varve_repo::{
    Ancestors, AnnotateOptions, AnnotateStart, FileRevision, FileText, Rev, StoredFile,
};

/// Changesets of a log unless a limit is given, and the highest limit.
const LIMIT: usize = 100;
const MOST: usize = 10_000;
/// Longer files are not annotated, in bytes.
const LONGEST: usize = 4 << 20;

/// The changesets that changed a file, newest first, up to the one where it was added or copied.
///
/// # Errors
/// 404 without such a file; 400 for a wrong limit.
pub(super) fn log(file: &RequestedPath<'_>, limit: Option<&str>) -> Result<Object, Failure> {
    let limit = match limit.map(str::parse) {
        None => LIMIT,
        Some(Ok(limit)) => std::cmp::min(limit, MOST),
        Some(Err(_)) => return Err(Failure::bad_request("`limit` must be a number")),
    };
    let manifest = file.manifest()?;
    let entry = file.entry(&manifest)?;
    let view = file.view;
    let filelog = view.filelog(entry.path).map_err(internal)?;
    let mut history = Ancestors::new(view.changelog(), &[file.changeset]);
    let first = filelog.rev(&entry.node).ok_or_else(|| missing("file"))?;
    let mut left = BTreeSet::from([first]);
    let mut changesets = Vec::new();
    while changesets.len() < limit
        && let Some(rev) = left.pop_last()
    {
        left.extend(filelog.parents(rev).into_iter().flatten());
        let (path, filelog) = (entry.path, &filelog);
        let revision = FileRevision { path, filelog, rev };
        let found = view.introducing_changeset(revision, &mut history, file.changeset);
        let Some(changeset) = found.map_err(internal)? else {
            continue;
        };
        let mut object = changeset_summary(view, changeset).map_err(internal)?;
        object.insert("file", filelog.node(rev).to_string());
        if filelog.parents(rev)[0].is_none() {
            let text = filelog.text(rev).map_err(|error| internal(error.into()))?;
            if let Some((source, _)) = FileText::parse(&text).copied_from {
                object.insert("copied_from", lossy(source));
            }
        }
        changesets.push(Value::from(object));
    }
    let mut log = Object::new();
    log.insert("changeset", file.node());
    log.insert("path", file.path.as_str());
    log.insert("changesets", changesets);
    Ok(log)
}

/// Each line of a file with the changeset that brought it and its number there, from 1.
///
/// # Errors
/// 404 without such a file; 400 if it is no text, or longer than 4 MiB.
pub(super) fn annotation(file: &RequestedPath<'_>, stop: &Interrupt) -> Result<Object, Failure> {
    let manifest = file.manifest()?;
    let entry = file.entry(&manifest)?;
    let content = file.view.file_content(entry.path, &entry.node);
    let content = content.map_err(internal)?;
    if content.contains(&0) || content.len() > LONGEST {
        return Err(Failure::bad_request(
            "Only texts of at most 4 MiB can be annotated.",
        ));
    }
    let start = AnnotateStart::Stored(StoredFile {
        changeset: file.changeset,
        path: entry.path.to_vec(),
        node: entry.node,
    });
    let how = AnnotateOptions {
        follow: true,
        blanks: Blanks::default(),
        skip: &|_| false,
        stop,
    };
    let annotated = file.view.annotate(&start, &content, &how);
    let annotated = annotated.map_err(internal)?;
    let mut named: BTreeMap<Rev, Value> = BTreeMap::new();
    let mut lines = Vec::with_capacity(annotated.lines.len());
    let texts = content.split_inclusive(|byte| *byte == b'\n');
    for (line, text) in annotated.lines.iter().zip(texts) {
        let version = annotated.versions.get(line.version);
        let changeset = version.and_then(|version| version.changeset);
        let mut object = Object::new();
        if let Some(rev) = changeset {
            if let Entry::Vacant(vacant) = named.entry(rev) {
                let summary = changeset_summary(file.view, rev).map_err(internal)?;
                vacant.insert(summary.into());
            }
            object.insert("changeset", file.view.changelog().node(rev).to_string());
        }
        if let Some(version) = version.filter(|version| version.path != entry.path) {
            object.insert("path", lossy(&version.path));
        }
        object.insert("line", line.line as u64 + 1);
        object.insert("text", lossy(text.strip_suffix(b"\n").unwrap_or(text)));
        lines.push(Value::from(object));
    }
    let mut annotation = Object::new();
    annotation.insert("changeset", file.node());
    annotation.insert("path", file.path.as_str());
    let changesets = named.into_values().rev().collect::<Value>();
    annotation.insert("changesets", changesets);
    annotation.insert("lines", lines);
    Ok(annotation)
}

/// Changes of a changeset against its first parent, in the files at or below the path.
///
/// # Errors
/// 500 for a damaged repository.
pub(super) fn diff(below: &RequestedPath<'_>, stop: &Interrupt) -> Result<Object, Failure> {
    let files = differences(below.view, below.changeset, &below.path, stop);
    let files = files.map_err(|error| Failure::internal(error.to_string()))?;
    let changelog = below.view.changelog();
    let [parent, _] = changelog.parents(below.changeset);
    let parent = parent.map(|parent| Value::from(changelog.node(parent).to_string()));
    let mut diff = Object::new();
    diff.insert("changeset", below.node());
    diff.insert("parent", parent.unwrap_or(Value::Null));
    diff.insert(
        "files",
        files.into_iter().map(Value::from).collect::<Value>(),
    );
    Ok(diff)
}
