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
    let mut filelogs: HashMap<Vec<u8>, Revlog> = HashMap::new();
    let mut seen = HashSet::new();
    let files = files.into_iter().map(|(path, node)| (start, path, node));
    let mut work: Vec<(Rev, Vec<u8>, Node)> = files.collect();
    // The same revision may have come in by several changesets, and seen from each of its children
    // another one counts.
    while let Some((from, path, node)) = work.pop() {
        if !filelogs.contains_key(&path) {
            filelogs.insert(path.clone(), view.filelog(&path)?);
        }
        let filelog = &filelogs[&path];
        let Some(rev) = filelog.rev(&node) else {
            continue;
        };
        let file = FileRevision {
            path: &path,
            filelog,
            rev,
        };
        let mut history = Ancestors::new(view.changelog(), &[from]);
        let changeset = view
            .introducing_changeset(file, &mut history, from)?
            .unwrap_or(from);
        found.entry(changeset).or_default().insert(path.clone());
        if !seen.insert((changeset, path.clone(), node)) {
            continue;
        }
        let parents = filelog.parents(rev);
        let mut next = Vec::new();
        // A copy has the null revision as its first parent.
        if parents[0].is_none() {
            let text = filelog.text(rev)?;
            if let Some((source, node)) = FileText::parse(&text).copied_from {
                next.push((changeset, source.to_vec(), node));
            }
        }
        let parents = parents.into_iter().flatten();
        let parents = parents.map(|parent| filelog.node(parent));
        next.extend(parents.map(|parent| (changeset, path.clone(), parent)));
        if followed == FollowedParents::First {
            next.truncate(1);
        }
        work.append(&mut next);
    }
    Ok(found)
}
