//! Reading attachments, and edits that change only them.

use super::Snapshot;
use crate::edit::{Coding, Content, Edit, Incoming};
use crate::gzip;
use crate::revtree::Stored;
use crate::{Attachment, DocdbError, Rev};

impl Snapshot {
    /// Appends an attachment's stored form: gzip if [`Attachment::is_gzip`].
    ///
    /// # Errors
    /// Damage.
    pub fn attachment_stored(
        &self,
        attachment: &Attachment,
        out: &mut Vec<u8>,
    ) -> Result<(), DocdbError> {
        for chunk in &attachment.chunks {
            self.tree.read_chunk(*chunk, out)?;
        }
        Ok(())
    }

    /// Appends an attachment as clients see it.
    ///
    /// # Errors
    /// Damage.
    pub fn attachment_data(
        &self,
        attachment: &Attachment,
        out: &mut Vec<u8>,
    ) -> Result<(), DocdbError> {
        if !attachment.is_gzip {
            return self.attachment_stored(attachment, out);
        }
        let mut stored = Vec::new();
        self.attachment_stored(attachment, &mut stored)?;
        gzip::expand(&stored, attachment.length, out)
            .map_err(|_| self.damaged("gzip data", attachment.name.as_bytes()))
    }

    /// An edit of `rev` that sets one attachment (first in the list) and leaves all else; without
    /// `rev` one that makes the document. Without `data` the attachment is removed.
    ///
    /// `data` is content type, bytes, and whether the bytes are gzip already.
    ///
    /// # Errors
    /// Damage. `Ok(Err(_))` for a revision that is not there or an id that cannot be.
    pub fn attachment_edit(
        &self,
        id: &str,
        rev: Option<&Rev>,
        name: &str,
        data: Option<(String, Vec<u8>, bool)>,
    ) -> Result<Result<Edit, crate::EditError>, DocdbError> {
        let mut edit = match Edit::new(Some(id), varve_json::Object::new()) {
            Ok(edit) => edit,
            Err(error) => return Ok(Err(error)),
        };
        if name.starts_with('_') {
            return Ok(Err(crate::EditError::AttachmentName(name.to_owned())));
        }
        if let Some(rev) = rev {
            let document = self.document(id)?;
            let found = document
                .as_ref()
                .and_then(|document| document.revision(rev));
            let Some((rev, stored)) = found else {
                return Ok(Err(crate::EditError::Conflict));
            };
            self.continue_from(&mut edit, rev, stored)?;
        }
        edit.attachments
            .retain(|attachment| attachment.name != name);
        if let Some((content_type, data, is_gzip)) = data {
            let coding = match is_gzip {
                true => Coding::Gzip(None),
                false => Coding::Identity,
            };
            let first = Incoming {
                name: name.to_owned(),
                content_type,
                revpos: 0,
                content: Content::Data(data, coding),
            };
            edit.attachments.insert(0, first);
        }
        Ok(Ok(edit))
    }

    /// Makes an edit repeat a revision.
    fn continue_from(&self, edit: &mut Edit, rev: &Rev, stored: &Stored) -> Result<(), DocdbError> {
        let mut text = Vec::new();
        self.body(stored, &mut text)?;
        edit.body = varve_json::parse_object(&text).map_err(|source| DocdbError::Body {
            path: self.shared.path.clone(),
            id: edit.id.clone(),
            source,
        })?;
        edit.revs = vec![rev.clone()];
        edit.attachments = self
            .attachments(stored)?
            .into_iter()
            .map(|record| Incoming {
                name: record.name.clone(),
                content_type: record.content_type.clone(),
                revpos: record.revpos,
                content: Content::Kept(record, self.clone()),
            })
            .collect();
        Ok(())
    }
}
