//! One changed file and its versions in a stack.

use super::{AbsorbStack, edited};
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
    /// How many changes are absorbed, at least in part.
    pub applied: usize,
    /// How many changes there are; what the user has edited is one.
    pub count: usize,
    /// The file below the stack.
    base: BaseVersion,
    /// Oldest first.
    versions: Vec<FileVersion>,
}

/// The file below its versions in the stack.
#[derive(Clone, Debug)]
struct BaseVersion {
    /// Of which changeset; `None` if the file is not there.
    rev: Option<Rev>,
    /// Its name there.
    path: Vec<u8>,
    content: Vec<u8>,
    /// The content for changesets of the stack below the first version.
    absorbed: Vec<u8>,
    /// The file goes on through the stack. That of which a copy was made is another file.
    is_below_stack: bool,
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
        if is_binary(&changed)
            || is_binary(&base.content)
            || texts.into_iter().any(|text| is_binary(text))
        {
            return Ok(None);
        }
        let history = history(&base, &versions);
        let hunks = history.assign(&changed);
        let absorbed = history.absorb(&changed, &hunks);
        let newest = history.text(versions.len());
        let texts: Vec<Vec<u8>> = (1..=versions.len()).map(|of| absorbed.text(of)).collect();
        let into = versions.iter_mut().zip(texts);
        into.for_each(|(version, text)| version.absorbed = text);
        Ok(Some(AbsorbedFile {
            path: path.to_vec(),
            newest,
            applied: hunks.iter().filter(|hunk| !hunk.parts.is_empty()).count(),
            count: hunks.len(),
            hunks,
            changed,
            base,
            versions,
        }))
    }

    /// The changesets whose versions the user may edit, oldest first. The first is the one below the versions in the stack,
    /// if the file is there: it stays, but what is edited goes to changesets of the stack below the next version.
    pub fn edited_revs(&self) -> Vec<Rev> {
        let versions = self.versions.iter().map(|version| version.rev);
        self.base.rev.into_iter().chain(versions).collect()
    }

    /// The text in which the user says which lines belong to which of [`AbsorbedFile::edited_revs`], each with a title.
    pub fn editable_lines(&self, titles: &[Vec<u8>]) -> Vec<u8> {
        let history = history(&self.base, &self.versions);
        let absorbed = history.absorb(&self.changed, &self.hunks);
        let first = usize::from(self.base.rev.is_none());
        edited::encode(&self.path, titles, &absorbed, first)
    }

    /// Takes what the user has made of `shown`, from [`AbsorbedFile::editable_lines`], in the place of all changes.
    ///
    /// # Errors
    /// The text is empty or has a malformed line.
    pub fn take_edited_lines(&mut self, shown: &[u8], text: &[u8]) -> Result<(), WorkdirError> {
        let columns = self.edited_revs().len();
        let mut edited = edited::parse_edited_lines(text, columns)?.into_iter();
        if self.base.rev.is_some() {
            self.base.absorbed = edited.next().unwrap_or_default();
        }
        let into = self.versions.iter_mut().zip(edited);
        into.for_each(|(version, text)| version.absorbed = text);
        if text != shown {
            (self.applied, self.count) = (1, 1);
        }
        Ok(())
    }

    /// True if some changeset of the stack gets another version.
    pub fn changes(&self, stack: &AbsorbStack) -> bool {
        let mut revs = stack.revs.iter();
        revs.any(|rev| self.overlay(*rev).is_some())
    }

    /// The changeset that a part with this version belongs to.
    pub fn rev(&self, version: usize) -> Option<Rev> {
        let at = version.checked_sub(1)?;
        self.versions.get(at).map(|version| version.rev)
    }

    /// Name and new content of the file in a changeset of the stack; `None` if it changes there in nothing.
    pub(super) fn overlay(&self, rev: Rev) -> Option<(&[u8], &[u8])> {
        let mut versions = self.versions.iter().rev();
        let (path, content, absorbed) = match versions.find(|version| version.rev <= rev) {
            Some(version) => (&version.path, &version.content, &version.absorbed),
            None if self.base.is_below_stack => {
                (&self.base.path, &self.base.content, &self.base.absorbed)
            }
            None => return None,
        };
        (absorbed != content).then_some((&path[..], &absorbed[..]))
    }
}

/// The lines of all versions.
fn history<'t>(base: &'t BaseVersion, versions: &'t [FileVersion]) -> LineHistory<'t> {
    let mut history = LineHistory::new(&base.content);
    let contents = versions.iter().map(|version| &version.content);
    contents.for_each(|content| history.push(content));
    history
}

/// The version below the stack, and those in it, oldest first.
type FollowedFile = (BaseVersion, Vec<FileVersion>);

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
        let parent = view.changelog().parents(*rev)[0];
        let below = Tree::of(view, parent)?;
        if let Some(source) = recorded_source(view, &path, &node)? {
            // A renamed file goes on under its old name, and the lines of a copied one stay.
            let entry = below.get(&source)?;
            let is_renamed = tree.get(&source)?.is_none();
            let mut is_first = |node: Node| followed.0.insert((source.clone(), node));
            if !is_renamed || !entry.is_some_and(|(node, _)| is_first(node)) {
                base = Some((source, entry, parent));
                break;
            }
            path = source;
        } else if below.get(&path)?.is_none() {
            base = Some((path.clone(), None, None));
            break;
        }
    }
    versions.reverse();
    let is_below_stack = base.is_none();
    let (path, entry, rev): (Vec<u8>, Option<TreeEntry>, Option<Rev>) = match base {
        Some(base) => base,
        None => {
            let first = stack.revs.first();
            let below = first.and_then(|rev| view.changelog().parents(*rev)[0]);
            let entry = Tree::of(view, below)?.get(&path)?;
            (path, entry, below)
        }
    };
    let content = match entry {
        Some((_, FileKind::Symlink)) => return Ok(None),
        Some((node, _)) => view.file_content(&path, &node)?,
        None => Vec::new(),
    };
    let base = BaseVersion {
        rev: rev.filter(|_| entry.is_some()),
        path,
        absorbed: content.clone(),
        content,
        is_below_stack,
    };
    Ok(Some((base, versions)))
}
