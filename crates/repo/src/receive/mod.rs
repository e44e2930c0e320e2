//! Storing revisions that come from elsewhere, in one transaction of Mercurial's form.
//!
//! The journal is there before anything else, and learns of each file before it is touched; chunks
//! go out as they come, so that memory does not grow with what is received. Nothing counts before
//! the index of the changelog is written, which is last. What is not finished must be
//! [`Receiver::abandon`]ed, or lies there until `recover`.

mod files;
mod finish;
mod phases;

use crate::commit_write::keep_caches_warm;
use crate::hooks::Origin;
use crate::lock::Lock;
use crate::phases::Phase;
use crate::transaction::Transaction;
use crate::view::{Audience, RepoView};
use crate::{Node, RepoError, Repository, Rev, WriteOptions};
use files::Files;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use varve_revlog::{Appender, AppenderState, Content, Received};

/// Bytes of chunks that are kept before they go out.
const MOST_GATHERED: usize = 8 << 20;

/// A revision as it comes from elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct NewRevision<'a> {
    /// Its name.
    pub node: Node,
    /// Its parents, or [`Node::NULL`].
    pub parents: [Node; 2],
    /// What the patch is against.
    pub base: Node,
    /// The changeset that introduces it.
    pub changeset: Node,
    /// Bits of [`varve_revlog::flag`].
    pub flags: u16,
    /// What makes the text.
    pub patch: &'a [u8],
}

/// What one changegroup has brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// Number of new changesets.
    pub changesets: usize,
    /// Number of new revisions of files.
    pub changes: usize,
    /// Number of files that came, with something new or not.
    pub files: usize,
    /// How many heads more there are than before; closed ones count as none.
    pub heads: i64,
}

/// What a transaction has brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiveReport {
    /// One for each changegroup.
    pub arrived: Vec<Arrived>,
    /// Numbers of the new changesets.
    pub new: Range<u32>,
    /// How many that were there before are public now and were not.
    pub published: usize,
    /// Number of new obsolescence markers.
    pub markers: usize,
}

/// Receives revisions. The store is locked while it lives.
#[derive(Debug)]
pub struct Receiver {
    view: RepoView,
    options: WriteOptions,
    changelog: Appender,
    manifest: Appender,
    transaction: Transaction,
    files: Files,
    /// What the next filelog can go on with.
    state: AppenderState,
    text: Vec<u8>,
    /// Of all changesets, old and new.
    phases: Vec<Phase>,
    target_phase: Phase,
    bookmarks: Option<BTreeMap<Vec<u8>, Node>>,
    /// Number of changesets before the current changegroup.
    before: usize,
    current: Arrived,
    report: ReceiveReport,
}

impl Repository {
    /// Begins to receive under the store's lock. The first line of `description` is what the
    /// transaction is called.
    ///
    /// # Errors
    /// [`RepoError::AbandonedTransaction`]; [`RepoError::Hook`]; what is damaged.
    pub fn receive(
        &self,
        lock: Lock,
        options: impl Into<WriteOptions>,
        description: &str,
    ) -> Result<Receiver, RepoError> {
        let options = options.into();
        let shared = self.shared();
        let transaction = self.transaction_that_appends(lock, description)?;
        let store = shared.store();
        let open = |name: &str, content| {
            Appender::open(&shared.storage, &store.join(name), content, options)
        };
        let (changelog, manifest) = (
            open("00changelog.i", Content::Changelog)?,
            open("00manifest.i", Content::Manifest)?,
        );
        let view = RepoView::read(Arc::clone(shared), &shared.stamp()?, Audience::Everything)?;
        let phases = view.changelog().revs();
        let phases = phases.map(|rev| view.phases().of(rev)).collect();
        Ok(Receiver {
            options,
            before: changelog.len(),
            changelog,
            manifest,
            transaction,
            files: Files::default(),
            state: AppenderState::default(),
            text: Vec::new(),
            phases,
            target_phase: Phase::Draft,
            bookmarks: None,
            current: Arrived::default(),
            report: ReceiveReport::default(),
            view,
        })
    }
}

impl Receiver {
    /// Changesets will come; new ones get `phase`, or that of their parents if it is higher.
    ///
    /// # Errors
    /// [`RepoError::Hook`].
    pub fn expect(&mut self, origin: &Origin, phase: Phase) -> Result<(), RepoError> {
        self.before = self.changelog.len();
        self.current = Arrived::default();
        self.target_phase = phase;
        if let Some(moments) = &mut self.transaction.moments {
            moments.expect(origin)?;
        }
        self.start()
    }

    /// Writes the journal, unless that is done.
    fn start(&mut self) -> Result<(), RepoError> {
        if self.transaction.is_started() {
            return Ok(());
        }
        let both = [
            ("00changelog", &self.changelog),
            ("00manifest", &self.manifest),
        ];
        for (name, revlog) in both {
            let (index, data) = revlog.lengths_before();
            let transaction = &mut self.transaction;
            transaction.will_append(format!("{name}.d").into_bytes(), data);
            transaction.will_append(format!("{name}.i").into_bytes(), index);
        }
        self.transaction.start(self.changelog.len())
    }

    /// Stores a changeset.
    ///
    /// # Errors
    /// What is not as it says it is.
    pub fn changeset(&mut self, new: &NewRevision<'_>) -> Result<(), RepoError> {
        let link = Rev(self.changelog.len() as u32);
        let received = new.linked(link);
        let added = self.changelog.add_received(&received, &mut self.text)?;
        if added.is_some() {
            let changeset = self.view.parse_changeset(link, &self.text)?;
            self.files.will_come(changeset.files());
            self.current.changesets += 1;
            let parents = self.changelog.parents(link).into_iter().flatten();
            let above = parents.map(|rev| self.phases.get(rev.index()));
            let above = above.flatten().max().copied().unwrap_or_default();
            self.phases.push(self.target_phase.max(above));
            spill(&mut self.changelog)?;
        }
        Ok(())
    }

    /// Stores a manifest.
    ///
    /// # Errors
    /// As of [`Receiver::changeset`].
    pub fn manifest(&mut self, new: &NewRevision<'_>) -> Result<(), RepoError> {
        let received = new.linked(self.link(new)?);
        self.manifest.add_received(&received, &mut self.text)?;
        spill(&mut self.manifest)
    }

    /// The changeset that a revision says it belongs to.
    fn link(&self, new: &NewRevision<'_>) -> Result<Rev, RepoError> {
        let found = self.changelog.rev(&new.changeset);
        found.ok_or_else(|| RepoError::MissingNode {
            what: "changeset",
            node: new.changeset,
            path: self.changelog.path().to_owned(),
        })
    }

    /// All of a changegroup has come.
    ///
    /// # Errors
    /// What is damaged.
    pub fn conclude(&mut self) -> Result<(), RepoError> {
        let new = self.before..self.changelog.len();
        self.current.heads = self.more_heads(self.before)?;
        if let Some(moments) = &mut self.transaction.moments {
            let nodes = new.map(|rev| self.changelog.node_or_null(Some(Rev(rev as u32))));
            moments.arrived(nodes.collect());
        }
        self.report.arrived.push(std::mem::take(&mut self.current));
        Ok(())
    }

    /// How many heads there are more than when there were `before` changesets.
    fn more_heads(&self, before: usize) -> Result<i64, RepoError> {
        let mut followed = vec![false; self.changelog.len()];
        let mut old_heads = i64::from(before == 0);
        for rev in 0..self.changelog.len() {
            if rev == before {
                old_heads += count(&followed[..before]);
            }
            let parents = self.changelog.parents(Rev(rev as u32));
            for parent in parents.into_iter().flatten() {
                followed[parent.index()] = true;
            }
        }
        if before == self.changelog.len() {
            return Ok(0);
        }
        let mut more = count(&followed) - old_heads;
        for rev in (before..followed.len()).filter(|rev| !followed[*rev]) {
            let rev = Rev(rev as u32);
            let text = self.changelog.text(rev)?;
            more -= i64::from(self.view.parse_changeset(rev, &text)?.closes_branch());
        }
        Ok(more)
    }

    /// Puts bookmarks where they are said to be; [`Node::NULL`] removes one. Those on changesets
    /// that are not there stay as they are.
    pub fn bookmarks(&mut self, moves: &[(Vec<u8>, Node)]) {
        let before = self.view.bookmarks();
        let all = self.bookmarks.get_or_insert_with(|| before.clone());
        for (name, node) in moves {
            if node.is_null() {
                all.remove(name);
            } else if self.changelog.rev(node).is_some() {
                all.insert(name.clone(), *node);
            }
        }
    }

    /// Adds obsolescence markers that are not there yet, in the form in which the store has them.
    ///
    /// # Errors
    /// If they are damaged.
    pub fn markers(&mut self, bytes: &[u8]) -> Result<(), RepoError> {
        self.report.markers += self.transaction.add_received_markers(bytes)?;
        Ok(())
    }

    /// Undoes all that was written.
    pub fn abandon(self) {
        self.transaction.abandon();
    }
}

/// Number of changesets that none follows.
fn count(followed: &[bool]) -> i64 {
    followed.iter().filter(|followed| !**followed).count() as i64
}

fn spill(revlog: &mut Appender) -> Result<(), RepoError> {
    if revlog.gathered_bytes() > MOST_GATHERED {
        revlog.spill()?;
    }
    Ok(())
}

impl<'a> NewRevision<'a> {
    fn linked(&self, link: Rev) -> Received<'a> {
        Received {
            node: self.node,
            parents: self.parents,
            base: self.base,
            link,
            flags: self.flags,
            patch: self.patch,
        }
    }
}
