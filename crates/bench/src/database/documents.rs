//! The documents that are loaded.

use super::{DocumentSource, peer};
use crate::BenchError;
use crate::couch::Endpoint;
use std::path::Path;
use std::sync::Arc;
use varve_base::{Interrupt, OpenMode, Storage};
use varve_codec::EngineSetting;
use varve_docdb::{Database, DatabaseOptions, Direction, IdRange, NodeCache};
use varve_json::{Object, Value, parse_object, write_object};

/// Bytes of documents that are kept in memory, at most, where the user names no number.
const MOST_BYTES: u64 = 256 << 20;

/// Number of documents to keep; less than twice as many are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleSize {
    least: usize,
    most_bytes: u64,
}

impl SampleSize {
    /// At least so many, whatever memory they take: the user has named the number.
    pub fn at_least(documents: usize) -> SampleSize {
        SampleSize {
            least: documents.max(1),
            most_bytes: u64::MAX,
        }
    }

    /// At least so many, but no more than 256 MiB.
    pub fn within_memory(documents: usize) -> SampleSize {
        SampleSize {
            least: documents.max(1),
            most_bytes: MOST_BYTES,
        }
    }
}

/// An even sample of documents: ids, and JSON texts without members that begin with `_`.
#[derive(Debug)]
pub(crate) struct Documents {
    pub texts: Vec<(String, Vec<u8>)>,
    /// Sum of the lengths of the texts.
    pub bytes: u64,
    /// How many there are in the source.
    pub total: u64,
}

/// Keeps an even sample: whenever there are too many, every second one goes, and the rest count double.
struct Sampler {
    documents: Documents,
    stride: u64,
    size: SampleSize,
}

impl Sampler {
    fn new(size: SampleSize) -> Sampler {
        let documents = Documents {
            texts: Vec::new(),
            bytes: 0,
            total: 0,
        };
        Sampler {
            documents,
            stride: 1,
            size,
        }
    }

    fn push(&mut self, id: impl FnOnce() -> String, text: impl FnOnce() -> Vec<u8>) {
        let documents = &mut self.documents;
        if documents.total.is_multiple_of(self.stride) {
            let text = text();
            documents.bytes += text.len() as u64;
            documents.texts.push((id(), text));
        }
        documents.total += 1;
        let count = documents.texts.len();
        let is_too_long = documents.bytes > self.size.most_bytes && count > 1;
        // Halving at twice the number keeps at least as many as wanted.
        if count >= self.size.least.saturating_mul(2) || is_too_long {
            let mut number = 0;
            documents.texts.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            documents.bytes = documents
                .texts
                .iter()
                .map(|(_, text)| text.len() as u64)
                .sum();
            self.stride *= 2;
        }
    }
}

impl Documents {
    /// Reads an even sample, or all documents if there are fewer.
    pub fn read(
        storage: &Arc<dyn Storage>,
        source: &DocumentSource,
        size: SampleSize,
        interrupt: &Interrupt,
    ) -> Result<Documents, BenchError> {
        let mut sampler = Sampler::new(size);
        match source {
            DocumentSource::Database(path) => winners(storage, path, &mut sampler, interrupt)?,
            DocumentSource::Lines(path) => lines(storage, path, &mut sampler, interrupt)?,
            DocumentSource::Url(url) => remote(&Endpoint::database(url)?, &mut sampler, interrupt)?,
        }
        match sampler.documents.texts.is_empty() {
            true => Err(BenchError::Nothing),
            false => Ok(sampler.documents),
        }
    }
}

fn winners(
    storage: &Arc<dyn Storage>,
    path: &Path,
    sampler: &mut Sampler,
    interrupt: &Interrupt,
) -> Result<(), BenchError> {
    let options = DatabaseOptions::new(EngineSetting::NONE, NodeCache::new(0));
    let snapshot = Database::read_only(storage.as_ref(), path, &options)?;
    for row in snapshot.all_docs(IdRange::ALL, Direction::Forward)? {
        interrupt.check()?;
        let row = row?;
        let mut text = Vec::new();
        snapshot.body(&row.stored, &mut text)?;
        sampler.push(|| row.id().to_owned(), || text);
    }
    Ok(())
}

/// The winners of a database on a server, without its design documents.
fn remote(
    database: &Endpoint,
    sampler: &mut Sampler,
    interrupt: &Interrupt,
) -> Result<(), BenchError> {
    for page in peer::pages(database, interrupt) {
        for (id, mut document) in page?.documents {
            if id.starts_with("_design/") {
                continue;
            }
            document.retain(|name, _| !name.starts_with('_'));
            let mut text = Vec::new();
            write_object(&document, &mut text);
            sampler.push(|| id, || text);
        }
    }
    Ok(())
}

fn lines(
    storage: &Arc<dyn Storage>,
    path: &Path,
    sampler: &mut Sampler,
    interrupt: &Interrupt,
) -> Result<(), BenchError> {
    let text = storage.open(path, OpenMode::Read)?.read_all()?;
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    for (number, line) in (1u64..).zip(lines) {
        interrupt.check()?;
        if line.is_empty() {
            continue;
        }
        let wrong = |reason: String| BenchError::NotADocument {
            path: path.to_owned(),
            line: number,
            reason,
        };
        let mut document = parse_object(line).map_err(|error| wrong(error.to_string()))?;
        let id = take_id(&mut document, number);
        document.retain(|name, _| !name.starts_with('_'));
        let mut text = Vec::new();
        write_object(&document, &mut text);
        sampler.push(|| id, || text);
    }
    Ok(())
}

/// `_id`, or `id` as in rows of `_all_docs`, or the line's number.
fn take_id(document: &mut Object, number: u64) -> String {
    let named = document.get("_id").or_else(|| document.get("id"));
    match named.and_then(Value::as_str).filter(|id| is_usable(id)) {
        Some(id) => id.to_owned(),
        None => format!("line-{number:09}"),
    }
}

/// Ids that begin with `_` belong to CouchDB.
fn is_usable(id: &str) -> bool {
    !id.is_empty() && (!id.starts_with('_') || id.starts_with("_design/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(size: SampleSize, count: usize) -> Vec<String> {
        let mut sampler = Sampler::new(size);
        for number in 0..count {
            sampler.push(|| number.to_string(), || vec![b'x'; 100]);
        }
        assert_eq!(sampler.documents.total, count as u64);
        assert_eq!(
            sampler.documents.bytes,
            100 * sampler.documents.texts.len() as u64
        );
        let texts = sampler.documents.texts;
        texts.into_iter().map(|(id, _)| id).collect()
    }

    #[test]
    fn a_sample_is_even_and_as_large_as_the_user_asks_for() {
        assert_eq!(sampled(SampleSize::at_least(40), 40).len(), 40);
        assert_eq!(sampled(SampleSize::at_least(40), 79).len(), 79);
        let even: Vec<String> = (0..40).map(|number| (2 * number).to_string()).collect();
        assert_eq!(sampled(SampleSize::at_least(40), 80), even);
    }

    #[test]
    fn memory_limits_a_sample_only_where_no_number_was_named() {
        let small = SampleSize {
            least: 40,
            most_bytes: 1000,
        };
        assert_eq!(sampled(small, 40).len(), 10);
        assert_eq!(SampleSize::at_least(40).most_bytes, u64::MAX);
        assert_eq!(SampleSize::within_memory(40).most_bytes, 256 << 20);
    }
}
