//! Storing revisions that another repository sends, in one transaction of Mercurial's form.
//!
//! The journal is there before anything else, and learns of each file before it is touched; chunks
//! go out as they come, so that memory does not grow with the length of the stream. Nothing counts
//! before the index of the changelog is written, which is last. An unfinished receiver must be
//! [`Receiver::abandon`]ed, or lies there until `recover`.

mod batch;
mod changesets;
mod files;
mod finish;
mod pending_history;
mod phases;
mod pushkey;

use crate::format::lock::Lock;
use crate::format::{Phase, RepoError};
use crate::hooks::ExchangeOrigin;
use crate::read::{RepoView, Repository, ViewFilter};
use crate::write::commit::finish::update_branch_caches;
use crate::write::transaction::Transaction;
use crate::write::worker::Worker;
use changesets::{Changesets, Manifests};
use files::FileReceiver;
pub use pending_history::PendingHistory;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;
use varve_revlog::{Appender, Content, Node, ReceivedRevision, Rev, WriteOptions};

/// Bytes of chunks that are kept before they go out.
const MAX_BUFFERED: usize = 8 << 20;

/// Full batches of changesets that may wait, and as many of manifests: so many that the manifests
/// are reached while changesets are stored.
const BATCHES: usize = 48;

/// A revision as another repository sends it.
#[derive(Clone, Copy, Debug)]
pub struct NewRevision<'a> {
    /// Node id as sent.
    pub node: Node,
    /// Its parents, or [`Node::NULL`].
    pub parents: [Node; 2],
    /// The node of the text that the patch applies to.
    pub base: Node,
    /// The changeset that introduces it.
    pub changeset: Node,
    /// Bits of [`varve_revlog::flag`].
    pub flags: u16,
    /// The patch from that text to the new one.
    pub patch: &'a [u8],
}

/// Counts of one changegroup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangegroupCounts {
    /// Number of new changesets.
    pub changesets: usize,
    /// Number of new revisions of files.
    pub changes: usize,
    /// Number of files that came, with something new or not.
    pub files: usize,
    /// How many heads more there are than before; closed ones count as none.
    pub heads: i64,
}

/// Counts of one transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiveReport {
    /// One for each changegroup.
    pub changegroups: Vec<ChangegroupCounts>,
    /// Numbers of the new changesets.
    pub new: Range<u32>,
    /// How many that were there before are public now and were not.
    pub published: usize,
    /// Number of new obsolescence markers.
    pub markers: usize,
}

/// Receives revisions. The store is locked while it lives. A bad revision fails when
/// it is stored, which may be some calls later.
#[derive(Debug)]
pub struct Receiver {
    // The threads end before the lock goes.
    changesets: Worker<Changesets>,
    manifests: Worker<Manifests>,
    files: FileReceiver,
    view: RepoView,
    transaction: Transaction,
    /// Numbers of the new changesets, whether they are stored yet or not.
    numbers: HashMap<Node, Rev>,
    /// Whether changesets that were there before have another phase now.
    phases_moved: bool,
    /// Whether a phase was lowered, be it of a changeset that came just before.
    phases_lowered: bool,
    bookmarks: Option<BTreeMap<Vec<u8>, Node>>,
    /// Obsolescence markers as they came.
    received_markers: Vec<Vec<u8>>,
    /// Number of changesets before the current changegroup.
    before: usize,
    current: ChangegroupCounts,
    report: ReceiveReport,
}

impl Repository {
    /// Begins to receive under the store's lock. The first line of `description` is the name of the
    /// transaction.
    ///
    /// # Errors
    /// [`RepoError::AbandonedTransaction`]; [`RepoError::Hook`]; damage.
    pub fn receive(
        &self,
        lock: Lock,
        options: impl Into<WriteOptions>,
        description: &str,
    ) -> Result<Receiver, RepoError> {
        let options = options.into();
        let context = self.context();
        let transaction = self.transaction_that_appends(lock, description)?;
        let store = context.store();
        let open = |name: &str, content| {
            Appender::open(&context.storage, &store.join(name), content, options)
        };
        let (changelog, manifest) = (
            open("00changelog.i", Content::Changelog)?,
            open("00manifest.i", Content::Manifest)?,
        );
        let view = RepoView::read(
            Arc::clone(context),
            &context.stamp()?,
            ViewFilter::Unfiltered,
        )?;
        let phases = view.changelog().revs();
        let phases = phases.map(|rev| view.phases().of(rev)).collect();
        let before = changelog.len();
        let changesets = Changesets::new(changelog, phases, Arc::clone(context));
        Ok(Receiver {
            changesets: Worker::new(changesets, BATCHES),
            manifests: Worker::new(Manifests::new(manifest), BATCHES),
            files: FileReceiver::new(context, options),
            view,
            transaction,
            numbers: HashMap::new(),
            phases_moved: false,
            phases_lowered: false,
            bookmarks: None,
            received_markers: Vec::new(),
            before,
            current: ChangegroupCounts::default(),
            report: ReceiveReport::default(),
        })
    }
}

impl Receiver {
    /// Begins a changegroup; its new changesets get `phase`, or that of their parents if it is higher.
    ///
    /// # Errors
    /// [`RepoError::Hook`].
    pub fn begin_changegroup(
        &mut self,
        origin: &ExchangeOrigin,
        phase: Phase,
    ) -> Result<(), RepoError> {
        self.before = self.view.changelog().len() + self.numbers.len();
        self.current = ChangegroupCounts::default();
        self.changesets.handler().target = phase;
        if let Some(hooks) = &mut self.transaction.hooks {
            hooks.begin_changegroup(origin)?;
        }
        self.start()
    }

    /// Writes the journal, unless that is done.
    fn start(&mut self) -> Result<(), RepoError> {
        if self.transaction.is_started() {
            return Ok(());
        }
        let (changelog, manifest) = (
            &self.changesets.handler().log,
            &self.manifests.handler().log,
        );
        for (name, revlog) in [("00changelog", changelog), ("00manifest", manifest)] {
            let (index, data) = revlog.lengths_before();
            let transaction = &mut self.transaction;
            transaction.will_append(format!("{name}.d").into_bytes(), data);
            transaction.will_append(format!("{name}.i").into_bytes(), index);
        }
        self.transaction.start(changelog.len())
    }

    /// Has every manifest put together and compared with its name before it counts, where else only
    /// those of heads are, and the others when they are read: for untrusted senders.
    pub fn check_all(&mut self) {
        self.manifests.handler().checks_all = true;
    }

    /// Receives a changeset.
    ///
    /// # Errors
    /// This changeset or an earlier one does not match its node.
    pub fn changeset(&mut self, new: &NewRevision<'_>) -> Result<(), RepoError> {
        let number = self.view.changelog().len() + self.numbers.len();
        if self.number(&new.node).is_some() {
            return Ok(());
        }
        let number = Rev(number as u32);
        self.numbers.insert(new.node, number);
        self.current.changesets += 1;
        self.changesets.batch().revision(&new.linked(number));
        self.changesets.send_full()
    }

    /// Receives a manifest.
    ///
    /// # Errors
    /// This manifest or an earlier revision does not match its node.
    pub fn manifest(&mut self, new: &NewRevision<'_>) -> Result<(), RepoError> {
        let received = new.linked(self.link(new)?);
        self.manifests.batch().revision(&received);
        self.manifests.send_full()
    }
    /// All changesets, or all manifests, of a changegroup have come. Bad ones among a few fail
    /// now; of many, most are not stored yet.
    ///
    /// # Errors
    /// As of [`Receiver::changeset`].
    pub fn end_group(&mut self) -> Result<(), RepoError> {
        self.changesets.drain_unless_running()?;
        self.manifests.drain_unless_running()
    }

    /// The number that a changeset has or will have.
    fn number(&self, node: &Node) -> Option<Rev> {
        let new = self.numbers.get(node).copied();
        new.or_else(|| self.view.changelog().rev(node))
    }

    /// The changeset that a revision says it belongs to.
    fn link(&self, new: &NewRevision<'_>) -> Result<Rev, RepoError> {
        let found = self.number(&new.changeset);
        found.ok_or_else(|| RepoError::MissingNode {
            what: "changeset",
            node: new.changeset,
            path: self.view.changelog().path().to_owned(),
        })
    }

    /// Ends a changegroup; returns how many heads there are more than before.
    ///
    /// # Errors
    /// A revision that does not match its node; errors of the storage.
    pub fn end_changegroup(&mut self) -> Result<i64, RepoError> {
        let changesets = self.changesets.drain()?;
        let manifests = self.manifests.drain()?;
        self.current.changes += self.files.write_all(&mut self.transaction)?;
        let heads = changesets.new_heads(self.before)?;
        self.current.heads = heads.more;
        for manifest in &heads.manifests {
            manifests.check(manifest)?;
        }
        if let Some(hooks) = &mut self.transaction.hooks {
            let new = self.before..changesets.log.len();
            let nodes = new.map(|rev| changesets.log.node_or_null(Some(Rev(rev as u32))));
            hooks.add_changegroup(nodes.collect());
        }
        self.report
            .changegroups
            .push(std::mem::take(&mut self.current));
        Ok(heads.more)
    }

    /// Counts of what was received so far, as they will be if it is all.
    pub fn report(&mut self) -> ReceiveReport {
        ReceiveReport {
            published: self.count_published(),
            ..self.report.clone()
        }
    }

    /// The first and the last of the received changesets.
    ///
    /// # Errors
    /// As of [`Receiver::end_changegroup`].
    pub fn new_changesets(&mut self) -> Result<Option<[Node; 2]>, RepoError> {
        let log = &self.changesets.drain()?.log;
        let [first, last] = [self.before, log.len().saturating_sub(1)];
        let node = |at: usize| log.node_or_null(Some(Rev(at as u32)));
        Ok((log.len() > self.before).then(|| [node(first), node(last)]))
    }

    /// Moves bookmarks; `None` removes one. A move to a missing changeset is ignored.
    pub fn bookmarks(&mut self, moves: &[(Vec<u8>, Option<Node>)]) {
        let mut all = self.bookmarks.take();
        let before = || self.view.bookmarks().clone();
        let all = all.get_or_insert_with(before);
        for (name, node) in moves {
            match node {
                None => {
                    all.remove(name);
                }
                Some(node) if self.takes_bookmark_at(node) => {
                    all.insert(name.clone(), *node);
                }
                Some(_) => {}
            }
        }
        self.bookmarks = Some(std::mem::take(all));
    }

    /// Adds obsolescence markers that are not there yet, in the form in which the store has them;
    /// returns how many were new.
    ///
    /// # Errors
    /// If they are damaged.
    pub fn markers(&mut self, bytes: &[u8]) -> Result<usize, RepoError> {
        let new = self.transaction.add_received_markers(bytes)?;
        self.report.markers += new;
        self.received_markers.push(bytes.to_vec());
        Ok(new)
    }

    /// Undoes all that was written; returns the first error of a worker.
    pub fn abandon(mut self) -> Option<RepoError> {
        let changesets = self.changesets.drain().err();
        let manifests = self.manifests.drain().err();
        let files = self.files.drain().err();
        self.transaction.abandon();
        changesets.or(manifests).or(files)
    }
}

fn spill(revlog: &mut Appender) -> Result<(), RepoError> {
    if revlog.buffered_bytes() > MAX_BUFFERED {
        revlog.spill()?;
    }
    Ok(())
}

impl<'a> NewRevision<'a> {
    fn linked(&self, link: Rev) -> ReceivedRevision<'a> {
        ReceivedRevision {
            node: self.node,
            parents: self.parents,
            base: self.base,
            link,
            flags: self.flags,
            patch: self.patch,
        }
    }
}
