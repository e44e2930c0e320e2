//! Adding obsolescence markers.

use crate::format::obsstore::{self, FILE, NewMarker, VERSION, raw_markers};
use crate::format::{BaseDir, RepoError};
use crate::write::transaction::Transaction;
use std::collections::{BTreeSet, HashSet};
use varve_base::storage::read_if_there;
use varve_revlog::Node;

impl Transaction {
    /// Adds markers to the others, once in a transaction.
    ///
    /// # Errors
    /// [`RepoError::Commit`] if a fact does not fit; [`RepoError::BadMarker`] if a successor is the null revision; errors of the storage.
    pub fn add_markers(&mut self, markers: &[NewMarker<'_>]) -> Result<(), RepoError> {
        if markers.is_empty() {
            return Ok(());
        }
        let too_long = |text: &[u8]| text.len() > usize::from(u8::MAX);
        let mut facts = markers.iter().flat_map(|marker| marker.metadata);
        if facts.any(|(key, value)| too_long(key) || too_long(value)) {
            return Err(RepoError::Commit {
                path: self.context.root.clone(),
                reason: "a fact of an obsolescence marker is longer than 255 bytes".to_owned(),
            });
        }
        let mut successors = markers.iter().flat_map(|marker| marker.successors);
        if successors.any(Node::is_null) {
            return Err(self.null_successor());
        }
        let path = self.context.store().join(FILE);
        let len = self.context.storage.file_len(&path)?.unwrap_or(0);
        let mut bytes = if len == 0 { vec![VERSION] } else { Vec::new() };
        bytes.extend(markers.iter().flat_map(NewMarker::encode));
        self.append(FILE.as_bytes(), len, bytes);
        if let Some(hooks) = &mut self.hooks {
            hooks.set_marker_count(markers.len());
        }
        Ok(())
    }

    /// The failure of a transaction in which Mercurial has the file open already.
    fn null_successor(&mut self) -> RepoError {
        self.write_attempted = true;
        RepoError::BadMarker {
            reason: "invalid successors nullid".to_owned(),
        }
    }

    /// Removes the markers at these places of the file, from 0; returns how many there were.
    ///
    /// # Errors
    /// If the markers are damaged; errors of the storage.
    pub fn remove_markers(&mut self, places: &BTreeSet<usize>) -> Result<usize, RepoError> {
        let path = self.context.store().join(FILE);
        let old = read_if_there(self.context.storage.as_ref(), &path)?.unwrap_or_default();
        let damaged = |(line, reason)| RepoError::DamagedLine { path, line, reason };
        obsstore::parse(&old).map_err(damaged)?;
        let (mut kept, mut count) = (vec![VERSION], 0);
        for (at, marker) in raw_markers(&old).enumerate() {
            match places.contains(&at) {
                true => count += 1,
                false => kept.extend_from_slice(marker),
            }
        }
        self.replace(BaseDir::Store, FILE.as_bytes(), kept);
        Ok(count)
    }
}

impl Transaction {
    /// Adds those markers that are not there yet; returns how many. `bytes` are a whole file of
    /// markers, or of those of version 0.
    pub(crate) fn add_received_markers(&mut self, bytes: &[u8]) -> Result<usize, RepoError> {
        let bytes = &obsstore::to_stored_form(bytes)?[..];
        if obsstore::has_null_successor(bytes) {
            return Err(self.null_successor());
        }
        let path = self.context.store().join(FILE);
        let old = read_if_there(self.context.storage.as_ref(), &path)?.unwrap_or_default();
        let damaged = |(line, reason)| RepoError::DamagedLine { path, line, reason };
        obsstore::parse(&old).map_err(damaged)?;
        let mut known: HashSet<&[u8]> = raw_markers(&old).collect();
        let mut appended = if old.is_empty() {
            vec![VERSION]
        } else {
            Vec::new()
        };
        let mut count = 0;
        for marker in raw_markers(bytes).filter(|marker| known.insert(marker)) {
            appended.extend_from_slice(marker);
            count += 1;
        }
        if count > 0 {
            self.append(FILE.as_bytes(), old.len() as u64, appended);
        }
        if let Some(hooks) = &mut self.hooks {
            hooks.set_marker_count(count);
        }
        Ok(count)
    }
}
