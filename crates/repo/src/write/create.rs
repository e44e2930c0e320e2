//! Making a repository.

use crate::format::{RepoError, Requirements};
use crate::read::Repository;
use std::path::Path;
use std::sync::Arc;
use varve_base::storage::replace;
use varve_base::{OpenMode, Storage};
use varve_codec::CodecId;

/// A stub where clients from before 2006 look for a changelog, so that they stop: a revlog
/// header of no version, and a message. Mercurial writes the same bytes.
pub(crate) const DUMMY_CHANGELOG: &[u8] =
    b"\0\0\xff\xff dummy changelog to prevent using the old repo layout";

impl Repository {
    /// Makes an empty repository in the directory `root`, in the format that Mercurial 7.2 makes by
    /// default. Its file of requirements is written last: without it nothing is a repository.
    ///
    /// # Errors
    /// [`varve_base::StorageError::is_already_there`] if there is one; errors of the storage.
    pub fn create(storage: Arc<dyn Storage>, root: &Path) -> Result<Repository, RepoError> {
        Repository::create_with(storage, root, CodecId::Zstd)
    }

    /// As [`Repository::create`], with chunks compressed by `engine`: see
    /// [`crate::StorageSettings::engine_of_new`].
    ///
    /// # Errors
    /// See [`Repository::create`].
    pub fn create_with(
        storage: Arc<dyn Storage>,
        root: &Path,
        engine: CodecId,
    ) -> Result<Repository, RepoError> {
        Repository::create_as(storage, root, &Requirements::of_new_repository(engine))
    }

    /// As [`Repository::create`], with these requirements.
    ///
    /// # Errors
    /// See [`Repository::create`].
    pub fn create_as(
        storage: Arc<dyn Storage>,
        root: &Path,
        requirements: &Requirements,
    ) -> Result<Repository, RepoError> {
        let hg = root.join(".hg");
        let store = hg.join("store");
        storage.create_directory(&store)?;
        for caches in ["cache", "wcache"] {
            storage.create_directory(&hg.join(caches))?;
        }
        let requires = hg.join("requires");
        if storage.kind(&requires)?.is_some() {
            // Fails, with the right error.
            storage.open(&requires, OpenMode::CreateNew)?;
        }
        replace(storage.as_ref(), &hg.join("00changelog.i"), DUMMY_CHANGELOG)?;
        write_requirements(storage.as_ref(), &hg, requirements)?;
        storage.sync_directory(root)?;
        Repository::open(storage, root)
    }
}

/// Writes the files of requirements below `.hg`, that of the repository last.
pub(super) fn write_requirements(
    storage: &dyn Storage,
    hg: &Path,
    requirements: &Requirements,
) -> Result<(), RepoError> {
    let is_split = requirements.has("share-safe");
    let lines = |outside: bool| -> String {
        let names = requirements.iter();
        let names = names.filter(|name| !is_split || Requirements::is_outside(name) == outside);
        names.map(|name| format!("{name}\n")).collect()
    };
    if is_split {
        let beside = hg.join("store/requires");
        replace(storage, &beside, lines(false).as_bytes())?;
    }
    replace(storage, &hg.join("requires"), lines(true).as_bytes())?;
    Ok(())
}
