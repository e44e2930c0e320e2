//! A bundle as a repository: laid over another one, which stays as it is.

use crate::ExchangeError;
use crate::apply::BundleApplier;
use crate::format::bundle::Bundle;
use std::sync::Arc;
use varve_base::storage::OverlayStorage;
use varve_base::{Interrupt, Silent, Storage, StorageFile};
use varve_repo::{Lock, LockKind, OpenOptions, Repository, WriteOptions};

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
    let bundle_repo = open_overlay(below, scratch)?;
    let lock = bundle_repo.try_lock(LockKind::Store)?;
    add_history(&bundle_repo, lock, bundle, (write, "bundle"), stop)?;
    Ok(bundle_repo)
}

/// A repository that is `below`; all that is written to it goes to `scratch`, an empty file. An unfinished transaction
/// of the repository below is rolled back in it.
///
/// # Errors
/// A failure of the storage.
pub fn open_overlay(
    below: &Repository,
    scratch: Arc<dyn StorageFile>,
) -> Result<Repository, ExchangeError> {
    let storage = OverlayStorage::new(Arc::clone(below.storage()), scratch);
    for lock in LOCKS.map(|lock| below.root().join(lock)) {
        if storage.kind(&lock)?.is_some() {
            storage.remove(&lock)?;
        }
    }
    let opening = OpenOptions {
        filters: below.file_filters().cloned(),
        ..OpenOptions::default()
    };
    let overlay = Repository::open_with(Arc::new(storage), below.root(), opening)?;
    let lock = overlay.try_lock(LockKind::Store)?;
    overlay.recover(&lock)?;
    drop(lock);
    Ok(overlay)
}

/// Adds the changesets of a bundle and their phases to the store, for which hooks see `source`. Bookmarks, markers and
/// whatever else the bundle has do not count.
///
/// # Errors
/// A damaged bundle; [`ExchangeError::NoChangegroup`].
pub fn add_history(
    repository: &Repository,
    lock: Lock,
    bundle: Bundle<'_>,
    (write, source): (WriteOptions, &'static str),
    stop: &Interrupt,
) -> Result<(), ExchangeError> {
    let unbundle = BundleApplier {
        repository,
        write,
        source,
        url: Vec::new(),
        takes_markers: false,
        checks_all: false,
        only_history: true,
        downloads: None,
        progress: &Silent,
        stop,
        debug: false,
        asks: false,
        on_event: &mut |_| {},
        push: None,
        pull: None,
    };
    let (report, _lock) = unbundle.apply(lock, bundle)?;
    if report.changegroups.is_empty() {
        return Err(ExchangeError::NoChangegroup);
    }
    Ok(())
}
