//! Advice about a database.

use super::goal::{Candidate, Goal, choose};
use super::{Advice, Choice, Options, affordable, elapsed, tables};
use crate::BenchError;
use crate::database::{self as measured, Compression, CompressionRow, DocumentSource};
use crate::database::{Documents, SampleSize};
use crate::measuring::{Machine, Rounds, context_memory};
use crate::report::{ColumnUnit, Report};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use varve_base::{Interrupt, Progress, Storage};
use varve_codec::{CodecId, EngineSetting};
use varve_docdb::{Database, DatabaseOptions, Direction, NodeCache, Snapshot};

/// Documents of the first look, from which the affordable sample follows.
const FIRST_LOOK: usize = 500;
/// Of fewer documents no dictionary is trained, and the sample would tell nothing of a database that has one.
const ENOUGH_DOCUMENTS: usize = 1500;
/// At most so many documents are loaded: more tell no more.
const MOST_DOCUMENTS: usize = 50_000;
/// A view that takes little time: advice is not about views.
const LIGHT_MAP: &str = "function (doc) { emit(doc._id, null); }";
/// Rounds that count.
const RUNS: usize = 4;
/// Memory for decoded nodes.
const CACHE: usize = 32 << 20;

/// Sizes of the parts of a database, in bytes, and numbers of its documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FileContents {
    /// Length of the file.
    pub file: u64,
    /// Leaves' texts before compression.
    pub texts: u64,
    /// The leaves' texts as they are stored.
    pub bodies: u64,
    /// Attachments of the winners as they are stored.
    pub attachments: u64,
    /// Documents, without deleted ones.
    pub documents: u64,
    /// Deleted ones.
    pub deleted: u64,
}

impl FileContents {
    fn of(storage: &dyn Storage, path: &Path, snapshot: &Snapshot) -> Result<Self, BenchError> {
        let info = snapshot.info()?;
        let mut attachments = 0;
        for change in snapshot.changes(0, Direction::Forward)? {
            let list = snapshot.attachments(&change?.stored)?;
            attachments += list.iter().map(|one| one.stored_length).sum::<u64>();
        }
        Ok(FileContents {
            file: storage.file_len(path)?.unwrap_or(0),
            texts: info.external.saturating_sub(attachments),
            bodies: info.documents_active.saturating_sub(attachments),
            attachments,
            documents: info.doc_count,
            deleted: info.doc_del_count,
        })
    }
}

fn compressions() -> Vec<Compression> {
    let plain = [
        (CodecId::None, 0),
        (CodecId::Snappy, 0),
        (CodecId::Zlib, 1),
        (CodecId::Zlib, 6),
    ];
    let zstd = [1, 3, 6, 9, 19].map(|level| (CodecId::Zstd, level));
    let all = plain.into_iter().chain(zstd);
    let settings = all.filter_map(|(codec, level)| EngineSetting::new(codec, level).ok());
    // As the server does: zstd always with a dictionary where one pays.
    let compression = |setting: EngineSetting| Compression {
        setting,
        has_dictionary: setting.codec() == CodecId::Zstd,
    };
    settings.map(compression).collect()
}

pub(super) fn advise(
    storage: &Arc<dyn Storage>,
    path: &Path,
    options: &Options,
    (progress, interrupt): (&dyn Progress, &Interrupt),
) -> Result<Advice, BenchError> {
    let machine = Machine::now();
    let reading = DatabaseOptions::new(EngineSetting::NONE, NodeCache::new(CACHE));
    let snapshot = Database::read_only(storage.as_ref(), path, &reading)?;
    let contents = FileContents::of(storage.as_ref(), path, &snapshot)?;
    let rounds = Rounds {
        runs: RUNS,
        progress,
        interrupt,
    };
    let source = DocumentSource::Database(path.to_owned());
    let beside = path.parent().unwrap_or(Path::new(""));
    let how = measured::Options {
        map: LIGHT_MAP.to_owned(),
        ..measured::Options::default()
    };
    let compressions = compressions();
    let limits = (storage, beside, &how);
    let documents = affordable_documents(limits, &source, (options, &compressions), interrupt)?;
    let times = measured::measure(storage, beside, (&documents, &how), &compressions, &rounds)?;
    let (rows, done) = times;
    interrupt.check()?;
    let predicted = |row: &CompressionRow| predict(row, &documents, &contents);
    let current = snapshot_setting(&rows, &snapshot);
    let longest = documents
        .texts
        .iter()
        .map(|(_, text)| text.len())
        .max()
        .unwrap_or(0);
    let weights = (current, options.goal, longest);
    let choices = choices(&rows, &predicted, weights, path);
    let mut report = Report::new(format!("varve advise {}", path.display()), machine, RUNS);
    tables::fill_database(&mut report, &contents, &documents, &rows, &predicted);
    tables::push_choices(&mut report, contents.file, &choices, &WORDS);
    report.judge(&done, &[tables::CHOICES]);
    Ok(Advice { choices, report })
}

/// As many documents as the budget allows, found by building each database once with a few.
fn affordable_documents(
    (storage, beside, how): (&Arc<dyn Storage>, &Path, &measured::Options),
    source: &DocumentSource,
    (options, compressions): (&Options, &[Compression]),
    interrupt: &Interrupt,
) -> Result<Documents, BenchError> {
    let first = SampleSize::within_memory(FIRST_LOOK.min(options.most));
    let documents = Documents::read(storage, source, first, interrupt)?;
    let start = Instant::now();
    measured::build_once(storage, beside, (&documents, how), compressions, interrupt)?;
    let each = elapsed(start) / documents.texts.len() as f64 * (RUNS + 1) as f64;
    // A sample has up to twice as many documents as asked for.
    let wanted = affordable(options.budget.mul_f64(0.45), each);
    let wanted = wanted
        .clamp(ENOUGH_DOCUMENTS, MOST_DOCUMENTS)
        .min(options.most);
    let is_sample = (documents.texts.len() as u64) < documents.total;
    if is_sample && wanted > documents.texts.len() {
        let size = SampleSize::within_memory(wanted);
        return Documents::read(storage, source, size, interrupt);
    }
    Ok(documents)
}

/// Bytes of the compacted file: that of the sample, as many times as the database has texts, and the attachments.
fn predict(row: &CompressionRow, documents: &Documents, contents: &FileContents) -> u64 {
    let sample = row.sizes.map_or(0, |sizes| sizes.file) as f64;
    let times = contents.texts as f64 / documents.bytes.max(1) as f64;
    (sample * times.max(1.0)).round() as u64 + contents.attachments
}

/// The row that is nearest to what the file has now.
fn snapshot_setting(rows: &[CompressionRow], snapshot: &Snapshot) -> usize {
    let stats = snapshot.chunk_stats();
    let bytes = |form| stats.map_or(0, |stats| stats.of(form).bytes);
    let most = varve_docdb::ChunkForm::ALL
        .into_iter()
        .max_by_key(|form| bytes(*form));
    let codec = match most {
        Some(varve_docdb::ChunkForm::Plain(codec)) => codec,
        _ => CodecId::Zstd,
    };
    let default = |setting: EngineSetting| {
        [
            EngineSetting::NONE,
            EngineSetting::SNAPPY,
            EngineSetting::ZLIB,
            EngineSetting::ZSTD,
        ]
        .contains(&setting)
    };
    let found = rows.iter().position(|row| {
        row.compression.setting.codec() == codec && default(row.compression.setting)
    });
    found.unwrap_or(0)
}

const WORDS: tables::ChoiceWords = tables::ChoiceWords {
    times: "reading one document (median of many) and loading the sample",
    read_unit: ColumnUnit::Microseconds,
    memory: "Memory is that of zstd's context for the longest document, for each thread that writes.",
};

fn choices(
    rows: &[CompressionRow],
    predicted: &dyn Fn(&CompressionRow) -> u64,
    (current, goal, longest): (usize, Goal, usize),
    path: &Path,
) -> Vec<Choice> {
    let candidate = |row: &CompressionRow| Candidate {
        size: predicted(row) as f64,
        read: row.read().clone(),
        write: row.load().clone(),
    };
    let candidates: Vec<Candidate> = rows.iter().map(candidate).collect();
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let choice = |(goal, index): (Goal, usize)| {
        let row = &rows[index];
        let setting = row.compression.setting;
        Choice {
            goal,
            setting,
            size: predicted(row),
            configuration: vec![
                "[couchdb]".to_owned(),
                format!("file_compression = {setting}"),
            ],
            command: format!(
                "curl -X PUT http://127.0.0.1:5984/{name}/_compression -d '\"{setting}\"' && curl -X POST \
                 http://127.0.0.1:5984/{name}/_compact -H 'Content-Type: application/json'"
            ),
            read: row.read().clone(),
            write: row.load().clone(),
            memory: context_memory(setting, longest),
        }
    };
    choose(&candidates, current, goal)
        .into_iter()
        .map(choice)
        .collect()
}

pub(super) fn apply(
    storage: &Arc<dyn Storage>,
    path: &Path,
    choice: &Choice,
    (progress, interrupt): (&dyn Progress, &Interrupt),
) -> Result<u64, BenchError> {
    let options = DatabaseOptions::new(choice.setting, NodeCache::new(CACHE));
    let database = Database::open(Arc::clone(storage), path, &options)?;
    database.set_compression(Some(choice.setting))?;
    // In place it would leave what is compressed otherwise.
    let mut compaction = database.begin_compaction()?;
    compaction.copy(progress, interrupt)?;
    compaction.finish(interrupt)?;
    let size = database.sizes()?.file;
    database.seal()?;
    Ok(size)
}
