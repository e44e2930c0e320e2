//! Results for attachments that were met: revisions of a document share theirs.

use crate::Attachment;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

/// Attachments that are remembered. Past it the ones that were not met for longest are forgotten,
/// and read once more if they come again.
const REMEMBERED: usize = 1 << 17;

/// Something about each of some attachments.
pub(crate) struct Remembered<T> {
    hasher: RandomState,
    newer: HashMap<u64, T>,
    older: HashMap<u64, T>,
}

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Remembered {
            hasher: RandomState::new(),
            newer: HashMap::new(),
            older: HashMap::new(),
        }
    }
}

impl<T: Clone> Remembered<T> {
    /// Key by which an attachment is recognised: the place of its data, and its metadata.
    pub(crate) fn key(&self, attachment: &Attachment) -> u64 {
        let Attachment {
            md5,
            is_gzip,
            length,
            stored_length,
            chunks,
            ..
        } = attachment;
        self.hasher
            .hash_one((md5, is_gzip, length, stored_length, chunks))
    }

    pub(crate) fn get(&mut self, key: u64) -> Option<T> {
        if let Some(known) = self.newer.get(&key) {
            return Some(known.clone());
        }
        let known = self.older.get(&key).cloned()?;
        self.put(key, known.clone());
        Some(known)
    }

    pub(crate) fn put(&mut self, key: u64, known: T) {
        if self.newer.len() >= REMEMBERED / 2 {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.insert(key, known);
    }
}
