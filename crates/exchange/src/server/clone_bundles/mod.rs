//! Clone bundles: bundles of a whole repository that are made before any clone.
//!
//! ```text
//! .hg/clonebundles.manifest                      the bundles, one line each, Mercurial's format
//! .hg/bundle-cache/varve-COUNT-HASH-zstd-v2.hg   a bundle; its URL is peer-bundle-cache://NAME
//! .hg/bundle-cache/varve-COUNT-HASH.heads        heads of the changesets in it, in hexadecimal
//! .hg/bundle-cache/varve.lock                    held while bundles are made
//! ```
//! COUNT is the number of changesets, HASH the beginning of the hash over the heads. A client that
//! comes by way of HTTP gets the URL of the served file instead of `peer-bundle-cache:`.
//!
//! Bundles hold the changesets served at the moment they are made. A changeset that is secret or
//! hidden later makes one of the recorded heads invisible: such bundles are not shown any more.

mod create;

pub use create::{
    CloneBundle, CloneBundleOptions, CloneBundleReport, DEFAULT_FORMATS, make_clone_bundles,
};

use crate::ExchangeError;
use crate::format::clone_bundle_manifest::{CloneBundleManifest, HEADS_ENDING, PATH};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::storage::{EntryKind, read_if_there};
use varve_base::{OpenMode, StorageFile};
use varve_repo::{RepoView, Repository};
use varve_revlog::Node;

/// Default of `server.peer-bundle-cache-root`: where below `.hg` bundles are kept, also those of Mercurial that it sends
/// itself.
pub const BUNDLE_CACHE: &str = "bundle-cache";

/// Age of the bundles, relative to their repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CloneBundleStatus {
    /// Changesets in the bundles.
    pub bundled: usize,
    /// Whether all of them are still visible to every client.
    pub is_visible: bool,
}

/// The directory of the bundles; `cache` is relative to `.hg`.
fn directory(repository: &Repository, cache: &Path) -> PathBuf {
    repository.root().join(".hg").join(cache)
}

/// The repository's manifest, also one of another program.
///
/// # Errors
/// If it cannot be read.
pub fn read_manifest(
    repository: &Repository,
) -> Result<Option<CloneBundleManifest>, ExchangeError> {
    let path = repository.root().join(PATH);
    let text = read_if_there(repository.storage().as_ref(), &path)?;
    Ok(text.map(CloneBundleManifest::new))
}

/// The manifest for clients; `None` if own bundles hold changesets that clients must not see.
///
/// # Errors
/// If the manifest cannot be read.
pub fn offered_manifest(
    repository: &Repository,
    view: &RepoView,
    cache: &Path,
) -> Result<Option<CloneBundleManifest>, ExchangeError> {
    let Some(manifest) = read_manifest(repository)? else {
        return Ok(None);
    };
    let status = clone_bundle_status(repository, view, cache, &manifest)?;
    Ok(match status {
        Some(status) if !status.is_visible => None,
        _ => Some(manifest),
    })
}

/// The status of the bundles; `None` for a manifest of another program.
///
/// # Errors
/// If a file of the bundles cannot be read.
pub fn clone_bundle_status(
    repository: &Repository,
    view: &RepoView,
    cache: &Path,
    manifest: &CloneBundleManifest,
) -> Result<Option<CloneBundleStatus>, ExchangeError> {
    let Some((id, bundled)) = manifest.own_id() else {
        return Ok(None);
    };
    let path = directory(repository, cache).join(format!("{id}{}", HEADS_ENDING));
    let heads = read_if_there(repository.storage().as_ref(), &path)?;
    let is_seen = |line: &[u8]| {
        let rev = Node::from_hex(line).and_then(|node| view.changelog().rev(&node));
        rev.is_some_and(|rev| view.is_visible(rev))
    };
    let is_visible = heads.is_some_and(|heads| {
        let mut lines = heads.split(|byte| *byte == b'\n');
        lines.all(|line| line.is_empty() || is_seen(line))
    });
    Ok(Some(CloneBundleStatus {
        bundled,
        is_visible,
    }))
}

/// The bundle of that name, if the manifest that clients may see lists it.
///
/// # Errors
/// If the manifest or the bundle cannot be read.
pub fn open_clone_bundle(
    repository: &Repository,
    view: &RepoView,
    cache: &Path,
    name: &str,
) -> Result<Option<Arc<dyn StorageFile>>, ExchangeError> {
    check_name(name)?;
    if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\', '\0']) {
        return Ok(None);
    }
    let offered = offered_manifest(repository, view, cache)?;
    if !offered.is_some_and(|manifest| manifest.lists(name)) {
        return Ok(None);
    }
    let (storage, path) = (
        repository.storage(),
        directory(repository, cache).join(name),
    );
    match storage.kind(&path)? {
        Some(EntryKind::File) => Ok(Some(storage.open(&path, OpenMode::Read)?)),
        _ => Ok(None),
    }
}

/// Refuses a name that leads out of the directory of the bundles.
///
/// # Errors
/// [`ExchangeError::IllegalCloneBundle`].
fn check_name(name: &str) -> Result<(), ExchangeError> {
    match name.split('/').any(|part| part == "..") {
        true => Err(ExchangeError::IllegalCloneBundle(name.to_owned())),
        false => Ok(()),
    }
}
