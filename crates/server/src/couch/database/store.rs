//! The place where a server keeps its databases: its own directory, or a shared store.

use super::files::{file_of, name_of};
use super::logs::FILE;
use crate::Failure;
use crate::directory::DATABASES;
use crate::runtime::{ClusterView, SharedLogs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::Storage;
use varve_shared::{CatalogEntry, SharedStorage};

/// The storage of a server's databases.
#[derive(Debug)]
pub(crate) enum DatabaseStore {
    /// One file for each in a directory.
    Directory(Arc<dyn Storage>),
    /// One log for each in a store of objects.
    Shared(Arc<SharedLogs>),
}

/// The file of one database.
#[derive(Debug)]
pub(crate) struct DatabaseFile {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) path: PathBuf,
    /// The storage, if it is a log.
    pub(crate) log: Option<SharedStorage>,
}

impl DatabaseFile {
    fn of_log(log: SharedStorage) -> DatabaseFile {
        DatabaseFile {
            storage: Arc::new(log.clone()),
            path: PathBuf::from(FILE),
            log: Some(log),
        }
    }
}

impl DatabaseStore {
    /// The file of a database; `None` if it is known that there is none.
    ///
    /// # Errors
    /// Of a shared store: 503 if another process has the database, or the store does not answer; 500 for damage.
    pub(crate) fn find(&self, name: &str) -> Result<Option<DatabaseFile>, Failure> {
        match self {
            DatabaseStore::Directory(storage) => Ok(Some(file_in(storage, name))),
            DatabaseStore::Shared(shared) => Ok(shared.find(name)?.map(DatabaseFile::of_log)),
        }
    }

    /// The file for a new database, which finds it there if it is.
    ///
    /// # Errors
    /// As of [`DatabaseStore::find`].
    pub(crate) fn for_creation(&self, name: &str) -> Result<DatabaseFile, Failure> {
        match self {
            DatabaseStore::Directory(storage) => Ok(file_in(storage, name)),
            DatabaseStore::Shared(shared) => Ok(DatabaseFile::of_log(shared.for_creation(name)?)),
        }
    }

    /// True if there is such a database; its file is not opened.
    ///
    /// # Errors
    /// 500 if the directory cannot be read, 503 if the store does not answer.
    pub(crate) fn contains(&self, name: &str) -> Result<bool, Failure> {
        match self {
            DatabaseStore::Directory(storage) => Ok(storage.kind(&file_of(name))?.is_some()),
            DatabaseStore::Shared(shared) => Ok(!shared.entries(name)?.is_empty()),
        }
    }

    /// Names of all databases, in order.
    ///
    /// # Errors
    /// As of [`DatabaseStore::contains`].
    pub(crate) fn names(&self) -> Result<Vec<String>, Failure> {
        let mut names = match self {
            DatabaseStore::Directory(storage) => {
                let entries = storage.list(Path::new(DATABASES));
                let entries = entries.map_err(Failure::internal)?.into_iter();
                let names = entries.filter_map(|entry| name_of(entry.name.to_str()?));
                names.collect()
            }
            DatabaseStore::Shared(shared) => shared.names()?,
        };
        names.sort_unstable();
        Ok(names)
    }

    /// The entries by which a shared store lists the database; to be asked for before its file is removed.
    ///
    /// # Errors
    /// 503 if the store does not answer.
    pub(crate) fn entries(&self, name: &str) -> Result<Vec<CatalogEntry>, Failure> {
        match self {
            DatabaseStore::Directory(_) => Ok(Vec::new()),
            DatabaseStore::Shared(shared) => Ok(shared.entries(name)?),
        }
    }

    /// Takes a database out of the list, whose file was removed.
    ///
    /// # Errors
    /// 503 if the store does not answer.
    pub(crate) fn remove_entries(&self, entries: &[CatalogEntry]) -> Result<(), Failure> {
        match self {
            DatabaseStore::Directory(_) => Ok(()),
            DatabaseStore::Shared(shared) => Ok(shared.remove_entries(entries)?),
        }
    }

    /// True if this server should write a database, and no other one of a shared store.
    pub(crate) fn writes(&self, name: &str) -> bool {
        match self {
            DatabaseStore::Directory(_) => true,
            DatabaseStore::Shared(shared) => shared.view().writes(name),
        }
    }

    /// View of the other servers of a shared store; `None` without one.
    pub(crate) fn cluster(&self) -> Option<&Arc<ClusterView>> {
        match self {
            DatabaseStore::Directory(_) => None,
            DatabaseStore::Shared(shared) => Some(shared.view()),
        }
    }

    /// The logs, if they are in a shared store.
    pub(crate) fn logs(&self) -> Option<&Arc<SharedLogs>> {
        match self {
            DatabaseStore::Directory(_) => None,
            DatabaseStore::Shared(shared) => Some(shared),
        }
    }

    /// Gives a database up whose log must be opened again.
    pub(crate) fn retire(&self, name: &str) {
        if let DatabaseStore::Shared(shared) = self {
            shared.retire(name);
        }
    }
}

fn file_in(storage: &Arc<dyn Storage>, name: &str) -> DatabaseFile {
    DatabaseFile {
        storage: Arc::clone(storage),
        path: file_of(name),
        log: None,
    }
}
