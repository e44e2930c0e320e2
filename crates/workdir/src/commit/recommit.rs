//! Committing contents that the working copy does not have, with the metadata of an earlier changeset.

use super::{ChangesetMetadata, CommitMetadata};
use crate::WorkdirError;
use crate::tree::Tree;
use std::collections::BTreeMap;
use varve_repo::{CommitBatch, FileChange, FileKind, Node, Phase, RepoView};

/// Files of a new changeset: content, kind and copy source, or none for one that goes.
pub(crate) type NewFiles = BTreeMap<Vec<u8>, Option<(Vec<u8>, FileKind, Option<Vec<u8>>)>>;

/// Commits `files` on parents that may be of the batch; all others are those of the first parent.
pub(crate) fn recommit(
    (batch, view): (&mut CommitBatch, &RepoView),
    parents: [Node; 2],
    new: &NewFiles,
    (metadata, phase): (&ChangesetMetadata, Phase),
) -> Result<Node, WorkdirError> {
    let below = parents[0];
    let tree = Tree::of_text(view, below, batch.manifest_text(&below)?);
    let mut files = batch.files_from(parents)?;
    for (path, file) in new {
        let change = match file {
            None if tree.get(path)?.is_none() => continue,
            None => FileChange::Remove { path },
            Some((content, kind, source)) => FileChange::Write {
                path,
                content,
                kind: *kind,
                copied_from: source.as_deref(),
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
