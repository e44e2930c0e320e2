//! The document of a changeset.

use crate::HistoryError;
use crate::author::author;
use crate::date::iso_8601;
use crate::file_changes::{FileChangeReader, FileChanges, FileLines};
use crate::text::{node, text};
use varve_json::{Object, Value};
use varve_repo::{Changeset, RepoError, RepoView, Rev, RevlogReader};

/// Files that one document names at most: a document has a size limit.
const MOST_FILES: usize = 10_000;
/// Bytes of a description that a document has at most.
const LONGEST_DESCRIPTION: usize = 1 << 20;

/// Makes the documents of changesets; fastest in ascending order.
pub(crate) struct ChangesetReader<'v> {
    view: &'v RepoView,
    changelog: RevlogReader<'v>,
    files: FileChangeReader<'v>,
    counts_lines: bool,
}

impl<'v> ChangesetReader<'v> {
    pub(crate) fn new(view: &'v RepoView, counts_lines: bool) -> Result<Self, HistoryError> {
        Ok(ChangesetReader {
            view,
            changelog: view.changelog().reader(),
            files: FileChangeReader::new(view, counts_lines)?,
            counts_lines,
        })
    }

    /// The document of a changeset, without its id.
    ///
    /// # Errors
    /// A damaged changeset, manifest or filelog.
    pub(crate) fn document(&mut self, rev: Rev) -> Result<Object, HistoryError> {
        let parents = self.parents(rev);
        let changeset = self.view.parse_changeset(rev, self.changelog.text(rev)?)?;
        let changes = self.files.changes(rev, &changeset)?;
        let mut document = Object::new();
        document.insert("type", "changeset");
        document.insert("rev", u64::from(rev.0));
        document.insert("phase", self.view.phases().of(rev).name());
        document.insert("author", author(changeset.user));
        let date = iso_8601(changeset.time, changeset.zone);
        document.insert("date", date.map_or(Value::Null, Value::from));
        document.insert("seconds", changeset.time);
        document.insert("branch", text(&changeset.branch()));
        document.insert("parents", parents);
        describe(&changeset, &mut document);
        let is_cut = list_files(&changes, &mut document);
        if self.counts_lines {
            document.insert("lines", lines(&changes.lines, is_cut));
        }
        document.insert("extra", extra(&changeset));
        document.insert("closes_branch", changeset.closes_branch());
        Ok(document)
    }

    fn parents(&self, rev: Rev) -> Value {
        let changelog = self.view.changelog();
        let parents = changelog.parents(rev).into_iter().flatten();
        parents
            .map(|parent| node(&changelog.node(parent)))
            .collect()
    }
}

/// Node, author, date, branch and first line of a changeset, in the form that they have in its document.
///
/// # Errors
/// A damaged changeset.
pub fn changeset_summary(view: &RepoView, rev: Rev) -> Result<Object, RepoError> {
    view.with_changeset(rev, |changeset| {
        let mut object = Object::new();
        object.insert("node", node(&view.changelog().node(rev)));
        object.insert("author", author(changeset.user));
        let date = iso_8601(changeset.time, changeset.zone);
        object.insert("date", date.map_or(Value::Null, Value::from));
        object.insert("seconds", changeset.time);
        object.insert("branch", text(&changeset.branch()));
        object.insert("summary", summary(&text(changeset.description)));
        object
    })
}

fn summary(description: &str) -> String {
    description.lines().next().unwrap_or_default().to_owned()
}

/// Adds the description and its first line.
fn describe(changeset: &Changeset<'_>, document: &mut Object) {
    let mut description = text(changeset.description);
    if description.len() > LONGEST_DESCRIPTION {
        description.truncate(description.floor_char_boundary(LONGEST_DESCRIPTION));
    }
    let summary = summary(&description);
    document.insert("description", description);
    document.insert("summary", summary);
}

/// Adds the lists of files; returns whether there are too many, so that only the first ones of each list are named.
fn list_files(changes: &FileChanges, document: &mut Object) -> bool {
    let lists = [
        ("added", &changes.added),
        ("modified", &changes.modified),
        ("removed", &changes.removed),
    ];
    let all: usize = lists.iter().map(|(_, list)| list.len()).sum();
    let most = match all > MOST_FILES {
        true => MOST_FILES / lists.len(),
        false => MOST_FILES,
    };
    let mut files = Object::new();
    for (name, list) in lists {
        let paths = list.iter().take(most).map(|path| Value::from(text(path)));
        files.insert(name, paths.collect::<Value>());
    }
    let copied = changes.copied.iter().take(most).map(|copied| {
        let mut copy = Object::new();
        copy.insert("path", text(&copied.path));
        copy.insert("from", text(&copied.source));
        Value::from(copy)
    });
    files.insert("copied", copied.collect::<Value>());
    let is_cut = all > MOST_FILES;
    if is_cut {
        files.insert("total", all as u64);
    }
    document.insert("files", files);
    is_cut
}

/// `{"added": …, "removed": …, "files": {PATH: [added, removed]}}`.
fn lines(counts: &[FileLines], is_cut: bool) -> Object {
    let sum = |of: fn(&FileLines) -> usize| counts.iter().map(of).sum::<usize>() as u64;
    let mut lines = Object::new();
    lines.insert("added", sum(|file| file.added));
    lines.insert("removed", sum(|file| file.removed));
    let most = if is_cut { 0 } else { counts.len() };
    let files = counts.iter().take(most).map(|file| {
        let numbers = [file.added as u64, file.removed as u64];
        (text(&file.path), numbers.map(Value::from).to_vec().into())
    });
    lines.insert("files", files.collect::<Object>());
    lines
}

/// Extra facts, but for those that have members of their own.
fn extra(changeset: &Changeset<'_>) -> Object {
    let own = |key: &[u8]| key == b"branch" || key == b"close";
    let extras = changeset.extras().filter(|(key, _)| !own(key));
    extras
        .map(|(key, value)| (text(&key), Value::from(text(&value))))
        .collect()
}
