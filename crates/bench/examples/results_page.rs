//! Draws `bench/results/*.jsonl`: `cargo run -p varve-bench --example results_page -- DIRECTORY FILE PICTURES`. FILE gets
//! the whole page, and the directory PICTURES a page with one plot for each picture.

use std::path::Path;
use varve_base::DiskStorage;
use varve_bench::results;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [directory, file, pictures] = words.as_slice() else {
        return Err("usage: results_page DIRECTORY FILE PICTURES".into());
    };
    let storage = DiskStorage::new(Path::new(""));
    let files = results::read(&storage, Path::new(directory))?;
    std::fs::write(file, results::page(&files)?)?;
    for (name, page) in results::pictures(&files)? {
        std::fs::write(Path::new(pictures).join(name).with_extension("html"), page)?;
    }
    Ok(())
}
