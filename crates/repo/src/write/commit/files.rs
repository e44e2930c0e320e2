//! Revisions of files, with the parents and the mention in the changeset that Mercurial gives
//! them.

use super::bases::is_ancestor;
use super::{CommitBatch, FileChange, Parent};
use crate::format::manifest::{ManifestEntries, Tracked};
use crate::format::{FileText, RepoError};
use crate::read::common_heads;
use varve_revlog::{Appender, Content, NewRevision, Node, Rev};

/// The files of both parents and, for a merge, of their newest common ancestors.
#[derive(Debug)]
pub(super) struct ParentFiles {
    pub p1: Parent,
    pub p2: Parent,
    /// Name and text of the manifest of each newest common ancestor.
    bases: Vec<(Node, Vec<u8>)>,
}

/// Result of storing one file.
#[derive(Debug)]
pub(super) struct StoredChange {
    /// As it stands in the manifest; `None` if it is gone.
    pub after: Option<Tracked>,
    /// Whether the changeset names it.
    pub is_changed: bool,
}

impl ParentFiles {
    pub fn new(batch: &CommitBatch, p1: Parent, p2: Parent) -> Result<Self, RepoError> {
        let mut bases = Vec::new();
        if let (Some(first), Some(second)) = (p1.rev, p2.rev) {
            for rev in common_heads(|rev| batch.changelog.parents(rev), first, second) {
                let manifest = batch.manifest_of(rev)?;
                bases.push((manifest, batch.files_of(&manifest)?));
            }
        }
        Ok(ParentFiles { p1, p2, bases })
    }
}

impl CommitBatch {
    fn tracked(
        &self,
        manifest: &Node,
        files: &[u8],
        path: &[u8],
    ) -> Result<Option<Tracked>, RepoError> {
        let found = ManifestEntries::find(files, path)
            .map_err(|fault| self.damaged_manifest(manifest, fault))?;
        Ok(found.map(|entry| (entry.node, entry.kind)))
    }

    pub(super) fn tracked_in(
        &self,
        parent: &Parent,
        path: &[u8],
    ) -> Result<Option<Tracked>, RepoError> {
        self.tracked(&parent.manifest, &parent.files, path)
    }

    /// Adds a revision to a file's history if there is something new in it.
    pub(super) fn store_file(
        &mut self,
        change: &FileChange<'_>,
        sides: &ParentFiles,
        link: Rev,
    ) -> Result<StoredChange, RepoError> {
        let path = change.path();
        let old = self.tracked_in(&sides.p1, path)?;
        let other = self.tracked_in(&sides.p2, path)?;
        let FileChange::Write {
            content,
            kind,
            copied_from,
            ..
        } = *change
        else {
            return self.removal(path, old, other, sides);
        };
        let source = copied_from.map(|from| self.copy_source(from, other.is_some(), sides));
        let source = source.transpose()?;
        let filelog = self.filelog(path)?;
        let rev_of = |side: Option<Tracked>| side.and_then(|(node, _)| filelog.rev(&node));
        let (first, second) = (rev_of(old), rev_of(other));
        // A copy has no first parent: where it comes from stands in the text.
        let [p1, p2] = match &source {
            Some(source) if source.is_from_second => [None, first],
            Some(_) => [None, second],
            None => file_parents(filelog, first, second),
        };
        let copied_from = copied_from.zip(source.map(|source| source.node));
        if copied_from.is_none()
            && let (Some(only), None) = (p1, p2)
            && FileText::parse(&filelog.text(only)?).content == content
        {
            let node = filelog.node_or_null(p1);
            return Ok(StoredChange {
                after: Some((node, kind)),
                is_changed: old.is_some_and(|(_, before)| before != kind),
            });
        }
        let text = FileText {
            copied_from,
            content,
        }
        .encode();
        let text = &text[..];
        let (_, node) = filelog.add(&NewRevision { text, p1, p2, link })?;
        Ok(StoredChange {
            after: Some((node, kind)),
            is_changed: true,
        })
    }

    /// A file that only one side of a merge has, as it was before the sides parted, was removed
    /// by the other side and not by the merge.
    fn removal(
        &self,
        path: &[u8],
        old: Option<Tracked>,
        other: Option<Tracked>,
        sides: &ParentFiles,
    ) -> Result<StoredChange, RepoError> {
        let is_changed = match (old, other) {
            (None, None) => return Err(self.refuse(path, "is removed and not there")),
            (Some(_), Some(_)) => true,
            (only, None) | (None, only) => {
                let mut unchanged = false;
                for (manifest, files) in &sides.bases {
                    unchanged |= self.tracked(manifest, files, path)? == only;
                }
                !unchanged
            }
        };
        Ok(StoredChange {
            after: None,
            is_changed,
        })
    }

    /// Where a copy comes from: the first parent's file, unless the copy was made on the second
    /// parent's side.
    fn copy_source(
        &self,
        from: &[u8],
        is_in_second: bool,
        sides: &ParentFiles,
    ) -> Result<CopySource, RepoError> {
        let in_first = self.tracked_in(&sides.p1, from)?;
        let in_second = self.tracked_in(&sides.p2, from)?;
        match (in_first, in_second) {
            (Some((node, _)), None) => Ok(CopySource::first(node)),
            (Some((node, _)), Some(_)) if is_in_second => Ok(CopySource::first(node)),
            (_, Some((node, _))) => Ok(CopySource {
                node,
                is_from_second: true,
            }),
            (None, None) => Err(self.refuse(from, "is copied from and not there")),
        }
    }

    fn filelog(&mut self, path: &[u8]) -> Result<&mut Appender, RepoError> {
        if !self.filelogs.contains_key(path) {
            let context = &self.view.context;
            let file = context.filelog_path(path);
            let filelog = Appender::open(&context.storage, &file, Content::File, self.options)?;
            let filelog = filelog.with_data(context.filelog_data_path(path));
            self.filelogs.insert(path.to_vec(), filelog);
        }
        self.filelogs
            .get_mut(path)
            .ok_or_else(|| RepoError::Commit {
                path: self.view.root().to_owned(),
                reason: "a file's history is not at hand".to_owned(),
            })
    }
}

/// Revision of the file that a copy was made from.
struct CopySource {
    node: Node,
    is_from_second: bool,
}

impl CopySource {
    fn first(node: Node) -> Self {
        CopySource {
            node,
            is_from_second: false,
        }
    }
}

/// Parents of a file's new revision: one that the other descends from says nothing.
fn file_parents(filelog: &Appender, p1: Option<Rev>, p2: Option<Rev>) -> [Option<Rev>; 2] {
    match (p1, p2) {
        (Some(a), Some(b)) if is_ancestor(filelog, a, b) => [p2, None],
        (Some(a), Some(b)) if is_ancestor(filelog, b, a) => [p1, None],
        (None, other) => [other, None],
        both => both.into(),
    }
}
