//! Writing changesets.

use crate::changeset::{self, DEFAULT_BRANCH};
use crate::file_text::FileText;
use crate::lock::{Lock, Locked};
use crate::manifest::{FileKind, ManifestEntries, ManifestEntry, push_entry};
use crate::phases::Phase;
use crate::transaction::Transaction;
use crate::view::{Audience, RepoView};
use crate::{RepoError, Repository};
use std::collections::BTreeMap;
use std::sync::Arc;
use varve_revlog::{Appender, Content, NewRevision, Node, Rev, WriteOptions};

/// A changeset to be written.
#[derive(Clone, Copy, Debug)]
pub struct NewChangeset<'a> {
    /// Changesets that it follows, older ones of the same [`CommitBatch`] included;
    /// [`Node::NULL`] for none.
    pub parents: [Node; 2],
    /// Who, usually `Name <address>`.
    pub user: &'a str,
    /// Seconds since 1970 and seconds west of UTC.
    pub date: (i64, i32),
    /// The named branch.
    pub branch: &'a str,
    /// What was done.
    pub description: &'a str,
    /// Whether others may see it, and whether it may still change. Never less than its parents'.
    pub phase: Phase,
    /// What differs from the first parent.
    pub changes: &'a [FileChange<'a>],
}

/// One file that differs from the first parent.
#[derive(Clone, Copy, Debug)]
pub enum FileChange<'a> {
    /// The file is there, with this content.
    Write {
        /// Path with slashes, without a leading one.
        path: &'a str,
        /// All of it; the target of a symbolic link.
        content: &'a [u8],
        /// Plain, executable or link.
        kind: FileKind,
        /// The file of the first parent that it was copied or renamed from.
        copied_from: Option<&'a str>,
    },
    /// The file is gone.
    Remove {
        /// Path with slashes.
        path: &'a str,
    },
}

impl<'a> FileChange<'a> {
    fn path(&self) -> &'a str {
        match self {
            FileChange::Write { path, .. } | FileChange::Remove { path } => path,
        }
    }
}

/// Several changesets that are written in one transaction. The store is locked while it lives;
/// dropped without [`CommitBatch::finish`], it leaves nothing behind.
#[derive(Debug)]
pub struct CommitBatch {
    pub(crate) view: RepoView,
    pub(crate) options: WriteOptions,
    pub(crate) changelog: Appender,
    pub(crate) manifest: Appender,
    pub(crate) filelogs: BTreeMap<Vec<u8>, Appender>,
    /// Phases of the new changesets, in order.
    pub(crate) phases: Vec<Phase>,
    pub(crate) transaction: Transaction,
}

/// A file of a manifest, owned.
type Tracked = (Node, FileKind);

impl Repository {
    /// Locks the store for writing changesets. How they are stored is for
    /// [`crate::StorageSettings::write_options`] to say; an engine alone means Mercurial's
    /// defaults with this engine.
    ///
    /// # Errors
    /// [`RepoError::LockHeld`] if another writer is at work; else as
    /// [`Repository::begin_locked`].
    pub fn begin(&self, options: impl Into<WriteOptions>) -> Result<CommitBatch, RepoError> {
        self.begin_locked(self.lock_now(Locked::Store)?, options)
    }

    /// As [`Repository::begin`], under the store's lock that the caller has taken.
    ///
    /// # Errors
    /// [`RepoError::AbandonedTransaction`] if another writer was interrupted; what is damaged.
    pub fn begin_locked(
        &self,
        lock: Lock,
        options: impl Into<WriteOptions>,
    ) -> Result<CommitBatch, RepoError> {
        let options = options.into();
        let shared = self.shared();
        if !shared.requirements.has("fncache") {
            return Err(RepoError::TooOld {
                path: shared.root.clone(),
                feature: "fncache",
            });
        }
        let transaction = self.transaction(lock, "commit")?;
        let store = shared.store();
        let open = |name: &str, content| {
            Appender::open(&shared.storage, &store.join(name), content, options)
        };
        Ok(CommitBatch {
            view: RepoView::read(Arc::clone(shared), &shared.stamp()?, Audience::Everything)?,
            options,
            changelog: open("00changelog.i", Content::Changelog)?,
            manifest: open("00manifest.i", Content::Manifest)?,
            filelogs: BTreeMap::new(),
            phases: Vec::new(),
            transaction,
        })
    }
}

impl CommitBatch {
    /// Adds a changeset; returns its node.
    ///
    /// # Errors
    /// [`RepoError::Commit`] for what makes no sense, such as removing a file that is not there;
    /// what is damaged.
    pub fn commit(&mut self, new: &NewChangeset<'_>) -> Result<Node, RepoError> {
        self.check(new)?;
        let parents = [self.parent(&new.parents[0])?, self.parent(&new.parents[1])?];
        let [(p1, manifest1), (p2, manifest2)] = parents;
        let old = self.files_of(&manifest1)?;
        let other = self.files_of(&manifest2)?;
        let link = Rev(self.changelog.len() as u32);
        let (mut files, mut touched) = (old.clone(), Vec::new());
        for change in new.changes {
            let path = change.path().as_bytes();
            let after = self.store_file(change, &old, &other, link)?;
            let before = match after {
                Some(tracked) => files.insert(path.to_vec(), tracked),
                None => files.remove(path),
            };
            match (before, after) {
                (None, None) => return Err(self.refuse(change.path(), "is removed and not there")),
                (before, after) if before != after => touched.push(path),
                _ => {}
            }
        }
        let manifest = if touched.is_empty() && manifest2.is_null() {
            manifest1
        } else {
            self.store_manifest(&files, [manifest1, manifest2], link)?
        };
        touched.sort_unstable();
        let branch = [(&b"branch"[..], new.branch.as_bytes())];
        let is_default = new.branch.as_bytes() == DEFAULT_BRANCH;
        let text = changeset::encode(
            &manifest,
            new.user.as_bytes(),
            new.date,
            if is_default { &[] } else { &branch },
            &touched,
            new.description.as_bytes(),
        );
        let before = self.changelog.len();
        let text = &text[..];
        let (_, node) = self.changelog.add(&NewRevision { text, p1, p2, link })?;
        if self.changelog.len() > before {
            let above = [p1, p2]
                .into_iter()
                .flatten()
                .map(|rev| self.phase(rev))
                .max();
            self.phases.push(new.phase.max(above.unwrap_or_default()));
        }
        Ok(node)
    }

    /// Refuses what would break the formats that the texts are written in.
    fn check(&self, new: &NewChangeset<'_>) -> Result<(), RepoError> {
        let mut paths: Vec<_> = new.changes.iter().map(FileChange::path).collect();
        paths.sort_unstable();
        if let Some(twice) = paths.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(self.refuse(twice[0], "is changed twice"));
        }
        let is_part = |part: &str| !matches!(part, "" | "." | ".." | ".hg");
        for path in paths {
            if path.contains(['\n', '\r', '\0']) || !path.split('/').all(is_part) {
                return Err(self.refuse(path, "cannot be the path of a tracked file"));
            }
        }
        if new.user.is_empty() || new.user.contains('\n') {
            return Err(self.refuse(new.user, "cannot be the name of a user"));
        }
        if new.branch.is_empty() {
            return Err(self.refuse(new.branch, "cannot be the name of a branch"));
        }
        Ok(())
    }

    fn refuse(&self, object: &str, reason: &str) -> RepoError {
        RepoError::Commit {
            path: self.view.root().to_owned(),
            reason: format!("{object:?} {reason}"),
        }
    }

    pub(crate) fn phase(&self, rev: Rev) -> Phase {
        match rev.index().checked_sub(self.view.changelog().len()) {
            Some(at) => self.phases.get(at).copied().unwrap_or_default(),
            None => self.view.phases().of(rev),
        }
    }

    /// A parent's revision and its manifest.
    fn parent(&self, node: &Node) -> Result<(Option<Rev>, Node), RepoError> {
        if node.is_null() {
            return Ok((None, Node::NULL));
        }
        let missing = || RepoError::MissingNode {
            what: "parent",
            node: *node,
            path: self.changelog.path().to_owned(),
        };
        let rev = self.changelog.rev(node).ok_or_else(missing)?;
        let text = self.changelog.text(rev)?;
        let changeset = self.view.parse_changeset(rev, &text)?;
        Ok((Some(rev), changeset.manifest))
    }

    fn files_of(&self, manifest: &Node) -> Result<BTreeMap<Vec<u8>, Tracked>, RepoError> {
        if manifest.is_null() {
            return Ok(BTreeMap::new());
        }
        let rev = self.manifest.rev(manifest).ok_or(RepoError::MissingNode {
            what: "manifest",
            node: *manifest,
            path: self.manifest.path().to_owned(),
        })?;
        let text = self.manifest.text(rev)?;
        let owned = |entry: ManifestEntry<'_>| (entry.path.to_vec(), (entry.node, entry.kind));
        ManifestEntries::new(&text)
            .map(|entry| entry.map(owned))
            .collect::<Result<_, _>>()
            .map_err(|(offset, reason)| RepoError::DamagedManifest {
                path: self.view.root().to_owned(),
                node: *manifest,
                offset,
                reason,
            })
    }

    fn store_manifest(
        &mut self,
        files: &BTreeMap<Vec<u8>, Tracked>,
        parents: [Node; 2],
        link: Rev,
    ) -> Result<Node, RepoError> {
        let mut text = Vec::new();
        for (path, (node, kind)) in files {
            let (node, kind) = (*node, *kind);
            push_entry(&ManifestEntry { path, node, kind }, &mut text);
        }
        let [p1, p2] = parents.map(|node| self.manifest.rev(&node));
        let text = &text[..];
        Ok(self.manifest.add(&NewRevision { text, p1, p2, link })?.1)
    }

    /// Adds a revision to a file's history if there is something new in it.
    fn store_file(
        &mut self,
        change: &FileChange<'_>,
        old: &BTreeMap<Vec<u8>, Tracked>,
        other: &BTreeMap<Vec<u8>, Tracked>,
        link: Rev,
    ) -> Result<Option<Tracked>, RepoError> {
        let FileChange::Write {
            path,
            content,
            kind,
            copied_from,
        } = *change
        else {
            return Ok(None);
        };
        let node_in = |files: &BTreeMap<Vec<u8>, Tracked>, path: &str| {
            files.get(path.as_bytes()).map(|(node, _)| *node)
        };
        let source = copied_from.map(|source| match node_in(old, source) {
            Some(node) => Ok((source.as_bytes(), node)),
            None => Err(self.refuse(source, "is copied from and not there")),
        });
        let copied_from = source.transpose()?;
        let filelog = self.filelog(path.as_bytes())?;
        let parent = |files| node_in(files, path).and_then(|node| filelog.rev(&node));
        let [p1, p2] = file_parents(filelog, parent(old), parent(other));
        let text = FileText {
            copied_from,
            content,
        }
        .encode();
        // A copy has no first parent: where it comes from stands in the text.
        let [p1, p2] = if copied_from.is_some() {
            [None, p1]
        } else {
            [p1, p2]
        };
        if let (Some(only), None) = (p1, p2)
            && filelog.text(only)? == text
        {
            return Ok(Some((filelog.node_or_null(p1), kind)));
        }
        let text = &text[..];
        let (_, node) = filelog.add(&NewRevision { text, p1, p2, link })?;
        Ok(Some((node, kind)))
    }

    fn filelog(&mut self, path: &[u8]) -> Result<&mut Appender, RepoError> {
        if !self.filelogs.contains_key(path) {
            let shared = &self.view.shared;
            let file = shared.filelog_path(path);
            let filelog = Appender::open(&shared.storage, &file, Content::File, self.options)?;
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

/// Parents of a file's new revision: one that the other descends from says nothing.
fn file_parents(filelog: &Appender, p1: Option<Rev>, p2: Option<Rev>) -> [Option<Rev>; 2] {
    match (p1, p2) {
        (Some(a), Some(b)) if is_ancestor(filelog, a, b) => [p2, None],
        (Some(a), Some(b)) if is_ancestor(filelog, b, a) => [p1, None],
        (None, other) => [other, None],
        both => both.into(),
    }
}

/// Whether `old` is `new` or one of its ancestors.
fn is_ancestor(filelog: &Appender, old: Rev, new: Rev) -> bool {
    let mut wanted = vec![new];
    let mut seen = std::collections::HashSet::new();
    while let Some(rev) = wanted.pop() {
        if rev == old {
            return true;
        }
        let parents = filelog.parents(rev).into_iter().flatten();
        wanted.extend(parents.filter(|parent| *parent >= old && seen.insert(*parent)));
    }
    false
}
