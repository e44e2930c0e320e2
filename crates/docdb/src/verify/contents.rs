//! Lists of attachments, and what they refer to.

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
                return self.tell(&trouble.finding(Part::AttachmentList, hit));
            }
        };
        for record in &records {
            let tally = &mut self.report.chunks;
            let (outcome, was_known) = self.known.check(&self.walked, record, tally);
            match outcome {
                Some(trouble) => {
                    let hit = Hit::Document {
                        id: id.to_owned(),
                        rev: Some(rev.clone()),
                        attachment: Some(record.name.clone()),
                    };
                    self.tell(&trouble.finding(Part::Attachment, hit));
                }
                None => self.report.attachments += u64::from(!was_known),
            }
        }
    }

    fn attachment_list(&mut self, at: ChunkRef) -> Result<Vec<Attachment>, Trouble> {
        self.read(at)?;
        let records = decode_attachments(&self.text);
        records.map_err(|_| Trouble::new(Some(at.offset), "it does not decode"))
    }
}
