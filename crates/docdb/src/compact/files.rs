//! The files of a compaction, and whether there is room for them.

use super::copier::Recoding;
use crate::beside::{remove_if_there, with_suffix};
use crate::{Database, DocdbError};
use std::path::{Path, PathBuf};
use varve_base::Storage;
use varve_codec::{CodecId, EngineSetting};

const COPY: &str = ".compact";
const SORT: &str = ".sort";
/// Bytes that names of files beside a database have more than its own.
pub const LONGEST_SUFFIX: usize = COPY.len();
const _: () = assert!(SORT.len() <= LONGEST_SUFFIX);

/// The copy's path.
pub(super) fn copy_path(path: &Path) -> PathBuf {
    with_suffix(path, COPY)
}

pub(super) fn sort_path(path: &Path) -> PathBuf {
    with_suffix(path, SORT)
}

/// Removes the files of a compaction that did not come to its end.
pub(crate) fn remove_rests(storage: &dyn Storage, path: &Path) -> Result<(), DocdbError> {
    remove_if_there(storage, &sort_path(path))?;
    remove_if_there(storage, &copy_path(path))
}

/// Refuses if the disk is too full; `there` bytes of the copy are on it. The needed room is known roughly, unless
/// everything is copied as it is.
pub(super) fn check_room(
    database: &Database,
    recoding: &Recoding,
    setting: EngineSetting,
    there: u64,
) -> Result<(), DocdbError> {
    let path = database.path();
    let directory = path.parent().unwrap_or(Path::new(""));
    let Some(free) = database.storage().free_bytes(directory)? else {
        return Ok(());
    };
    let sizes = database.sizes()?;
    let needed = match recoding.is_needless() {
        true => sizes.active,
        false if setting.codec() == CodecId::None => sizes.external.max(sizes.active),
        false => sizes.active.saturating_add(sizes.active / 4),
    };
    if needed <= free.saturating_add(there) {
        return Ok(());
    }
    Err(DocdbError::NoRoom {
        path: path.to_owned(),
        needed,
        free,
    })
}
