//! Changes of a changeset to its files.

use varve_repo::{Changeset, FileText, Node, RepoError, RepoView, Rev};

/// Files of one changeset, by the kind of their change.
#[derive(Debug, Default)]
pub(crate) struct ChangedFiles {
    /// In a parent before, and still there.
    pub(crate) modified: Vec<Vec<u8>>,
    /// In no parent.
    pub(crate) added: Vec<Vec<u8>>,
    /// No longer there.
    pub(crate) removed: Vec<Vec<u8>>,
}

impl ChangedFiles {
    /// Looks the changeset's files up in its manifest and those of its parents.
    pub(crate) fn of(
        view: &RepoView,
        rev: Rev,
        changeset: &Changeset<'_>,
    ) -> Result<ChangedFiles, RepoError> {
        let mut changed_files = ChangedFiles::default();
        if changeset.files().next().is_none() {
            return Ok(changed_files);
        }
        let own = view.manifest_text(Some(rev))?;
        let mut before = Vec::new();
        for parent in view.changelog().parents(rev).into_iter().flatten() {
            before.push(view.manifest_text(Some(parent))?);
        }
        for file in changeset.files() {
            let list = if view.find_in_manifest(&own, file)?.is_none() {
                &mut changed_files.removed
            } else {
                let mut known = false;
                for parent in &before {
                    known |= view.find_in_manifest(parent, file)?.is_some();
                }
                if known {
                    &mut changed_files.modified
                } else {
                    &mut changed_files.added
                }
            };
            list.push(file.to_vec());
        }
        Ok(changed_files)
    }
}

/// A file's new name, and the source of the copy.
pub(crate) type Copied = (Vec<u8>, Vec<u8>);

/// Files of a changeset that were copied or renamed in it: new name and source.
pub(crate) fn copies(
    view: &RepoView,
    rev: Rev,
    changeset: &Changeset<'_>,
) -> Result<Vec<Copied>, RepoError> {
    let mut copies = Vec::new();
    if changeset.files().next().is_none() {
        return Ok(copies);
    }
    let own = view.manifest_text(Some(rev))?;
    for file in changeset.files() {
        let Some(entry) = view.find_in_manifest(&own, file)? else {
            continue;
        };
        if let Some(source) = copied_from(view, rev, file, &entry.node)? {
            copies.push((file.to_vec(), source));
        }
    }
    Ok(copies)
}

/// A file's revision is that of a parent. One that another changeset made before may come
/// back by the same copy.
fn is_inherited(view: &RepoView, rev: Rev, file: &[u8], node: &Node) -> Result<bool, RepoError> {
    for parent in view.changelog().parents(rev).into_iter().flatten() {
        let manifest = view.manifest_text(Some(parent))?;
        let entry = view.find_in_manifest(&manifest, file)?;
        if entry.is_some_and(|entry| entry.node == *node) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Where a file was copied from in this changeset; a revision that is older is no copy of now.
pub(crate) fn copied_from(
    view: &RepoView,
    rev: Rev,
    file: &[u8],
    node: &Node,
) -> Result<Option<Vec<u8>>, RepoError> {
    let filelog = view.filelog(file)?;
    let Some(file_rev) = filelog.rev(node) else {
        return Ok(None);
    };
    // A copy has the null revision as its first parent.
    let is_made_here = filelog.linkrev(file_rev) == i64::from(rev.0);
    if filelog.parents(file_rev)[0].is_some()
        || (!is_made_here && is_inherited(view, rev, file, node)?)
    {
        return Ok(None);
    }
    let text = filelog.text(file_rev)?;
    let copied = FileText::parse(&text).copied_from;
    Ok(copied.map(|(source, _)| source.to_vec()))
}
