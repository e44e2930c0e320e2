//! Loads documents of about 1 KB in batches, reads them back and compacts the file, printing the time and size of each
//! step:
//!
//! ```text
//! cargo run --release -p varve-docdb --example bulk_load -- [documents] [batch] [setting]
//! ```
//! A tool to steer by; the figures that are quoted come from the benchmarks.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use varve_base::{DiskStorage, Interrupt, Silent};
use varve_codec::EngineSetting;
use varve_docdb::{Database, DatabaseOptions, Direction, Edits, IdRange, Mode, NodeCache};

type Anything = Box<dyn std::error::Error>;

fn main() -> Result<(), Anything> {
    let mut args = std::env::args().skip(1);
    let count: u64 = args.next().as_deref().unwrap_or("100000").parse()?;
    let batch: u64 = args.next().as_deref().unwrap_or("1000").parse()?;
    let setting: EngineSetting = args.next().as_deref().unwrap_or("snappy").parse()?;
    let directory = tempfile::tempdir_in(".")?;
    let options = DatabaseOptions {
        trains: varve_docdb::TrainsBy::Itself,
        ..DatabaseOptions::new(setting, NodeCache::new(64 << 20))
    };
    let storage = Arc::new(DiskStorage::new(directory.path()));
    let db = Database::create(storage, Path::new("load.varve"), &options)?;
    load(&db, count, batch.max(1))?;
    read(&db)?;
    println!("{:?}", db.sizes()?);
    let begin = Instant::now();
    let done = db.compact(&Silent, &Interrupt::default())?;
    println!("compaction: {done:?} in {:?}", begin.elapsed());
    println!("{:?}", db.sizes()?);
    Ok(())
}

fn load(db: &Database, count: u64, batch: u64) -> Result<(), Anything> {
    let (mut parsing, mut updating) = (Duration::ZERO, Duration::ZERO);
    let mut bytes = 0;
    for start in (0..count).step_by(usize::try_from(batch)?) {
        let body = bulk_body(start..(start + batch).min(count));
        bytes += body.len();
        let begin = Instant::now();
        let parsed = Edits::parse(body.as_bytes(), "docs")?;
        let edits = parsed.edits.unwrap_or_default();
        let edits = edits.into_iter().collect::<Result<Vec<_>, _>>()?;
        parsing += begin.elapsed();
        let begin = Instant::now();
        for outcome in db.update(edits, Mode::Interactive)? {
            outcome?;
        }
        updating += begin.elapsed();
    }
    let all = parsing + updating;
    println!(
        "{count} documents, {bytes} bytes: {:.0}/s",
        count as f64 / all.as_secs_f64()
    );
    for (what, time) in [("parse", parsing), ("update", updating)] {
        println!(
            "  {what}: {:.2} us per document",
            time.as_secs_f64() * 1e6 / count as f64
        );
    }
    Ok(())
}

fn read(db: &Database) -> Result<(), Anything> {
    let snapshot = db.snapshot();
    let begin = Instant::now();
    let rows = snapshot.all_docs(IdRange::ALL, Direction::Forward)?.count();
    println!("all_docs: {rows} rows in {:?}", begin.elapsed());
    let begin = Instant::now();
    let mut body = Vec::new();
    let mut bytes = 0;
    for change in snapshot.changes(0, Direction::Forward)? {
        body.clear();
        snapshot.body(&change?.stored, &mut body)?;
        bytes += body.len();
    }
    println!(
        "changes with bodies: {bytes} bytes in {:?}",
        begin.elapsed()
    );
    Ok(())
}

/// An array of documents whose shape is that of the reference load.
fn bulk_body(numbers: std::ops::Range<u64>) -> String {
    const WORDS: [&str; 12] = [
        "relax", "couch", "replica", "shard", "quorum", "bucket", "vector", "matrix", "window",
        "ledger", "stream", "packet",
    ];
    let mut text = String::from("{\"docs\":[");
    for number in numbers.clone() {
        let mut state = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut next = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let mut words = |count: usize| {
            let words: Vec<_> = (0..count).map(|_| WORDS[next(12) as usize]).collect();
            words.join(" ")
        };
        let strings: Vec<_> = (0..5).map(|_| format!("\"{}\"", words(6))).collect();
        let name = words(2);
        let note = words(10);
        let data: Vec<_> = (0..34)
            .map(|_| (next(1 << 33) as f64 / 1e7).to_string())
            .collect();
        if number > numbers.start {
            text.push(',');
        }
        text += &format!(
            "{{\"_id\":\"doc{number:09}\",\"name\":\"{name} {number}\",\"type\":\"sensor\",\"level\":{},\
             \"active\":true,\"nested\":{{\"note\":\"{note}\",\"data\":[{}]}},\"strings\":[{}],\
             \"hash\":\"{:032x}\"}}",
            next(100),
            data.join(","),
            strings.join(","),
            u128::from(next(u64::MAX)) << 64 | u128::from(next(u64::MAX)),
        );
    }
    text + "]}"
}
