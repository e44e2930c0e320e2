//! The entry points of fuzzers, over objects of a real log with changes at random.

use crate::common::{Setup, write};
use proptest::prelude::*;
use std::sync::Arc;
use varve_base::{Interrupt, OpenMode, Silent, Storage};
use varve_shared::{DerivedFile, LogId, LogOptions, SystemClock, fuzzing};

/// Objects of every kind.
fn objects() -> Vec<Vec<u8>> {
    let setup = Setup::new(LogOptions {
        inline_bytes: 50,
        segment_bytes: 64,
        ..LogOptions::default()
    });
    let owner = setup.open("db");
    owner.take_over().unwrap();
    write(&owner, "x", b"some bytes").unwrap();
    owner.create_directory("d".as_ref()).unwrap();
    owner.create_symlink("t", "d/l".as_ref()).unwrap();
    write(&owner, "d/y", &[3; 200]).unwrap();
    owner.rename("x".as_ref(), "d/z".as_ref()).unwrap();
    owner.sync_directory("".as_ref()).unwrap();
    owner.checkpoint().unwrap();
    let file = owner.open("d/y".as_ref(), OpenMode::Read).unwrap();
    let (id, clock) = (LogId::new("db").unwrap(), SystemClock::default());
    let derived = DerivedFile::new(Arc::clone(&setup.store), Arc::new(clock), &id, "i").unwrap();
    let quietly = (&Silent as _, &Interrupt::default());
    derived
        .store((file.as_ref(), 200), (1, b"label"), quietly)
        .unwrap();
    let mut all = setup.objects("db/");
    all.extend(setup.objects("derived/"));
    all.iter()
        .map(|it| setup.store.read(&it.key).unwrap().unwrap())
        .collect()
}

proptest! {
    #[test]
    fn no_changed_object_panics(changes in proptest::collection::vec(any::<(u16, u8)>(), 0..4), cut in any::<u16>()) {
        thread_local!(static OBJECTS: Vec<Vec<u8>> = objects());
        OBJECTS.with(|objects| for object in objects {
            let mut bytes = object.clone();
            for (at, byte) in &changes {
                let at = usize::from(*at) % bytes.len();
                bytes[at] = *byte;
            }
            let cut = usize::from(cut) % (bytes.len() + 1);
            for bytes in [&bytes[..], &bytes[..cut]] {
                fuzzing::record(bytes);
                fuzzing::checkpoint(bytes);
                fuzzing::derived_version(bytes);
            }
        });
    }
}
