//! Records that claim what no segment has.

use super::*;
use crate::clock::SystemClock;
use crate::log::{LogId, LogOptions};
use crate::store::DirectoryStore;
use varve_base::MemoryStorage;

fn append(len: u64) -> Operation {
    let (path, name) = ("x".into(), SegmentName::of(b"", 1, [0; 16]));
    Operation::Append {
        path,
        offset: 0,
        bytes: AppendedBytes::Segment {
            name,
            offset: 0,
            len,
        },
    }
}

#[test]
fn no_room_is_made_for_more_than_a_segment_and_nothing_is_fetched_for_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let store = Arc::new(DirectoryStore::new(scratch.path()).unwrap());
    let (clock, id) = (Arc::new(SystemClock::default()), LogId::new("x").unwrap());
    let log = Log::new(store, clock, id, LogOptions::default());
    let local = Arc::new(MemoryStorage::default());
    let mut copy = LocalCopy::lazy(&log, Arc::clone(&local) as _);
    let create = Operation::Create("x".into());
    copy.apply(&log, &create, "x/log/1").unwrap();
    copy.apply(&log, &append(0), "x/log/2").unwrap();
    copy.gaps().fill_all().unwrap();
    let refused = copy.apply(&log, &append(1 << 50), "x/log/3").unwrap_err();
    assert!(refused.to_string().contains("x/log/3"), "{refused}");
    assert_eq!(local.file_len(Path::new("x")).unwrap(), Some(0));
}
