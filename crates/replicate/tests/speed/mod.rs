//! How fast an import is: `VARVE_IMPORT_SPEED=1000000 cargo test --release -p varve-replicate speed -- --nocapture`.
//! Without the variable a few documents are imported. No time is asserted. `VARVE_IMPORT_FILE=PATH` keeps the file that
//! is imported, for `bench/moving.py`, and takes one that is there as it is.

use crate::couch_encoder::{Stored, write_file};
use crate::recorded::imported;
use std::path::PathBuf;
use std::time::Instant;
use varve_replicate::SourceDatabase;

#[test]
fn speed_of_an_import() {
    let count = std::env::var("VARVE_IMPORT_SPEED").ok();
    let count: u64 = count.map_or(2000, |count| count.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let kept = std::env::var_os("VARVE_IMPORT_FILE").map(PathBuf::from);
    let from = kept.unwrap_or_else(|| directory.path().join("db.couch"));
    if !from.exists() {
        write_file(&from, count, Stored::Snappy);
    }
    let source = SourceDatabase {
        name: "db".to_owned(),
        files: vec![from.clone()],
        findings: Vec::new(),
    };
    let (begun, cpu) = (Instant::now(), cpu_ticks());
    let (done, found) = imported(&source, &directory.path().join("db.varve"));
    let (took, cpu) = (begun.elapsed(), cpu_ticks() - cpu);
    assert_eq!((done.loaded.documents, found), (count, vec![]));
    println!(
        "{count} documents, {} bytes before, {} after: {:.0} documents/s; {:.1} us of processors per \
         document",
        std::fs::metadata(&from).unwrap().len(),
        done.loaded.file_bytes,
        count as f64 / took.as_secs_f64(),
        cpu as f64 * 10_000.0 / count as f64
    );
}

/// Time of processors that this process has taken, in hundredths of a second.
fn cpu_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    let fields: Vec<&str> = fields.split(' ').collect();
    // User and system time, as proc(5) numbers them from the state on.
    [11, 12]
        .map(|at: usize| fields[at].parse::<u64>().unwrap())
        .iter()
        .sum()
}
