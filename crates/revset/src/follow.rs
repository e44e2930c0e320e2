//! The history of files, along copies and renames.

use crate::bits::{self, Bits};
use crate::{Engine, Member, RevsetError, Set};
use std::collections::{HashMap, HashSet};
use varve_repo::{FileText, Node, RepoView, Rev, Revlog};

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
) -> Result<Bits, RevsetError> {
    let reachable = bits::ancestors(view.changelog(), Bits::of([start]));
    let mut filelogs: HashMap<Vec<u8>, Revlog> = HashMap::new();
    let (mut found, mut seen) = (Bits::default(), HashSet::new());
    let mut work = files;
    while let Some((path, node)) = work.pop() {
        if !seen.insert((path.clone(), node)) {
            continue;
        }
        if !filelogs.contains_key(&path) {
            filelogs.insert(path.clone(), view.filelog(&path)?);
        }
        let filelog = &filelogs[&path];
        let Some(rev) = filelog.rev(&node) else {
            continue;
        };
        found.insert(introduced(view, &reachable, filelog, rev, &path)?);
        let parents = filelog.parents(rev);
        let parents = parents.into_iter().flatten();
        work.extend(parents.map(|parent| (path.clone(), filelog.node(parent))));
        // A copy has the null revision as its first parent.
        if filelog.parents(rev)[0].is_none() {
            let text = filelog.text(rev)?;
            if let Some((source, node)) = FileText::parse(&text).copied_from {
                work.push((source.to_vec(), node));
            }
        }
    }
    Ok(found)
}

/// The changeset that brought a file's revision into the history that is looked at. The filelog
/// names the first one that ever had it, which may lie on another branch.
fn introduced(
    view: &RepoView,
    reachable: &Bits,
    filelog: &Revlog,
    rev: Rev,
    path: &[u8],
) -> Result<Member, RevsetError> {
    let link = view.changelog().rev_at(filelog.linkrev(rev));
    if reachable.contains(link) {
        return Ok(link);
    }
    let node = filelog.node(rev);
    for candidate in reachable
        .revs()
        .skip_while(|candidate| Some(*candidate) < link)
    {
        let touches = view.with_changeset(candidate, |changeset| {
            changeset.files().any(|file| file == path)
        })?;
        if touches {
            let text = view.manifest_text(Some(candidate))?;
            let entry = view.find_in_manifest(&text, path)?;
            if entry.is_some_and(|entry| entry.node == node) {
                return Ok(Some(candidate));
            }
        }
    }
    Ok(link)
}
