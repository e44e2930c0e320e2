//! Reduction in inner nodes of the tree by id: four varints.
//!
//! ```text
//! +------+---------+--------+----------+
//! | live | deleted | active | external |
//! +------+---------+--------+----------+
//! ```

use super::document::DocumentHead;
use crate::record::fields::{self, Malformed, Reader};
use varve_btree::Reducer;

/// Counts and sizes of some documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) live: u64,
    pub(crate) deleted: u64,
    pub(crate) active: u64,
    pub(crate) external: u64,
}

impl Totals {
    fn add(&mut self, other: Totals) {
        self.live = self.live.saturating_add(other.live);
        self.deleted = self.deleted.saturating_add(other.deleted);
        self.active = self.active.saturating_add(other.active);
        self.external = self.external.saturating_add(other.external);
    }

    fn encode(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(16);
        for number in [self.live, self.deleted, self.active, self.external] {
            fields::put(number, &mut out);
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Totals, Malformed> {
        let mut reader = Reader::new(bytes);
        Ok(Totals {
            live: reader.number()?,
            deleted: reader.number()?,
            active: reader.number()?,
            external: reader.number()?,
        })
    }
}

/// Counts documents and adds up their sizes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DocumentReducer;

// A value that does not decode counts as nothing here; reading the document reports the damage.
impl Reducer for DocumentReducer {
    fn leaf(&self, items: &mut dyn Iterator<Item = (&[u8], &[u8])>) -> Vec<u8> {
        let mut totals = Totals::default();
        for (_, value) in items {
            if let Ok(head) = DocumentHead::decode(&mut Reader::new(value)) {
                totals.add(Totals {
                    live: u64::from(!head.deleted),
                    deleted: u64::from(head.deleted),
                    active: head.active,
                    external: head.external,
                });
            }
        }
        totals.encode()
    }

    fn combine(&self, parts: &[&[u8]]) -> Vec<u8> {
        let mut totals = Totals::default();
        for part in parts {
            totals.add(Totals::decode(part).unwrap_or_default());
        }
        totals.encode()
    }
}
