//! Bundles that are looked at as repositories.

use crate::context::place::BundlePlace;
use crate::context::{Session, disk};
use crate::ui::Abort;
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::storage::scratch_file;
use varve_base::{MemoryStorage, Storage};
use varve_exchange::format::bundle::{Bundle, open_bundle};
use varve_exchange::format::limits::BundleLimits;
use varve_exchange::look_through;
use varve_repo::Repository;

impl Session {
    /// Lays a bundle over a repository, which stays as it is.
    pub fn open_bundle_place(&mut self, place: &BundlePlace) -> Result<Repository, Abort> {
        let name = place.file.as_os_str().as_encoded_bytes();
        let bundle = self.open_bundle_file(&place.file)?;
        let bundle = open_bundle(bundle, BundleLimits::default());
        let bundle = bundle.map_err(|error| Abort::of_bundle(error, name))?;
        let base = match &place.over {
            Some(_) => disk(),
            None => {
                self.stand_in = Some(StandIn::new(place.root())?);
                self.nothing(place.root())?
            }
        };
        self.lay_over(&Repository::open(base, place.root())?, bundle)
    }

    /// Lays the bundle in a file over the repository that the session is about.
    pub fn bundle_here(&mut self, name: &[u8]) -> Result<Repository, Abort> {
        let file = self.open_bundle_file(Path::new(OsStr::from_bytes(name)))?;
        self.look_through(file)
    }

    /// Lays a bundle over the repository that the session is about.
    pub fn look_through(&mut self, bytes: impl Read + Send) -> Result<Repository, Abort> {
        let repository = self.repository()?;
        self.lay_over(&repository, open_bundle(bytes, BundleLimits::default())?)
    }

    fn open_bundle_file(&self, path: &Path) -> Result<File, Abort> {
        let file = File::open(self.cwd.join(path)).map_err(|error| Abort::file(&error, path))?;
        match file.metadata().is_ok_and(|found| found.is_dir()) {
            true => Err(Abort::file(&Errno::ISDIR.into(), path)),
            false => Ok(file),
        }
    }

    fn lay_over(&self, below: &Repository, bundle: Bundle<'_>) -> Result<Repository, Abort> {
        let write = self.storage_settings()?;
        let write = write.write_options(below.requirements());
        let scratch = scratch_file(&std::env::temp_dir())?;
        Ok(look_through(below, scratch, bundle, write, &self.stop)?)
    }

    /// A storage that has an empty repository in a folder.
    fn nothing(&self, root: &Path) -> Result<Arc<dyn Storage>, Abort> {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
        storage.create_directory(root)?;
        let engine = self.storage_settings()?.engine_of_new()?;
        Repository::create_with(Arc::clone(&storage), root, engine)?;
        Ok(storage)
    }
}

/// An empty folder that goes when it is no longer needed: who looks for the files of a repository
/// that is only a bundle looks there.
pub struct StandIn(PathBuf);

impl StandIn {
    fn new(folder: &Path) -> Result<StandIn, Abort> {
        std::fs::create_dir(folder).map_err(|error| Abort::file(&error, folder))?;
        Ok(StandIn(folder.to_owned()))
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        // An empty folder of a system's temporary ones is nobody's loss.
        let _ = std::fs::remove_dir(&self.0);
    }
}
