//! Forgetting revisions for good.

use super::access::{PendingAccess, leaves_of};
use crate::record::{
    ACCESS, AccessEdits, BY_ID, BY_SEQ, Change, DEFAULT_LIMIT, Header, LIMIT_KEY, PURGES, Purge,
    decode_limit, encode_limit,
};
use crate::{DocdbError, Rev, Snapshot};
use std::collections::BTreeMap;
use std::path::Path;
use varve_btree::Transaction;
use varve_codec::EngineSetting;

/// Changes of a tree.
type Edits<K> = Vec<(K, Option<Vec<u8>>)>;

/// Revisions by document.
pub(crate) type Wanted = BTreeMap<String, Vec<Rev>>;

/// A commit that forgets revisions, or changes how many purges are kept.
pub(crate) struct Purging<'f> {
    txn: Transaction<'f>,
    path: &'f Path,
    header: Header,
    limit: u64,
}

impl<'f> Purging<'f> {
    /// `configured` counts where the database has no compression of its own.
    pub(crate) fn begin(
        mut txn: Transaction<'f>,
        path: &'f Path,
        configured: EngineSetting,
    ) -> Result<Self, DocdbError> {
        let before = Snapshot::new(txn.base().clone(), path)?;
        let setting = before.header().chosen.unwrap_or(configured);
        txn.compress_nodes_by(setting.fastest())?;
        Ok(Purging {
            limit: before.purges_limit()?,
            header: before.header().clone(),
            txn,
            path,
        })
    }

    /// Forgets those of the revisions that are leaves; returns them by document.
    pub(crate) fn purge(mut self, wanted: Wanted) -> Result<(Snapshot, Wanted), DocdbError> {
        let ids: Vec<&String> = wanted.keys().collect();
        let (mut by_id, mut by_seq, mut added) = (Edits::new(), Edits::new(), Edits::new());
        let mut done = Wanted::new();
        let before = Snapshot::new(self.txn.base().clone(), self.path)?;
        let found = self.txn.get_many(BY_ID, &ids)?;
        let mut access = self.access_of(&before, &ids)?;
        let mut access_edits = AccessEdits::new();
        for ((id, revs), item) in wanted.iter().zip(found) {
            let pending = access.as_mut().and_then(Iterator::next);
            let purged = done.entry(id.clone()).or_default();
            let Some(item) = item else { continue };
            let mut record = before.record(id.as_bytes(), item.value())?;
            *purged = record.tree.purge(revs);
            if purged.is_empty() {
                continue;
            }
            if let Some(pending) = pending {
                pending.finish(id, &record.tree, &self.txn, &mut access_edits)?;
            }
            by_seq.push((record.seq.to_be_bytes(), None));
            self.header.update_seq += 1;
            record.seq = self.header.update_seq;
            let Some(change) = Change::of(id, record.seq, &record.tree) else {
                by_id.push((id.as_str(), None));
                continue;
            };
            by_id.push((id.as_str(), Some(record.write(&mut self.txn)?)));
            let mut row = Vec::new();
            change.encode(&mut row);
            added.push((record.seq.to_be_bytes(), Some(row)));
        }
        by_seq.sort_by_key(|(seq, _)| *seq);
        // Every new sequence is above every old one, and they were given in order.
        by_seq.append(&mut added);
        self.txn.update(BY_ID, &by_id)?;
        self.txn.update(BY_SEQ, &by_seq)?;
        if !access_edits.is_empty() {
            let edits: Edits<_> = access_edits.into_iter().collect();
            self.txn.update(ACCESS, &edits)?;
        }
        self.remember(&wanted)?;
        Ok((self.commit()?, done))
    }

    /// Names that may see the documents, in a database with access.
    fn access_of(
        &self,
        before: &Snapshot,
        ids: &[&String],
    ) -> Result<Option<impl Iterator<Item = PendingAccess> + use<>>, DocdbError> {
        if !self.header.has_access {
            return Ok(None);
        }
        let ids: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
        let leaves = leaves_of(&self.txn, &ids, |id| before.damaged("access", id))?;
        Ok(Some(leaves.into_iter().map(PendingAccess::new)))
    }

    /// Keeps that many purges from now on.
    pub(crate) fn set_limit(mut self, limit: u64) -> Result<Snapshot, DocdbError> {
        let value = encode_limit(limit);
        self.txn.update(PURGES, &[(LIMIT_KEY, Some(value))])?;
        self.limit = limit;
        self.remember(&Wanted::new())?;
        self.commit()
    }

    /// Adds purges behind those that are there, and drops the oldest above the limit.
    fn remember(&mut self, wanted: &Wanted) -> Result<(), DocdbError> {
        let before = self.header.purge_seq;
        let last = before.saturating_add(wanted.len() as u64);
        let first_kept = last.saturating_sub(self.limit) + 1;
        let has_limit = self.txn.get(PURGES, LIMIT_KEY)?.is_some();
        let known = self.txn.len(PURGES)? - u64::from(has_limit);
        let first_known = before.saturating_sub(known) + 1;
        let dropped = first_known..first_kept.min(before + 1);
        let mut edits: Edits<[u8; 8]> = dropped.map(|seq| (Purge::key(seq), None)).collect();
        for (seq, (id, revs)) in (before + 1..).zip(wanted) {
            if seq < first_kept {
                continue;
            }
            let mut value = Vec::new();
            let purge = Purge {
                seq,
                id: id.clone(),
                revs: revs.clone(),
            };
            purge.encode(&mut value);
            edits.push((Purge::key(seq), Some(value)));
        }
        self.header.purge_seq = last;
        Ok(self.txn.update(PURGES, &edits)?)
    }

    fn commit(mut self) -> Result<Snapshot, DocdbError> {
        let chunk_stats = self.header.chunk_stats;
        self.header.chunk_stats =
            chunk_stats.map(|chunk_stats| chunk_stats.plus(self.txn.chunk_stats()));
        self.txn.set_user_header(&self.header.encode());
        Snapshot::new(self.txn.commit()?, self.path)
    }
}

impl Snapshot {
    /// How many purges are kept.
    ///
    /// # Errors
    /// Damage.
    pub fn purges_limit(&self) -> Result<u64, DocdbError> {
        match self.tree().get(PURGES, LIMIT_KEY)? {
            Some(item) => decode_limit(item.value()).map_err(|_| self.damaged("limit", b"purges")),
            None => Ok(DEFAULT_LIMIT),
        }
    }
}
