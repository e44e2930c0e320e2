//! Committing contents that the working copy does not have, with the metadata of an earlier changeset.

use super::{ChangesetMetadata, CommitMetadata};
use crate::WorkdirError;
use varve_repo::{CommitBatch, FileChange, FileKind, Node, Phase};

/// A file of a new changeset.
pub(crate) struct NewFile {
    pub(crate) content: Vec<u8>,
    pub(crate) kind: FileKind,
    /// File of the first parent that it was copied from.
    pub(crate) copied_from: Option<Vec<u8>>,
}

/// Commits the files at `paths` on parents that may be of the batch; all others are those of the first parent. `read` is
/// asked for one file after the other, so that only one is in memory; `None` removes a file of a parent.
pub(crate) fn recommit<'p>(
    batch: &mut CommitBatch,
    parents: [Node; 2],
    (metadata, phase): (&ChangesetMetadata, Phase),
    paths: impl Iterator<Item = &'p [u8]>,
    mut read: impl FnMut(&[u8]) -> Result<Option<NewFile>, WorkdirError>,
) -> Result<Node, WorkdirError> {
    let mut files = batch.files_from(parents)?;
    for path in paths {
        let file = read(path)?;
        let change = match &file {
            None => FileChange::Remove { path },
            Some(file) => FileChange::Write {
                path,
                content: &file.content,
                kind: file.kind,
                copied_from: file.copied_from.as_deref(),
            },
        };
        batch.change(&mut files, &change)?;
    }
    let extras = metadata.extras.iter();
    let extras: Vec<(&[u8], &[u8])> = extras.map(|(key, value)| (&key[..], &value[..])).collect();
    let words = CommitMetadata {
        user: &metadata.user,
        date: metadata.date,
        branch: &metadata.branch,
        extras: &extras,
        description: &metadata.description,
        phase,
    };
    Ok(batch.commit_files(files, &words.changeset(parents))?)
}
