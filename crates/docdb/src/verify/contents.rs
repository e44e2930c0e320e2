//! Lists of attachments, and the data they refer to.

use super::attachments::check_attachment;
use super::finding::Trouble;
use super::{Hit, Part, Verifier};
use crate::record::decode_attachments;
use crate::{Attachment, Rev};
use varve_btree::ChunkRef;

impl Verifier<'_, '_> {
    /// Checks the attachments of one revision.
    pub(super) fn attachments(&mut self, id: &str, rev: &Rev, list: ChunkRef) {
        let records = self.attachment_list(list);
        let records = match records {
            Ok(records) => records,
            Err(trouble) => {
                let hit = Hit::revision(id, rev);
                return self.report(&trouble.finding(Part::AttachmentList, hit));
            }
        };
        for record in &records {
            if let Some(trouble) = self.attachment(record) {
                let hit = Hit::attachment(id, rev, &record.name);
                self.report(&trouble.finding(Part::Attachment, hit));
            }
        }
    }

    /// Whether an attachment agrees with its list; its chunks are counted the first time.
    fn attachment(&mut self, record: &Attachment) -> Option<Trouble> {
        let key = self.known.key(record);
        if let Some(known) = self.known.get(key) {
            return known;
        }
        let outcome = check_attachment(&self.walked, record, &mut self.report.chunks).err();
        self.report.attachments += u64::from(outcome.is_none());
        self.known.put(key, outcome.clone());
        outcome
    }

    fn attachment_list(&mut self, at: ChunkRef) -> Result<Vec<Attachment>, Trouble> {
        self.read(at)?;
        let records = decode_attachments(&self.text);
        records.map_err(|_| Trouble::new(Some(at.offset), "it does not decode"))
    }
}
