//! Reading chunks and texts, with buffers and contexts that are kept from revision to revision.

use crate::entry::{Entry, flag};
use crate::window::Window;
use crate::{Rev, Revlog, RevlogError, chunk};
use sha1::{Digest, Sha1};
use std::ops::Range;
use varve_codec::Expander;
use varve_delta::PatchComposer;

/// Reason in [`RevlogError::DamagedChunk`] for a file that ends too early.
pub const CHUNK_OUTSIDE: &str = "chunk lies outside the file";

/// Texts that are kept, because the next revision is likely to be stored against one of them.
const KEPT_TEXTS: usize = 4;
/// For writing: parents and snapshots that the next revision may be stored against.
const KEPT_TEXTS_WRITING: usize = 16;
/// Beyond this only the newest text is kept, and no chain of patches.
const KEPT_BYTES: usize = 32 << 20;
/// Limit for the text of a revision without a recorded length.
const LONGEST_UNKNOWN: usize = 1 << 30;

/// Reads one revlog. Each thread has its own; revisions in ascending order are the fastest.
#[derive(Debug)]
pub struct Reader<'a> {
    revlog: &'a Revlog,
    state: ReaderState,
}

/// Buffers and contexts that a reader keeps between revisions, and that can go on to another
/// revlog: making them anew costs more than reading a short revlog.
#[derive(Debug)]
pub struct ReaderState {
    window: Window,
    expander: Expander,
    composer: PatchComposer,
    /// Patches on top of a kept text.
    partial: Patches,
    /// Those of the last chain that was read from its full text on. A reader that goes backwards
    /// needs most of them again.
    full_chain: Patches,
    /// Newest first.
    texts: Vec<(Rev, Vec<u8>)>,
    most_texts: usize,
}

/// Expanded chunks of a chain, the first one first.
#[derive(Debug, Default)]
struct Patches {
    revs: Vec<Rev>,
    ranges: Vec<Range<usize>>,
    bytes: Vec<u8>,
}

impl Patches {
    fn truncate(&mut self, len: usize) {
        self.revs.truncate(len);
        self.ranges.truncate(len);
        let end = self.ranges.last().map_or(0, |range| range.end);
        self.bytes.truncate(end);
    }

    /// How many of these are the first ones of `chain`, whose last revision stands first.
    fn shared(&self, chain: &[Rev]) -> usize {
        let pairs = self.revs.iter().zip(chain.iter().rev());
        pairs.take_while(|(here, wanted)| here == wanted).count()
    }
}

impl Default for ReaderState {
    fn default() -> Self {
        ReaderState {
            window: Window::default(),
            expander: Expander::new(),
            composer: PatchComposer::new(),
            partial: Patches::default(),
            full_chain: Patches::default(),
            texts: Vec::new(),
            most_texts: KEPT_TEXTS,
        }
    }
}

impl<'a> Reader<'a> {
    pub(crate) fn new(revlog: &'a Revlog, mut state: ReaderState) -> Self {
        state.forget();
        Reader { revlog, state }
    }

    /// Contexts and buffers for the next reader.
    pub fn into_state(self) -> ReaderState {
        self.state
    }

    /// Full text of a revision, checked against its node.
    ///
    /// # Errors
    /// [`RevlogError::Flagged`] for a revision whose text is not an ordinary one, else damage in
    /// the revlog.
    ///
    /// # Panics
    /// If the revlog has no such revision.
    pub fn text(&mut self, rev: Rev) -> Result<&[u8], RevlogError> {
        self.state.text(self.revlog, rev)
    }

    /// Stored text of a revision, whatever its flags say it is, and not checked against the node: for
    /// copies that are checked afterwards.
    ///
    /// # Errors
    /// Damage in the revlog.
    ///
    /// # Panics
    /// If the revlog has no such revision.
    pub fn unchecked_text(&mut self, rev: Rev) -> Result<&[u8], RevlogError> {
        self.state.text_of(self.revlog, rev, false)
    }

    /// Replaces `out` by the chunk of a revision, expanded: a patch against
    /// [`Revlog::delta_parent`], or the full text if that is `None`. Not checked against the node.
    ///
    /// # Errors
    /// Damage in the revlog.
    ///
    /// # Panics
    /// If the revlog has no such revision.
    pub fn stored_delta(&mut self, rev: Rev, out: &mut Vec<u8>) -> Result<(), RevlogError> {
        out.clear();
        let entry = self.revlog.index().entry(rev);
        self.state.window.fill(self.revlog, &entry)?;
        self.state.expand(self.revlog, rev, &entry, out)
    }

    /// The chunk of a revision as stored, compressed.
    ///
    /// # Errors
    /// If it lies outside the file.
    ///
    /// # Panics
    /// If the revlog has no such revision.
    pub fn stored_chunk(&mut self, rev: Rev) -> Result<&[u8], RevlogError> {
        let entry = self.revlog.index().entry(rev);
        self.state.window.fill(self.revlog, &entry)?;
        self.state
            .window
            .chunk(self.revlog, &entry)
            .ok_or_else(|| outside(self.revlog, rev, &entry))
    }
}

fn outside(revlog: &Revlog, rev: Rev, entry: &Entry) -> RevlogError {
    revlog.damaged_chunk(rev, entry, &CHUNK_OUTSIDE)
}

impl ReaderState {
    /// For an appender, which comes back to more texts than a reader does.
    pub(crate) fn for_writing() -> ReaderState {
        ReaderState {
            most_texts: KEPT_TEXTS_WRITING,
            ..ReaderState::default()
        }
    }

    /// Drops the texts and bytes of one revlog.
    pub(crate) fn forget(&mut self) {
        self.window.clear();
        self.texts.clear();
        self.partial.truncate(0);
        self.full_chain.truncate(0);
    }

    pub(crate) fn text(&mut self, revlog: &Revlog, rev: Rev) -> Result<&[u8], RevlogError> {
        refuse_flags(revlog, rev)?;
        self.text_of(revlog, rev, true)
    }

    /// As [`Reader::unchecked_text`].
    pub(crate) fn unchecked(&mut self, revlog: &Revlog, rev: Rev) -> Result<&[u8], RevlogError> {
        self.text_of(revlog, rev, false)
    }

    fn text_of(&mut self, revlog: &Revlog, rev: Rev, checked: bool) -> Result<&[u8], RevlogError> {
        match self.texts.iter().position(|(kept, _)| *kept == rev) {
            Some(at) => self.texts[..=at].rotate_right(1),
            None => {
                let mut text = self.take_buffer();
                self.assemble(revlog, rev, &mut text)?;
                // A buffered text was hashed when it was added.
                if checked && !revlog.is_buffered(rev) {
                    check_hash(revlog, rev, &text)?;
                }
                self.texts.insert(0, (rev, text));
            }
        }
        Ok(self.texts.first().map_or(&[], |(_, text)| text))
    }

    /// Keeps a text that is known without being read, unless it is so long that putting it
    /// together again is the lesser evil.
    pub(crate) fn cache_text(&mut self, rev: Rev, text: &[u8]) {
        if text.len() > KEPT_BYTES {
            return;
        }
        let mut kept = self.take_buffer();
        kept.extend_from_slice(text);
        self.texts.insert(0, (rev, kept));
    }

    /// A cleared buffer: that of the oldest text, if enough are kept.
    fn take_buffer(&mut self) -> Vec<u8> {
        let mut buffer = Vec::new();
        let mut bytes: usize = self.texts.iter().map(|(_, text)| text.len()).sum();
        while self.texts.len() >= self.most_texts || (self.texts.len() > 1 && bytes > KEPT_BYTES) {
            let Some((_, oldest)) = self.texts.pop() else {
                break;
            };
            bytes -= oldest.len();
            buffer = oldest;
        }
        buffer.clear();
        buffer
    }

    fn assemble(
        &mut self,
        revlog: &Revlog,
        rev: Rev,
        out: &mut Vec<u8>,
    ) -> Result<(), RevlogError> {
        let (mut chain, mut at) = (Vec::new(), rev);
        let kept = loop {
            chain.push(at);
            let Some(below) = revlog.delta_parent(at) else {
                break None;
            };
            if let Some(kept) = self.texts.iter().position(|(kept, _)| *kept == below) {
                break Some(kept);
            }
            at = below;
        };
        let slot = if kept.is_some() {
            &mut self.partial
        } else {
            &mut self.full_chain
        };
        let mut patches = std::mem::take(slot);
        let result = self.apply(revlog, &chain, kept, &mut patches, out);
        if patches.bytes.len() > KEPT_BYTES {
            patches = Patches::default();
        }
        if kept.is_some() {
            self.partial = patches;
        } else {
            self.full_chain = patches;
        }
        result
    }

    /// Puts the text of `chain[0]` together from that of the kept text or from the full text at
    /// the end of `chain`.
    fn apply(
        &mut self,
        revlog: &Revlog,
        chain: &[Rev],
        kept: Option<usize>,
        patches: &mut Patches,
        out: &mut Vec<u8>,
    ) -> Result<(), RevlogError> {
        let known = if kept.is_some() {
            0
        } else {
            patches.shared(chain)
        };
        patches.truncate(known);
        self.read_chain(revlog, &chain[..chain.len() - known], patches)?;
        let (base, deltas) = match kept {
            Some(kept) => (&self.texts[kept].1[..], &patches.ranges[..]),
            None => match patches.ranges.split_first() {
                Some((base, deltas)) => (&patches.bytes[base.clone()], deltas),
                None => (&[][..], &[][..]),
            },
        };
        self.composer
            .apply(&patches.bytes, deltas, base, out)
            .map_err(|source| RevlogError::DamagedChain {
                path: revlog.path().to_owned(),
                rev: chain[0],
                source,
            })
    }

    /// Expands the chunks of `chain`, last one first, behind `patches`.
    fn read_chain(
        &mut self,
        revlog: &Revlog,
        chain: &[Rev],
        patches: &mut Patches,
    ) -> Result<(), RevlogError> {
        for (left, rev) in chain.iter().enumerate().rev() {
            let entry = revlog.index().entry(*rev);
            let from = patches.bytes.len();
            self.window.fill_chain(revlog, &chain[..=left], &entry)?;
            self.expand(revlog, *rev, &entry, &mut patches.bytes)?;
            patches.ranges.push(from..patches.bytes.len());
            patches.revs.push(*rev);
        }
        Ok(())
    }

    fn expand(
        &mut self,
        revlog: &Revlog,
        rev: Rev,
        entry: &Entry,
        out: &mut Vec<u8>,
    ) -> Result<(), RevlogError> {
        let limit = expanded_limit(revlog, rev, entry);
        let bytes = self.window.chunk(revlog, entry);
        let bytes = bytes.ok_or_else(|| outside(revlog, rev, entry))?;
        chunk::expand(bytes, limit, &mut self.expander, out)
            .map_err(|error| revlog.damaged_chunk(rev, entry, &error))
    }
}

/// The most bytes that the chunk of a revision may honestly expand to. A patch has at most one
/// hunk per byte of the old and the new text.
fn expanded_limit(revlog: &Revlog, rev: Rev, entry: &Entry) -> usize {
    let known = |len: Option<u32>| len.map_or(LONGEST_UNKNOWN, |len| len as usize);
    let new = known(entry.raw_len);
    match revlog.delta_parent(rev) {
        None => new,
        Some(base) => {
            let hunks = new.saturating_add(known(revlog.index().entry(base).raw_len));
            let headers = hunks
                .saturating_add(1)
                .saturating_mul(varve_delta::HUNK_HEADER_LEN);
            new.saturating_add(headers)
        }
    }
}

fn refuse_flags(revlog: &Revlog, rev: Rev) -> Result<(), RevlogError> {
    let flags = revlog.flags(rev);
    let what = if flags & !flag::HINTS == 0 {
        return Ok(());
    } else if flags & flag::CENSORED != 0 {
        "censored".to_owned()
    } else if flags & flag::ELLIPSIS != 0 {
        "an ellipsis revision".to_owned()
    } else if flags & flag::STORED_OUTSIDE != 0 {
        "stored outside the repository".to_owned()
    } else {
        format!("marked with unknown flags {flags:#06x}")
    };
    Err(RevlogError::Flagged {
        path: revlog.path().to_owned(),
        rev,
        what,
    })
}

fn check_hash(revlog: &Revlog, rev: Rev, text: &[u8]) -> Result<(), RevlogError> {
    let node = revlog.node(rev);
    let [p1, p2] = revlog
        .parents(rev)
        .map(|parent| revlog.node_or_null(parent));
    if hash(&p1, &p2, text) == node {
        return Ok(());
    }
    Err(RevlogError::WrongHash {
        path: revlog.path().to_owned(),
        rev,
        node,
    })
}

/// The node of a text with these parents.
pub fn hash(p1: &crate::Node, p2: &crate::Node, text: &[u8]) -> crate::Node {
    let mut sha = Sha1::new();
    sha.update(p1.min(p2).0);
    sha.update(p1.max(p2).0);
    sha.update(text);
    crate::Node(sha.finalize().into())
}
