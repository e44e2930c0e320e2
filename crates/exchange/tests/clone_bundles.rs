//! Clone bundles after a stop in the middle of making new ones.

use crate::client::Served;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use varve_base::{DiskStorage, Interrupt, Silent};
use varve_exchange::ExchangeError;
use varve_exchange::server::clone_bundles::{
    BUNDLE_CACHE, CloneBundleOptions, CloneBundleReport, DEFAULT_FORMATS, make_clone_bundles,
};
use varve_repo::Repository;

fn make(served: &Served, stop: &Interrupt) -> Result<CloneBundleReport, ExchangeError> {
    let storage = Arc::new(DiskStorage::new(served.directory.path()));
    let repository = Repository::open(storage, Path::new("source")).unwrap();
    let recipe = CloneBundleOptions {
        formats: &DEFAULT_FORMATS.map(str::to_owned),
        cache: Path::new(BUNDLE_CACHE),
        replaces_manifest: false,
        publishing: true,
        progress: &Silent,
        stop,
    };
    make_clone_bundles(&repository, &recipe)
}

/// Names and bytes of all that belongs to clone bundles.
fn state(served: &Served) -> BTreeMap<String, Vec<u8>> {
    let hg = served.source().join(".hg");
    let list = std::fs::read(hg.join("clonebundles.manifest")).unwrap();
    let files = std::fs::read_dir(hg.join("bundle-cache")).unwrap();
    let files = files.map(|file| {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read(path).unwrap())
    });
    files.chain([("list".to_owned(), list)]).collect()
}

#[test]
fn an_interrupted_run_leaves_the_old_bundles() {
    let served = Served::empty();
    served.commit("one", &[("a", "a\n")]);
    let made = make(&served, &Interrupt::default()).unwrap();
    assert_eq!((made.bundles.len(), made.changesets), (2, 1));
    let before = state(&served);
    served.commit("two", &[("b", "b\n")]);
    let stop = Interrupt::default();
    stop.raise();
    assert!(make(&served, &stop).is_err());
    assert_eq!(state(&served), before);
    let made = make(&served, &Interrupt::default()).unwrap();
    assert_eq!(made.changesets, 2);
    let after = state(&served);
    assert_eq!(after.len(), before.len(), "{:?}", after.keys());
    assert!(
        after
            .keys()
            .all(|name| name == "list" || name == "varve.lock" || !before.contains_key(name))
    );
    // The same history gives the same bytes.
    make(&served, &Interrupt::default()).unwrap();
    assert_eq!(state(&served), after);
}
