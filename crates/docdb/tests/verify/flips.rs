//! One flipped bit: documents that are not hit read as before, and the check says where it is.

use super::sample::{
    self, Documents, PATH, document, documents, findings, ids, salvaged, snapshot_of, storage_of,
};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use varve_base::MemoryStorage;
use varve_docdb::verify::Part;
use varve_docdb::{Database, Salvaged, Snapshot};
use varve_testkit::watched::{Call, Watched, Watcher};

/// Length of the file's header, which is needed in any case.
const HEADER: u64 = 40;

/// Notes the ranges that are read.
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

/// A file, and the ranges of it that each document needs.
struct Target {
    bytes: Vec<u8>,
    documents: Documents,
    /// The documents as the commit before the last one left them.
    before: Documents,
    /// Ranges that are read for each document.
    needs: BTreeMap<String, Vec<Range<u64>>>,
    /// Where the last append begins: damage there looks as if it had been cut short.
    last: u64,
    /// Every byte that is in use.
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
        let opened = Database::open(
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

    /// Where the last commit's record begins.
    fn record(&self) -> u64 {
        let magic = b"\x8bcommit\n";
        let at = self.bytes.windows(8).rposition(|bytes| bytes == magic);
        at.unwrap() as u64
    }

    fn is_hit(&self, id: &str, at: u64) -> bool {
        let needs = self.needs.get(id);
        needs.is_none_or(|ranges| ranges.iter().any(|range| range.contains(&at)))
    }

    fn flipped(&self, at: u64) -> MemoryStorage {
        let mut bytes = self.bytes.clone();
        bytes[at as usize] ^= 1 << (at % 8);
        storage_of(&bytes)
    }

    /// Reads everything as a server would; returns how many documents are hit.
    fn read(&self, at: u64) -> usize {
        let storage = self.flipped(at);
        let snapshot = snapshot_of(&storage).unwrap();
        let is_last = at >= self.last;
        let expected = match is_last {
            true => &self.before,
            false => &self.documents,
        };
        let mut hit = 0;
        for (id, text) in expected {
            let is_hit = !is_last && self.is_hit(id, at);
            hit += usize::from(is_hit);
            match document(&snapshot, id) {
                Ok(read) => {
                    assert!(!is_hit, "{id:?} does not miss byte {at}");
                    assert_eq!(read.as_ref(), Some(text), "{id:?} after a flip at {at}");
                }
                Err(error) => assert!(is_hit, "{error} of {id:?} after a flip at {at}"),
            }
        }
        hit
    }

    /// Salvages the readable parts; the new file is whole, and has all documents that are not hit.
    fn salvage(&self, at: u64) -> Salvaged {
        let storage = self.flipped(at);
        let (done, told) = salvaged(&storage, "new.varve").unwrap();
        let (report, found) = findings(&storage, "new.varve").unwrap();
        assert_eq!(found, [], "after a flip at {at}");
        let snapshot = Database::read_only(&storage, Path::new("new.varve"), &sample::options());
        let snapshot = snapshot.unwrap();
        let is_older = at >= self.record();
        let expected = match is_older {
            true => &self.before,
            false => &self.documents,
        };
        for (id, text) in expected {
            let read = document(&snapshot, id).unwrap();
            let is_same = read.as_ref() == Some(text);
            let is_hit = !is_older && self.is_hit(id, at);
            assert!(is_same || is_hit, "{id:?} after a flip at {at}: {read:?}");
            assert!(is_same || !told.is_empty(), "{id:?} after a flip at {at}");
        }
        assert_eq!(done.documents, report.documents);
        done
    }
}

#[test]
fn every_byte_of_a_small_file_is_checked() {
    let target = Target::new(sample::small());
    let (mut seen, mut parts) = (0, HashSet::new());
    for at in 0..target.bytes.len() as u64 {
        target.read(at);
        let (_, found) = findings(&target.flipped(at), PATH).unwrap();
        let is_needed = target.live.contains(&at) || at < HEADER || at >= target.last;
        assert!(!found.is_empty() || !is_needed, "nothing is found at {at}");
        seen += usize::from(is_needed);
        parts.extend(found.iter().map(|finding| finding.part));
    }
    assert!(seen > 7000, "{seen} of {}", target.bytes.len());
    for part in [
        Part::FileHeader,
        Part::Commit,
        Part::Security,
        Part::NodeOfLocal,
        Part::NodeOfPurges,
        Part::Body,
        Part::AttachmentList,
        Part::Attachment,
        Part::LocalDocument,
        Part::History,
    ] {
        assert!(parts.contains(&part), "{part}");
    }
}

#[test]
fn what_no_flip_in_a_small_file_hits_is_salvaged() {
    let target = Target::new(sample::small());
    let mut fewest = u64::MAX;
    for at in (0..target.bytes.len() as u64).step_by(5) {
        fewest = fewest.min(target.salvage(at).documents);
    }
    let all = findings(&storage_of(&target.bytes), PATH)
        .unwrap()
        .0
        .documents;
    assert_eq!(fewest, all - 1, "one document is lost at most");
}

#[test]
fn damage_to_what_was_closed_in_peace_undoes_no_commit() {
    for bytes in [sample::compacted(), sample::sealed()] {
        let target = Target::new(bytes);
        assert_eq!(target.before, target.documents);
        for at in (0..target.bytes.len() as u64).step_by(7) {
            // Two have an attachment together; all have roots together, which are there twice.
            assert!(target.read(at) <= 2, "{at}");
        }
    }
}

/// Places all over a larger file.
fn places(len: usize, count: u64) -> impl Iterator<Item = u64> {
    let mut state = 88_172_645_463_325_252_u64;
    (0..count).map(move |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % len as u64
    })
}

#[test]
fn places_all_over_a_larger_file() {
    let target = Target::new(sample::larger());
    let (mut seen, mut parts) = (0, HashSet::new());
    for at in places(target.bytes.len(), 60) {
        target.read(at);
        let (_, found) = findings(&target.flipped(at), PATH).unwrap();
        let is_needed = target.live.contains(&at) || at >= target.last;
        assert!(!found.is_empty() || !is_needed, "nothing is found at {at}");
        target.salvage(at);
        seen += usize::from(is_needed);
        parts.extend(found.iter().map(|finding| finding.part));
    }
    assert!(seen > 40, "{seen}");
    for part in [Part::NodeById, Part::NodeBySeq, Part::Body] {
        assert!(parts.contains(&part), "{part}");
    }
}
