//! Storing versions, and removing what no version needs.

use super::{DerivedFile, Listing, PART_BYTES, UNSETTLED};
use crate::error::SharedError;
use crate::format::{DerivedManifest, Part, VersionName, nonce};
use crate::store::{Settled, create_if_absent};
use std::collections::BTreeSet;
use varve_base::{Interrupt, Progress, StorageFile, Unit};

/// Bytes of a version that was stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoredVersion {
    /// Bytes that the store did not have.
    pub stored: u64,
    /// Bytes that it had already.
    pub kept: u64,
}

impl DerivedFile {
    /// Stores the first `len` bytes of a file as a version, and removes all others. Parts that the store has are not sent again, so
    /// a file that has only grown costs its new bytes.
    ///
    /// # Errors
    /// [`SharedError::Interrupted`]; errors of the store and of the file. The versions before are still there then, or the new
    /// one is.
    pub fn store(
        &self,
        (file, len): (&dyn StorageFile, u64),
        (rank, label): (u64, &[u8]),
        (progress, stop): (&dyn Progress, &Interrupt),
    ) -> Result<StoredVersion, SharedError> {
        let mut listing = self.list()?;
        progress.begin("storing", Unit::Bytes, Some(len));
        let mut done = StoredVersion::default();
        let mut manifest = DerivedManifest {
            label: label.to_vec(),
            parts: Vec::new(),
        };
        let mut offset = 0;
        while offset < len {
            stop.check()?;
            let rest = usize::try_from(len - offset).unwrap_or(usize::MAX);
            let bytes = file.read_vec(offset, rest.min(PART_BYTES))?;
            let part = Part::of(&bytes);
            if listing.parts.insert(part.hash) {
                self.create(&self.keys.part(&part.hash), &bytes)?;
                done.stored += part.len;
            } else {
                done.kept += part.len;
            }
            manifest.parts.push(part);
            progress.advance(part.len);
            offset += part.len;
        }
        let nonce = nonce()?;
        self.create(
            &self.keys.version(&VersionName { rank, nonce }),
            &manifest.encode(),
        )?;
        for name in &listing.versions {
            self.store.remove(&self.keys.version(name))?;
        }
        let needed = manifest.parts.iter().map(|part| part.hash).collect();
        self.remove_parts(&listing, &needed)?;
        progress.end();
        Ok(done)
    }

    /// Removes parts that no version names, and versions of which something is missing.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn collect_garbage(&self) -> Result<(), SharedError> {
        let listing = self.list()?;
        let mut needed = BTreeSet::new();
        for name in &listing.versions {
            let manifest = match self.manifest(name) {
                Err(SharedError::Damaged { .. }) => None,
                found => found?,
            };
            let whole = manifest.filter(|manifest| {
                let mut parts = manifest.parts.iter();
                parts.all(|part| listing.parts.contains(&part.hash))
            });
            match whole {
                Some(manifest) => needed.extend(manifest.parts.iter().map(|part| part.hash)),
                None => self.store.remove(&self.keys.version(name))?,
            }
        }
        self.remove_parts(&listing, &needed)
    }

    fn remove_parts(
        &self,
        listing: &Listing,
        needed: &BTreeSet<[u8; 16]>,
    ) -> Result<(), SharedError> {
        let now = self.clock.wall();
        for object in &listing.objects {
            let hash = self.keys.part_of(&object.key);
            let is_garbage = hash.is_some_and(|hash| !needed.contains(&hash));
            if is_garbage && object.modified.saturating_add(UNSETTLED) < now {
                self.store.remove(&object.key)?;
            }
        }
        Ok(())
    }

    fn create(&self, key: &str, bytes: &[u8]) -> Result<(), SharedError> {
        match create_if_absent(self.store.as_ref(), self.clock.as_ref(), key, bytes)? {
            Settled::Ours => Ok(()),
            Settled::Theirs(_) => Err(SharedError::damaged(
                key,
                "it has other bytes than its name",
            )),
        }
    }
}
