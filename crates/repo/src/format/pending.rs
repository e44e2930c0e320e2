//! Files that a transaction shows to hooks before it is final, under Mercurial's names: a program that a
//! hook starts with `HG_PENDING` set reads them and so sees the repository as it will be.
//!
//! ```text
//! store/00changelog.i.a      the index of the changelog with the new changesets
//! store/phaseroots.pending   phases
//! bookmarks.pending          bookmarks; below store/ with bookmarksinstore
//! dirstate.pending           the dirstate
//! ```

use crate::format::RepoError;
use crate::format::journal::{Backup, BaseDir};
use std::path::Path;
use varve_base::Storage;
use varve_base::storage::read_if_there;

/// Below the store.
pub(crate) const CHANGELOG: &str = "00changelog.i.a";

/// Files that are shown while they are pending.
pub(crate) const PENDING: &[(BaseDir, &[u8])] = &[
    (BaseDir::Store, b"phaseroots"),
    (BaseDir::Store, b"bookmarks"),
    (BaseDir::Hg, b"bookmarks"),
    (BaseDir::Hg, b"dirstate"),
];

/// Name of a file while it is pending.
pub(crate) fn name_of(name: &[u8]) -> Vec<u8> {
    [name, b".pending"].concat()
}

/// All that may be written, for the journal, which removes it.
pub(crate) fn temporary() -> impl Iterator<Item = Backup> {
    let changelog = (BaseDir::Store, CHANGELOG.as_bytes().to_vec());
    let files = PENDING.iter().map(|(place, name)| (*place, name_of(name)));
    let files = files.chain([changelog]);
    files.map(|(place, backup)| Backup {
        place,
        name: Vec::new(),
        backup,
        is_cache: false,
    })
}

/// Reads a small file, or its pending version if the reader may see that.
pub(crate) fn read_with_pending(
    storage: &dyn Storage,
    path: &Path,
    pending: bool,
) -> Result<Vec<u8>, RepoError> {
    if pending {
        let mut beside = path.as_os_str().to_owned();
        beside.push(".pending");
        if let Some(bytes) = read_if_there(storage, Path::new(&beside))? {
            return Ok(bytes);
        }
    }
    Ok(read_if_there(storage, path)?.unwrap_or_default())
}
