//! A segment that is filled piece by piece before it is stored.

use crate::error::SharedError;
use crate::format::SegmentName;
use crate::log::Log;

/// Bytes that are stored as one object once there are enough of them.
pub(super) struct SegmentWriter<'l> {
    log: &'l Log,
    /// The record that names the segments first.
    slot: u64,
    bytes: Vec<u8>,
}

impl<'l> SegmentWriter<'l> {
    pub(super) fn new(log: &'l Log, slot: u64) -> SegmentWriter<'l> {
        SegmentWriter {
            log,
            slot,
            bytes: Vec::new(),
        }
    }

    pub(super) fn slot(&self) -> u64 {
        self.slot
    }

    /// Bytes that still fit; an empty segment takes at least one, whatever the options say.
    pub(super) fn room(&self) -> usize {
        let most = self.log.options.segment_bytes.max(1);
        most.saturating_sub(self.bytes.len())
    }

    /// Appends bytes, which fit; returns where they begin.
    pub(super) fn push(&mut self, bytes: &[u8]) -> u64 {
        let offset = self.bytes.len() as u64;
        self.bytes.extend_from_slice(bytes);
        offset
    }

    /// Stores what is there, and begins a new segment; `None` if nothing is.
    ///
    /// # Errors
    /// Errors of the store.
    pub(super) fn close(&mut self) -> Result<Option<SegmentName>, SharedError> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let name = self.log.put_segment(&self.bytes, self.slot)?;
        self.bytes.clear();
        Ok(Some(name))
    }
}
