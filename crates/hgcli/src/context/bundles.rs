//! Bundles, read as repositories.

use crate::context::config::storage_settings;
use crate::context::location::BundleLocation;
use crate::context::{Repo, disk};
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
use varve_exchange::format::bundle::{Bundle, open_bundle as open_bundle_stream};
use varve_exchange::format::limits::BundleLimits;
use varve_exchange::{open_bundle_repo, open_overlay};
use varve_repo::{Repository, Rev, ViewFilter};

impl Repo {
    /// Lays a bundle over a repository, which stays as it is.
    pub(crate) fn open_bundle(&mut self, location: &BundleLocation) -> Result<Repository, Abort> {
        let name = location.file.as_os_str().as_encoded_bytes();
        let bundle = self.open_bundle_file(&location.file)?;
        let bundle = open_bundle_stream(bundle, BundleLimits::default());
        let bundle = bundle.map_err(|error| Abort::of_bundle(error, name))?;
        let base = match &location.over {
            Some(_) => disk(),
            None => {
                self.placeholder = Some(Placeholder::new(location.root())?);
                self.empty_storage(location.root())?
            }
        };
        let below = Repository::open(base, location.root())?;
        let view = below.view_for(ViewFilter::Unfiltered)?;
        self.bundled_from = u32::try_from(view.changelog().len()).ok().map(Rev);
        self.overlay(&below, bundle)
    }

    /// Lays the bundle in a file over the repository of the call.
    pub(crate) fn overlay_bundle_file(&mut self, name: &[u8]) -> Result<Repository, Abort> {
        let file = self.open_bundle_file(Path::new(OsStr::from_bytes(name)))?;
        self.overlay_bundle(file)
    }

    /// Lays a bundle over the repository of the call.
    pub(crate) fn overlay_bundle(&mut self, bytes: impl Read + Send) -> Result<Repository, Abort> {
        let repository = self.repository()?;
        self.overlay(
            &repository,
            open_bundle_stream(bytes, BundleLimits::default())?,
        )
    }

    /// The repository of the call with room for changesets that are never written to it.
    pub(crate) fn scratch_overlay(&mut self) -> Result<Repository, Abort> {
        let repository = self.repository()?;
        Ok(open_overlay(
            &repository,
            scratch_file(&std::env::temp_dir())?,
        )?)
    }

    fn open_bundle_file(&self, path: &Path) -> Result<File, Abort> {
        let file = File::open(self.cwd.join(path)).map_err(|error| Abort::file(&error, path))?;
        match file.metadata().is_ok_and(|found| found.is_dir()) {
            true => Err(Abort::file(&Errno::ISDIR.into(), path)),
            false => Ok(file),
        }
    }

    fn overlay(&self, below: &Repository, bundle: Bundle<'_>) -> Result<Repository, Abort> {
        let write = storage_settings(&self.config)?;
        let write = write.write_options(below.requirements());
        let scratch = scratch_file(&std::env::temp_dir())?;
        Ok(open_bundle_repo(below, scratch, bundle, write, &self.stop)?)
    }

    /// A storage in memory that has an empty repository at `root`.
    fn empty_storage(&self, root: &Path) -> Result<Arc<dyn Storage>, Abort> {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
        storage.create_directory(root)?;
        let engine = storage_settings(&self.config)?.engine_of_new()?;
        Repository::create_with(Arc::clone(&storage), root, engine)?;
        Ok(storage)
    }
}

/// An empty directory for a repository that is only a bundle, where its files are looked for;
/// removed when dropped.
pub(super) struct Placeholder(PathBuf);

impl Placeholder {
    fn new(directory: &Path) -> Result<Placeholder, Abort> {
        std::fs::create_dir(directory).map_err(|error| Abort::file(&error, directory))?;
        Ok(Placeholder(directory.to_owned()))
    }
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        // An empty temporary directory that stays does no harm.
        let _ = std::fs::remove_dir(&self.0);
    }
}
