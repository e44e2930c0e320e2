//! Ids of a partitioned database.

use varve_docdb::{Edit, EditError, Snapshot, split_id};

use crate::Failure;
use crate::couch::call::Call;
use crate::couch::target::Target;

/// Refuses an id that cannot belong to any document of a partitioned database, whatever is done with it.
///
/// # Errors
/// 400 `illegal_docid`.
pub fn check_id(snapshot: &Snapshot, id: &str) -> Result<(), Failure> {
    let has_place = id.starts_with('_') || split_id(id).is_some() || !snapshot.is_partitioned();
    match has_place {
        true => Ok(()),
        false => Err(EditError::NoPartition.into()),
    }
}

/// The same for the document that a path names, before a body is read.
///
/// # Errors
/// As [`check_id`].
pub fn check_target(call: &Call, target: &Target) -> Result<(), Failure> {
    match target {
        Target::Document(id) | Target::Attachment(id, _) | Target::Update(_, _, Some(id)) => {
            check_id(&call.snapshot(), id)
        }
        _ => Ok(()),
    }
}

/// Refuses a request if one of its edits has an id that no document may have: nothing is written then.
///
/// # Errors
/// 400 `illegal_docid` or `illegal_partition`.
pub fn check_edits(snapshot: &Snapshot, edits: &[Edit]) -> Result<(), Failure> {
    match snapshot.is_partitioned() {
        true => Ok(edits.iter().try_for_each(Edit::check_partition)?),
        false => Ok(()),
    }
}
