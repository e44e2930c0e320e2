//! Differences of two changesets in the unified form.

mod copies;
mod file;
mod lines;
mod options;

use super::{PageReader, Text};
use crate::hg::pages::error::PageError;
use file::{DiffSides, FileTexts};
pub(in crate::hg::pages) use lines::{LineChange, changes, grouped, lines};
pub(in crate::hg::pages) use options::{DiffOptions, blanks_of_annotation};
use std::collections::{BTreeMap, BTreeSet};
use varve_repo::{FileKind, Node, ReaderState, Rev};

/// Bytes of all differences of one page.
const LONGEST_DIFF: usize = 32 << 20;
/// Hexadecimal digits of nodes in headers.
const DIGITS: usize = 12;

/// The difference of one file. One whose content is the same, or the same but for ignored blanks, has only a header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::hg::pages) struct FileDiff {
    pub(in crate::hg::pages) path: Text,
    /// `diff -r OLD -r NEW PATH` or `diff --git a/OLD b/NEW`, with its line end.
    pub(in crate::hg::pages) header: Text,
    /// The lines behind it.
    pub(in crate::hg::pages) body: Text,
    /// Behind them, in git's form, the content of a file that is no text; empty if it is the same as before.
    pub(in crate::hg::pages) literal: Option<Text>,
    pub(in crate::hg::pages) is_removed: bool,
}

impl FileDiff {
    /// Nothing but the header.
    pub(in crate::hg::pages) fn is_empty(&self) -> bool {
        self.body.is_empty() && self.literal().is_empty()
    }

    pub(in crate::hg::pages) fn text(&self) -> Text {
        [&self.header[..], &self.body, self.literal()].concat()
    }

    pub(in crate::hg::pages) fn literal(&self) -> &[u8] {
        self.literal.as_deref().unwrap_or_default()
    }
}

/// A revision of a file, and its kind.
type Entry = (Node, FileKind);

/// A file whose line in two manifests is not the same.
struct DifferingFile {
    path: Text,
    old: Option<Entry>,
    new: Option<Entry>,
    /// The file that a new one was copied from.
    source: Option<(Text, Entry)>,
    /// The source is gone, and this is the first of its copies.
    is_renamed: bool,
}

impl DifferingFile {
    /// The file, or the source of a copy, before the change.
    fn before(&self) -> (&Text, Option<Entry>) {
        match &self.source {
            Some((path, entry)) => (path, Some(*entry)),
            None => (&self.path, self.old),
        }
    }
}

/// Change of a file by a changeset against its first parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::hg::pages) struct ChangedFile {
    pub(in crate::hg::pages) path: Text,
    pub(in crate::hg::pages) status: &'static str,
}

impl PageReader<'_> {
    /// The files that a changeset lists.
    ///
    /// # Errors
    /// A damaged repository.
    pub(in crate::hg::pages) fn changed_files(
        &self,
        rev: Option<Rev>,
        files: &[Text],
    ) -> Result<Vec<ChangedFile>, PageError> {
        let before = self.view.manifest_text(self.first_parent(rev))?;
        let own = self.view.manifest_text(rev)?;
        let mut changed = Vec::with_capacity(files.len());
        for path in files {
            let is_there = self.view.find_in_manifest(&own, path)?.is_some();
            let was_there = self.view.find_in_manifest(&before, path)?.is_some();
            changed.push(ChangedFile {
                path: path.clone(),
                status: match (was_there, is_there) {
                    (false, true) => "added",
                    (_, false) => "removed",
                    (true, true) => "modified",
                },
            });
        }
        Ok(changed)
    }

    /// Differences from one changeset to another, of all files or one.
    ///
    /// # Errors
    /// A damaged repository; 413 if they are longer than 32 MiB.
    pub(in crate::hg::pages) fn diffs(
        &self,
        (from, to): (Option<Rev>, Option<Rev>),
        only: Option<&[u8]>,
        options: &DiffOptions,
    ) -> Result<Vec<FileDiff>, PageError> {
        let sides = DiffSides {
            nodes: (self.node(from), self.node(to)),
            dates: (self.date(from)?, self.date(to)?),
        };
        let (mut state, mut length, mut found) = (ReaderState::default(), 0, Vec::new());
        for file in self.differing_files((from, to), only, options)? {
            self.check_stop()?;
            let (path, old) = file.before();
            let texts = FileTexts {
                old: self.text_of(path, old, &mut state)?,
                new: self.text_of(&file.path, file.new, &mut state)?,
            };
            let diff = file::difference(&file, &texts, (&sides, options));
            length += diff.body.len() + diff.literal().len();
            if length > LONGEST_DIFF {
                return Err(PageError::too_long("the difference"));
            }
            found.push(diff);
        }
        Ok(found)
    }

    /// The files that differ; in git's form a renamed one is one file.
    fn differing_files(
        &self,
        (from, to): (Option<Rev>, Option<Rev>),
        only: Option<&[u8]>,
        options: &DiffOptions,
    ) -> Result<Vec<DifferingFile>, PageError> {
        let (old, new) = (self.view.manifest_text(from)?, self.view.manifest_text(to)?);
        let mut files = Vec::new();
        for path in differing(&old, &new) {
            if only.is_some_and(|only| only != path) {
                continue;
            }
            files.push(DifferingFile {
                old: self.entry_of(&old, &path)?,
                new: self.entry_of(&new, &path)?,
                path,
                source: None,
                is_renamed: false,
            });
        }
        if options.git {
            self.find_sources((from, to), (&old, &mut files))?;
            mark_renamed(&mut files);
        }
        Ok(files)
    }

    fn entry_of(&self, manifest: &[u8], path: &[u8]) -> Result<Option<Entry>, PageError> {
        let entry = self.view.find_in_manifest(manifest, path)?;
        Ok(entry.map(|entry| (entry.node, entry.kind)))
    }

    fn text_of(
        &self,
        path: &[u8],
        entry: Option<Entry>,
        state: &mut ReaderState,
    ) -> Result<Text, PageError> {
        match entry {
            Some((node, _)) => Ok(self.view.file_content_with(path, &node, state)?),
            None => Ok(Vec::new()),
        }
    }
}

/// Marks the first copy of each file that is gone, and leaves that file out.
fn mark_renamed(files: &mut Vec<DifferingFile>) {
    let gone = files.iter().filter(|file| file.new.is_none());
    let mut gone: BTreeSet<Text> = gone.map(|file| file.path.clone()).collect();
    let mut renamed = BTreeSet::new();
    for file in files.iter_mut() {
        if let Some((source, _)) = &file.source
            && gone.remove(source)
        {
            file.is_renamed = true;
            renamed.insert(source.clone());
        }
    }
    files.retain(|file| file.new.is_some() || !renamed.contains(&file.path));
}

/// The first digits of a node.
pub(in crate::hg::pages) fn short(node: &Node) -> String {
    String::from_utf8_lossy(&node.to_hex()[..DIGITS]).into_owned()
}

/// Paths whose lines in two manifests are not the same, in order.
fn differing(old: &[u8], new: &[u8]) -> Vec<Text> {
    let lines = |text: &'_ [u8]| -> BTreeMap<Text, Text> {
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        let pairs = lines.map(|line| {
            let end = line.iter().position(|byte| *byte == 0);
            let (path, rest) = line.split_at(end.unwrap_or(line.len()));
            (path.to_vec(), rest.to_vec())
        });
        pairs.collect()
    };
    // Most lines are the same, and stand at either end or between few others.
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let start = old[..start].iter().rposition(|byte| *byte == b'\n');
    let start = start.map_or(0, |at| at + 1);
    let (old, mut new) = (lines(&old[start..]), lines(&new[start..]));
    let mut paths: Vec<Text> = Vec::new();
    for (path, line) in old {
        if new.remove(&path).as_ref() != Some(&line) {
            paths.push(path);
        }
    }
    paths.extend(new.into_keys());
    paths.sort_unstable();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_differ_in_paths() {
        let paths = differing(b"a\x001\nb\x001\nc\x001\n", b"a\x001\nbb\x001\nc\x002\n");
        assert_eq!(paths, [b"b".to_vec(), b"bb".to_vec(), b"c".to_vec()]);
        assert!(differing(b"a\x001\n", b"a\x001\n").is_empty());
    }

    #[test]
    fn the_first_copy_of_a_file_that_is_gone_is_a_rename() {
        let entry = Some((Node::NULL, FileKind::Plain));
        let file = |path: &str, (old, new), source: Option<&str>| DifferingFile {
            path: path.into(),
            old,
            new,
            source: source.map(|path| (path.into(), (Node::NULL, FileKind::Plain))),
            is_renamed: false,
        };
        let mut files = vec![
            file("a", (entry, None), None),
            file("b", (None, entry), Some("a")),
            file("c", (None, entry), Some("a")),
            file("d", (None, entry), Some("e")),
            file("f", (entry, None), None),
        ];
        mark_renamed(&mut files);
        let shown: Vec<_> = files
            .iter()
            .map(|file| (&file.path[..], file.is_renamed))
            .collect();
        let expected = [
            (&b"b"[..], true),
            (b"c", false),
            (b"d", false),
            (b"f", false),
        ];
        assert_eq!(shown, expected);
    }
}
