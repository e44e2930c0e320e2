//! Databases to which nothing was written before a power cut took the bytes of their files.
//!
//! A creation syncs the directory and not the file, and no byte is written behind a first commit that is not durable. So
//! a power cut leaves a file of one commit without its bytes, and nothing is lost but the uuid and the time of creation.

use super::{NewDatabase, first_header, options_of_new, tree_options};
use crate::record::Header;
use crate::{DatabaseOptions, DocdbError};
use std::path::Path;
use varve_base::{MemoryStorage, Storage};
use varve_btree::{Options, TreeError, TreeFile};

/// Whether the file at `path` is an empty database that a power cut has taken the bytes of, so that
/// [`Database::open`](super::Database::open) makes it again.
///
/// # Errors
/// Errors of the storage.
pub fn is_cut_short(
    storage: &dyn Storage,
    path: &Path,
    wanted: &DatabaseOptions,
) -> Result<bool, DocdbError> {
    Ok(TreeFile::is_cut_short(
        storage,
        path,
        &tree_options(wanted),
    )?)
}

fn first(wanted: &DatabaseOptions) -> Result<(Options, Header), DocdbError> {
    let header = first_header(wanted.current_setting(), NewDatabase::default())?;
    Ok((options_of_new(tree_options(wanted), &header), header))
}

/// Writes the first commit into a file that is cut short. A file that may not be written to is left alone.
pub(super) fn make_again(
    storage: &dyn Storage,
    path: &Path,
    wanted: &DatabaseOptions,
) -> Result<TreeFile, DocdbError> {
    let (options, header) = first(wanted)?;
    match TreeFile::create_again(storage, path, options, &header.encode()) {
        Err(TreeError::Storage(error)) if error.is_refused() => empty_database(path, wanted),
        made => Ok(made?),
    }
}

/// What stands for a file that is cut short and stays so: an empty database in memory, for reading only.
pub(super) fn empty_database(
    path: &Path,
    wanted: &DatabaseOptions,
) -> Result<TreeFile, DocdbError> {
    let memory = MemoryStorage::default();
    memory.create_directory(path.parent().unwrap_or(Path::new("")))?;
    let (options, header) = first(wanted)?;
    TreeFile::create_unsynced(&memory, path, options, &header.encode())?;
    Ok(TreeFile::open_read_only(
        &memory,
        path,
        tree_options(wanted),
    )?)
}

/// The file with as much of it as can be read, and whether it is one that is cut short.
pub(crate) fn open_damaged(
    storage: &dyn Storage,
    path: &Path,
    wanted: &DatabaseOptions,
) -> Result<(TreeFile, bool), DocdbError> {
    match TreeFile::open_damaged(storage, path, tree_options(wanted)) {
        Err(_) if is_cut_short(storage, path, wanted)? => Ok((empty_database(path, wanted)?, true)),
        opened => Ok((opened?, false)),
    }
}
