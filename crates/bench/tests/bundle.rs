//! Tables of `bench bundle`. Never how fast.

use crate::revlog::repository;
use serde_json::Value;
use std::path::Path;
use varve_base::{Interrupt, Silent};
use varve_bench::BenchError;
use varve_bench::bundle::{self, Options};
use varve_bench::report::{self, Report};

fn measure(specs: &[&str]) -> Result<Report, BenchError> {
    let options = Options {
        specs: specs.iter().map(|spec| (*spec).to_owned()).collect(),
        runs: 3,
    };
    let (storage, interrupt) = (repository(), Interrupt::default());
    let paths = (Path::new("r"), Path::new("r/.hg"));
    let report = bundle::run(&storage, paths, &options, &Silent, &interrupt)?;
    let left = storage.list(Path::new("r/.hg")).unwrap();
    let mut names = left.iter().map(|entry| entry.name.to_string_lossy());
    assert!(!names.any(|name| name.starts_with("varve-bench")));
    Ok(report)
}

#[test]
fn every_spec_is_written_and_applied() {
    let report = measure(&["none-v2", "gzip-v1", "zstd-v2;compressionlevel=19"]).unwrap();
    let value: Value = serde_json::from_str(&report::json(&report)).unwrap();
    let rows = value["tables"]["bundles"]["rows"].as_array().unwrap();
    let sizes: Vec<u64> = rows
        .iter()
        .map(|row| row["size"].as_u64().unwrap())
        .collect();
    assert!(sizes[0] > sizes[1] && sizes[0] > sizes[2], "{sizes:?}");
    for row in rows {
        for quantity in ["write", "write_cpu", "apply", "apply_cpu"] {
            assert_eq!(row[quantity]["runs"].as_array().unwrap().len(), 3, "{row}");
        }
    }
    assert!(rows[0]["memory"].is_null() && rows[2]["memory"].as_u64().unwrap() > 1 << 20);
}

#[test]
fn other_texts_are_refused_by_name() {
    for (spec, said) in [
        ("lzma-v2", "bundlespec lzma-v2: "),
        ("none-v2;stream=v2", "not compressed again"),
    ] {
        let refused = measure(&[spec]).unwrap_err().to_string();
        assert!(refused.contains(said), "{refused}");
    }
}
