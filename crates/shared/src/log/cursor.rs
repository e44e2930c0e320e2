//! A position in a log, from which it is followed and appended to.

use super::Log;
use crate::clock::Moment;
use crate::error::SharedError;
use crate::format::{Nonce, Record, RecordBody, nonce};
use crate::store::create_distinct_if_absent;

/// Result of [`Cursor::append`].
#[derive(Debug)]
pub(crate) enum Appended {
    /// The record is in the log.
    Done,
    /// Another process has taken the slot; nothing has happened.
    SlotTaken,
}

/// The last record that this process knows.
///
/// Slots behind a checkpoint are removed one day, lowest first. A slot that was removed looks free again, so a process
/// that was paused could write into it, or take it for the end. Nothing is removed before a checkpoint behind it is older
/// than [`super::LogOptions::retention`]; so nothing that was the end of the log at [`Trust::AtEnd`] is removed within that time.
/// Where more than half of it has passed, a second request makes sure that the record here is still there, and then no
/// later one had been removed when the first request was answered.
#[derive(Debug)]
pub(crate) struct Cursor {
    pub(crate) log: Log,
    slot: u64,
    epoch: u64,
    /// Of the record in `slot`; 0 for slot 0, which no record has.
    checksum: u64,
    trust: Trust,
}

/// Reason to take the next slot for what it looks like.
#[derive(Clone, Copy, Debug)]
pub(super) enum Trust {
    /// At this moment no checkpoint was behind the position.
    AtEnd(Moment),
    /// The caller goes on to a record that it knows, to which only the right records lead.
    Chain,
}

impl Cursor {
    pub(super) fn at_start(log: Log, trust: Trust) -> Cursor {
        Cursor {
            log,
            slot: 0,
            epoch: 0,
            checksum: 0,
            trust,
        }
    }

    pub(super) fn at(log: Log, (record, checksum): (&Record, u64), trust: Trust) -> Cursor {
        let (slot, epoch) = (record.slot, record.epoch);
        Cursor {
            log,
            slot,
            epoch,
            checksum,
            trust,
        }
    }

    pub(crate) fn slot(&self) -> u64 {
        self.slot
    }

    /// Epoch of the last record; fences raise it.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Checksum of the last record.
    pub(crate) fn checksum(&self) -> u64 {
        self.checksum
    }

    /// Key of the next record.
    pub(crate) fn next_key(&self) -> String {
        self.log.keys.record(self.slot.saturating_add(1))
    }

    /// The next record, and moves behind it; `None` at the end of the log.
    ///
    /// # Errors
    /// [`SharedError::PositionCollected`], [`SharedError::Damaged`]; errors of the store.
    pub(crate) fn advance(&mut self) -> Result<Option<Record>, SharedError> {
        let asked_at = Moment::now(self.log.clock.as_ref());
        let key = self.next_key();
        let bytes = self.log.store.read(&key)?;
        self.ensure_kept()?;
        let Some(bytes) = bytes else {
            self.trust = Trust::AtEnd(asked_at);
            return Ok(None);
        };
        let decoded = Record::decode(&bytes);
        let (record, checksum) = decoded.map_err(|reason| SharedError::damaged(&key, reason))?;
        self.check_follows(&record, &key)?;
        (self.slot, self.epoch, self.checksum) = (record.slot, record.epoch, checksum);
        Ok(Some(record))
    }

    fn check_follows(&self, record: &Record, key: &str) -> Result<(), SharedError> {
        let reason = if record.slot != self.slot.saturating_add(1) {
            "it names another slot"
        } else if record.previous != self.checksum {
            "it does not follow the record before it"
        } else if record.epoch < self.epoch {
            "its epoch is older than that of the record before it"
        } else {
            return Ok(());
        };
        Err(SharedError::damaged(key, reason))
    }

    /// True if the next slot is free, and so this position the end of the log.
    ///
    /// # Errors
    /// As [`Cursor::advance`].
    pub(crate) fn is_at_end(&mut self) -> Result<bool, SharedError> {
        let asked_at = Moment::now(self.log.clock.as_ref());
        let next = self.log.store.object_len(&self.next_key())?;
        self.ensure_kept()?;
        if next.is_none() {
            self.trust = Trust::AtEnd(asked_at);
        }
        Ok(next.is_none())
    }

    /// Creates the next record and moves behind it. Each attempt has a nonce of its own, so that one after a pause that lasts
    /// longer than the retention time makes no record that others know, and whose successors were removed.
    ///
    /// # Errors
    /// [`SharedError::Unconfirmed`]: the record may be in the log. [`SharedError::PositionCollected`].
    pub(crate) fn append(&mut self, epoch: u64, body: RecordBody) -> Result<Appended, SharedError> {
        let (clock, store) = (self.log.clock.as_ref(), self.log.store.as_ref());
        let asked_at = Moment::now(clock);
        let mut record = self.record(epoch, body, nonce()?);
        let first_nonce = record.nonce;
        let mut checksums = Vec::new();
        let key = self.next_key();
        let settled = create_distinct_if_absent(store, clock, &key, |attempt| {
            record.nonce = first_nonce;
            record.nonce[0] = record.nonce[0].wrapping_add(attempt);
            let (bytes, checksum) = record.encode();
            checksums.push(checksum);
            bytes
        });
        let settled = settled.map_err(|source| SharedError::Unconfirmed { key, source })?;
        match settled.and_then(|attempt| checksums.get(usize::from(attempt))) {
            None => Ok(Appended::SlotTaken),
            Some(checksum) => {
                self.ensure_kept()?;
                self.trust = Trust::AtEnd(asked_at);
                (self.slot, self.epoch, self.checksum) = (record.slot, epoch, *checksum);
                Ok(Appended::Done)
            }
        }
    }

    fn record(&self, epoch: u64, body: RecordBody, nonce: Nonce) -> Record {
        let micros = self.log.clock.wall().as_micros();
        Record {
            slot: self.slot.saturating_add(1),
            epoch,
            time: u64::try_from(micros).unwrap_or(u64::MAX),
            previous: self.checksum,
            nonce,
            body,
        }
    }

    /// Makes sure, after a request about the next slot, that no record behind this one had been removed.
    fn ensure_kept(&self) -> Result<(), SharedError> {
        let clock = self.log.clock.as_ref();
        let trusted_for = self.log.options.retention / 2;
        match self.trust {
            Trust::AtEnd(moment) if moment.elapsed(clock) <= trusted_for => return Ok(()),
            Trust::Chain => return Ok(()),
            Trust::AtEnd(_) => {}
        }
        let is_kept = match self.slot {
            // Only a log with a checkpoint loses its first records.
            0 => self
                .log
                .store
                .list(&self.log.keys.checkpoints())?
                .is_empty(),
            slot => {
                let bytes = self.log.store.read(&self.log.keys.record(slot))?;
                let decoded = bytes.and_then(|bytes| Record::decode(&bytes).ok());
                decoded.is_some_and(|(_, checksum)| checksum == self.checksum)
            }
        };
        let log = self.log.id.to_string();
        is_kept
            .then_some(())
            .ok_or(SharedError::PositionCollected { log })
    }
}
