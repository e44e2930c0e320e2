//! Files that were copied or renamed on the way from a changeset to its descendant.

use super::DifferingFile;
use crate::hg::pages::error::PageError;
use crate::hg::pages::read::{PageReader, Text};
use std::collections::{BTreeMap, HashMap, HashSet};
use varve_repo::{FileText, Node, Rev, Revlog};

/// A revision of a file.
type FileRevision = (Text, Node);

/// Walks back through the histories of files, and keeps the filelogs that it opened.
struct FileHistory<'r, 'v> {
    reader: &'r PageReader<'v>,
    filelogs: HashMap<Text, Revlog>,
}

impl FileHistory<'_, '_> {
    fn filelog(&mut self, path: &[u8]) -> Result<&Revlog, PageError> {
        if !self.filelogs.contains_key(path) {
            let filelog = self.reader.view.filelog(path)?;
            self.filelogs.insert(path.to_vec(), filelog);
        }
        Ok(&self.filelogs[path])
    }

    /// The number of the changeset that brought a revision: later ones are looked at first.
    fn linkrev(&mut self, (path, node): &FileRevision) -> Result<Option<Rev>, PageError> {
        let filelog = self.filelog(path)?;
        let linkrev = filelog.rev(node).map(|rev| filelog.linkrev(rev));
        Ok(linkrev.and_then(|number| u32::try_from(number).ok().map(Rev)))
    }

    /// Parents of a revision; the source of a copy is one.
    fn parents(&mut self, (path, node): &FileRevision) -> Result<Vec<FileRevision>, PageError> {
        let filelog = self.filelog(path)?;
        let Some(rev) = filelog.rev(node) else {
            return Ok(Vec::new());
        };
        let [first, second] = filelog.parents(rev);
        let known = [first, second].into_iter().flatten();
        let mut parents: Vec<FileRevision> = known
            .map(|parent| (path.clone(), filelog.node(parent)))
            .collect();
        // Only a revision without a first parent may have a source.
        if first.is_none() {
            let text = filelog.text(rev)?;
            let source = FileText::parse(&text).copied_from;
            parents.extend(source.map(|(path, node)| (path.to_vec(), node)));
        }
        Ok(parents)
    }

    /// The path at which a manifest has an ancestor of a revision, as exactly that ancestor.
    fn origin(&mut self, start: FileRevision, manifest: &[u8]) -> Result<Option<Text>, PageError> {
        let (mut waiting, mut seen) = (BTreeMap::new(), HashSet::new());
        let mut found = self.parents(&start)?;
        loop {
            for revision in found.drain(..) {
                if seen.insert(revision.clone()) {
                    waiting.insert((self.linkrev(&revision)?, revision.1), revision);
                }
            }
            self.reader.check_stop()?;
            let Some((_, revision)) = waiting.pop_last() else {
                return Ok(None);
            };
            let entry = self.reader.entry_of(manifest, &revision.0)?;
            if entry.is_some_and(|(node, _)| node == revision.1) {
                return Ok(Some(revision.0));
            }
            found = self.parents(&revision)?;
        }
    }
}

impl PageReader<'_> {
    /// Finds the sources of new files. There are none between changesets of which the first is no ancestor of the other.
    pub(super) fn find_sources(
        &self,
        (from, to): (Option<Rev>, Option<Rev>),
        (old, files): (&[u8], &mut [DifferingFile]),
    ) -> Result<(), PageError> {
        let (Some(from), Some(to)) = (from, to) else {
            return Ok(());
        };
        if self.view.common_ancestor_heads(from, to) != [from] {
            return Ok(());
        }
        let mut history = FileHistory {
            reader: self,
            filelogs: HashMap::new(),
        };
        for file in files {
            let (None, Some((node, _))) = (file.old, file.new) else {
                continue;
            };
            let Some(path) = history.origin((file.path.clone(), node), old)? else {
                continue;
            };
            let entry = self.entry_of(old, &path)?;
            file.source = entry.map(|entry| (path, entry));
        }
        Ok(())
    }
}
