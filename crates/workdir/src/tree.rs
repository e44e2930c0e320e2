//! The files of one changeset: its manifest and the content of each file.

use crate::WorkdirError;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use varve_repo::{FileKind, ManifestEntries, ManifestEntry, Node, RepoError, RepoView, Rev};

/// A file of a changeset: its file revision and its kind.
pub type TreeEntry = (Node, FileKind);

/// A revision of a file.
pub(crate) type FileRevision = (Vec<u8>, Node);

/// Stands for the revision that a changed file of the working copy would get.
const UNCOMMITTED: Node = Node([0xff; Node::LEN]);

/// A changed file of the working copy; `None` if it is gone.
pub(crate) type WorkingFile = Option<(FileKind, Option<FileRevision>)>;

/// The files of one changeset.
#[derive(Clone, Debug)]
pub struct Tree<'a> {
    view: &'a RepoView,
    manifest: Node,
    text: Vec<u8>,
    /// Revisions that uncommitted files are based on.
    origins: BTreeMap<Vec<u8>, FileRevision>,
}

impl<'a> Tree<'a> {
    /// Those of a changeset; none for the null revision.
    ///
    /// # Errors
    /// Damage in the repository.
    pub fn of(view: &'a RepoView, rev: Option<Rev>) -> Result<Self, WorkdirError> {
        let manifest = match rev {
            Some(rev) => view.with_changeset(rev, |changeset| changeset.manifest)?,
            None => Node::NULL,
        };
        let revlog = view.manifest()?;
        let text = match revlog.rev(&manifest) {
            Some(rev) => revlog.text(rev)?,
            None if manifest.is_null() => Vec::new(),
            None => {
                return Err(WorkdirError::Repo(RepoError::MissingNode {
                    what: "manifest",
                    node: manifest,
                    path: revlog.path().to_owned(),
                }));
            }
        };
        Ok(Tree {
            view,
            manifest,
            text,
            origins: BTreeMap::new(),
        })
    }

    /// Those of the changeset `node` of a batch, whose manifest has this text.
    pub(crate) fn of_text(view: &'a RepoView, node: Node, text: Vec<u8>) -> Self {
        Tree {
            view,
            manifest: node,
            text,
            origins: BTreeMap::new(),
        }
    }

    /// The same with changed files of the working copy, each with the revision that it is based on.
    pub(crate) fn with_changes(
        &self,
        changes: BTreeMap<Vec<u8>, WorkingFile>,
    ) -> Result<Tree<'a>, WorkdirError> {
        let mut text = Vec::with_capacity(self.text.len());
        let mut push = |path: &[u8], node: &Node, kind: FileKind| {
            let flag: &[u8] = match kind {
                FileKind::Plain => b"",
                FileKind::Executable => b"x",
                FileKind::Symlink => b"l",
            };
            text.extend([path, b"\0", &node.to_hex(), flag, b"\n"].concat());
        };
        let mut origins = BTreeMap::new();
        let mut left = changes.into_iter().peekable();
        let mut entries = self.iter();
        let mut entry = entries.next().transpose()?;
        loop {
            let next = left.peek().map(|(path, _)| &path[..]);
            let is_change = match (&entry, next) {
                (None, None) => break,
                (Some(entry), Some(next)) => next <= entry.path,
                (entry, _) => entry.is_none(),
            };
            if !is_change {
                if let Some(same) = entry {
                    push(same.path, &same.node, same.kind);
                }
                entry = entries.next().transpose()?;
                continue;
            }
            let Some((path, change)) = left.next() else {
                break;
            };
            if entry.as_ref().is_some_and(|entry| entry.path == path) {
                entry = entries.next().transpose()?;
            }
            if let Some((kind, origin)) = change {
                push(&path, &UNCOMMITTED, kind);
                origins.extend(origin.map(|origin| (path, origin)));
            }
        }
        Ok(Tree {
            view: self.view,
            manifest: self.manifest,
            text,
            origins,
        })
    }

    /// The revisions that uncommitted files are based on, by path.
    pub(crate) fn origins(&self) -> &BTreeMap<Vec<u8>, FileRevision> {
        &self.origins
    }

    /// True for the node of an uncommitted file.
    pub(crate) fn is_uncommitted(node: &Node) -> bool {
        *node == UNCOMMITTED
    }

    /// One file.
    ///
    /// # Errors
    /// If the manifest is damaged.
    pub fn get(&self, path: &[u8]) -> Result<Option<TreeEntry>, WorkdirError> {
        let found = ManifestEntries::find(&self.text, path).map_err(|fault| self.damaged(fault))?;
        Ok(found.map(|entry| (entry.node, entry.kind)))
    }

    /// All files, sorted bytewise.
    pub fn iter(&self) -> impl Iterator<Item = Result<ManifestEntry<'_>, WorkdirError>> {
        let entries = ManifestEntries::new(&self.text);
        entries.map(|entry| entry.map_err(|fault| self.damaged(fault)))
    }

    fn damaged(&self, (offset, reason): (usize, &'static str)) -> WorkdirError {
        WorkdirError::Repo(RepoError::DamagedManifest {
            path: self.view.root().to_owned(),
            node: self.manifest,
            offset,
            reason,
        })
    }

    /// The content of a revision of a file.
    ///
    /// # Errors
    /// Damage in the repository.
    pub fn content(&self, path: &[u8], node: &Node) -> Result<Vec<u8>, WorkdirError> {
        Ok(self.view.file_content(path, node)?)
    }

    /// The view that it was read from.
    pub fn view(&self) -> &'a RepoView {
        self.view
    }
}

/// A path that differs, with its entries in both trees.
pub(crate) type Difference<'a> = (&'a [u8], Option<TreeEntry>, Option<TreeEntry>);

/// Files that differ between two changesets, in one pass over both manifests.
pub(crate) fn differences<'a>(
    from: &'a Tree<'_>,
    to: &'a Tree<'_>,
) -> Result<Vec<Difference<'a>>, WorkdirError> {
    let (mut old, mut new) = (from.iter(), to.iter());
    let (mut left, mut right) = (old.next().transpose()?, new.next().transpose()?);
    let mut found = Vec::new();
    loop {
        let order = match (&left, &right) {
            (None, None) => return Ok(found),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(left), Some(right)) => left.path.cmp(right.path),
        };
        let before = left.filter(|_| order.is_le());
        let after = right.filter(|_| order.is_ge());
        if let Some(path) = before.or(after).map(|entry| entry.path)
            && before != after
        {
            let tracked = |entry: varve_repo::ManifestEntry<'_>| (entry.node, entry.kind);
            found.push((path, before.map(tracked), after.map(tracked)));
        }
        if order.is_le() {
            left = old.next().transpose()?;
        }
        if order.is_ge() {
            right = new.next().transpose()?;
        }
    }
}
