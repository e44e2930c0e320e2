//! The history of files, along copies and renames.

use crate::{Engine, Member, RevsetError};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use varve_repo::{Ancestors, FileRevision, FileText, Node, RepoView, Rev, Revlog};

/// Parents along which a history goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowedParents {
    /// Both.
    All,
    /// The first one; of a copied file the source.
    First,
}

impl Engine<'_> {
    /// Changesets that made the revisions which `files`, as they are in `start`, come from, each with
    /// the paths that the files had there; by all parents of the revisions, or only by the first one
    /// of each.
    ///
    /// # Errors
    /// If the repository cannot be read.
    pub fn file_history(
        &self,
        start: Member,
        files: Vec<(Vec<u8>, Node)>,
        parents: FollowedParents,
    ) -> Result<FileHistory, RevsetError> {
        history(self.view(), start, files, parents)
    }
}

/// Paths of followed files, by the changesets that changed them.
pub type FileHistory = BTreeMap<Rev, BTreeSet<Vec<u8>>>;

pub(crate) fn history(
    view: &RepoView,
    start: Member,
    files: Vec<(Vec<u8>, Node)>,
    followed: FollowedParents,
) -> Result<FileHistory, RevsetError> {
    let mut found = FileHistory::default();
    let Some(start) = start else {
        return Ok(found);
    };
    let mut filelogs = Filelogs::new(view);
    let mut seen = HashSet::new();
    let files = files.into_iter().map(|(path, node)| (start, path, node));
    let mut work: Vec<(Rev, Vec<u8>, Node)> = files.collect();
    // The same revision may have come in by several changesets, and seen from each of its children
    // another one counts.
    while let Some((from, path, node)) = work.pop() {
        let Some(changeset) = filelogs.introduced(&path, &node, from)? else {
            continue;
        };
        found.entry(changeset).or_default().insert(path.clone());
        if !seen.insert((changeset, path.clone(), node)) {
            continue;
        }
        let mut parents = filelogs.parents(&path, &node)?;
        if followed == FollowedParents::First {
            parents.truncate(1);
        }
        let next = parents.into_iter();
        work.extend(next.map(|(path, node)| (changeset, path, node)));
    }
    Ok(found)
}

/// The filelogs that a walk has opened.
pub(crate) struct Filelogs<'a> {
    view: &'a RepoView,
    opened: HashMap<Vec<u8>, Revlog>,
}

impl<'a> Filelogs<'a> {
    pub(crate) fn new(view: &'a RepoView) -> Filelogs<'a> {
        Filelogs {
            view,
            opened: HashMap::new(),
        }
    }

    pub(crate) fn get(&mut self, path: &[u8]) -> Result<&Revlog, RevsetError> {
        if !self.opened.contains_key(path) {
            let filelog = self.view.filelog(path)?;
            self.opened.insert(path.to_vec(), filelog);
        }
        Ok(&self.opened[path])
    }

    /// The changeset that brought a revision into the history of `from`, or that one itself if none is known; `None` if
    /// the filelog lacks the revision.
    pub(crate) fn introduced(
        &mut self,
        path: &[u8],
        node: &Node,
        from: Rev,
    ) -> Result<Option<Rev>, RevsetError> {
        let view = self.view;
        let filelog = self.get(path)?;
        let Some(rev) = filelog.rev(node) else {
            return Ok(None);
        };
        let file = FileRevision { path, filelog, rev };
        let mut history = Ancestors::new(view.changelog(), &[from]);
        let found = view.introducing_changeset(file, &mut history, from)?;
        Ok(Some(found.unwrap_or(from)))
    }

    /// Parents of a revision; that of a copy is its source.
    pub(crate) fn parents(
        &mut self,
        path: &[u8],
        node: &Node,
    ) -> Result<Vec<(Vec<u8>, Node)>, RevsetError> {
        let filelog = self.get(path)?;
        let Some(rev) = filelog.rev(node) else {
            return Ok(Vec::new());
        };
        let parents = filelog.parents(rev);
        let mut found = Vec::new();
        // A copy has the null revision as its first parent.
        if parents[0].is_none() {
            let text = filelog.text(rev)?;
            if let Some((source, node)) = FileText::parse(&text).copied_from {
                found.push((source.to_vec(), node));
            }
        }
        let parents = parents.into_iter().flatten();
        found.extend(parents.map(|parent| (path.to_vec(), filelog.node(parent))));
        Ok(found)
    }
}
