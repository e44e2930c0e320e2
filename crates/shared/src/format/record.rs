//! The object in one slot of a log.
//!
//! ```text
//! body: slot varint | epoch varint | time varint, microseconds since 1970 | previous u64 little-endian, checksum of the
//!       record in the slot before, 0 in slot 1 | nonce 16 bytes | kind u8
//!       kind 1, fence:       nothing more
//!       kind 2, operations:  count varint, then each operation
//!       kind 3, checkpoint:  nonce 16 bytes of the checkpoint's name
//! ```

use super::envelope::{self, MAGIC_LEN};
use super::{CheckpointName, Nonce, Operation};
use varve_base::varint::{self, Reader};

const MAGIC: [u8; MAGIC_LEN] = *b"vrv-log\n";
const FENCE: u8 = 1;
const OPERATIONS: u8 = 2;
const CHECKPOINT: u8 = 3;

/// The part of a record that concerns files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RecordBody {
    /// The writer of this record owns the log from here on.
    Fence,
    /// A commit.
    Operations(Vec<Operation>),
    /// The checkpoint of this slot and nonce counts from here on.
    Checkpoint(Nonce),
}

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) slot: u64,
    pub(crate) epoch: u64,
    /// Microseconds since 1970 by the writer's clock; for people and restores, never for an order.
    pub(crate) time: u64,
    /// Checksum of the record before.
    pub(crate) previous: u64,
    pub(crate) nonce: Nonce,
    pub(crate) body: RecordBody,
}

impl Record {
    /// Bytes and checksum.
    pub(crate) fn encode(&self) -> (Vec<u8>, u64) {
        let mut out = envelope::begin(MAGIC);
        varint::put(self.slot, &mut out);
        varint::put(self.epoch, &mut out);
        varint::put(self.time, &mut out);
        out.extend_from_slice(&self.previous.to_le_bytes());
        out.extend_from_slice(&self.nonce);
        match &self.body {
            RecordBody::Fence => out.push(FENCE),
            RecordBody::Operations(operations) => {
                out.push(OPERATIONS);
                varint::put(operations.len() as u64, &mut out);
                for operation in operations {
                    operation.put(&mut out);
                }
            }
            RecordBody::Checkpoint(nonce) => {
                out.push(CHECKPOINT);
                out.extend_from_slice(nonce);
            }
        }
        let checksum = envelope::seal(&mut out);
        (out, checksum)
    }

    /// A record and its checksum.
    ///
    /// # Errors
    /// The rule that the bytes break.
    pub(crate) fn decode(bytes: &[u8]) -> Result<(Record, u64), &'static str> {
        let (body, checksum) = envelope::open(bytes, MAGIC)?;
        let mut reader = Reader::new(body);
        let record = read(&mut reader).ok_or("its fields are not those of a record")?;
        match reader.is_empty() {
            true => Ok((record, checksum)),
            false => Err("it has bytes behind its end"),
        }
    }

    /// The checkpoint that this record announces.
    pub(crate) fn announced(&self) -> Option<CheckpointName> {
        match self.body {
            RecordBody::Checkpoint(nonce) => Some(CheckpointName {
                slot: self.slot,
                nonce,
            }),
            _ => None,
        }
    }
}

fn read(reader: &mut Reader<'_>) -> Option<Record> {
    let (slot, epoch, time) = (reader.u64()?, reader.u64()?, reader.u64()?);
    let previous = u64::from_le_bytes(*reader.array()?);
    let nonce = *reader.array()?;
    let body = match reader.byte()? {
        FENCE => RecordBody::Fence,
        OPERATIONS => {
            // A claimed count reserves nothing: each operation takes bytes that must be there.
            let count = reader.u64()?;
            let mut operations = Vec::new();
            for _ in 0..count {
                operations.push(Operation::read(reader)?);
            }
            RecordBody::Operations(operations)
        }
        CHECKPOINT => RecordBody::Checkpoint(*reader.array()?),
        _ => return None,
    };
    Some(Record {
        slot,
        epoch,
        time,
        previous,
        nonce,
        body,
    })
}

#[cfg(test)]
mod tests;
