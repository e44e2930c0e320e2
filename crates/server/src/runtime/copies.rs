//! The room that local copies of logs take, and those that can go.

use super::SharedLogs;
use super::shared_logs::LogState;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Instant;

/// Bytes of a block, in which systems count the room of files.
const BLOCK: u64 = 512;

/// A local copy and its room.
#[derive(Debug)]
pub(crate) struct CopyUse {
    pub(crate) name: String,
    /// Bytes on the disk; ranges that were not fetched take none.
    pub(crate) bytes: u64,
    pub(crate) last_use: Instant,
}

impl SharedLogs {
    /// All local copies, in no order.
    pub(crate) fn copies(&self) -> Vec<CopyUse> {
        let logs = self.open_logs();
        let of = |(name, log): (String, super::OpenLog)| CopyUse {
            name,
            // What cannot be read is not there to be removed either.
            bytes: room_of(log.copy.path()).unwrap_or_default(),
            last_use: log.storage.last_check(),
        };
        logs.into_iter().map(of).collect()
    }

    /// Removes a copy if nothing uses it; the thing is fetched again when it is asked for. Returns true if it is gone.
    pub(crate) fn drop_copy(&self, name: &str) -> bool {
        let Some(LogState::Open(log)) = self.take_if(name, |log| log.storage.is_unused()) else {
            return false;
        };
        // What is left was never acknowledged.
        let _ = log.storage.release();
        true
    }
}

fn room_of(directory: &Path) -> io::Result<u64> {
    let mut room = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let found = entry.metadata()?;
        room += match found.is_dir() {
            true => room_of(&entry.path())?,
            false => found.blocks() * BLOCK,
        };
    }
    Ok(room)
}
