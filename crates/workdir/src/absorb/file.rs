//! One changed file and its versions in a stack.

use super::AbsorbStack;
use crate::commit::recorded_source;
use crate::merge::is_binary;
use crate::tree::Tree;
use crate::{TreeEntry, WorkdirError};
use std::collections::BTreeSet;
use varve_delta::{AbsorbedHunk, LineHistory};
use varve_repo::{FileKind, Node, RepoView, Rev};

/// Files of changesets that others were followed to along a rename. Each goes on in one file only: the lines that came to
/// further ones stay.
#[derive(Clone, Debug, Default)]
pub struct FollowedSources(BTreeSet<(Vec<u8>, Node)>);

/// A changed file of the working copy, whose changes were assigned to changesets of a stack.
#[derive(Clone, Debug)]
pub struct AbsorbedFile {
    /// Path in the working copy.
    pub path: Vec<u8>,
    /// All changes; parts belong to the changesets that [`AbsorbedFile::rev`] names.
    pub hunks: Vec<AbsorbedHunk>,
    /// The file as the stack ends with it.
    pub newest: Vec<u8>,
    /// The file with all changes.
    pub changed: Vec<u8>,
    /// Oldest first.
    versions: Vec<FileVersion>,
}

/// The file as one changeset of the stack has changed it.
#[derive(Clone, Debug)]
struct FileVersion {
    rev: Rev,
    /// Its name there.
    path: Vec<u8>,
    content: Vec<u8>,
    /// The content after the changes were absorbed.
    absorbed: Vec<u8>,
}

impl AbsorbedFile {
    /// Assigns the changes from the file at the end of the stack to `changed`. `None` if there are no lines to follow: the
    /// file is binary or a link somewhere. `followed` has what earlier files were followed to.
    ///
    /// # Errors
    /// Damage in the repository.
    pub fn read(
        view: &RepoView,
        stack: &AbsorbStack,
        (path, changed): (&[u8], Vec<u8>),
        followed: &mut FollowedSources,
    ) -> Result<Option<AbsorbedFile>, WorkdirError> {
        let Some((base, mut versions)) = follow(view, stack, path, followed)? else {
            return Ok(None);
        };
        let texts = versions.iter().map(|version| &version.content);
        if is_binary(&changed) || is_binary(&base) || texts.into_iter().any(|text| is_binary(text))
        {
            return Ok(None);
        }
        let contents: Vec<Vec<u8>> = versions.iter().map(|of| of.content.clone()).collect();
        let mut history = LineHistory::new(&base);
        contents.iter().for_each(|content| history.push(content));
        let hunks = history.assign(&changed);
        let absorbed = history.absorb(&changed, &hunks);
        for (number, version) in versions.iter_mut().enumerate() {
            version.absorbed = absorbed.text(number + 1);
        }
        Ok(Some(AbsorbedFile {
            path: path.to_vec(),
            newest: history.text(contents.len()),
            hunks,
            changed,
            versions,
        }))
    }

    /// The changeset that a part with this version belongs to.
    pub fn rev(&self, version: usize) -> Option<Rev> {
        let at = version.checked_sub(1)?;
        self.versions.get(at).map(|version| version.rev)
    }

    /// How many changes are absorbed, at least in part.
    pub fn applied(&self) -> usize {
        let hunks = self.hunks.iter();
        hunks.filter(|hunk| !hunk.parts.is_empty()).count()
    }

    /// Name and new content of the file in a changeset of the stack; `None` if it changes there in nothing.
    pub(super) fn overlay(&self, rev: Rev) -> Option<(&[u8], &[u8])> {
        let mut versions = self.versions.iter().rev();
        let version = versions.find(|version| version.rev <= rev)?;
        (version.absorbed != version.content).then_some((&version.path[..], &version.absorbed[..]))
    }
}

/// The lines below the stack, and the versions in it, oldest first.
type FollowedFile = (Vec<u8>, Vec<FileVersion>);

/// Follows a file down the stack, along its names. `None` if one version is a link.
fn follow(
    view: &RepoView,
    stack: &AbsorbStack,
    path: &[u8],
    followed: &mut FollowedSources,
) -> Result<Option<FollowedFile>, WorkdirError> {
    let mut path = path.to_vec();
    let mut versions = Vec::new();
    let mut base = None;
    for rev in stack.revs.iter().rev() {
        let names =
            |changeset: varve_repo::Changeset<'_>| changeset.files().any(|file| file == path);
        if !view.with_changeset(*rev, names)? {
            continue;
        }
        let tree = Tree::of(view, Some(*rev))?;
        let Some((node, kind)) = tree.get(&path)? else {
            return Ok(None);
        };
        if kind == FileKind::Symlink {
            return Ok(None);
        }
        versions.push(FileVersion {
            rev: *rev,
            path: path.clone(),
            content: view.file_content(&path, &node)?,
            absorbed: Vec::new(),
        });
        let below = Tree::of(view, view.changelog().parents(*rev)[0])?;
        if let Some(source) = recorded_source(view, &path, &node)? {
            // A renamed file goes on under its old name, and the lines of a copied one stay.
            let entry = below.get(&source)?;
            let is_renamed = tree.get(&source)?.is_none();
            let mut is_first = |node: Node| followed.0.insert((source.clone(), node));
            if !is_renamed || !entry.is_some_and(|(node, _)| is_first(node)) {
                base = Some((source, entry));
                break;
            }
            path = source;
        } else if below.get(&path)?.is_none() {
            base = Some((path.clone(), None));
            break;
        }
    }
    versions.reverse();
    let (path, entry): (Vec<u8>, Option<TreeEntry>) = match base {
        Some(base) => base,
        None => {
            let first = stack.revs.first();
            let below = first.and_then(|rev| view.changelog().parents(*rev)[0]);
            let entry = Tree::of(view, below)?.get(&path)?;
            (path, entry)
        }
    };
    Ok(match entry {
        Some((_, FileKind::Symlink)) => None,
        Some((node, _)) => Some((view.file_content(&path, &node)?, versions)),
        None => Some((Vec::new(), versions)),
    })
}
