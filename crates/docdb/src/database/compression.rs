//! How a database is compressed.

use super::Database;
use crate::write::Job;
use crate::{DocdbError, Snapshot};
use varve_btree::Tally;
use varve_codec::EngineSetting;

/// How a database is compressed, and what that gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Compression {
    /// What is written from now on.
    pub setting: EngineSetting,
    /// Whether the database itself was told so, and not the server.
    pub is_own: bool,
    /// The setting of all bodies in the file; `None` where they differ, or it is not known.
    pub found: Option<EngineSetting>,
    /// All chunks and tree nodes in the file; `None` if an earlier version made it, until it is
    /// compacted.
    pub tally: Option<Tally>,
    /// Bytes of the leaves' JSON texts and attachments before compression.
    pub external: u64,
    /// The bytes that these take in the file.
    pub stored: u64,
}

impl Compression {
    /// How many bytes stand for one in the file; `None` without any.
    pub fn ratio(&self) -> Option<f64> {
        (self.stored > 0).then(|| self.external as f64 / self.stored as f64)
    }
}

impl Database {
    /// How bodies and tree nodes are compressed from now on.
    pub fn setting(&self) -> EngineSetting {
        self.setting_of(&self.snapshot())
    }

    pub(crate) fn setting_of(&self, snapshot: &Snapshot) -> EngineSetting {
        let configured = self.shared.options.setting;
        snapshot.header().chosen.unwrap_or(configured)
    }

    /// Sets how this database is compressed, whatever its options say; `None` leaves it to them
    /// again. It counts for what is written from now on; the next compaction brings it to the rest.
    ///
    /// # Errors
    /// As [`Database::update`].
    pub fn set_compression(&self, chosen: Option<EngineSetting>) -> Result<(), DocdbError> {
        self.submit(Job::Compression(chosen)).map(drop)
    }

    /// How the database is compressed.
    ///
    /// # Errors
    /// Damage.
    pub fn compression(&self) -> Result<Compression, DocdbError> {
        let snapshot = self.snapshot();
        let info = snapshot.info()?;
        let header = snapshot.header();
        Ok(Compression {
            setting: self.setting_of(&snapshot),
            is_own: header.chosen.is_some(),
            found: header.setting,
            tally: header.tally,
            external: info.external,
            stored: info.documents_active,
        })
    }
}
