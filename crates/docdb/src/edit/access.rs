//! `_access` of an edit in a database with access.

use super::Edit;
use crate::access::{AccessError, names_of};

/// Names of those who may see the revision that an edit makes.
#[derive(Debug)]
pub(crate) struct EditAccess {
    /// Sorted, each once.
    pub(crate) names: Vec<String>,
    /// The list as JSON, as it came in.
    pub(crate) text: Vec<u8>,
}

impl EditAccess {
    /// Reads `_access`, and refuses it if its author is not in it; `None` for an edit without one. A deletion needs
    /// none: it is for those who could see what it deletes.
    pub(super) fn of(edit: &Edit) -> Result<Option<EditAccess>, AccessError> {
        let author = &edit.author;
        if edit.is_local() {
            return match (&edit.access, author.local_prefix()) {
                (Some(_), _) => Err(AccessError::Local),
                (None, None) => Err(AccessError::AuthorNotNamed),
                (None, Some(_)) => Ok(None),
            };
        }
        let Some(value) = &edit.access else {
            return match author.sees_all() || edit.deleted && author.user().is_some() {
                true => Ok(None),
                false => Err(AccessError::AuthorNotNamed),
            };
        };
        let names = names_of(value)?;
        if !author.sees(&names) {
            return Err(AccessError::AuthorNotNamed);
        }
        let mut text = Vec::new();
        varve_json::write(value, &mut text);
        Ok(Some(EditAccess { names, text }))
    }
}
