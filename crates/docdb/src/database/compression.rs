//! How a database is compressed.

use super::{Database, TrainsBy};
use crate::bodies::BodyCodec;
use crate::record::DictionaryRecord;
use crate::write::Job;
use crate::{DocdbError, Snapshot};
use std::sync::Arc;
use varve_btree::ChunkStats;
use varve_codec::{CodecId, EngineSetting};

/// Properties of a dictionary in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DictionaryInfo {
    /// Number by which chunks name it.
    pub number: u32,
    /// Bytes that its chunk takes in the file; there is a copy of it.
    pub stored: u64,
    /// When it was trained, in microseconds since 1970.
    pub trained: u64,
    /// How many documents there were then.
    pub documents: u64,
}

/// How a database is compressed, and its compressed sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Compression {
    /// Setting of bodies from now on.
    pub setting: EngineSetting,
    /// Whether the setting is the database's own, and not the server's.
    pub is_own: bool,
    /// The setting of all bodies in the file; `None` where they differ, or it is not known.
    pub found: Option<EngineSetting>,
    /// All chunks and tree nodes in the file; `None` if an earlier version made it, until it is
    /// compacted.
    pub chunk_stats: Option<ChunkStats>,
    /// The dictionaries in the file; the last one is used for new bodies, if it is zstd.
    pub dictionaries: Vec<DictionaryInfo>,
    /// Bytes of the leaves' JSON texts before compression, and of attachments.
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
        let configured = self.shared.options.current_setting();
        snapshot.header().chosen.unwrap_or(configured)
    }

    pub(crate) fn body_codec_of(&self, snapshot: &Snapshot) -> BodyCodec {
        snapshot.method(self.shared.options.current_setting())
    }

    /// The options say that bodies are compressed without one.
    pub(crate) fn uses_no_dictionary(&self) -> bool {
        self.shared.options.trains == TrainsBy::Nothing
    }

    /// A number that no dictionary of this database has.
    pub(crate) fn dictionary_number(&self) -> u32 {
        self.shared.training.number()
    }

    /// Trains a dictionary on the present documents, and stores it if it pays; whether it did. Otherwise this is done
    /// by itself, or by the next compaction.
    ///
    /// # Errors
    /// Damage; as [`Database::update`].
    pub fn train(&self) -> Result<bool, DocdbError> {
        let snapshot = self.snapshot();
        let method = self.body_codec_of(&snapshot);
        if method.setting.codec() != CodecId::Zstd || self.uses_no_dictionary() {
            return Ok(false);
        }
        let trained = crate::training::on_request(&snapshot.uncached(), &method)?;
        let pays = trained.is_some();
        self.shared.training.end(Ok(trained), &snapshot);
        if pays {
            self.submit(Job::Dictionary)?;
        }
        Ok(pays)
    }

    /// Begins to train where it is time to. The thread does not keep the database open: it
    /// reads, and never writes.
    pub(super) fn consider_training(&self, snapshot: Snapshot) {
        let (training, method) = (&self.shared.training, self.body_codec_of(&snapshot));
        if self.shared.options.trains != TrainsBy::Itself {
            return;
        }
        let Some(turn) = training.turn(&snapshot, &method) else {
            return;
        };
        let shared = Arc::downgrade(&self.shared);
        let thread = std::thread::Builder::new().name("dictionary".to_owned());
        // Without a thread another commit will try.
        let _ = thread.spawn(move || {
            let trained = crate::training::in_passing(&snapshot.uncached(), &method);
            if let Some(shared) = shared.upgrade() {
                shared.training.end(trained, &snapshot);
            }
            drop(turn);
        });
    }

    /// Sets how this database is compressed, whatever its options say; `None` leaves it to them again. It counts for
    /// later writes; the next compaction brings it to the rest.
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
            chunk_stats: header.chunk_stats,
            dictionaries: header.dictionaries.iter().map(info_of).collect(),
            external: info.external,
            stored: info.documents_active,
        })
    }
}

fn info_of(record: &DictionaryRecord) -> DictionaryInfo {
    DictionaryInfo {
        number: record.number,
        stored: u64::from(record.place.len),
        trained: record.trained,
        documents: record.documents,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DatabaseOptions, Edit, Mode, NodeCache};
    use std::path::Path;
    use varve_base::{Interrupt, MemoryStorage, Silent};

    fn edits(numbers: std::ops::Range<u32>) -> Vec<Edit> {
        let texts = numbers.map(|number| {
            let words = "a text that all of them have, and few others do".repeat(3);
            format!(r#"{{"_id":"{number:05}","words":"{words}","n":{number}}}"#)
        });
        texts
            .map(|text| Edit::parse(None, text.as_bytes()).unwrap())
            .collect()
    }

    #[test]
    fn an_edit_whose_dictionary_has_gone_meanwhile_is_stored_all_the_same() {
        let options = DatabaseOptions::new(EngineSetting::ZSTD, NodeCache::new(1 << 20));
        let storage = Arc::new(MemoryStorage::default());
        let db = Database::create(storage, Path::new("db.varve"), &options).unwrap();
        db.update(edits(0..1500), Mode::Interactive).unwrap();
        assert!(db.train().unwrap());
        let snapshot = db.snapshot();
        let method = db.body_codec_of(&snapshot);
        let preparer = &db.shared.preparer;
        let mode = Mode::Interactive;
        let prepared = preparer.prepare(edits(1500..1501), mode, &method, &snapshot);
        let prepared = prepared.unwrap();
        assert!(
            matches!(&prepared[0].text, crate::edit::Text::Chunk(chunk) if chunk.dictionary() == Some(1))
        );
        db.set_compression(Some(EngineSetting::SNAPPY)).unwrap();
        db.compact(&Silent, &Interrupt::default()).unwrap();
        assert!(db.compression().unwrap().dictionaries.is_empty());
        db.submit(Job::Edits(prepared)).unwrap();
        let document = db.snapshot().document("01500").unwrap().unwrap();
        let (_, stored) = document.winner().unwrap();
        let mut body = Vec::new();
        db.snapshot().body(stored, &mut body).unwrap();
        assert!(body.ends_with(br#","n":1500}"#));
        // It was compressed by another setting than the others are.
        assert_eq!(db.compression().unwrap().found, None);
    }
}
