//! Documents as JSON text for functions.

use varve_docdb::{DESIGN_PREFIX, Document, Rev, Snapshot, Stored};

use crate::Failure;
use crate::couch::document::options::Extras;
use crate::couch::document::render::Shown;
use crate::couch::failures;

/// A revision as a document's text, with stubs of its attachments.
///
/// # Errors
/// 500 if it cannot be read.
pub fn text_of(
    snapshot: &Snapshot,
    id: &str,
    rev: &Rev,
    stored: &Stored,
) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    let shown = Shown {
        snapshot,
        id,
        rev,
        stored,
        document: None,
        extras: Extras::default(),
        whole_after: 0,
    };
    shown.write_whole(&mut text)?;
    Ok(text)
}

/// The JSON text of one of a document's revisions, with those before it.
///
/// # Errors
/// 500 if it cannot be read.
pub fn text_with_history(
    snapshot: &Snapshot,
    document: &Document,
    rev: &Rev,
    stored: &Stored,
) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    let shown = Shown {
        snapshot,
        id: document.id(),
        rev,
        stored,
        document: Some(document),
        extras: Extras {
            revs: true,
            ..Extras::default()
        },
        whole_after: 0,
    };
    shown.write_whole(&mut text)?;
    Ok(text)
}

/// The JSON text of the design document of that name.
///
/// # Errors
/// 404 if there is none; 500 if it cannot be read.
pub fn design_text(snapshot: &Snapshot, name: &str) -> Result<Vec<u8>, Failure> {
    let document = snapshot.document(&format!("{DESIGN_PREFIX}{name}"))?;
    let document = document.ok_or_else(failures::missing)?;
    if document.is_deleted() {
        return Err(failures::deleted());
    }
    let (rev, stored) = document.winner().ok_or_else(failures::missing)?;
    let text = text_of(snapshot, document.id(), rev, stored);
    text.map_err(|failure| failure.about(document.id(), rev))
}
