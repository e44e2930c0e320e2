//! Reading: one commit, seen for ever.

mod access;
mod all_docs;
mod attachments;
mod changes;
mod local;
mod missing;
mod purges;

pub use access::LeafReaders;
pub use all_docs::{AllDocs, AllDocsRow, IdRange};
pub use attachments::{AttachmentForm, AttachmentReader};
pub use changes::Changes;
pub use local::{LocalDocument, LocalDocuments};
pub use missing::{MissingLeaf, WantedLeaves};

use crate::bodies::BodyCodec;
use crate::record::{Attachment, BY_ID, DocumentRecord, Header, Totals, decode_attachments};
use crate::revtree::{Node, RevTree, Stored};
use crate::{DocdbError, Partition, Rev, Viewer};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::ReadMode;
use varve_btree::CommitId;
use varve_codec::{CodecId, Dictionary, EngineSetting};

/// Longer ones are not believed.
pub(crate) const LONGEST_DICTIONARY: usize = 1 << 20;

/// All keys of a tree.
const EVERYTHING: varve_btree::Bounds<'static> = (Bound::Unbounded, Bound::Unbounded);

/// The database as one commit left it. Clones are cheap; no call waits for the writer.
#[derive(Clone, Debug)]
pub struct Snapshot {
    tree: varve_btree::Snapshot,
    shared: Arc<SnapshotInfo>,
    /// The reader, in a database with access.
    viewer: Viewer,
}

#[derive(Debug)]
struct SnapshotInfo {
    header: Header,
    path: PathBuf,
}

/// Counts and sizes of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionInfo {
    /// Documents whose winner is not deleted.
    pub doc_count: u64,
    /// Documents whose winner is deleted.
    pub doc_del_count: u64,
    /// Bytes of leaves' bodies and attachments as they are stored.
    pub active: u64,
    /// The same before compression.
    pub external: u64,
}

/// Numbers of a database as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// Documents whose winner is not deleted.
    pub doc_count: u64,
    /// Documents whose winner is deleted.
    pub doc_del_count: u64,
    /// Number of the last update.
    pub update_seq: u64,
    /// Number of the last purge.
    pub purge_seq: u64,
    /// How many ancestors of a leaf are remembered.
    pub revs_limit: u64,
    /// Bytes of the leaves' JSON texts and attachments before compression.
    pub external: u64,
    /// Bytes in the file of the leaves' bodies and attachments.
    pub documents_active: u64,
    /// When the database was created, in microseconds since 1970.
    pub created: u64,
    /// Tells this incarnation of the database from every other: 32 hex digits.
    pub uuid: String,
}

/// One document with all that is known of its revisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    id: String,
    record: DocumentRecord,
}

impl Document {
    /// The document's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The document's last update.
    pub fn seq(&self) -> u64 {
        self.record.seq
    }

    /// Its revisions.
    pub fn tree(&self) -> &RevTree {
        &self.record.tree
    }

    /// The leaf that stands for the document, and its content.
    pub fn winner(&self) -> Option<(&Rev, &Stored)> {
        let winner = self.record.tree.winner()?;
        Some((&winner.rev, winner.stored.as_ref()?))
    }

    /// Whether the winner is deleted.
    pub fn is_deleted(&self) -> bool {
        self.record.tree.is_deleted()
    }

    /// A revision whose content is still there.
    pub fn revision(&self, rev: &Rev) -> Option<(&Rev, &Stored)> {
        let node: &Node = self.record.tree.find(rev)?;
        Some((&node.rev, node.stored.as_ref()?))
    }
}

impl Snapshot {
    pub(crate) fn new(tree: varve_btree::Snapshot, path: &Path) -> Result<Snapshot, DocdbError> {
        let header = Header::decode(tree.user_header()).map_err(|_| DocdbError::Damaged {
            path: path.to_owned(),
            what: "header",
            key: format!("the commit at byte {}", tree.position()),
        })?;
        Ok(Snapshot::with_header(tree, header, path))
    }

    /// A commit whose header is known.
    pub(crate) fn with_header(tree: varve_btree::Snapshot, header: Header, path: &Path) -> Self {
        register_dictionaries(&tree, &header);
        Snapshot {
            tree,
            shared: Arc::new(SnapshotInfo {
                header,
                path: path.to_owned(),
            }),
            viewer: Viewer::ALL,
        }
    }

    pub(crate) fn header(&self) -> &Header {
        &self.shared.header
    }

    /// How bodies are compressed where `configured` counts if the database says nothing itself.
    pub(crate) fn method(&self, configured: EngineSetting) -> BodyCodec {
        self.body_codec_by(self.header().chosen.unwrap_or(configured))
    }

    /// How bodies are compressed by a setting: with the newest dictionary, where it uses one.
    pub(crate) fn body_codec_by(&self, setting: EngineSetting) -> BodyCodec {
        let newest = self.header().dictionaries.last();
        let newest = newest.filter(|_| setting.codec() == CodecId::Zstd);
        BodyCodec {
            setting,
            dictionary: newest.and_then(|record| self.tree.dictionary(record.number)),
        }
    }

    pub(crate) fn abandoned(&self) -> DocdbError {
        DocdbError::Abandoned {
            path: self.shared.path.clone(),
        }
    }

    pub(crate) fn uuid_bytes(&self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.header().uuid[..8]);
        bytes
    }

    pub(crate) fn tree(&self) -> &varve_btree::Snapshot {
        &self.tree
    }

    /// Both snapshots are of one commit of one open database.
    pub(crate) fn is_same(&self, other: &Snapshot) -> bool {
        let (here, there) = (&self.shared, &other.shared);
        here.path == there.path
            && here.header == there.header
            && self.tree.is_same_file(&other.tree)
            && self.tree.position() == other.tree.position()
    }

    /// The same for a walk over everything, which leaves the cache of nodes to others.
    pub(crate) fn uncached(&self) -> Snapshot {
        Snapshot {
            tree: self.tree.uncached(),
            ..self.clone()
        }
    }

    /// The same for reading bodies about in the order in which they stand in the file, as most scans do: they are read
    /// many at a time.
    #[must_use]
    pub fn in_order(&self) -> Snapshot {
        Snapshot {
            tree: self.tree.in_order(),
            ..self.clone()
        }
    }

    /// The same commit, read so from now on; iterators over it, too. In [`ReadMode::CachedOnly`],
    /// any call may fail with [`DocdbError::WouldBlock`].
    #[must_use]
    pub fn with_mode(self, mode: ReadMode) -> Snapshot {
        Snapshot {
            tree: self.tree.with_mode(mode),
            ..self
        }
    }

    /// Whether reads may wait for the disk.
    pub fn mode(&self) -> ReadMode {
        self.tree.mode()
    }

    pub(crate) fn damaged(&self, what: &'static str, key: &[u8]) -> DocdbError {
        DocdbError::Damaged {
            path: self.shared.path.clone(),
            what,
            key: String::from_utf8_lossy(key).into_owned(),
        }
    }

    /// Number of the last update.
    pub fn update_seq(&self) -> u64 {
        self.header().update_seq
    }

    /// Tells this incarnation of the database from every other.
    pub fn uuid(&self) -> [u8; 16] {
        self.header().uuid
    }

    /// Identity of this commit in its file, for [`Database::contains_commit`].
    ///
    /// # Errors
    /// Damage.
    ///
    /// [`Database::contains_commit`]: crate::Database::contains_commit
    pub fn commit_id(&self) -> Result<CommitId, DocdbError> {
        Ok(self.tree.commit_id()?)
    }

    /// How many ancestors of a leaf are remembered.
    pub fn revs_limit(&self) -> u64 {
        self.header().revs_limit
    }

    /// Counts, sizes and names.
    ///
    /// # Errors
    /// Damage; so for all calls below.
    pub fn info(&self) -> Result<Info, DocdbError> {
        let totals = self.totals(EVERYTHING)?;
        let header = self.header();
        Ok(Info {
            doc_count: totals.live,
            doc_del_count: totals.deleted,
            update_seq: self.last_seq()?,
            purge_seq: match self.is_restricted() {
                true => 0,
                false => header.purge_seq,
            },
            revs_limit: header.revs_limit,
            external: totals.external,
            documents_active: totals.active,
            created: header.created,
            uuid: header
                .uuid
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect(),
        })
    }

    /// All chunks and tree nodes in the file by their form; `None` if an earlier version made it, until it is compacted.
    pub fn chunk_stats(&self) -> Option<varve_btree::ChunkStats> {
        self.header().chunk_stats
    }

    /// Returns whether documents belong to partitions.
    pub fn is_partitioned(&self) -> bool {
        self.header().is_partitioned
    }

    /// Counts and sizes of one partition, at the cost of two ways through the tree.
    ///
    /// # Errors
    /// Damage.
    pub fn partition_info(&self, partition: &Partition) -> Result<PartitionInfo, DocdbError> {
        let low = Bound::Included(partition.low().as_bytes());
        let totals = self.totals((low, Bound::Excluded(partition.high().as_bytes())))?;
        Ok(PartitionInfo {
            doc_count: totals.live,
            doc_del_count: totals.deleted,
            active: totals.active,
            external: totals.external,
        })
    }

    pub(crate) fn totals(&self, bounds: varve_btree::Bounds<'_>) -> Result<Totals, DocdbError> {
        if let Some(names) = self.viewer.names() {
            let visible = self.visible_totals(names, bounds)?;
            return Ok(Totals {
                live: visible.live,
                deleted: visible.deleted,
                // How well it is compressed depends on other documents.
                active: visible.external,
                external: visible.external,
            });
        }
        let reduction = self.tree.reduce(BY_ID, bounds)?;
        Totals::decode(&reduction).map_err(|_| self.damaged("sum", b"documents"))
    }

    /// One document, deleted or not; `None` if nothing was ever known of it.
    ///
    /// # Errors
    /// Damage.
    pub fn document(&self, id: &str) -> Result<Option<Document>, DocdbError> {
        let item = self.tree.get(BY_ID, id.as_bytes());
        let item = item.map_err(DocdbError::of_document(id))?;
        let document = item.map(|item| self.document_of(id, &item)).transpose()?;
        document.map_or(Ok(None), |document| self.visible(document))
    }

    /// Many documents, in the order of `ids`, which need not be sorted.
    ///
    /// # Errors
    /// Damage.
    pub fn documents<S: AsRef<str>>(&self, ids: &[S]) -> Result<Vec<Option<Document>>, DocdbError> {
        let mut sorted: Vec<&str> = ids.iter().map(AsRef::as_ref).collect();
        sorted.sort_unstable();
        sorted.dedup();
        let items = self.tree.get_many(BY_ID, &sorted)?;
        let found = ids.iter().map(|id| {
            let at = sorted.binary_search(&id.as_ref());
            let item = at.ok().and_then(|at| items[at].as_ref());
            let document = item.map(|item| self.document_of(id.as_ref(), item));
            let document = document.transpose()?;
            document.map_or(Ok(None), |document| self.visible(document))
        });
        found.collect()
    }

    fn document_of(&self, id: &str, item: &varve_btree::TreeEntry) -> Result<Document, DocdbError> {
        Ok(Document {
            id: id.to_owned(),
            record: self.record(id.as_bytes(), item.value())?,
        })
    }

    /// Decodes the value of the document with this id.
    pub(crate) fn record(&self, id: &[u8], value: &[u8]) -> Result<DocumentRecord, DocdbError> {
        let record = DocumentRecord::decode(value, |at, out| self.tree.read_chunk(at, out));
        let name = String::from_utf8_lossy(id);
        let record = record.map_err(DocdbError::of_document(&name))?;
        record.map_err(|_| self.damaged("document", id))
    }

    /// Appends a revision's JSON text, without the members that begin with `_`.
    ///
    /// # Errors
    /// Damage.
    pub fn body(&self, stored: &Stored, out: &mut Vec<u8>) -> Result<(), DocdbError> {
        Ok(self.tree.read_chunk(stored.body, out)?)
    }

    /// A revision's attachments, in the order in which they are listed.
    ///
    /// # Errors
    /// Damage.
    pub fn attachments(&self, stored: &Stored) -> Result<Vec<Attachment>, DocdbError> {
        let Some(at) = stored.attachments else {
            return Ok(Vec::new());
        };
        let mut bytes = Vec::new();
        self.tree.read_chunk(at, &mut bytes)?;
        let key = format!("update {}", stored.seq);
        decode_attachments(&bytes).map_err(|_| self.damaged("list of attachments", key.as_bytes()))
    }

    /// The security object's JSON text; `None` where none was ever set.
    ///
    /// # Errors
    /// Damage.
    pub fn security(&self) -> Result<Option<Vec<u8>>, DocdbError> {
        let Some(at) = self.header().security else {
            return Ok(None);
        };
        let mut text = Vec::new();
        self.tree.read_chunk(at, &mut text)?;
        Ok(Some(text))
    }

    /// Calls `visit` with each run of bytes that the database compresses on its own, as it was
    /// before that: leaves' bodies and tree nodes. For measuring codecs.
    ///
    /// # Errors
    /// Damage; an error of `visit` ends the walk.
    pub fn visit_chunks<E: From<DocdbError>>(
        &self,
        visit: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut text = Vec::new();
        for change in self.changes(0, varve_btree::Direction::Forward)? {
            text.clear();
            self.body(&change?.stored, &mut text)?;
            visit(&text)?;
        }
        for tree in 0..self.header().trees() {
            let mut result = Ok(());
            let walked = self.tree.visit_nodes(tree, &mut |node| {
                result = visit(node);
                match result {
                    Ok(()) => Ok(()),
                    Err(_) => Err(Stop::Visitor),
                }
            });
            match walked {
                Err(Stop::Tree(error)) => return Err(E::from(error.into())),
                _ => result?,
            }
        }
        Ok(())
    }
}

/// Makes the file's dictionaries known to its readers. One that cannot be read is left out: then reading each body that
/// needs it fails, and the others are there.
fn register_dictionaries(tree: &varve_btree::Snapshot, header: &Header) {
    for record in &header.dictionaries {
        if tree.dictionary(record.number).is_some() {
            continue;
        }
        for place in [record.place, record.copy()] {
            let mut bytes = Vec::new();
            if tree.read_chunk(place, &mut bytes).is_err() || bytes.len() > LONGEST_DICTIONARY {
                continue;
            }
            let dictionary = Dictionary::from_bytes(&bytes);
            if dictionary.number() == record.number {
                tree.add_dictionary(&dictionary);
                break;
            }
        }
    }
}

/// Why a walk over nodes ended early.
enum Stop {
    Tree(varve_btree::TreeError),
    Visitor,
}

impl From<varve_btree::TreeError> for Stop {
    fn from(error: varve_btree::TreeError) -> Self {
        Stop::Tree(error)
    }
}
