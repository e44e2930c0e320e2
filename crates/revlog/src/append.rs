//! Appending revisions to a revlog.
//!
//! Revisions are buffered in memory, compressed, each as a full text or as a delta; see
//! [`crate::choose`]. [`Appender::write`] then adds all of them to the files at once: the chunks
//! first, the index last, each synced. A reader never sees an entry without its chunk.

use crate::chain::Chains;
use crate::choose::{Scratch, StoredForm};
use crate::chunk::Packer;
use crate::entry::{ENTRY_LEN, Entry, Header};
use crate::reader::ReaderState;
use crate::{Node, Rev, Revlog, RevlogError, WriteOptions, hash};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::Storage;

/// An inline revlog with at least so many bytes of chunks is split, as Mercurial does.
pub const LONGEST_INLINE: usize = 131_072;

/// Kind of data in a revlog, which decides how it is stored.
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

/// The caller's knowledge of a revision besides its text.
#[derive(Clone, Copy, Debug, Default)]
pub struct RevisionHints<'a> {
    /// Its name, if the caller has compared the text with it already.
    pub node: Option<Node>,
    /// Bits of [`crate::flag`]. A revision whose text is not an ordinary one needs a node.
    pub flags: u16,
    /// A patch that makes the text, and its base: `None` is the empty text.
    pub delta: Option<(Option<Rev>, &'a [u8])>,
}

/// Contexts and buffers that an appender can leave to the next one: making them anew costs more than
/// writing a short revlog.
#[derive(Debug)]
pub struct AppenderState {
    packer: Option<Packer>,
    reader: ReaderState,
    scratch: Scratch,
}

impl Default for AppenderState {
    fn default() -> Self {
        AppenderState {
            packer: None,
            reader: ReaderState::for_writing(),
            scratch: Scratch::default(),
        }
    }
}

/// Gathers revisions for one revlog; nothing is written before [`Appender::write`].
#[derive(Debug)]
pub struct Appender {
    pub(crate) storage: Arc<dyn Storage>,
    /// The buffered revisions stand behind those of the file.
    pub(crate) revlog: Revlog,
    /// How many revisions the file has.
    pub(crate) written: usize,
    /// Whether chunks stand between the entries of the file.
    pub(crate) was_inline: bool,
    pub(crate) content: Content,
    pub(crate) options: WriteOptions,
    pub(crate) packer: Packer,
    /// Texts that were given or read, because later ones are likely to be stored against them.
    pub(crate) reader: Mutex<ReaderState>,
    pub(crate) chains: Chains,
    pub(crate) scratch: Scratch,
    buffered: HashMap<Node, Rev>,
}

impl Appender {
    /// Opens the revlog at `path` (`….i`), which need not exist. An [`varve_codec::EngineSetting`]
    /// alone means Mercurial's defaults with this engine.
    ///
    /// # Errors
    /// Damage in the index, or a codec that does not start.
    pub fn open(
        storage: &Arc<dyn Storage>,
        path: &Path,
        content: Content,
        options: impl Into<WriteOptions>,
    ) -> Result<Appender, RevlogError> {
        Appender::open_with(storage, path, content, options, AppenderState::default())
    }

    /// Continues a revlog that was just read, under the lock that keeps others from appending.
    ///
    /// # Errors
    /// [`RevlogError::Compress`] if a context cannot be had.
    pub fn continue_from(
        storage: &Arc<dyn Storage>,
        revlog: &Revlog,
        content: Content,
        options: impl Into<WriteOptions>,
    ) -> Result<Appender, RevlogError> {
        let how = (content, options.into());
        Appender::behind(storage, revlog.share(), how, AppenderState::default())
    }

    /// The same with the state that another appender has left.
    ///
    /// # Errors
    /// See [`Appender::open`].
    pub fn open_with(
        storage: &Arc<dyn Storage>,
        path: &Path,
        content: Content,
        options: impl Into<WriteOptions>,
        state: AppenderState,
    ) -> Result<Appender, RevlogError> {
        let revlog = Revlog::open_or_empty(storage, path)?;
        Appender::behind(storage, revlog, (content, options.into()), state)
    }

    /// As [`Appender::open`], but the buffered revisions will stand behind the first `kept` ones
    /// and those after them are gone; [`Appender::rewrite`] makes that so.
    ///
    /// # Errors
    /// As of [`Appender::open`].
    pub fn open_truncated(
        storage: &Arc<dyn Storage>,
        path: &Path,
        content: Content,
        options: impl Into<WriteOptions>,
        kept: usize,
    ) -> Result<Appender, RevlogError> {
        let mut revlog = Revlog::open_or_empty(storage, path)?;
        revlog.truncate(kept);
        let state = AppenderState::default();
        Appender::behind(storage, revlog, (content, options.into()), state)
    }

    fn behind(
        storage: &Arc<dyn Storage>,
        mut revlog: Revlog,
        (content, options): (Content, WriteOptions),
        mut state: AppenderState,
    ) -> Result<Appender, RevlogError> {
        let path = revlog.path();
        let failed = |source| RevlogError::Compress {
            path: path.to_owned(),
            source,
        };
        let same = state.packer.take();
        let same = same.filter(|packer| packer.engine() == options.engine);
        let packer = same.map_or_else(|| Packer::new(options.engine).map_err(failed), Ok)?;
        state.reader.forget();
        if revlog.is_empty() {
            let is_changelog = content == Content::Changelog;
            revlog.set_header(Header {
                inline: !is_changelog,
                general_delta: !is_changelog && options.general_delta,
            });
        }
        Ok(Appender {
            storage: storage.clone(),
            written: revlog.len(),
            was_inline: revlog.header().inline,
            revlog,
            content,
            options,
            packer,
            reader: Mutex::new(state.reader),
            chains: Chains::default(),
            scratch: state.scratch,
            buffered: HashMap::new(),
        })
    }

    /// The index file.
    pub fn path(&self) -> &Path {
        self.revlog.path()
    }

    /// Number of revisions, buffered ones included.
    pub fn len(&self) -> usize {
        self.revlog.len()
    }

    /// Whether there are no revisions at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The revision of this name, buffered ones included.
    pub fn rev(&self, node: &Node) -> Option<Rev> {
        let buffered = self.buffered.get(node).copied();
        buffered.or_else(|| self.revlog.rev(node))
    }

    /// Name of a revision or [`Node::NULL`].
    pub fn node_or_null(&self, rev: Option<Rev>) -> Node {
        self.revlog.node_or_null(rev)
    }

    /// Both parents of a revision.
    pub fn parents(&self, rev: Rev) -> [Option<Rev>; 2] {
        self.revlog.parents(rev)
    }

    /// The changeset that introduced a revision; see [`Revlog::linkrev`].
    pub fn linkrev(&self, rev: Rev) -> i64 {
        self.revlog.linkrev(rev)
    }

    /// Full text of a revision, buffered ones included.
    ///
    /// # Errors
    /// See [`Revlog::text`].
    pub fn text(&self, rev: Rev) -> Result<Vec<u8>, RevlogError> {
        let mut reader = self.reader.lock();
        reader.text(&self.revlog, rev).map(<[u8]>::to_vec)
    }

    /// Drops cached texts and buffers; they are made again when they are needed.
    pub fn drop_caches(&mut self) {
        self.reader = Mutex::new(ReaderState::for_writing());
        self.scratch = Scratch::default();
    }

    /// Gathers a revision; one that is there already is not stored twice.
    ///
    /// # Errors
    /// If the text is too long for the format, or a base cannot be read.
    pub fn add(&mut self, new: &NewRevision<'_>) -> Result<(Rev, Node), RevlogError> {
        self.add_with_hints(new, &RevisionHints::default())
    }

    /// As [`Appender::add`], for a revision that another revlog had.
    ///
    /// # Errors
    /// See [`Appender::add`].
    pub fn add_with_hints(
        &mut self,
        new: &NewRevision<'_>,
        given: &RevisionHints<'_>,
    ) -> Result<(Rev, Node), RevlogError> {
        let node = given.node.unwrap_or_else(|| {
            let [p1, p2] = [new.p1, new.p2].map(|parent| self.node_or_null(parent));
            hash(&p1, &p2, new.text)
        });
        if let Some(rev) = self.rev(&node) {
            return Ok((rev, node));
        }
        let stored = self.choose(new, given)?;
        let rev = self.buffer(new, (node, given.flags), new.text.len(), stored)?;
        if self.content != Content::Changelog {
            let reader = self.reader.get_mut();
            reader.cache_text(rev, new.text);
        }
        Ok((rev, node))
    }

    /// Adds the entry of a revision that has `len` bytes. The text of `new` is not looked at.
    pub(crate) fn buffer(
        &mut self,
        new: &NewRevision<'_>,
        (node, flags): (Node, u16),
        len: usize,
        stored: StoredForm,
    ) -> Result<Rev, RevlogError> {
        let raw_len = i32::try_from(len).map_err(|_| self.append_error("text over 2 GiB"))?;
        let number =
            i32::try_from(self.len()).map_err(|_| self.append_error("too many revisions"))?;
        let rev = Rev(number.unsigned_abs());
        let stored_len = i32::try_from(stored.chunk.len());
        let stored_len = stored_len.map_err(|_| self.append_error("chunk over 2 GiB"))?;
        let entry = Entry {
            offset: self.revlog.data_len(),
            flags,
            stored_len: stored_len.unsigned_abs(),
            raw_len: Some(raw_len.unsigned_abs()),
            base: Some(self.base_field(rev, stored.base)),
            link: Rev::to_disk(Some(new.link)),
            p1: new.p1,
            p2: new.p2,
            node,
        };
        self.revlog.buffer(&entry, &stored.chunk);
        self.buffered.insert(node, rev);
        self.scratch.recycle(stored);
        Ok(rev)
    }

    /// Writes the chunks that were buffered to the data file, where they mean nothing before
    /// [`Appender::write`], and frees them. Chunks short enough to be inline stay.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn spill(&mut self) -> Result<(), RevlogError> {
        if !self.will_be_split() || self.buffered_bytes() == 0 {
            return Ok(());
        }
        if self.written == 0
            && let Some(directory) = self.path().parent()
        {
            self.storage.create_directory(directory)?;
        }
        self.revlog.split_inline();
        self.write_pending()?;
        self.revlog.spilled();
        Ok(())
    }

    /// Bytes of chunks that [`Appender::spill`] would write.
    pub fn buffered_bytes(&self) -> usize {
        self.revlog.chunks_in_memory().0.len()
    }

    pub(crate) fn into_state(self) -> AppenderState {
        AppenderState {
            packer: Some(self.packer),
            reader: self.reader.into_inner(),
            scratch: self.scratch,
        }
    }

    pub(crate) fn append_error(&self, reason: &str) -> RevlogError {
        RevlogError::CannotAppend {
            path: self.path().to_owned(),
            reason: reason.to_owned(),
        }
    }

    /// Without general deltas the field names the start of the chain instead of the delta's base.
    fn base_field(&self, rev: Rev, base: Option<Rev>) -> Rev {
        match base {
            None => rev,
            Some(base) if self.revlog.header().general_delta => base,
            Some(base) => self.revlog.entry(base).base.unwrap_or(base),
        }
    }

    /// Whether anything was buffered.
    pub fn has_new_revisions(&self) -> bool {
        self.len() > self.written
    }

    /// Whether [`Appender::write`] will take an inline revlog apart and so replace its index
    /// instead of appending to it.
    pub fn will_replace_index(&self) -> bool {
        self.is_inline() && self.written > 0 && self.is_too_long_for_inline()
    }

    /// Whether there is a data file after [`Appender::write`].
    pub fn will_be_split(&self) -> bool {
        !self.is_inline() || self.is_too_long_for_inline()
    }

    /// Length of the index file and of the data file as [`Appender::write`] will find them, for
    /// undoing it.
    pub fn lengths_before(&self) -> (u64, u64) {
        let entries = (self.written * ENTRY_LEN) as u64;
        let data = self.data_len_before();
        if self.is_inline() {
            (entries + data, 0)
        } else {
            (entries, data)
        }
    }

    /// End of the last chunk that is in the files.
    pub(crate) fn data_len_before(&self) -> u64 {
        let last = (self.written as u32).checked_sub(1);
        last.map_or(0, |last| self.revlog.entry(Rev(last)).end())
    }

    pub(crate) fn is_inline(&self) -> bool {
        self.was_inline
    }

    fn is_too_long_for_inline(&self) -> bool {
        self.revlog.data_len() >= LONGEST_INLINE as u64
    }

    /// As [`Revlog::with_data`].
    #[must_use]
    pub fn with_data(mut self, path: PathBuf) -> Appender {
        self.revlog = self.revlog.with_data(path);
        self
    }

    /// The file that holds the chunks of a split revlog.
    pub fn data_path(&self) -> &Path {
        self.revlog.data_path()
    }
}
