//! Appending revisions to a revlog.
//!
//! Revisions are gathered in memory, each stored as a full text or as the smallest of a few
//! deltas; [`Appender::write`] then adds all of them to the files at once: the chunks first, the
//! index last, each synced. A reader never sees an entry without its chunk.

use crate::entry::{ENTRY_LEN, Entry, Header};
use crate::{Node, Rev, Revlog, RevlogError, WriteOptions, chunk, hash};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::storage::replace;
use varve_base::{OpenMode, Storage};
use varve_codec::Compressor;
use varve_delta::{Grain, diff};

/// An inline revlog with at least so many bytes of chunks is split, as Mercurial does.
const LONGEST_INLINE: usize = 131_072;
/// Mercurial's limits: no chain has more deltas, nor more bytes than twice the text it gives.
const LONGEST_CHAIN: usize = 1000;
const CHAIN_BYTES_PER_TEXT: u64 = 2;

/// What a revlog holds, which decides how it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Full texts only, never inline.
    Changelog,
    /// Deltas that begin and end at lines.
    Manifest,
    /// Deltas.
    File,
}

/// A revision to be appended.
#[derive(Clone, Copy, Debug)]
pub struct NewRevision<'a> {
    /// The full text.
    pub text: &'a [u8],
    /// First parent.
    pub p1: Option<Rev>,
    /// Second parent.
    pub p2: Option<Rev>,
    /// The changeset that introduces the revision.
    pub link: Rev,
}

/// What [`Appender::write`] did to the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The index file was not there before.
    pub created: bool,
    /// There is a data file now that was not there before.
    pub split: bool,
}

/// Gathers revisions for one revlog; nothing is written before [`Appender::write`].
#[derive(Debug)]
pub struct Appender {
    storage: Arc<dyn Storage>,
    revlog: Revlog,
    content: Content,
    header: Header,
    compressor: Compressor,
    entries: Vec<Entry>,
    chunks: Vec<u8>,
    /// Texts of `entries`, because later ones are likely to be stored against them.
    texts: Vec<Vec<u8>>,
}

/// The best form of a text so far.
struct Stored {
    base: Option<Rev>,
    chunk: Vec<u8>,
}

impl Appender {
    /// Opens the revlog at `path` (`….i`), which need not exist.
    ///
    /// # Errors
    /// What is damaged, or a codec that does not start.
    pub fn open(
        storage: &Arc<dyn Storage>,
        path: &Path,
        content: Content,
        options: impl Into<WriteOptions>,
    ) -> Result<Appender, RevlogError> {
        let options = options.into();
        let revlog = Revlog::open_or_empty(storage, path)?;
        let compressor =
            Compressor::new(options.engine).map_err(|source| RevlogError::Compress {
                path: path.to_owned(),
                source,
            })?;
        let header = if revlog.is_empty() {
            let is_changelog = content == Content::Changelog;
            Header {
                inline: !is_changelog,
                general_delta: !is_changelog,
            }
        } else {
            revlog.header()
        };
        Ok(Appender {
            storage: storage.clone(),
            revlog,
            content,
            header,
            compressor,
            entries: Vec::new(),
            chunks: Vec::new(),
            texts: Vec::new(),
        })
    }

    /// The index file.
    pub fn path(&self) -> &Path {
        self.revlog.path()
    }

    /// Number of revisions, gathered ones included.
    pub fn len(&self) -> usize {
        self.revlog.len() + self.entries.len()
    }

    /// Whether there are no revisions at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The revision of this name, gathered ones included.
    pub fn rev(&self, node: &Node) -> Option<Rev> {
        let gathered = self.entries.iter().position(|entry| entry.node == *node);
        match gathered {
            Some(at) => Some(Rev((self.revlog.len() + at) as u32)),
            None => self.revlog.rev(node),
        }
    }

    /// Name of a revision or [`Node::NULL`].
    pub fn node_or_null(&self, rev: Option<Rev>) -> Node {
        rev.map_or(Node::NULL, |rev| self.entry(rev).node)
    }

    /// Both parents of a revision.
    pub fn parents(&self, rev: Rev) -> [Option<Rev>; 2] {
        let entry = self.entry(rev);
        [entry.p1, entry.p2]
    }

    /// Full text of a revision, gathered ones included.
    ///
    /// # Errors
    /// See [`Revlog::text`].
    pub fn text(&self, rev: Rev) -> Result<Vec<u8>, RevlogError> {
        match rev.index().checked_sub(self.revlog.len()) {
            Some(at) => Ok(self.texts[at].clone()),
            None => self.revlog.text(rev),
        }
    }

    fn entry(&self, rev: Rev) -> Entry {
        match rev.index().checked_sub(self.revlog.len()) {
            Some(at) => self.entries[at],
            None => self.revlog.entry(rev),
        }
    }

    /// Gathers a revision; one that is there already is not stored twice.
    ///
    /// # Errors
    /// If the text is too long for the format, or a base cannot be read.
    pub fn add(&mut self, new: &NewRevision<'_>) -> Result<(Rev, Node), RevlogError> {
        let parents = [new.p1, new.p2].map(|parent| self.node_or_null(parent));
        let node = hash(&parents[0], &parents[1], new.text);
        if let Some(rev) = self.rev(&node) {
            return Ok((rev, node));
        }
        let raw_len = i32::try_from(new.text.len()).map_err(|_| self.cannot("text over 2 GiB"))?;
        let number = i32::try_from(self.len()).map_err(|_| self.cannot("too many revisions"))?;
        let rev = Rev(number.unsigned_abs());
        let stored = self.choose(new)?;
        let stored_len = i32::try_from(stored.chunk.len());
        let stored_len = stored_len.map_err(|_| self.cannot("chunk over 2 GiB"))?;
        self.entries.push(Entry {
            offset: self.revlog.data_len() + self.chunks.len() as u64,
            flags: 0,
            stored_len: stored_len.unsigned_abs(),
            raw_len: Some(raw_len.unsigned_abs()),
            base: Some(self.base_field(rev, stored.base)),
            link: Rev::to_disk(Some(new.link)),
            p1: new.p1,
            p2: new.p2,
            node,
        });
        self.chunks.extend_from_slice(&stored.chunk);
        self.texts.push(new.text.to_vec());
        Ok((rev, node))
    }

    fn cannot(&self, reason: &str) -> RevlogError {
        RevlogError::CannotAppend {
            path: self.path().to_owned(),
            reason: reason.to_owned(),
        }
    }

    /// Without general deltas the field names the start of the chain instead of the delta's base.
    fn base_field(&self, rev: Rev, base: Option<Rev>) -> Rev {
        match base {
            None => rev,
            Some(base) if self.header.general_delta => base,
            Some(base) => self.entry(base).base.unwrap_or(base),
        }
    }

    /// The smallest of the full text and the deltas that keep the limits.
    fn choose(&mut self, new: &NewRevision<'_>) -> Result<Stored, RevlogError> {
        let mut best = Stored {
            base: None,
            chunk: Vec::new(),
        };
        self.pack(new.text, &mut best.chunk)?;
        let mut delta = Vec::new();
        for base in self.candidates(new) {
            let (deltas, bytes) = self.chain(base);
            if deltas >= LONGEST_CHAIN {
                continue;
            }
            let grain = match self.content {
                Content::File => Grain::Bytes,
                Content::Changelog | Content::Manifest => Grain::Lines,
            };
            delta.clear();
            diff(&self.text(base)?, new.text, grain, &mut delta);
            let mut packed = Vec::new();
            self.pack(&delta, &mut packed)?;
            let chain_bytes = bytes + packed.len() as u64;
            let allowed = CHAIN_BYTES_PER_TEXT * new.text.len() as u64;
            if packed.len() < best.chunk.len() && chain_bytes <= allowed {
                best = Stored {
                    base: Some(base),
                    chunk: packed,
                };
            }
        }
        Ok(best)
    }

    fn pack(&mut self, raw: &[u8], out: &mut Vec<u8>) -> Result<(), RevlogError> {
        chunk::pack(raw, &mut self.compressor, out).map_err(|source| RevlogError::Compress {
            path: self.revlog.path().to_owned(),
            source,
        })
    }

    /// Revisions that a delta may be against, each once.
    fn candidates(&self, new: &NewRevision<'_>) -> Vec<Rev> {
        let newest = (self.len() as u32).checked_sub(1).map(Rev);
        let wanted = match self.content {
            Content::Changelog => [None; 3],
            Content::Manifest | Content::File if !self.header.general_delta => [newest, None, None],
            Content::Manifest | Content::File => [new.p1, new.p2, newest],
        };
        let mut candidates: Vec<Rev> = wanted.into_iter().flatten().collect();
        candidates.sort_unstable();
        candidates.dedup();
        // A delta against a text that was cut out or lies elsewhere would be a delta against the
        // note about it.
        candidates.retain(|rev| self.entry(*rev).flags & !crate::flag::HINTS == 0);
        candidates
    }

    /// Deltas and bytes of the chain that ends at a revision, its full text included.
    fn chain(&self, mut rev: Rev) -> (usize, u64) {
        let (mut deltas, mut bytes) = (0, 0);
        loop {
            let entry = self.entry(rev);
            bytes += u64::from(entry.stored_len);
            rev = match entry.base {
                Some(base) if base == rev => return (deltas, bytes),
                None => return (deltas, bytes),
                Some(base) if self.header.general_delta => base,
                Some(_) => Rev(rev.0.saturating_sub(1)),
            };
            deltas += 1;
        }
    }

    /// Whether anything was gathered.
    pub fn has_news(&self) -> bool {
        !self.entries.is_empty()
    }

    /// Whether [`Appender::write`] will take an inline revlog apart and so replace its index
    /// instead of appending to it.
    pub fn will_replace_index(&self) -> bool {
        self.header.inline && !self.revlog.is_empty() && self.all_chunks() >= LONGEST_INLINE
    }

    /// Whether there is a data file after [`Appender::write`].
    pub fn will_be_split(&self) -> bool {
        !self.header.inline || self.all_chunks() >= LONGEST_INLINE
    }

    /// Length of the index file and of the data file as [`Appender::write`] will find them; what
    /// is needed to undo it.
    pub fn lengths_before(&self) -> (u64, u64) {
        let entries = (self.revlog.len() * ENTRY_LEN) as u64;
        if self.header.inline {
            (entries + self.revlog.data_len(), 0)
        } else {
            (entries, self.revlog.data_len())
        }
    }

    fn all_chunks(&self) -> usize {
        self.revlog.index().inline_chunks().len() + self.chunks.len()
    }

    /// The file beside the index that holds the chunks of a split revlog.
    pub fn data_path(&self) -> PathBuf {
        self.path().with_extension("d")
    }

    /// Adds all gathered revisions to the files and syncs them. Folders are made as needed; the
    /// caller syncs them.
    ///
    /// # Errors
    /// What the storage answers. What was written until then is behind the end that the index
    /// tells of, or without meaning to readers of an older changelog.
    pub fn write(self) -> Result<Written, RevlogError> {
        if self.entries.is_empty() {
            return Ok(Written::default());
        }
        let created = self.revlog.is_empty();
        if created && let Some(folder) = self.path().parent() {
            self.storage.create_folder(folder)?;
        }
        let newly_split = self.will_be_split() && (self.header.inline || created);
        if !self.header.inline {
            self.append_split()?;
        } else if newly_split {
            self.write_newly_split()?;
        } else {
            let entries = self.encode(self.header);
            append_at(
                self.storage.as_ref(),
                self.path(),
                self.lengths_before().0,
                &entries,
            )?;
        }
        Ok(Written {
            created,
            split: newly_split,
        })
    }

    /// The gathered entries, with their chunks between them if inline.
    fn encode(&self, header: Header) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.entries.len() * ENTRY_LEN);
        let mut chunks = &self.chunks[..];
        for (at, entry) in self.entries.iter().enumerate() {
            out.extend_from_slice(&encode_entry(entry, self.revlog.len() + at == 0, header));
            if header.inline {
                let (chunk, rest) = chunks.split_at(entry.stored_len as usize);
                out.extend_from_slice(chunk);
                chunks = rest;
            }
        }
        out
    }

    fn append_split(&self) -> Result<(), RevlogError> {
        let (storage, (index_len, data_len)) = (self.storage.as_ref(), self.lengths_before());
        append_at(storage, &self.data_path(), data_len, &self.chunks)?;
        append_at(storage, self.path(), index_len, &self.encode(self.header))
    }

    /// Takes an inline revlog apart. The new index replaces the old one in one step; until then
    /// the data file means nothing.
    fn write_newly_split(&self) -> Result<(), RevlogError> {
        let header = Header {
            inline: false,
            ..self.header
        };
        let mut chunks = self.revlog.index().inline_chunks().to_vec();
        chunks.extend_from_slice(&self.chunks);
        append_at(self.storage.as_ref(), &self.data_path(), 0, &chunks)?;
        let mut index = Vec::with_capacity(self.len() * ENTRY_LEN);
        for rev in self.revlog.revs() {
            let entry = self.revlog.entry(rev);
            index.extend_from_slice(&encode_entry(&entry, rev.0 == 0, header));
        }
        index.extend_from_slice(&self.encode(header));
        Ok(replace(self.storage.as_ref(), self.path(), &index)?)
    }
}

fn encode_entry(entry: &Entry, first: bool, header: Header) -> [u8; ENTRY_LEN] {
    let mut bytes = entry.encode();
    if first {
        bytes[..Header::LEN].copy_from_slice(&header.encode());
    }
    bytes
}

/// Adds bytes at `len`, which is where the file should end; what an interrupted writer left
/// behind it is cut off.
fn append_at(
    storage: &dyn Storage,
    path: &Path,
    len: u64,
    bytes: &[u8],
) -> Result<(), RevlogError> {
    let file = match storage.open(path, OpenMode::Append) {
        Err(error) if error.is_not_found() => storage.open(path, OpenMode::CreateNew)?,
        other => other?,
    };
    let found = file.len()?;
    if found < len {
        return Err(RevlogError::CannotAppend {
            path: path.to_owned(),
            reason: format!("the file has {found} bytes where the index tells of {len}"),
        });
    }
    if found > len {
        file.truncate(len)?;
    }
    file.append(bytes)?;
    Ok(file.sync()?)
}
