//! Making and opening a database.

use super::unwritten::{empty_database, is_cut_short, make_again};
use super::{DEFAULT_REVS_LIMIT, Database, DatabaseOptions, NewDatabase};
use super::{options_of_new, random, tree_options};
use crate::beside::{check_free, remove_if_there, with_suffix};
use crate::record::Header;
use crate::{DocdbError, Snapshot, compact};
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use varve_base::Storage;
use varve_btree::{ChunkStats, TreeFile, kept_tail};
use varve_codec::EngineSetting;

/// The header of a database that nothing was done to.
pub(crate) fn first_header(setting: EngineSetting, new: NewDatabase) -> Result<Header, DocdbError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_micros());
    Ok(Header {
        uuid: random()?,
        created: u64::try_from(now).unwrap_or(u64::MAX),
        update_seq: 0,
        purge_seq: 0,
        revs_limit: DEFAULT_REVS_LIMIT,
        security: None,
        setting: Some(setting),
        chosen: new.compression,
        chunk_stats: Some(ChunkStats::default()),
        next_dictionary: 1,
        dictionaries: Vec::new(),
        holes: 0,
        is_partitioned: new.is_partitioned,
        has_access: new.has_access,
    })
}

/// Cuts off what stands behind the newest whole commit of the database at `path`, whatever it is, and returns how many
/// bytes. No process may have the database open.
///
/// # Errors
/// What keeps it from being opened, or what the storage answers.
pub fn cut_off_tail(
    storage: &dyn Storage,
    path: &Path,
    options: &DatabaseOptions,
) -> Result<u64, DocdbError> {
    if is_cut_short(storage, path, options)? {
        // There is nothing behind a commit, and opening goes on with the file as it is.
        return Ok(0);
    }
    let cut = TreeFile::cut_off_tail(storage, path, &tree_options(options))?;
    remove_if_there(storage, &kept_tail(path))?;
    Ok(cut)
}

/// A file, and what is known of it.
pub(super) struct OpenedFile {
    pub(super) file: TreeFile,
    /// The number that the next dictionary gets at least.
    pub(super) next_dictionary: u32,
    pub(super) is_name_in_doubt: bool,
    pub(super) is_made_again: bool,
}

impl OpenedFile {
    fn new(file: TreeFile) -> OpenedFile {
        OpenedFile {
            file,
            next_dictionary: 1,
            is_name_in_doubt: false,
            is_made_again: false,
        }
    }
}

/// Makes the names in a file's directory durable.
pub(super) fn sync_directory_of(storage: &dyn Storage, path: &Path) -> Result<(), DocdbError> {
    let directory = path.parent().unwrap_or(Path::new(""));
    Ok(storage.sync_directory(directory)?)
}

/// Suffix of a database with properties while it is made.
const UNFINISHED: &str = ".new";

impl Database {
    /// Makes a new database. A power cut may leave its file without bytes until something is written to it, which opening
    /// knows as an empty database: so a creation waits for one sync, that of the directory.
    ///
    /// # Errors
    /// [`DocdbError::is_already_there`] if something stands at `path`; an error of the storage.
    pub fn create(
        storage: Arc<dyn Storage>,
        path: &Path,
        wanted: &DatabaseOptions,
    ) -> Result<Database, DocdbError> {
        Database::create_with(storage, path, wanted, NewDatabase::default())
    }

    /// Makes a new database with properties of its own, which are in its file from the first commit on. The bytes of a
    /// database with properties are durable when this returns.
    ///
    /// # Errors
    /// As [`Database::create`].
    pub fn create_with(
        storage: Arc<dyn Storage>,
        path: &Path,
        wanted: &DatabaseOptions,
        new: NewDatabase,
    ) -> Result<Database, DocdbError> {
        let setting = new.compression.unwrap_or(wanted.current_setting());
        let header = first_header(setting, new)?;
        check_free(storage.as_ref(), path)?;
        // Rests of an earlier database of this name go with the same sync that makes the name durable.
        remove_if_there(storage.as_ref(), &kept_tail(path))?;
        compact::remove_rests(storage.as_ref(), path)?;
        let options = options_of_new(tree_options(wanted), &header);
        let header = header.encode();
        let file = match new == NewDatabase::default() {
            true => {
                let file = TreeFile::create_unsynced(storage.as_ref(), path, options, &header)?;
                sync_directory_of(storage.as_ref(), path).inspect_err(|_| {
                    // The file was not announced; a later creation finds it in its way if this fails as well.
                    let _ = storage.remove(path);
                })?;
                file
            }
            false => {
                // The file's bytes are durable before it has its name, so that it never is there without its properties.
                let beside = with_suffix(path, UNFINISHED);
                remove_if_there(storage.as_ref(), &beside)?;
                TreeFile::create_to_rename(storage.as_ref(), &beside, options, &header)?;
                storage.rename(&beside, path)?;
                sync_directory_of(storage.as_ref(), path)?;
                TreeFile::open(storage.as_ref(), path, tree_options(wanted))?
            }
        };
        Database::make(storage, path, wanted, OpenedFile::new(file))
    }

    /// Opens a database; edits not acknowledged before a crash may be gone, all others are there. Files that a crashed
    /// compaction has left are removed, unless the next one can go on with them. A database to which nothing was written
    /// before a power cut may have another uuid than before ([`Database::is_made_again`]).
    ///
    /// # Errors
    /// [`DocdbError::is_not_found`]; damage, naming file, offset and reason.
    pub fn open(
        storage: Arc<dyn Storage>,
        path: &Path,
        wanted: &DatabaseOptions,
    ) -> Result<Database, DocdbError> {
        let opened = TreeFile::open_keeping(storage.as_ref(), path, tree_options(wanted));
        let file = match opened {
            Ok(file) => OpenedFile::new(file),
            Err(_) if is_cut_short(storage.as_ref(), path, wanted)? => {
                let file = make_again(storage.as_ref(), path, wanted)?;
                OpenedFile {
                    is_made_again: true,
                    ..OpenedFile::new(file)
                }
            }
            Err(error) => return Err(error.into()),
        };
        if file.file.is_read_only() {
            return Database::make(storage, path, wanted, file);
        }
        let options = tree_options(wanted);
        let next_dictionary = compact::keep_begun(storage.as_ref(), path, options, &file.file)?;
        let file = OpenedFile {
            // The process that made it may have been killed before it synced the directory.
            is_name_in_doubt: file.file.is_first_commit_in_doubt(),
            next_dictionary,
            ..file
        };
        let database = Database::make(storage, path, wanted, file)?;
        // The last writer may have been killed before the sync that was to follow.
        database.sync()?;
        Ok(database)
    }

    /// The newest commit of a database that another process may be writing to; nothing is changed.
    ///
    /// # Errors
    /// See [`Database::open`].
    pub fn read_only(
        storage: &dyn Storage,
        path: &Path,
        wanted: &DatabaseOptions,
    ) -> Result<Snapshot, DocdbError> {
        let file = match TreeFile::open_read_only(storage, path, tree_options(wanted)) {
            Err(_) if is_cut_short(storage, path, wanted)? => empty_database(path, wanted)?,
            opened => opened?,
        };
        Snapshot::new(file.snapshot(), path)
    }
}
