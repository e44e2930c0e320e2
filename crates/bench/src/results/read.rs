//! Files of results: one JSON object a line, as `bench/measure.py` writes them.

use crate::BenchError;
use serde_json::Value;
use std::path::Path;
use varve_base::{OpenMode, Storage};

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptResult {
    /// Work that was measured.
    pub name: String,
    /// Program, or two of them with `against` between.
    pub subject: String,
    /// Unit of the numbers; `ratio` for comparisons.
    pub unit: String,
    /// The middle of the samples; `None` if the work could not be done.
    pub median: Option<f64>,
    /// Least and greatest sample.
    pub range: Option<(f64, f64)>,
    /// Bound that was aimed at.
    pub target: Option<f64>,
    /// The bound is kept.
    pub met: Option<bool>,
    /// Day of the measurement.
    pub date: String,
    /// Commit that was measured.
    pub commit: String,
    /// Processor and number of cores.
    pub machine: String,
}

/// The lines of one file, in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultFile {
    /// Its name without the ending.
    pub name: String,
    /// Its lines.
    pub results: Vec<KeptResult>,
}

/// Reads all files `*.jsonl` of a directory, sorted by name.
///
/// # Errors
/// [`BenchError::NotAResult`]; errors of the storage; [`BenchError::Nothing`].
pub fn read(storage: &dyn Storage, directory: &Path) -> Result<Vec<ResultFile>, BenchError> {
    let mut files = Vec::new();
    for entry in storage.list(directory)? {
        let path = directory.join(&entry.name);
        if path.extension().is_none_or(|ending| ending != "jsonl") {
            continue;
        }
        let text = storage.open(&path, OpenMode::Read)?.read_all()?;
        let mut results = Vec::new();
        for (number, line) in (1u64..).zip(text.split(|byte| *byte == b'\n')) {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let found = serde_json::from_slice(line).ok();
            results.push(found.as_ref().and_then(result).ok_or_else(|| {
                BenchError::NotAResult {
                    path: path.clone(),
                    line: number,
                }
            })?);
        }
        let name = path.file_stem().unwrap_or_default();
        files.push(ResultFile {
            name: name.to_string_lossy().into_owned(),
            results,
        });
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    match files.is_empty() {
        true => Err(BenchError::Nothing),
        false => Ok(files),
    }
}

fn result(line: &Value) -> Option<KeptResult> {
    let text = |name: &str| Some(line.get(name)?.as_str()?.to_owned());
    let number = |name: &str| line.get(name)?.as_f64();
    let range = line.get("range").and_then(Value::as_array);
    let range = range.and_then(|ends| Some((ends.first()?.as_f64()?, ends.get(1)?.as_f64()?)));
    Some(KeptResult {
        name: text("name")?,
        subject: text("subject")?,
        unit: text("unit")?,
        median: number("median"),
        range,
        target: number("target"),
        met: line.get("met").and_then(Value::as_bool),
        date: text("date")?,
        commit: text("commit")?,
        machine: text("machine")?,
    })
}
