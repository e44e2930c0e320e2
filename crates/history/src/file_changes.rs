//! Changes of a changeset to its files: kinds, copies, numbers of lines.

use crate::HistoryError;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use varve_delta::same_lines;
use varve_repo::{Changeset, FileText, Node, RepoError, RepoView, Rev, Revlog, RevlogError};

/// Filelogs that stay open: changesets that follow each other often change the same files.
const OPEN_FILELOGS: usize = 256;
/// The lines of longer files are not counted, in bytes.
const LONGEST_COUNTED: usize = 4 << 20;

/// Files of one changeset, by the kind of their change; in each list sorted bytewise.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FileChanges {
    /// In no parent.
    pub(crate) added: Vec<Vec<u8>>,
    /// In a parent before, and still there.
    pub(crate) modified: Vec<Vec<u8>>,
    /// No longer there.
    pub(crate) removed: Vec<Vec<u8>>,
    /// Copies and renames.
    pub(crate) copied: Vec<Copied>,
    /// Lines against the first parent, of all files that are texts; empty unless lines are counted.
    pub(crate) lines: Vec<FileLines>,
}

/// A file that was made of another one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Copied {
    pub(crate) path: Vec<u8>,
    pub(crate) source: Vec<u8>,
}

/// Numbers of lines that a changeset added to a file and removed from it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileLines {
    pub(crate) path: Vec<u8>,
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

/// The entries of one path: in the changeset, and in its parents.
struct PathEntries<'a> {
    path: &'a [u8],
    own: Option<Node>,
    parents: [Option<Node>; 2],
}

/// Reads the changes of one changeset after the other; fastest in ascending order.
pub(crate) struct FileChangeReader<'v> {
    view: &'v RepoView,
    manifest: varve_repo::RevlogReader<'v>,
    changelog: varve_repo::RevlogReader<'v>,
    filelogs: HashMap<Vec<u8>, Revlog>,
    counts_lines: bool,
}

impl<'v> FileChangeReader<'v> {
    pub(crate) fn new(view: &'v RepoView, counts_lines: bool) -> Result<Self, HistoryError> {
        Ok(FileChangeReader {
            view,
            manifest: view.manifest()?.reader(),
            changelog: view.changelog().reader(),
            filelogs: HashMap::new(),
            counts_lines,
        })
    }

    /// The changes of changeset `rev`.
    ///
    /// # Errors
    /// A damaged changeset, manifest or filelog.
    pub(crate) fn changes(
        &mut self,
        rev: Rev,
        changeset: &Changeset<'_>,
    ) -> Result<FileChanges, HistoryError> {
        let mut changes = FileChanges::default();
        for entries in self.entries(rev, changeset)? {
            let path = entries.path.to_vec();
            let was_there = entries.parents.iter().any(Option::is_some);
            let source = match entries.own {
                Some(own) => self.source_of_copy(rev, &entries, &own)?,
                None => None,
            };
            if self.counts_lines
                && let Some(lines) = self.count_lines(rev, &entries, source.as_deref())?
            {
                changes.lines.push(lines);
            }
            match (entries.own, was_there) {
                (None, _) => changes.removed.push(path),
                (Some(_), true) => changes.modified.push(path),
                (Some(_), false) => changes.added.push(path),
            }
            if let Some(source) = source {
                let path = entries.path.to_vec();
                changes.copied.push(Copied { path, source });
            }
        }
        Ok(changes)
    }

    /// Looks all files of a changeset up in its manifest and those of its parents.
    fn entries<'c>(
        &mut self,
        rev: Rev,
        changeset: &Changeset<'c>,
    ) -> Result<Vec<PathEntries<'c>>, HistoryError> {
        let of_path = |path| PathEntries {
            path,
            own: None,
            parents: [None, None],
        };
        let mut entries: Vec<_> = changeset.files().map(of_path).collect();
        if entries.is_empty() {
            return Ok(entries);
        }
        let parents = self.view.changelog().parents(rev);
        for (side, parent) in parents.into_iter().enumerate() {
            let Some(parent) = parent else { continue };
            let text = self.changelog.text(parent)?;
            let manifest = self.view.parse_changeset(parent, text)?.manifest;
            self.look_up(&manifest, &mut entries, |entry, node| {
                entry.parents[side] = node;
            })?;
        }
        self.look_up(&changeset.manifest, &mut entries, |entry, node| {
            entry.own = node;
        })?;
        Ok(entries)
    }

    fn look_up<'c>(
        &mut self,
        manifest: &Node,
        entries: &mut [PathEntries<'c>],
        set: impl Fn(&mut PathEntries<'c>, Option<Node>),
    ) -> Result<(), HistoryError> {
        if manifest.is_null() {
            return Ok(());
        }
        let revlog = self.view.manifest()?;
        let rev = revlog.rev(manifest).ok_or_else(|| RepoError::MissingNode {
            what: "manifest",
            node: *manifest,
            path: revlog.path().to_owned(),
        })?;
        let text = self.manifest.text(rev)?;
        for entry in entries {
            let found = self.view.find_in_manifest(text, entry.path)?;
            set(entry, found.map(|found| found.node));
        }
        Ok(())
    }

    fn filelog(&mut self, path: &[u8]) -> Result<&Revlog, HistoryError> {
        if self.filelogs.len() >= OPEN_FILELOGS && !self.filelogs.contains_key(path) {
            self.filelogs.clear();
        }
        Ok(match self.filelogs.entry(path.to_vec()) {
            Entry::Occupied(open) => open.into_mut(),
            Entry::Vacant(vacant) => vacant.insert(self.view.filelog(path)?),
        })
    }

    /// The file that a file was copied from in this changeset. A revision that a parent has was not made here.
    fn source_of_copy(
        &mut self,
        rev: Rev,
        entries: &PathEntries<'_>,
        own: &Node,
    ) -> Result<Option<Vec<u8>>, HistoryError> {
        let filelog = self.filelog(entries.path)?;
        let Some(file_rev) = filelog.rev(own) else {
            return Ok(None);
        };
        let is_made_here = filelog.linkrev(file_rev) == i64::from(rev.0);
        let is_inherited = entries.parents.contains(&Some(*own));
        // A copy has the null revision as its first parent.
        if filelog.parents(file_rev)[0].is_some() || (!is_made_here && is_inherited) {
            return Ok(None);
        }
        let text = filelog.text(file_rev)?;
        let copied = FileText::parse(&text).copied_from;
        Ok(copied.map(|(source, _)| source.to_vec()))
    }

    /// Counts the lines that changed against the first parent, or against the source of a copy there. `None` for a file
    /// that is no text, too long, or the same in both.
    fn count_lines(
        &mut self,
        rev: Rev,
        entries: &PathEntries<'_>,
        source: Option<&[u8]>,
    ) -> Result<Option<FileLines>, HistoryError> {
        let mut before = (entries.path.to_vec(), entries.parents[0]);
        if before.1.is_none()
            && let Some(source) = source
        {
            before = (source.to_vec(), self.entry_in_first_parent(rev, source)?);
        }
        if before.1 == entries.own && before.0 == entries.path {
            return Ok(None);
        }
        let old = self.content(&before.0, before.1)?;
        let new = self.content(entries.path, entries.own)?;
        let is_counted = |text: &[u8]| text.len() <= LONGEST_COUNTED && !text.contains(&0);
        if !is_counted(&old) || !is_counted(&new) {
            return Ok(None);
        }
        let same: usize = same_lines(&old, &new).iter().map(|block| block.len).sum();
        Ok(Some(FileLines {
            path: entries.path.to_vec(),
            added: count(&new).saturating_sub(same),
            removed: count(&old).saturating_sub(same),
        }))
    }

    fn entry_in_first_parent(
        &mut self,
        rev: Rev,
        path: &[u8],
    ) -> Result<Option<Node>, HistoryError> {
        let [Some(parent), _] = self.view.changelog().parents(rev) else {
            return Ok(None);
        };
        let text = self.changelog.text(parent)?;
        let manifest = self.view.parse_changeset(parent, text)?.manifest;
        let mut entries = [PathEntries {
            path,
            own: None,
            parents: [None, None],
        }];
        self.look_up(&manifest, &mut entries, |entry, node| entry.own = node)?;
        Ok(entries[0].own)
    }

    /// Content of a file's revision; empty where there is none, or its text is not an ordinary one.
    fn content(&mut self, path: &[u8], node: Option<Node>) -> Result<Vec<u8>, HistoryError> {
        let Some(node) = node else {
            return Ok(Vec::new());
        };
        let filelog = self.filelog(path)?;
        let Some(rev) = filelog.rev(&node) else {
            return Ok(Vec::new());
        };
        match filelog.text(rev) {
            Ok(text) => Ok(FileText::parse(&text).content.to_vec()),
            Err(RevlogError::Flagged { .. }) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Lines of a text; the last one need not be ended.
fn count(text: &[u8]) -> usize {
    let ends = text.iter().filter(|byte| **byte == b'\n').count();
    ends + usize::from(text.last().is_some_and(|byte| *byte != b'\n'))
}
