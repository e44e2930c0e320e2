//! How fast an import is: `VARVE_IMPORT_SPEED=1000000 cargo test --release -p varve-replicate speed -- --nocapture`.
//! Without the variable a few documents are imported. No time is asserted.

use crate::couch_encoder::{Stored, write_file};
use crate::recorded::imported;
use std::time::Instant;
use varve_replicate::Source;

#[test]
fn speed_of_an_import() {
    let count = std::env::var("VARVE_IMPORT_SPEED").ok();
    let count: u64 = count.map_or(2000, |count| count.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let from = directory.path().join("db.couch");
    write_file(&from, count, Stored::Snappy);
    let source = Source {
        name: "db".to_owned(),
        files: vec![from.clone()],
        findings: Vec::new(),
    };
    let begun = Instant::now();
    let (done, found) = imported(&source, &directory.path().join("db.varve"));
    let took = begun.elapsed();
    assert_eq!((done.loaded.documents, found), (count, vec![]));
    println!(
        "{count} documents, {} bytes before, {} after: {:.0} documents/s",
        std::fs::metadata(&from).unwrap().len(),
        done.loaded.file_bytes,
        count as f64 / took.as_secs_f64()
    );
}
