//! Draws `bench/results/*.jsonl`: `cargo run -p varve-bench --example results_page -- DIRECTORY FILE SUMMARY`. FILE gets
//! the whole page, SUMMARY one with the first plot alone.

use std::path::Path;
use varve_base::DiskStorage;
use varve_bench::results;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [directory, file, summary] = words.as_slice() else {
        return Err("usage: results_page DIRECTORY FILE SUMMARY".into());
    };
    let storage = DiskStorage::new(Path::new(""));
    let files = results::read(&storage, Path::new(directory))?;
    std::fs::write(file, results::page(&files)?)?;
    std::fs::write(summary, results::summary(&files)?)?;
    Ok(())
}
