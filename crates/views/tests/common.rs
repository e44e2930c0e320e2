//! A database, an index over it, and questions as text.

use std::path::Path;
use std::sync::Arc;
use varve_base::{Interrupt, MemoryStorage, Silent, Storage};
use varve_codec::EngineSetting;
use varve_docdb::{Database, DatabaseOptions, Edit, Mode, NodeCache, Viewer};
use varve_js::{Compilation, Limits};
use varve_json::parse_object;
use varve_views::{
    Answer, BuildContext, BuildThrottle, IndexOptions, IndexSnapshot, MemtableBudget, NoLog,
    QueryOptions, ViewError, ViewGroup, ViewIndex,
};

pub const DATABASE: &str = "db";
pub const DIRECTORY: &str = "indexes";

pub fn database(storage: Arc<dyn Storage>) -> Database {
    let options = DatabaseOptions::new(EngineSetting::SNAPPY, NodeCache::new(1 << 20));
    Database::create(storage, Path::new(DATABASE), &options).unwrap()
}

pub fn index_options() -> IndexOptions {
    IndexOptions {
        setting: EngineSetting::ZSTD,
        cache: NodeCache::new(1 << 20),
        memtable_budget: MemtableBudget::new(1 << 20),
        limits: Limits::default(),
        reduce_limit: true,
    }
}

pub fn group(design: &str) -> Arc<ViewGroup> {
    Arc::new(ViewGroup::read(&parse_object(design.as_bytes()).unwrap()).unwrap())
}

pub fn open(storage: Arc<dyn Storage>, design: &str) -> ViewIndex {
    ViewIndex::open(
        storage,
        Path::new(DIRECTORY),
        group(design),
        index_options(),
    )
    .unwrap()
}

/// One that writes every change into its file at once.
pub fn open_writing(storage: Arc<dyn Storage>, design: &str) -> ViewIndex {
    let options = IndexOptions {
        memtable_budget: MemtableBudget::new(0),
        ..index_options()
    };
    ViewIndex::open(storage, Path::new(DIRECTORY), group(design), options).unwrap()
}

/// Replicates documents given as JSON texts, so that their revisions are taken as they are.
pub fn replicate<S: AsRef<str>>(db: &Database, documents: &[S]) {
    write(db, documents, Mode::Replicated);
}

/// Writes new documents.
pub fn put<S: AsRef<str>>(db: &Database, documents: &[S]) {
    write(db, documents, Mode::Interactive);
}

fn write<S: AsRef<str>>(db: &Database, documents: &[S], mode: Mode) {
    let edits = documents.iter().map(|document| {
        let edit = Edit::new(None, parse_object(document.as_ref().as_bytes()).unwrap());
        edit.unwrap().written_by(&Viewer::ALL)
    });
    for outcome in db.update(edits.collect(), mode).unwrap() {
        outcome.unwrap();
    }
}

/// Makes no pause.
pub fn never_throttled() -> BuildThrottle {
    Arc::new(|| ())
}

/// Calls `run` with a build context of two workers.
pub fn with_context<R>(run: impl FnOnce(&BuildContext<'_>) -> R) -> R {
    run(&BuildContext {
        throttle: &never_throttled(),
        workers: 2,
        limits: Limits::default(),
        compilation: Compilation::default(),
        skips_failed: true,
        progress: &Silent,
        interrupt: &Interrupt::default(),
        log: &NoLog,
    })
}

pub fn refresh(index: &ViewIndex, db: &Database) -> IndexSnapshot {
    with_context(|context| index.update_to(&db.snapshot(), context)).unwrap()
}

/// A database in memory with documents, and its index brought up to date.
pub fn view_of<S: AsRef<str>>(documents: &[S], design: &str) -> IndexSnapshot {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let db = database(Arc::clone(&storage));
    replicate(&db, documents);
    refresh(&open(storage, design), &db)
}

/// The answer to `view?options` as the peer writes it, without line ends; no documents.
pub fn ask(view: &IndexSnapshot, question: &str) -> Result<String, ViewError> {
    let (name, options) = question.split_once('?').unwrap_or((question, ""));
    let pairs = options.split('&').filter_map(|pair| pair.split_once('='));
    let options = QueryOptions::from_query(pairs)?;
    let mut out = Vec::new();
    match view.query(name, &options)? {
        Answer::Rows(rows) => {
            let (total, offset) = (rows.total_rows(), rows.offset());
            let head = format!("{{\"total_rows\":{total},\"offset\":{offset},\"rows\":[");
            out.extend_from_slice(head.as_bytes());
            for (index, row) in rows.enumerate() {
                out.extend_from_slice(if index > 0 { b"," } else { b"" });
                row?.write_open(&mut out);
                out.push(b'}');
            }
        }
        Answer::Groups(groups) => {
            out.extend_from_slice(b"{\"rows\":[");
            for (index, row) in groups.enumerate() {
                out.extend_from_slice(if index > 0 { b"," } else { b"" });
                row?.write(&mut out);
            }
        }
    }
    out.extend_from_slice(b"]}");
    Ok(String::from_utf8(out).unwrap())
}

/// Ids and values of the rows, or keys and values of the groups, in short.
pub fn short(view: &IndexSnapshot, question: &str) -> String {
    let answer = ask(view, question).unwrap();
    let (_, rows) = answer.split_once("\"rows\":").unwrap();
    rows.strip_suffix('}').unwrap().to_owned()
}
