//! Caches that a stream clone sends with the files of a store, so that the receiver need not read the
//! history.

use super::CacheDirectory;
use crate::read::Repository;

/// Each for itself and with any of the endings, in the order in which Mercurial sends them.
const STREAMED: [(&str, &[&str]); 6] = [
    ("branch2", AUDIENCES),
    ("branch3", AUDIENCES),
    ("rbc-names-v2", &[""]),
    ("rbc-revs-v2", &[""]),
    ("tags2", AUDIENCES),
    ("hgtagsfnodes1", &[""]),
];

/// Filters that a cache may be of, by the end of its name.
const AUDIENCES: &[&str] = &["", "-base", "-immutable", "-served", "-visible"];

/// Bytes of all caches that are taken or given together; further ones stay where they are.
const MOST: usize = 32 << 20;

/// The names of all of them.
pub fn streamed_cache_names() -> impl Iterator<Item = String> {
    let each = STREAMED.iter();
    each.flat_map(|(name, endings)| endings.iter().map(move |ending| format!("{name}{ending}")))
}

/// Caches that come from elsewhere, kept until the history is there that they are about.
#[derive(Debug, Default)]
pub struct ReceivedCaches {
    files: Vec<(String, Vec<u8>)>,
    bytes: usize,
}

impl ReceivedCaches {
    /// Whether a cache is kept, of that name and length.
    pub fn wants(&self, name: &[u8], len: u64) -> bool {
        let left = MOST.saturating_sub(self.bytes) as u64;
        len <= left && streamed_cache_names().any(|known| known.as_bytes() == name)
    }

    /// Keeps one that is [wanted](ReceivedCaches::wants).
    pub fn keep(&mut self, name: &[u8], bytes: Vec<u8>) {
        self.bytes = self.bytes.saturating_add(bytes.len());
        let name = String::from_utf8_lossy(name).into_owned();
        self.files.push((name, bytes));
    }
}

impl Repository {
    /// The caches that there are, by their names.
    pub fn streamed_caches(&self) -> Vec<(String, Vec<u8>)> {
        let directory = CacheDirectory::of(self.context());
        let mut left = MOST;
        let mut found = Vec::new();
        for name in streamed_cache_names() {
            if directory.len(&name) > left as u64 {
                continue;
            }
            let bytes = directory.read(&name, left);
            left -= bytes.len();
            if !bytes.is_empty() {
                found.push((name, bytes));
            }
        }
        found
    }

    /// Writes the caches that were received. A reader compares them with the history, as always.
    pub fn install_caches(&self, caches: &ReceivedCaches) {
        let directory = CacheDirectory::of(self.context());
        for (name, bytes) in &caches.files {
            directory.replace(name, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::sync::Arc;
    use varve_base::{MemoryStorage, Storage};

    #[test]
    fn only_known_caches_of_moderate_length_are_taken_over() {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
        storage.create_directory(Path::new("r")).unwrap();
        let repository = Repository::create(Arc::clone(&storage), Path::new("r")).unwrap();
        let mut caches = ReceivedCaches::default();
        for name in [
            &b"../hgrc"[..],
            b"branch2-all",
            b"",
            b"tags2-served~",
            b"undo",
        ] {
            assert!(!caches.wants(name, 1), "{name:?}");
        }
        assert!(!caches.wants(b"tags2", MOST as u64 + 1));
        assert!(caches.wants(b"tags2-served", MOST as u64));
        caches.keep(b"tags2-served", b"x".to_vec());
        assert!(!caches.wants(b"tags2", MOST as u64));
        assert!(repository.streamed_caches().is_empty());
        repository.install_caches(&caches);
        let found = repository.streamed_caches();
        assert_eq!(found, [("tags2-served".to_owned(), b"x".to_vec())]);
    }
}
