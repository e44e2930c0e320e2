//! One flipped bit: whoever is not hit reads as before, and the check says where it is.

use super::sample::{
    self, Documents, PATH, document, documents, findings, ids, snapshot_of, storage_of,
};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use varve_base::MemoryStorage;
use varve_docdb::Snapshot;
use varve_testkit::watched::{Call, Watched, Watcher};

/// Length of what the file begins with, which is needed in any case.
const HEADER: usize = 40;

/// Notes what is read.
#[derive(Debug, Default)]
struct Reads(Mutex<Vec<Range<u64>>>);

impl Watcher for Reads {
    fn before(&self, call: Call, _: &Path) -> Result<(), ErrorKind> {
        if let Call::Read(at, len) = call {
            self.0.lock().unwrap().push(at..at + len as u64);
        }
        Ok(())
    }
}

impl Reads {
    fn take(&self) -> Vec<Range<u64>> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// A file, and what of it is needed for what.
struct Target {
    bytes: Vec<u8>,
    documents: Documents,
    /// The documents as the commit before the last one left them.
    before: Documents,
    /// What is read for each document.
    needs: BTreeMap<String, Vec<Range<u64>>>,
    /// Where the last append begins: damage there looks as if it had been cut short.
    last: u64,
    /// Every byte that somebody needs.
    live: BTreeSet<u64>,
}

fn needs(
    storage: &Watched<MemoryStorage, Reads>,
    snapshot: &Snapshot,
) -> BTreeMap<String, Vec<Range<u64>>> {
    let mut needs = BTreeMap::new();
    for id in ids(snapshot) {
        storage.watcher().take();
        document(snapshot, &id).unwrap();
        needs.insert(id, storage.watcher().take());
    }
    needs
}

impl Target {
    fn new(bytes: Vec<u8>) -> Target {
        let storage = Watched::new(storage_of(&bytes), Reads::default());
        let snapshot = snapshot_of(&storage).unwrap();
        let needs = needs(&storage, &snapshot);
        storage.watcher().take();
        let documents = documents(&snapshot);
        snapshot.security().unwrap();
        for purge in snapshot.purges(0).unwrap() {
            purge.unwrap();
        }
        let live = storage.watcher().take().into_iter().flatten().collect();
        // The commit before: any damage at the end makes it the newest one.
        let mut cut = bytes.clone();
        *cut.last_mut().unwrap() ^= 1;
        let before = snapshot_of(&storage_of(&cut)).unwrap();
        let opened = varve_docdb::Database::open(
            std::sync::Arc::new(storage_of(&cut)),
            Path::new(PATH),
            &sample::options(),
        );
        let ignored = opened.unwrap().ignored_tail();
        Target {
            last: bytes.len() as u64 - ignored,
            before: self::documents(&before),
            bytes,
            documents,
            needs,
            live,
        }
    }

    /// Flips a bit and reads everything; returns how many findings the check has.
    fn flip(&self, at: usize) -> usize {
        let mut bytes = self.bytes.clone();
        bytes[at] ^= 1 << (at % 8);
        let storage = storage_of(&bytes);
        let snapshot = snapshot_of(&storage).unwrap();
        let at = at as u64;
        let is_last = at >= self.last;
        let expected = if is_last {
            &self.before
        } else {
            &self.documents
        };
        for (id, text) in expected {
            let is_hit = !is_last && self.needs[id].iter().any(|range| range.contains(&at));
            match document(&snapshot, id) {
                Ok(read) => {
                    assert!(!is_hit, "{id:?} does not miss byte {at}");
                    assert_eq!(read.as_ref(), Some(text), "{id:?} after a flip at {at}");
                }
                Err(error) => assert!(is_hit, "{error} of {id:?} after a flip at {at}"),
            }
        }
        let (_, found) = findings(&storage, PATH).unwrap();
        found.len()
    }
}

#[test]
fn every_byte_of_a_small_file() {
    let target = Target::new(sample::small());
    let mut seen = 0;
    for at in 0..target.bytes.len() {
        let found = target.flip(at);
        let is_needed =
            target.live.contains(&(at as u64)) || at < HEADER || at as u64 >= target.last;
        assert!(found > 0 || !is_needed, "nothing is found at {at}");
        seen += usize::from(is_needed);
    }
    assert!(seen > 7000, "{seen} of {}", target.bytes.len());
}
