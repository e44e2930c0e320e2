//! Documents of `_replicator` in their database.

use super::STEP;
use crate::couch::database::registry::OpenDatabase;
use crate::{CouchContext, Failure};
use varve_btree::Direction;
use varve_docdb::{DESIGN_PREFIX, Edit, EditError, Mode};
use varve_json::Object;

/// Up to where a database was looked at.
#[derive(Clone, Debug, Default)]
pub(super) struct SeenDatabase {
    pub incarnation: String,
    pub sequence: u64,
    pub update: Option<u64>,
}

/// A document as it was when it was looked at; `None` for one that is gone.
type ReadDocument = (String, Option<Object>);

/// The next documents that changed, and up to where they were read.
pub(super) fn read_next(
    app: &CouchContext,
    name: &str,
    seen: SeenDatabase,
) -> Result<(SeenDatabase, Vec<ReadDocument>), Failure> {
    let database = app.databases.get(name)?;
    let since = match seen.incarnation == database.incarnation {
        true => seen.sequence,
        false => 0,
    };
    let mut now = SeenDatabase {
        incarnation: database.incarnation.clone(),
        sequence: since,
        update: seen.update,
    };
    let mut found = Vec::new();
    let snapshot = database.documents.snapshot();
    for change in snapshot.changes(since, Direction::Forward)? {
        let change = change?;
        now.sequence = change.seq;
        if change.id.starts_with(DESIGN_PREFIX) {
            continue;
        }
        let document = read_document(&database, &change.id)?;
        found.push((change.id, document));
        if found.len() == STEP {
            break;
        }
    }
    Ok((now, found))
}

/// The winning revision of a document; `None` if it is deleted.
pub(super) fn read_document(database: &OpenDatabase, id: &str) -> Result<Option<Object>, Failure> {
    let snapshot = database.documents.snapshot();
    let Some(document) = snapshot.document(id)? else {
        return Ok(None);
    };
    let Some((_, stored)) = document.winner().filter(|_| !document.is_deleted()) else {
        return Ok(None);
    };
    let mut text = Vec::new();
    snapshot.body(stored, &mut text)?;
    Ok(Some(varve_json::parse_object(&text)?))
}

/// Sets members of a document that is there. One with attachments stays as it is: an edit without them would lose them.
pub(super) fn write_members(
    database: &OpenDatabase,
    id: &str,
    members: Object,
) -> Result<(), Failure> {
    let snapshot = database.documents.snapshot();
    let Some(document) = snapshot.document(id)? else {
        return Ok(());
    };
    let Some((rev, stored)) = document.winner().filter(|_| !document.is_deleted()) else {
        return Ok(());
    };
    if stored.attachments.is_some() {
        return Ok(());
    }
    let mut text = Vec::new();
    snapshot.body(stored, &mut text)?;
    let mut body = varve_json::parse_object(&text)?;
    for name in ["_replication_state_reason", "_replication_stats"] {
        body.remove(name);
    }
    for (name, value) in members {
        body.insert(name, value);
    }
    let mut edit = Edit::new(Some(id), body)?;
    edit.set_rev(&rev.to_string())?;
    match database.documents.update_one(edit, Mode::Interactive)? {
        Ok(_) => Ok(()),
        // A newer revision counts, which is looked at next.
        Err(EditError::Conflict) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
