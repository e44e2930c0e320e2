//! The part of a data file that a reader has in memory.

use crate::entry::Entry;
use crate::{Rev, Revlog, RevlogError};

/// How much a sequential reader takes at once.
const SPAN: u64 = 1 << 20;
/// Chunks of a chain that lie this close together are read together with the gap between them.
const GAP: u64 = 64 << 10;
/// One read for a chain is never longer, whatever the chain.
const LONGEST_READ: u64 = 16 << 20;

/// A run of bytes of a data file.
#[derive(Debug, Default)]
pub(crate) struct Window {
    bytes: Vec<u8>,
    start: u64,
}

impl Window {
    /// Forgets the bytes of one revlog.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.start = 0;
    }

    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    fn holds(&self, entry: &Entry) -> bool {
        entry.offset >= self.start && entry.end() <= self.end()
    }

    /// Makes sure that the chunk of the last of `chain` is here, together with as many of those
    /// before it in the slice as lie close behind in the file.
    pub fn fill_chain(
        &mut self,
        revlog: &Revlog,
        chain: &[Rev],
        entry: &Entry,
    ) -> Result<(), RevlogError> {
        if self.holds(entry) || in_memory(revlog, entry) {
            return Ok(());
        }
        let (mut start, mut end) = (entry.offset, entry.end());
        for rev in chain.iter().rev().skip(1) {
            let next = revlog.index().entry(*rev);
            let close = next.offset >= end && next.offset - end <= GAP;
            if !close || in_memory(revlog, &next) || next.end() - start > LONGEST_READ {
                break;
            }
            end = next.end();
        }
        // A lone chunk beside the window: the revisions are read in this order.
        if chain.len() == 1 && !self.bytes.is_empty() {
            if (self.start..=self.end() + GAP).contains(&start) {
                end = end.max(start + SPAN);
            } else if end <= self.start && self.start - end <= GAP {
                start = start.min(end.saturating_sub(SPAN));
            }
        }
        self.read(revlog, start, end)
    }

    /// Makes sure that one chunk is here, with those behind it.
    pub fn fill(&mut self, revlog: &Revlog, entry: &Entry) -> Result<(), RevlogError> {
        if self.holds(entry) || in_memory(revlog, entry) {
            return Ok(());
        }
        self.read(revlog, entry.offset, entry.end().max(entry.offset + SPAN))
    }

    fn read(&mut self, revlog: &Revlog, start: u64, end: u64) -> Result<(), RevlogError> {
        let file = revlog.data_file()?;
        let len = end.min(revlog.data_file_len()?).saturating_sub(start);
        self.start = start;
        // Existing bytes are not zeroed again; they are read over.
        self.bytes
            .resize(usize::try_from(len).unwrap_or(usize::MAX), 0);
        let got = file.read_at(start, &mut self.bytes);
        self.bytes.truncate(*got.as_ref().unwrap_or(&0));
        got?;
        Ok(())
    }

    /// The chunk, if it is here after [`Window::fill`]; `None` if it lies outside the file.
    pub fn chunk<'s>(&'s self, revlog: &'s Revlog, entry: &Entry) -> Option<&'s [u8]> {
        if entry.stored_len == 0 {
            return Some(&[]);
        }
        let (source, start) = if in_memory(revlog, entry) {
            revlog.chunks_in_memory()
        } else {
            (&self.bytes[..], self.start)
        };
        let from = usize::try_from(entry.offset.checked_sub(start)?).ok()?;
        source.get(from..from.checked_add(entry.stored_len as usize)?)
    }
}

/// Whether a chunk is empty, inline or gathered, and so need not be read from a file.
fn in_memory(revlog: &Revlog, entry: &Entry) -> bool {
    let (chunks, start) = revlog.chunks_in_memory();
    entry.stored_len == 0 || revlog.header().inline || (!chunks.is_empty() && entry.offset >= start)
}
