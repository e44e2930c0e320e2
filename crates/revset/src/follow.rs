//! The history of files, along copies and renames.

use crate::bitset::BitSet;
use crate::{Engine, Member, RevsetError, Set};
use std::collections::{HashMap, HashSet};
use varve_repo::{Ancestors, FileRevision, FileText, Node, RepoView, Rev, Revlog};

impl Engine<'_> {
    /// Changesets that made the revisions which `files`, as they are in `start`, come from.
    ///
    /// # Errors
    /// If the repository cannot be read.
    pub fn file_history(
        &self,
        start: Member,
        files: Vec<(Vec<u8>, Node)>,
    ) -> Result<Set, RevsetError> {
        Ok(Set::bits(history(self.view(), start, files)?))
    }
}

pub(crate) fn history(
    view: &RepoView,
    start: Member,
    files: Vec<(Vec<u8>, Node)>,
) -> Result<BitSet, RevsetError> {
    let mut found = BitSet::default();
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
        found.insert(Some(changeset));
        if !seen.insert((changeset, path.clone(), node)) {
            continue;
        }
        let parents = filelog.parents(rev);
        // A copy has the null revision as its first parent.
        if parents[0].is_none() {
            let text = filelog.text(rev)?;
            if let Some((source, node)) = FileText::parse(&text).copied_from {
                work.push((changeset, source.to_vec(), node));
            }
        }
        let parents = parents.into_iter().flatten();
        let parents = parents.map(|parent| filelog.node(parent));
        work.extend(parents.map(|parent| (changeset, path.clone(), parent)));
    }
    Ok(found)
}
