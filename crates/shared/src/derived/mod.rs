//! Files that any process can make again, such as indexes of views: one process stores what it has made, and the others fetch
//! that.
//!
//! There is no order and no owner here, unlike in a log: a version is whole or it does not count, and nothing is lost with one.
//! So any process may store or remove versions at any time. A process that removes parts which another one is about to name
//! makes that version useless, no more; parts are left alone for [`UNSETTLED`] so that this is rare. Whether a version fits
//! to what its reader has is for the reader to find out, by the label.

mod keep;

use crate::clock::Clock;
use crate::error::SharedError;
use crate::format::{DERIVED, DerivedKeys, DerivedManifest, VersionName};
use crate::log::LogId;
use crate::store::{ObjectInfo, ObjectStore};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use varve_base::{Interrupt, Progress, StorageFile, Unit};

pub use keep::StoredVersion;

/// Bytes of one part. The end of a file that has grown is stored again with the next version, so it is short; each part is a
/// request.
const PART_BYTES: usize = 4 << 20;
/// Age up to which an object that no version names may belong to one that is being stored.
const UNSETTLED: Duration = Duration::from_hours(1);
/// Versions that are looked at. There are more than one only while several processes store some.
const MOST_VERSIONS: usize = 4;

/// The versions of one derived file in a store.
#[derive(Clone, Debug)]
pub struct DerivedFile {
    store: Arc<dyn ObjectStore>,
    clock: Arc<dyn Clock>,
    keys: DerivedKeys,
}

/// A version that is whole, as far as the listing of its parts shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DerivedVersion {
    name: VersionName,
    manifest: DerivedManifest,
}

impl DerivedVersion {
    /// The rank that it was stored with.
    pub fn rank(&self) -> u64 {
        self.name.rank
    }

    /// The label that it was stored with.
    pub fn label(&self) -> &[u8] {
        &self.manifest.label
    }

    /// Length of the file in bytes.
    pub fn bytes(&self) -> u64 {
        self.manifest.parts.iter().map(|part| part.len).sum()
    }
}

/// All objects of one derived file.
struct Listing {
    objects: Vec<ObjectInfo>,
    /// The names of versions, the lowest rank first.
    versions: Vec<VersionName>,
    parts: BTreeSet<[u8; 16]>,
}

impl DerivedFile {
    /// The file of this name among those that are derived from a log.
    ///
    /// # Errors
    /// [`SharedError::BadName`]
    pub fn new(
        store: Arc<dyn ObjectStore>,
        clock: Arc<dyn Clock>,
        of: &LogId,
        name: &str,
    ) -> Result<DerivedFile, SharedError> {
        let name = LogId::new(name)?;
        let keys = DerivedKeys::new(&format!("{of}/{name}"));
        Ok(DerivedFile { store, clock, keys })
    }

    /// Versions of which nothing is missing, the highest rank first; a listing, and one more request for each.
    ///
    /// # Errors
    /// [`SharedError::Damaged`]; errors of the store.
    pub fn versions(&self) -> Result<Vec<DerivedVersion>, SharedError> {
        let listing = self.list()?;
        let mut found = Vec::new();
        for name in listing.versions.iter().rev().take(MOST_VERSIONS) {
            let Some(manifest) = self.manifest(name)? else {
                continue;
            };
            let is_there = |hash| listing.parts.contains(hash);
            if manifest.parts.iter().all(|part| is_there(&part.hash)) {
                let name = name.clone();
                found.push(DerivedVersion { name, manifest });
            }
        }
        Ok(found)
    }

    fn list(&self) -> Result<Listing, SharedError> {
        let objects = self.store.list(self.keys.all())?;
        let keys = objects.iter().map(|object| object.key.as_str());
        let mut versions: Vec<_> = keys
            .clone()
            .filter_map(|key| self.keys.version_of(key))
            .collect();
        versions.sort();
        let parts = keys.filter_map(|key| self.keys.part_of(key)).collect();
        Ok(Listing {
            objects,
            versions,
            parts,
        })
    }

    fn manifest(&self, name: &VersionName) -> Result<Option<DerivedManifest>, SharedError> {
        let key = self.keys.version(name);
        let Some(bytes) = self.store.read(&key)? else {
            return Ok(None);
        };
        let decoded = DerivedManifest::decode(&bytes);
        let manifest = decoded.map_err(|reason| SharedError::damaged(&key, reason))?;
        Ok(Some(manifest))
    }

    /// Appends the bytes of a version to an empty file.
    ///
    /// # Errors
    /// [`SharedError::Missing`] if it was removed meanwhile; [`SharedError::Damaged`], [`SharedError::Interrupted`], errors of the
    /// store and of the file, which has any part of the bytes then.
    pub fn fetch(
        &self,
        version: &DerivedVersion,
        file: &dyn StorageFile,
        (progress, stop): (&dyn Progress, &Interrupt),
    ) -> Result<(), SharedError> {
        progress.begin("fetching", Unit::Bytes, Some(version.bytes()));
        for part in &version.manifest.parts {
            stop.check()?;
            let key = self.keys.part(&part.hash);
            let Some(bytes) = self.store.read(&key)? else {
                let wanted_by = self.keys.version(&version.name);
                return Err(SharedError::Missing { key, wanted_by });
            };
            if !part.is_of(&bytes) {
                return Err(SharedError::damaged(
                    &key,
                    "its bytes are not those of its name",
                ));
            }
            file.append(&bytes)?;
            progress.advance(part.len);
        }
        progress.end();
        Ok(())
    }

    /// Removes all versions.
    ///
    /// # Errors
    /// Errors of the store; any part of them may be left.
    pub fn remove(&self) -> Result<(), SharedError> {
        for object in self.store.list(self.keys.all())? {
            self.store.remove(&object.key)?;
        }
        Ok(())
    }
}

/// Names of the files that are derived from a log, or from all logs, with the log's name and a slash before them; each with the
/// length of its objects.
///
/// # Errors
/// Errors of the store.
pub fn list_derived(
    store: &dyn ObjectStore,
    of: Option<&LogId>,
) -> Result<BTreeMap<String, u64>, SharedError> {
    let prefix = of.map_or_else(|| DERIVED.to_owned(), |of| format!("{DERIVED}{of}/"));
    let mut found = BTreeMap::new();
    for object in store.list(&prefix)? {
        if let Some(file) = DerivedKeys::file_of(&object.key) {
            *found.entry(file.to_owned()).or_default() += object.len;
        }
    }
    Ok(found)
}
