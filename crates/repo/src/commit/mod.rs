//! Writing changesets, so that they have the names that Mercurial gives the same changesets.

mod bases;
mod change;
mod files;

use crate::changeset::{self, DEFAULT_BRANCH};
use crate::lock::{Lock, Locked};
use crate::manifest;
use crate::phases::Phase;
use crate::transaction::Transaction;
use crate::view::{Audience, RepoView};
use crate::{RepoError, Repository};
use std::collections::BTreeMap;
use std::sync::Arc;
use varve_revlog::{Appender, Content, Given, NewRevision, Node, Rev, WriteOptions};

pub use change::{FileChange, NewChangeset};
use files::Sides;

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

/// One parent of a changeset that is being written.
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
        let mut changes: Vec<_> = new.changes.iter().collect();
        changes.sort_unstable_by_key(|change| change.path());
        let [p1, p2] = [self.parent(&new.parents[0])?, self.parent(&new.parents[1])?];
        let sides = Sides::new(self, &p1, &p2)?;
        let link = Rev(self.changelog.len() as u32);
        let (mut edits, mut touched) = (Vec::new(), Vec::new());
        for change in changes {
            let path = change.path();
            let stored = self.store_file(change, &sides, link)?;
            if stored.is_touched {
                touched.push(path);
            }
            edits.push((path, stored.after));
        }
        // Mercurial, too, makes no manifest for a merge that leaves all files of the first parent.
        let unchanged = edits.is_empty() || touched.is_empty() && p2.rev.is_none();
        let manifest = if unchanged {
            p1.manifest
        } else {
            self.store_manifest(&edits, [&p1, &p2], link)?
        };
        self.store_changeset(new, &manifest, [p1.rev, p2.rev], &touched, link)
    }

    fn store_changeset(
        &mut self,
        new: &NewChangeset<'_>,
        manifest: &Node,
        [p1, p2]: [Option<Rev>; 2],
        touched: &[&[u8]],
        link: Rev,
    ) -> Result<Node, RepoError> {
        let mut extras = new.extras.to_vec();
        if new.branch != DEFAULT_BRANCH {
            extras.push((b"branch", new.branch));
        }
        extras.sort_unstable();
        let (user, date, description) = (new.user, new.date, new.description);
        let text = changeset::encode(manifest, user, date, &extras, touched, description);
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
            if let Some(moments) = &mut self.transaction.moments {
                moments.commit(&node, &new.parents);
                moments.phase(&node, None, phase);
                if phase > above {
                    moments.phases_move();
                }
            }
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
        for path in paths {
            if let Some(fault) = change::path_fault(path) {
                return Err(self.refuse(path, fault));
            }
        }
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
        let given = Given {
            delta: p2.is_none().then_some((p1, &patch[..])),
            ..Given::default()
        };
        let new = NewRevision { text, p1, p2, link };
        Ok(self.manifest.add_given(&new, &given)?.1)
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
