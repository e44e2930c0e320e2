//! Local documents.

use super::Snapshot;
use super::access::prefix_bounds;
use crate::DocdbError;
use crate::record::{LOCAL, LOCAL_PREFIX, LocalBody, LocalRecord};
use std::ops::Bound;
use varve_btree::{Direction, Range, TreeEntry};

/// A document without history, which is not replicated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalDocument {
    /// Its id, with `_local/`.
    pub id: String,
    /// Its revision, such as `0-3`.
    pub rev: String,
    /// Its JSON text, without the members that begin with `_`.
    pub body: Vec<u8>,
}

/// Local documents by id.
#[derive(Debug)]
pub struct LocalDocuments {
    snapshot: Snapshot,
    range: Range,
    /// Prefix of the ids that are looked at.
    prefix: String,
}

impl Snapshot {
    /// A local document; `id` with or without `_local/`.
    ///
    /// # Errors
    /// Damage.
    pub fn local(&self, id: &str) -> Result<Option<LocalDocument>, DocdbError> {
        let key = id.strip_prefix(LOCAL_PREFIX).unwrap_or(id);
        let Some(prefix) = self.viewer.local_prefix() else {
            return Ok(None);
        };
        let key = [prefix.as_str(), key].concat();
        let item = self.tree.get(LOCAL, key.as_bytes())?;
        item.map(|item| self.local_of(&prefix, &item)).transpose()
    }

    /// Local documents within a run of ids, which begin behind `_local/`.
    ///
    /// # Errors
    /// Damage; the iterator gives an error at most once and then ends.
    pub fn local_docs(
        &self,
        low: Bound<&str>,
        high: Bound<&str>,
        direction: Direction,
    ) -> Result<LocalDocuments, DocdbError> {
        let prefix = self.viewer.local_prefix();
        let within = (low.map(str::as_bytes), high.map(str::as_bytes));
        let (low, high) = match &prefix {
            Some(prefix) => prefix_bounds(prefix.as_bytes(), within),
            // Nothing is below the least key.
            None => (Bound::Unbounded, Bound::Excluded(Vec::new())),
        };
        let bounds = (
            low.as_ref().map(Vec::as_slice),
            high.as_ref().map(Vec::as_slice),
        );
        Ok(LocalDocuments {
            range: self.tree.range(LOCAL, bounds, direction)?,
            snapshot: self.clone(),
            prefix: prefix.unwrap_or_default(),
        })
    }

    fn local_of(&self, prefix: &str, item: &TreeEntry) -> Result<LocalDocument, DocdbError> {
        let damaged = || self.damaged("local document", item.key());
        let record = LocalRecord::decode(item.value()).map_err(|_| damaged())?;
        let key = std::str::from_utf8(item.key()).map_err(|_| damaged())?;
        let key = key.strip_prefix(prefix).unwrap_or(key);
        let body = match record.body {
            LocalBody::Inline(text) => text,
            LocalBody::Chunk(at) => {
                let mut text = Vec::new();
                self.tree.read_chunk(at, &mut text)?;
                text
            }
        };
        Ok(LocalDocument {
            id: format!("{LOCAL_PREFIX}{key}"),
            rev: format!("0-{}", record.rev),
            body,
        })
    }
}

impl Iterator for LocalDocuments {
    type Item = Result<LocalDocument, DocdbError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(match self.range.next()? {
            Ok(item) => self.snapshot.local_of(&self.prefix, &item),
            Err(error) => Err(error.into()),
        })
    }
}
