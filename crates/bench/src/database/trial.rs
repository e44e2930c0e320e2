//! One database, built and read.

use super::{Compression, Documents};
use crate::BenchError;
use crate::measuring::{ScratchDirectory, timed};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Instant;
use varve_base::{Interrupt, Silent};
use varve_docdb::{
    Database, DatabaseOptions, Direction, Edit, IdRange, Mode, NodeCache, Snapshot, TrainsBy,
};
use varve_js::{Compilation, Limits};
use varve_json::{Object, Value};
use varve_views::{
    BuildContext, BuildThrottle, IndexOptions, MemtableBudget, NoLog, ViewGroup, ViewIndex,
};

/// Documents in one commit, as `_bulk_docs` brings them.
pub(super) const BATCH: usize = 500;
/// A dictionary is trained once so many are there.
const TRAIN_AT: usize = 2000;
/// Memory for decoded nodes.
const CACHE: usize = 32 << 20;
/// So many single reads at most.
pub(super) const READS: usize = 2000;
/// Documents between two that are read one after the other; prime, so that the steps meet every document.
pub(super) const STEP: usize = 7919;

/// How many quantities a run has: seconds of loading, of compacting and of indexing; 50th and 99th percentile of a
/// read in microseconds; seconds of a scan.
pub(crate) const QUANTITIES: usize = 6;

/// Sizes of what was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TrialSizes {
    /// Bytes of the database after compaction.
    pub file: u64,
    /// Bytes of the view's index after compaction.
    pub view: u64,
    /// Fingerprint of all ids and texts.
    pub texts: u64,
}

/// Everything that a run needs.
pub(super) struct Trial<'t> {
    pub directory: &'t ScratchDirectory,
    pub documents: &'t Documents,
    pub group: &'t Arc<ViewGroup>,
    pub compression: Compression,
    pub interrupt: &'t Interrupt,
}

/// The view that is built.
pub(super) fn group(map: &str) -> Result<Arc<ViewGroup>, BenchError> {
    let (mut view, mut views, mut design) = (Object::new(), Object::new(), Object::new());
    view.insert("map", map);
    views.insert("bench", Value::Object(view));
    design.insert("_id", "_design/bench");
    design.insert("views", Value::Object(views));
    let checked = varve_views::check_design(&design, Limits::default(), false);
    let group = checked.and_then(|()| ViewGroup::read(&design));
    let group = group.map_err(|error| BenchError::Map {
        reason: error.to_string(),
    })?;
    Ok(Arc::new(group))
}

impl Trial<'_> {
    /// Builds everything anew, reads it, and removes it.
    pub fn run(&self) -> Result<([f64; QUANTITIES], TrialSizes), BenchError> {
        let storage = Arc::clone(self.directory.storage());
        let name = match self.compression.has_dictionary {
            true => format!("{}-dictionary", self.compression.setting),
            false => self.compression.setting.to_string(),
        };
        let home = self.directory.path().join(name);
        storage.create_directory(&home)?;
        let options = DatabaseOptions {
            trains: match self.compression.has_dictionary {
                true => TrainsBy::Request,
                false => TrainsBy::Nothing,
            },
            ..DatabaseOptions::new(self.compression.setting, NodeCache::new(CACHE))
        };
        let database = Database::create(Arc::clone(&storage), &home.join("db"), &options)?;
        let load = timed(|| self.load(&database))?;
        let compact = timed(|| {
            database.compact(&Silent, self.interrupt)?;
            Ok(())
        })?;
        let (index, seconds) = self.index(&database, &home.join("views"))?;
        let snapshot = database.snapshot();
        let (p50, p99) = self.read(&snapshot)?;
        let (texts, scan) = scan(&snapshot, self.interrupt)?;
        index.compact(&Silent, self.interrupt)?;
        let sizes = TrialSizes {
            file: database.sizes()?.file,
            view: index.sizes().file,
            texts,
        };
        drop((snapshot, index, database));
        storage.remove_tree(&home)?;
        let quantities = [load, compact, seconds, p50, p99, scan];
        Ok((quantities, sizes))
    }

    fn load(&self, database: &Database) -> Result<(), BenchError> {
        let mut loaded = 0;
        for batch in self.documents.texts.chunks(BATCH) {
            self.interrupt.check()?;
            let mut edits = Vec::with_capacity(batch.len());
            for (id, text) in batch {
                edits.push(Edit::parse(Some(id), text).map_err(|error| refused(id, &error))?);
            }
            let outcomes = database.update(edits, Mode::Interactive)?;
            for ((id, _), outcome) in batch.iter().zip(outcomes) {
                outcome.map_err(|error| refused(id, &error))?;
            }
            let before = loaded;
            loaded += batch.len();
            if (before..loaded).contains(&TRAIN_AT) {
                database.train()?;
            }
        }
        database.sync()?;
        Ok(())
    }

    fn index(
        &self,
        database: &Database,
        directory: &std::path::Path,
    ) -> Result<(ViewIndex, f64), BenchError> {
        let options = IndexOptions {
            setting: self.compression.setting,
            cache: NodeCache::new(CACHE),
            memtable_budget: MemtableBudget::new(0),
            limits: Limits::default(),
            reduce_limit: true,
        };
        let storage = Arc::clone(self.directory.storage());
        let index = ViewIndex::open(storage, directory, Arc::clone(self.group), options)?;
        let throttle: BuildThrottle = Arc::new(|| ());
        let context = BuildContext {
            workers: std::thread::available_parallelism().map_or(1, usize::from),
            limits: Limits::default(),
            compilation: Compilation::default(),
            skips_failed: true,
            progress: &Silent,
            throttle: &throttle,
            interrupt: self.interrupt,
            log: &NoLog,
        };
        let seconds = timed(|| {
            index.update_to(&database.snapshot(), &context)?;
            Ok(())
        })?;
        Ok((index, seconds))
    }

    /// Reads documents far apart from each other, one at a time; returns two percentiles in microseconds.
    fn read(&self, snapshot: &Snapshot) -> Result<(f64, f64), BenchError> {
        let texts = &self.documents.texts;
        let count = texts.len().min(READS);
        let (mut times, mut out) = (Vec::with_capacity(count), Vec::new());
        for number in 0..count {
            self.interrupt.check()?;
            let (id, _) = &texts[number * STEP % texts.len()];
            let start = Instant::now();
            out.clear();
            let found = snapshot.document(id)?;
            let winner = found.as_ref().and_then(|document| document.winner());
            if let Some((_, stored)) = winner {
                snapshot.body(stored, &mut out)?;
            }
            times.push(start.elapsed().as_secs_f64() * 1e6);
            if out.is_empty() {
                return Err(BenchError::Missing { id: id.clone() });
            }
        }
        percentiles(times).ok_or(BenchError::Nothing)
    }
}

/// The 50th and the 99th percentile; `None` of nothing.
pub(super) fn percentiles(mut times: Vec<f64>) -> Option<(f64, f64)> {
    times.sort_by(f64::total_cmp);
    let last = times.len().checked_sub(1)?;
    let at = |part: f64| times[(last as f64 * part).round() as usize];
    Some((at(0.5), at(0.99)))
}

/// Reads all documents by id; returns a fingerprint of them, and the seconds.
fn scan(snapshot: &Snapshot, interrupt: &Interrupt) -> Result<(u64, f64), BenchError> {
    let (mut hasher, mut seconds) = (DefaultHasher::new(), 0.0);
    let mut rows = snapshot.all_docs(IdRange::ALL, Direction::Forward)?;
    let mut out = Vec::new();
    loop {
        interrupt.check()?;
        let start = Instant::now();
        let Some(row) = rows.next() else {
            return Ok((hasher.finish(), seconds));
        };
        let row = row?;
        out.clear();
        snapshot.body(&row.stored, &mut out)?;
        seconds += start.elapsed().as_secs_f64();
        (row.id(), &out).hash(&mut hasher);
    }
}

fn refused(id: &str, error: &varve_docdb::EditError) -> BenchError {
    BenchError::Refused {
        id: id.to_owned(),
        reason: error.to_string(),
    }
}
