//! Writing changesets, so that they have the names that Mercurial gives the same changesets.

mod bases;
mod change;
mod files;
pub(crate) mod finish;

use crate::format::changeset::{self, DEFAULT_BRANCH};
use crate::format::lock::{Lock, LockKind};
use crate::format::{FileText, Phase, RepoError, manifest};
use crate::read::{RepoView, Repository, ViewFilter};
use crate::write::transaction::Transaction;
use std::collections::BTreeMap;
use std::sync::Arc;
use varve_revlog::{Appender, Content, NewRevision, Node, Rev, RevisionHints, WriteOptions};

pub use change::{FileChange, NewChangeset};
use files::{ParentFiles, StoredChange};

/// Bytes of files' texts that are kept at most, because later revisions may be stored against
/// them.
const MOST_KEPT_TEXTS: usize = 32 << 20;

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
    /// Bytes of texts that the filelogs may keep.
    kept_texts: usize,
}

/// The files of a changeset that is being put together; see [`CommitBatch::files_from`].
#[derive(Debug)]
pub struct CommitFiles {
    sides: ParentFiles,
    edits: Vec<(Vec<u8>, StoredChange)>,
    link: Rev,
}

/// One parent of a changeset that is being written.
#[derive(Debug)]
struct Parent {
    rev: Option<Rev>,
    manifest: Node,
    /// Text of the manifest.
    files: Vec<u8>,
}

impl Repository {
    /// Locks the store for writing changesets. How they are stored is for
    /// [`crate::StorageSettings::write_options`] to say; an engine alone means Mercurial's
    /// defaults with this engine.
    ///
    /// # Errors
    /// [`RepoError::LockHeld`] if another writer is at work; else as
    /// [`Repository::begin_locked`].
    pub fn begin(&self, options: impl Into<WriteOptions>) -> Result<CommitBatch, RepoError> {
        self.begin_locked(self.try_lock(LockKind::Store)?, options)
    }

    /// As [`Repository::begin`], under the store's lock that the caller has taken.
    ///
    /// # Errors
    /// [`RepoError::AbandonedTransaction`] if another writer was interrupted; damage.
    pub fn begin_locked(
        &self,
        lock: Lock,
        options: impl Into<WriteOptions>,
    ) -> Result<CommitBatch, RepoError> {
        self.begin_named(lock, options, "commit")
    }

    /// As [`Repository::begin_locked`]; `description` is the name of the transaction.
    ///
    /// # Errors
    /// As of [`Repository::begin_locked`].
    pub fn begin_named(
        &self,
        lock: Lock,
        options: impl Into<WriteOptions>,
        description: &str,
    ) -> Result<CommitBatch, RepoError> {
        let transaction = self.transaction_that_appends(lock, description)?;
        let context = self.context();
        let view = RepoView::read(
            Arc::clone(context),
            &context.stamp()?,
            ViewFilter::Unfiltered,
        )?;
        self.batch(transaction, view, options.into())
    }

    /// As [`Repository::begin_locked`], with a view that was read under the lock, so that the
    /// repository is not read again.
    ///
    /// # Errors
    /// As of [`Repository::begin_locked`].
    pub fn begin_with_view(
        &self,
        lock: Lock,
        seen: &RepoView,
        options: impl Into<WriteOptions>,
    ) -> Result<CommitBatch, RepoError> {
        let transaction = self.transaction_that_appends(lock, "commit")?;
        self.batch(transaction, seen.unfiltered()?, options.into())
    }

    fn batch(
        &self,
        transaction: Transaction,
        view: RepoView,
        options: WriteOptions,
    ) -> Result<CommitBatch, RepoError> {
        let context = self.context();
        let (storage, path) = (&context.storage, context.store().join("00manifest.i"));
        let changelog = view.changelog();
        Ok(CommitBatch {
            changelog: Appender::continue_from(storage, changelog, Content::Changelog, options)?,
            manifest: Appender::open(storage, &path, Content::Manifest, options)?,
            options,
            view,
            filelogs: BTreeMap::new(),
            phases: Vec::new(),
            transaction,
            kept_texts: 0,
        })
    }
}

impl CommitBatch {
    /// Adds a changeset; returns its node.
    ///
    /// # Errors
    /// [`RepoError::Commit`] for a senseless change, such as removing a file that is not there;
    /// damage.
    pub fn commit(&mut self, new: &NewChangeset<'_>) -> Result<Node, RepoError> {
        self.check(new)?;
        let mut files = self.files_from(new.parents)?;
        for change in new.changes {
            self.change(&mut files, change)?;
        }
        self.commit_files(files, new)
    }

    /// Begins to gather the files of a changeset that follows `parents`, for callers that do not
    /// hold all contents in memory at once.
    ///
    /// # Errors
    /// [`RepoError::MissingNode`]; damage.
    pub fn files_from(&self, parents: [Node; 2]) -> Result<CommitFiles, RepoError> {
        let [p1, p2] = [self.parent(&parents[0])?, self.parent(&parents[1])?];
        Ok(CommitFiles {
            sides: ParentFiles::new(self, p1, p2)?,
            edits: Vec::new(),
            link: Rev(self.changelog.len() as u32),
        })
    }

    /// Stores one file that differs from the first parent; no other changeset may be committed
    /// before [`CommitBatch::commit_files`].
    ///
    /// # Errors
    /// As of [`CommitBatch::commit`].
    pub fn change(
        &mut self,
        files: &mut CommitFiles,
        change: &FileChange<'_>,
    ) -> Result<(), RepoError> {
        let path = change.path();
        if let Some(fault) = change::path_fault(path) {
            return Err(self.refuse(path, fault));
        }
        let stored = self.store_file(change, &files.sides, files.link)?;
        if let FileChange::Write { content, .. } = change {
            self.limit_kept_texts(content.len());
        }
        files.edits.push((path.to_vec(), stored));
        Ok(())
    }

    /// Adds the changeset whose files were gathered; `new` speaks of the same parents, and its
    /// own changes are not looked at.
    ///
    /// # Errors
    /// As of [`CommitBatch::commit`].
    pub fn commit_files(
        &mut self,
        mut files: CommitFiles,
        new: &NewChangeset<'_>,
    ) -> Result<Node, RepoError> {
        self.check(new)?;
        files
            .edits
            .sort_unstable_by(|one, other| one.0.cmp(&other.0));
        if let Some(twice) = files.edits.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(self.refuse(&twice[0].0, "is changed twice"));
        }
        let (sides, link) = (&files.sides, files.link);
        let changed = files.edits.iter().filter(|(_, stored)| stored.is_changed);
        let changed: Vec<&[u8]> = changed.map(|(path, _)| &path[..]).collect();
        let edits = files.edits.iter();
        let edits: Vec<_> = edits
            .map(|(path, stored)| (&path[..], stored.after))
            .collect();
        // Mercurial, too, makes no manifest for a merge that leaves all files of the first parent.
        let mut unchanged = changed.is_empty();
        for (path, after) in edits.iter().filter(|_| sides.p2.rev.is_some()) {
            unchanged = unchanged && self.tracked_in(&sides.p1, path)? == *after;
        }
        let manifest = if unchanged {
            sides.p1.manifest
        } else {
            self.store_manifest(&edits, [&sides.p1, &sides.p2], link)?
        };
        self.store_changeset(new, &manifest, [sides.p1.rev, sides.p2.rev], &changed, link)
    }

    /// Whether two changesets have the same manifest; the batch's own ones are known too.
    ///
    /// # Errors
    /// [`RepoError::MissingNode`]; damage.
    pub fn same_files(&self, one: &Node, other: &Node) -> Result<bool, RepoError> {
        Ok(self.parent(one)?.manifest == self.parent(other)?.manifest)
    }

    /// Text of the manifest of a changeset, which may be one of the batch.
    ///
    /// # Errors
    /// [`RepoError::MissingNode`]; damage.
    pub fn manifest_text(&self, node: &Node) -> Result<Vec<u8>, RepoError> {
        Ok(self.parent(node)?.files)
    }

    /// Files of a changeset, which may be one of the batch, with the nodes of their revisions.
    ///
    /// # Errors
    /// [`RepoError::MissingNode`]; damage.
    pub fn manifest_files(&self, node: &Node) -> Result<BTreeMap<Vec<u8>, Node>, RepoError> {
        let text = self.manifest_text(node)?;
        let entries = self.view.manifest_entries(&text);
        entries
            .map(|entry| entry.map(|entry| (entry.path.to_vec(), entry.node)))
            .collect()
    }

    /// The content of a revision of a file, which the batch may have added.
    ///
    /// # Errors
    /// [`RepoError::MissingNode`]; damage.
    pub fn file_content(&self, path: &[u8], node: &Node) -> Result<Vec<u8>, RepoError> {
        let added = self.filelogs.get(path);
        match added.and_then(|filelog| Some((filelog, filelog.rev(node)?))) {
            Some((filelog, rev)) => {
                let text = filelog.text(rev)?;
                Ok(FileText::parse(&text).content.to_vec())
            }
            None => self.view.file_content(path, node),
        }
    }

    /// Lets go of texts that are kept for later revisions when they have become too many.
    fn limit_kept_texts(&mut self, bytes: usize) {
        self.kept_texts += bytes;
        if self.kept_texts > MOST_KEPT_TEXTS {
            self.filelogs.values_mut().for_each(Appender::drop_caches);
            self.kept_texts = 0;
        }
    }

    fn store_changeset(
        &mut self,
        new: &NewChangeset<'_>,
        manifest: &Node,
        [p1, p2]: [Option<Rev>; 2],
        changed: &[&[u8]],
        link: Rev,
    ) -> Result<Node, RepoError> {
        let mut extras = new.extras.to_vec();
        if new.branch != DEFAULT_BRANCH {
            extras.push((b"branch", new.branch));
        }
        extras.sort_unstable();
        let (user, date, description) = (new.user, new.date, new.description);
        let text = changeset::encode(manifest, user, date, &extras, changed, description);
        let before = self.changelog.len();
        let text = &text[..];
        let (_, node) = self.changelog.add(&NewRevision { text, p1, p2, link })?;
        if self.changelog.len() > before {
            let above = [p1, p2]
                .into_iter()
                .flatten()
                .map(|rev| self.phase(rev))
                .max();
            let above = above.unwrap_or_default();
            let phase = new.phase.max(above);
            self.phases.push(phase);
            if let Some(hooks) = &mut self.transaction.hooks {
                hooks.add_commit(&node, &new.parents);
                hooks.add_phase_change(&node, None, phase);
                if phase > above {
                    hooks.set_phases_moved();
                }
            }
        }
        Ok(node)
    }

    /// Refuses values that would break the formats of the texts.
    fn check(&self, new: &NewChangeset<'_>) -> Result<(), RepoError> {
        if new.user.is_empty() || new.user.contains(&b'\n') {
            return Err(self.refuse(new.user, "cannot be the name of a user"));
        }
        if new.branch.is_empty() {
            return Err(self.refuse(new.branch, "cannot be the name of a branch"));
        }
        let own =
            |(key, _): &&(&[u8], &[u8])| key.is_empty() || *key == b"branch" || key.contains(&b':');
        match new.extras.iter().find(own) {
            Some((key, _)) => Err(self.refuse(key, "cannot be the name of an extra fact")),
            None => Ok(()),
        }
    }

    fn refuse(&self, object: &[u8], reason: &str) -> RepoError {
        RepoError::Commit {
            path: self.view.root().to_owned(),
            reason: format!("{:?} {reason}", String::from_utf8_lossy(object)),
        }
    }

    /// Bookmarks as they were when the lock was taken.
    pub fn bookmarks(&self) -> &BTreeMap<Vec<u8>, Node> {
        self.view.bookmarks()
    }

    pub(crate) fn phase(&self, rev: Rev) -> Phase {
        match rev.index().checked_sub(self.view.changelog().len()) {
            Some(at) => self.phases.get(at).copied().unwrap_or_default(),
            None => self.view.phases().of(rev),
        }
    }

    fn parent(&self, node: &Node) -> Result<Parent, RepoError> {
        if node.is_null() {
            return Ok(Parent {
                rev: None,
                manifest: Node::NULL,
                files: Vec::new(),
            });
        }
        let missing = || RepoError::MissingNode {
            what: "parent",
            node: *node,
            path: self.changelog.path().to_owned(),
        };
        let rev = self.changelog.rev(node).ok_or_else(missing)?;
        let manifest = self.manifest_of(rev)?;
        Ok(Parent {
            rev: Some(rev),
            manifest,
            files: self.files_of(&manifest)?,
        })
    }

    fn manifest_of(&self, rev: Rev) -> Result<Node, RepoError> {
        let text = self.changelog.text(rev)?;
        Ok(self.view.parse_changeset(rev, &text)?.manifest)
    }

    /// Text of a manifest.
    fn files_of(&self, manifest: &Node) -> Result<Vec<u8>, RepoError> {
        if manifest.is_null() {
            return Ok(Vec::new());
        }
        let rev = self.manifest.rev(manifest).ok_or(RepoError::MissingNode {
            what: "manifest",
            node: *manifest,
            path: self.manifest.path().to_owned(),
        })?;
        Ok(self.manifest.text(rev)?)
    }

    fn store_manifest(
        &mut self,
        edits: &[manifest::Edit<'_>],
        parents: [&Parent; 2],
        link: Rev,
    ) -> Result<Node, RepoError> {
        let (text, patch) = manifest::edited(&parents[0].files, edits)
            .map_err(|fault| self.damaged_manifest(&parents[0].manifest, fault))?;
        let [p1, p2] = parents.map(|parent| self.manifest.rev(&parent.manifest));
        let text = &text[..];
        // The delta against either parent of a merge may be the smaller one.
        let given = RevisionHints {
            delta: p2.is_none().then_some((p1, &patch[..])),
            ..RevisionHints::default()
        };
        let new = NewRevision { text, p1, p2, link };
        Ok(self.manifest.add_with_hints(&new, &given)?.1)
    }

    fn damaged_manifest(&self, node: &Node, (offset, reason): (usize, &'static str)) -> RepoError {
        RepoError::DamagedManifest {
            path: self.view.root().to_owned(),
            node: *node,
            offset,
            reason,
        }
    }
}
