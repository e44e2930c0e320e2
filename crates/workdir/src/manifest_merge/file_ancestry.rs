//! The history of one file, back through its parents and copies.

use crate::tree::FileRevision;
use crate::{Tree, WorkdirError};
use std::collections::{BTreeMap, HashMap, HashSet};
use varve_repo::{FileText, Node, RepoView, Revlog};

/// Walks back from file revisions, newest first, and keeps the filelogs that it opened.
pub(crate) struct FileAncestry<'a> {
    view: &'a RepoView,
    filelogs: HashMap<Vec<u8>, Revlog>,
    /// Revisions that uncommitted files are based on.
    origins: BTreeMap<Vec<u8>, FileRevision>,
}

impl<'a> FileAncestry<'a> {
    pub(crate) fn new(view: &'a RepoView) -> Self {
        FileAncestry {
            view,
            filelogs: HashMap::new(),
            origins: BTreeMap::new(),
        }
    }

    /// The same with the uncommitted files of a tree.
    pub(crate) fn with_uncommitted(tree: &Tree<'a>) -> Self {
        FileAncestry {
            origins: tree.origins().clone(),
            ..FileAncestry::new(tree.view())
        }
    }

    fn filelog(&mut self, path: &[u8]) -> Result<&Revlog, WorkdirError> {
        if !self.filelogs.contains_key(path) {
            let filelog = self.view.filelog(path)?;
            self.filelogs.insert(path.to_vec(), filelog);
        }
        Ok(&self.filelogs[path])
    }

    /// The changeset number that introduced a revision, for the order of the walk.
    fn linkrev(&mut self, (path, node): &FileRevision) -> Result<i64, WorkdirError> {
        if Tree::is_uncommitted(node) {
            return Ok(i64::MAX);
        }
        let filelog = self.filelog(path)?;
        Ok(filelog.rev(node).map_or(-1, |rev| filelog.linkrev(rev)))
    }

    /// Parents of a revision; a copy's source is one.
    fn parents(&mut self, (path, node): &FileRevision) -> Result<Vec<FileRevision>, WorkdirError> {
        if Tree::is_uncommitted(node) {
            return Ok(self.origins.get(path).cloned().into_iter().collect());
        }
        let filelog = self.filelog(path)?;
        let Some(rev) = filelog.rev(node) else {
            return Ok(Vec::new());
        };
        let [first, second] = filelog.parents(rev);
        let named = |rev| (path.clone(), filelog.node(rev));
        let mut parents: Vec<FileRevision> =
            [first, second].into_iter().flatten().map(named).collect();
        // A copy's source is in the text, and there is no first parent then.
        if first.is_none() {
            let text = filelog.text(rev)?;
            if let Some((source, node)) = FileText::parse(&text).copied_from {
                parents.push((source.to_vec(), node));
            }
        }
        Ok(parents)
    }

    /// The path under which an older tree has an ancestor of a file revision, as exactly that revision.
    pub(super) fn origin(
        &mut self,
        path: &[u8],
        node: Node,
        older: &Tree<'_>,
    ) -> Result<Option<Vec<u8>>, WorkdirError> {
        self.origin_in(path, node, &[Some(older)])
    }

    /// [`FileAncestry::origin`] in the first of several trees that has one.
    pub(crate) fn origin_in(
        &mut self,
        path: &[u8],
        node: Node,
        older: &[Option<&Tree<'_>>],
    ) -> Result<Option<Vec<u8>>, WorkdirError> {
        let mut waiting = BTreeMap::new();
        let mut seen = HashSet::new();
        let start = (path.to_vec(), node);
        let mut wanted = self.parents(&start)?;
        loop {
            for revision in wanted.drain(..) {
                if seen.insert(revision.clone()) {
                    waiting.insert((self.linkrev(&revision)?, revision.1), revision);
                }
            }
            let Some((_, revision)) = waiting.pop_last() else {
                return Ok(None);
            };
            for tree in older.iter().flatten() {
                let entry = tree.get(&revision.0)?;
                if entry.is_some_and(|(node, _)| node == revision.1) {
                    return Ok(Some(revision.0));
                }
            }
            wanted = self.parents(&revision)?;
        }
    }

    /// True if two revisions of files have an ancestor in common, or are one.
    pub(super) fn are_related(
        &mut self,
        revisions: [FileRevision; 2],
    ) -> Result<bool, WorkdirError> {
        let mut sides = [HashSet::new(), HashSet::new()];
        let mut wanted = revisions.map(|revision| vec![revision]);
        while !wanted.iter().all(Vec::is_empty) {
            for side in [0, 1] {
                let Some(revision) = wanted[side].pop() else {
                    continue;
                };
                if sides[1 - side].contains(&revision) {
                    return Ok(true);
                }
                if sides[side].insert(revision.clone()) {
                    wanted[side].extend(self.parents(&revision)?);
                }
            }
        }
        Ok(false)
    }
}
