//! The files of a changeset as the target of a patch, without the working copy.

use super::PatchObserver;
use super::working::{keep_rejects, kind_of, mode_of};
use crate::tree::Tree;
use crate::{ChosenFiles, WorkdirError, WorkingFiles};
use std::collections::{BTreeMap, BTreeSet};
use varve_patch::{PatchError, PatchMode, PatchNotice, PatchTarget, TargetFile};
use varve_repo::{CommitBatch, FileChange, FileKind, Node};

/// A file that a patch has written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WrittenFile {
    content: Vec<u8>,
    kind: FileKind,
    copied_from: Option<Vec<u8>>,
}

/// The changes of a patch against a changeset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchedChangeset {
    written: BTreeMap<Vec<u8>, WrittenFile>,
    removed: BTreeSet<Vec<u8>>,
}

impl PatchedChangeset {
    /// Files that are written, sorted.
    pub fn written(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.written.keys()
    }

    /// Files that are removed, sorted.
    pub fn removed(&self) -> impl Iterator<Item = &Vec<u8>> {
        let removed = self.removed.iter();
        removed.filter(|path| !self.written.contains_key(*path))
    }

    /// The files alone, for a commit of the working copy.
    pub(super) fn into_chosen(self) -> ChosenFiles {
        let written = self.written.into_iter();
        ChosenFiles {
            written: written
                .map(|(path, file)| (path, (file.content, file.kind)))
                .collect(),
            removed: self.removed,
        }
    }

    /// Adds the changes to a batch as a changeset of these parents.
    pub(super) fn commit(
        &self,
        batch: &mut CommitBatch,
        parents: [Node; 2],
        metadata: &crate::CommitMetadata<'_>,
    ) -> Result<Node, WorkdirError> {
        let mut files = batch.files_from(parents)?;
        for path in self.removed() {
            batch.change(&mut files, &FileChange::Remove { path })?;
        }
        for (path, file) in &self.written {
            let change = FileChange::Write {
                path,
                content: &file.content,
                kind: file.kind,
                copied_from: file.copied_from.as_deref(),
            };
            batch.change(&mut files, &change)?;
        }
        Ok(batch.commit_files(files, &metadata.changeset(parents))?)
    }
}

/// Reads a revision of a file.
pub(super) type ContentReader<'a> = &'a dyn Fn(&[u8], &Node) -> Result<Vec<u8>, WorkdirError>;

/// Gathers patched files. A patch sees the changeset as it is, whatever it has written.
pub(super) struct MemoryTarget<'a> {
    pub(super) contents: ContentReader<'a>,
    /// Where rejected hunks are kept, if anywhere.
    pub(super) rejects: Option<&'a WorkingFiles>,
    pub(super) tree: Tree<'a>,
    pub(super) observer: PatchObserver<'a>,
    pub(super) changes: PatchedChangeset,
}

impl MemoryTarget<'_> {
    fn check_known(&self, path: &[u8]) -> Result<(), WorkdirError> {
        match self.tree.get(path)? {
            Some(_) => Ok(()),
            None => Err(PatchError::NotTracked(crate::files::shown(path)).into()),
        }
    }
}

impl PatchTarget for MemoryTarget<'_> {
    type Error = WorkdirError;

    fn read(&mut self, path: &[u8]) -> Result<Option<TargetFile>, WorkdirError> {
        let Some((node, kind)) = self.tree.get(path)? else {
            return Ok(None);
        };
        Ok(Some(TargetFile {
            content: (self.contents)(path, &node)?,
            mode: mode_of(kind),
        }))
    }

    fn exists(&mut self, path: &[u8]) -> Result<bool, WorkdirError> {
        Ok(self.tree.get(path)?.is_some())
    }

    fn write(
        &mut self,
        path: &[u8],
        content: Option<&[u8]>,
        mode: Option<PatchMode>,
        copied_from: Option<&[u8]>,
    ) -> Result<(), WorkdirError> {
        if let Some(source) = copied_from {
            self.check_known(source)?;
        }
        let content = match content {
            Some(content) => content.to_vec(),
            None => {
                self.check_known(path)?;
                self.read(path)?.unwrap_or_default().content
            }
        };
        let file = WrittenFile {
            content,
            kind: mode.map(kind_of).unwrap_or_default(),
            copied_from: copied_from.map(<[u8]>::to_vec),
        };
        self.changes.written.insert(path.to_vec(), file);
        Ok(())
    }

    fn remove(&mut self, path: &[u8]) -> Result<(), WorkdirError> {
        self.check_known(path)?;
        self.changes.removed.insert(path.to_vec());
        Ok(())
    }

    fn keep_rejects(&mut self, path: &[u8], text: &[u8]) -> Result<(), WorkdirError> {
        match self.rejects {
            Some(files) => keep_rejects(files, path, text),
            None => Ok(()),
        }
    }

    fn notice(&mut self, notice: &PatchNotice<'_>) -> Result<(), WorkdirError> {
        if self.rejects.is_some() || !matches!(notice, PatchNotice::Rejects { .. }) {
            (self.observer)(notice);
        }
        Ok(())
    }
}
