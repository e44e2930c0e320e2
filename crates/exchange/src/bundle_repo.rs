//! A bundle as a repository: laid over another one, which stays as it is.

use crate::ExchangeError;
use crate::apply::BundleApplier;
use crate::format::bundle::Bundle;
use std::sync::Arc;
use varve_base::storage::OverlayStorage;
use varve_base::{Interrupt, Silent, Storage, StorageFile};
use varve_repo::{LockKind, Repository, WriteOptions};

/// Locks of other processes, which do not concern writes to the overlay.
const LOCKS: [&str; 2] = [".hg/wlock", ".hg/store/lock"];

/// A repository that is `below` with a bundle's changesets and their phases; all that is written to it
/// goes to `scratch`, an empty file. Bookmarks, markers and whatever else the bundle has do not count, as
/// with Mercurial.
///
/// An unfinished transaction of the repository below, abandoned or running, is rolled back in the overlay first.
///
/// # Errors
/// A damaged bundle; [`ExchangeError::NoChangegroup`].
pub fn open_bundle_repo(
    below: &Repository,
    scratch: Arc<dyn StorageFile>,
    bundle: Bundle<'_>,
    write: WriteOptions,
    stop: &Interrupt,
) -> Result<Repository, ExchangeError> {
    if let Bundle::Packed(_) = bundle {
        return Err(ExchangeError::PackedBundleRepo);
    }
    let storage = OverlayStorage::new(Arc::clone(below.storage()), scratch);
    for lock in LOCKS.map(|lock| below.root().join(lock)) {
        if storage.kind(&lock)?.is_some() {
            storage.remove(&lock)?;
        }
    }
    let bundle_repo = Repository::open(Arc::new(storage), below.root())?;
    let lock = bundle_repo.try_lock(LockKind::Store)?;
    bundle_repo.recover(&lock)?;
    let unbundle = BundleApplier {
        repository: &bundle_repo,
        write,
        source: "bundle",
        url: Vec::new(),
        takes_markers: false,
        checks_all: false,
        only_history: true,
        downloads: None,
        progress: &Silent,
        stop,
        debug: false,
        on_event: &mut |_| {},
        push: None,
        pull: None,
    };
    let (report, _lock) = unbundle.apply(lock, bundle)?;
    if report.changegroups.is_empty() {
        return Err(ExchangeError::NoChangegroup);
    }
    Ok(bundle_repo)
}
