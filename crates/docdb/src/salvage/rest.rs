//! Records that are no documents: the security object, local documents, purges.

use super::{LEFT_OUT, Salvage};
use crate::DocdbError;
use crate::record::{
    LIMIT_KEY, LOCAL, LOCAL_PREFIX, LocalBody, LocalRecord, PURGES, Purge, decode_limit,
};
use crate::verify::{Hit, Part, Trouble};
use varve_btree::{Loader, Visited};

impl Salvage<'_, '_> {
    pub(super) fn security(&mut self) -> Result<(), DocdbError> {
        let Some(at) = self.from.header().security else {
            return Ok(());
        };
        match self.read_json(at) {
            Ok(()) => self.header.security = Some(self.append_text()?),
            Err(trouble) => self.report(trouble, Part::Security, Hit::Database, LEFT_OUT),
        }
        Ok(())
    }

    /// Copies the items of a tree; `item` gives each its new value, if it can be kept.
    fn items(
        &mut self,
        tree: usize,
        mut item: impl FnMut(&mut Self, &[u8], &[u8]) -> Result<Option<Vec<u8>>, DocdbError>,
    ) -> Result<(), DocdbError> {
        let walked = self.walked.clone();
        let mut loader = Loader::new(tree);
        walked.tree().visit_reachable(tree, &mut |met| {
            self.watch.check()?;
            match met {
                Visited::Entry { key, value, .. } => {
                    if let Some(value) = item(self, key, value)? {
                        loader.push(&mut self.txn, key, &value)?;
                    }
                }
                Visited::Lost(lost) => {
                    let finding = crate::verify::lost_node(tree, &lost);
                    let trouble = Trouble::new(finding.offset, finding.reason);
                    self.report(trouble, finding.part, finding.hit, LEFT_OUT);
                }
                Visited::Node { .. } | Visited::Mismatched { .. } => {}
            }
            Ok::<_, DocdbError>(())
        })?;
        Ok(loader.finish(&mut self.txn)?)
    }

    pub(super) fn locals(&mut self) -> Result<(), DocdbError> {
        self.items(LOCAL, |this, key, value| {
            let local = match this.local(key, value)? {
                Ok(value) => value,
                Err(trouble) => {
                    let id = format!("{LOCAL_PREFIX}{}", String::from_utf8_lossy(key));
                    this.report(trouble, Part::LocalDocument, Hit::document(&id), LEFT_OUT);
                    return Ok(None);
                }
            };
            this.report.local_documents += 1;
            Ok(Some(local))
        })
    }

    /// The value of a local document in the new file.
    fn local(&mut self, key: &[u8], value: &[u8]) -> Result<Result<Vec<u8>, Trouble>, DocdbError> {
        let record = LocalRecord::decode(value);
        let (Ok(mut record), true) = (record, std::str::from_utf8(key).is_ok()) else {
            return Ok(Err(Trouble::new(None, "it does not decode")));
        };
        match &record.body {
            LocalBody::Inline(text) => {
                if let Err(trouble) = Trouble::of_json(text, None) {
                    return Ok(Err(trouble));
                }
            }
            LocalBody::Chunk(at) => match self.read_json(*at) {
                Ok(()) => record.body = LocalBody::Chunk(self.append_text()?),
                Err(trouble) => return Ok(Err(trouble)),
            },
        }
        let mut value = Vec::new();
        record.encode(&mut value);
        Ok(Ok(value))
    }

    pub(super) fn purges(&mut self) -> Result<(), DocdbError> {
        let last = self.from.purge_seq();
        self.items(PURGES, |this, key, value| {
            let is_good = match key == LIMIT_KEY {
                true => decode_limit(value).is_ok(),
                false => Purge::decode(key, value).is_ok_and(|purge| purge.seq <= last),
            };
            if is_good {
                return Ok(Some(value.to_vec()));
            }
            let trouble = Trouble::new(None, "one does not decode");
            this.report(trouble, Part::Purge, Hit::Database, LEFT_OUT);
            Ok(None)
        })
    }
}
