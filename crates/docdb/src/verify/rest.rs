//! Records that are no documents: dictionaries, the security object, local documents, purges.

use super::finding::Trouble;
use super::{Hit, Part, Verifier};
use crate::DocdbError;
use crate::read::LONGEST_DICTIONARY;
use crate::record::{
    DictionaryRecord, LIMIT_KEY, LOCAL, LOCAL_PREFIX, LocalBody, LocalRecord, PURGES, Purge,
    decode_limit,
};
use varve_btree::ChunkRef;
use varve_codec::Dictionary;

impl Verifier<'_, '_> {
    /// Checks the dictionaries that the header names.
    pub(super) fn dictionaries(&mut self) {
        let header = self.snapshot.header().clone();
        for record in &header.dictionaries {
            let places = [record.place, record.copy()];
            let outcomes = places.map(|at| self.dictionary(record, at, header.next_dictionary));
            let words = match &outcomes {
                [Err(_), Err(_)] => "all bodies that need it cannot be read",
                [Err(_), Ok(())] => "there is a copy of it",
                _ => "it is the copy of one that can be read",
            };
            for mut trouble in outcomes.into_iter().filter_map(Result::err) {
                trouble.reason = format!("{}; {words}", trouble.reason);
                let hit = Hit::Number(record.number.into());
                self.report(&trouble.finding(Part::Dictionary, hit));
            }
        }
    }

    fn dictionary(
        &mut self,
        record: &DictionaryRecord,
        at: ChunkRef,
        next: u32,
    ) -> Result<(), Trouble> {
        self.read(at)?;
        let wrong = |reason: &str| Err(Trouble::new(Some(at.offset), reason));
        if self.text.len() > LONGEST_DICTIONARY {
            return wrong("it is longer than any dictionary may be");
        }
        if Dictionary::from_bytes(&self.text).number() != record.number || record.number >= next {
            return wrong("it has another number than the header says");
        }
        Ok(())
    }

    /// Checks the security object, if there is one.
    pub(super) fn security(&mut self) {
        let at = self.snapshot.header().security;
        if let Some(Err(trouble)) = at.map(|at| self.body(at)) {
            self.report(&trouble.finding(Part::Security, Hit::Database));
        }
    }

    /// Checks the local documents.
    pub(super) fn locals(&mut self) -> Result<(), DocdbError> {
        self.walk(LOCAL, |this, key, value, leaf| {
            this.report.local_documents += 1;
            if let Err(trouble) = this.local(key, value, leaf) {
                let id = format!("{LOCAL_PREFIX}{}", String::from_utf8_lossy(key));
                this.report(&trouble.finding(Part::LocalDocument, Hit::document(&id)));
            }
            Ok(())
        })
    }

    fn local(&mut self, key: &[u8], value: &[u8], leaf: ChunkRef) -> Result<(), Trouble> {
        let malformed = Trouble::new(Some(leaf.offset), "it does not decode");
        let record = LocalRecord::decode(value);
        let (Ok(record), true) = (record, std::str::from_utf8(key).is_ok()) else {
            return Err(malformed);
        };
        match record.body {
            LocalBody::Chunk(at) => self.body(at),
            LocalBody::Inline(text) => Trouble::of_json(&text, Some(leaf.offset)),
        }
    }

    /// Checks the purges that are remembered.
    pub(super) fn purges(&mut self) -> Result<(), DocdbError> {
        let last = self.snapshot.purge_seq();
        self.walk(PURGES, |this, key, value, leaf| {
            if key == LIMIT_KEY {
                if decode_limit(value).is_err() {
                    let reason = "how many are kept does not decode";
                    this.find(Part::Purge, Some(leaf.offset), Hit::Database, reason);
                }
                return Ok(());
            }
            this.report.purges += 1;
            let (hit, reason) = match Purge::decode(key, value) {
                Ok(purge) if purge.seq > last => (
                    Hit::Number(purge.seq),
                    "its number is not one that was given",
                ),
                Ok(_) => return Ok(()),
                Err(_) => (Hit::Database, "one does not decode"),
            };
            this.find(Part::Purge, Some(leaf.offset), hit, reason);
            Ok(())
        })
    }
}
