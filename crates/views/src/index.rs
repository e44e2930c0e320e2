//! One index file: opening, bringing it up to date, reading it.

use crate::ViewError;
use crate::build::{self, BuildContext};
use crate::error::is_of_no_use;
use crate::failed_document::FailedDocument;
use crate::files::{copy_path, fetched_path, file_name, remove_rest};
use crate::group::ViewGroup;
use crate::header::IndexHeader;
use crate::memtable_budget::{MemtableBudget, Reservation};
use crate::query::Memo;
use crate::reduce::MapReducer;
use parking_lot::{Mutex, MutexGuard, RwLock};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use varve_base::{Interrupt, Storage};
use varve_btree::{
    NoReduction, NodeCache, Options, Overlay, Reducer, Sizes, Tail, TreeError, TreeFile,
};
use varve_codec::EngineSetting;
use varve_docdb::Viewer;
use varve_js::Limits;

/// The kind of tree file that an index is.
const KIND: [u8; 8] = *b"views\0\0\0";

/// Most changed items of a memtable. Rows are read around them at little cost.
const MOST_CHANGES: usize = 32 << 10;
/// The same where values are reduced: reducing starts anew between any two changes.
const FEW_CHANGES: usize = 128;
/// Most bytes of a memtable.
const LONGEST_CHANGES: usize = 8 << 20;

/// The tree of each document's rows.
pub(crate) const BY_DOCUMENT: usize = 0;

/// The tree with the rows of a map function.
pub(crate) fn tree_of_map(map: usize) -> usize {
    map + 1
}

/// How index files are kept.
#[derive(Clone, Debug)]
pub struct IndexOptions {
    /// How nodes are compressed.
    pub setting: EngineSetting,
    /// Where decoded nodes are kept.
    pub cache: NodeCache,
    /// Memory for changes that are not in a file yet.
    pub memtable_budget: MemtableBudget,
    /// Limits of the engines that reduce.
    pub limits: Limits,
    /// Whether the results of reduce functions in JavaScript must be shorter than their many values.
    pub reduce_limit: bool,
}

/// An open index. Keep it behind an [`Arc`]; all calls may come from any thread.
pub struct ViewIndex {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) path: PathBuf,
    pub(crate) group: Arc<ViewGroup>,
    pub(crate) options: IndexOptions,
    state: RwLock<IndexState>,
    /// Held by the thread that builds; the others wait and find its work done.
    building: Mutex<()>,
    /// Whether the file, as it was found, was compared with the database.
    compared: AtomicBool,
    pub(crate) is_compacting: AtomicBool,
    /// Raised when the file is not to be replaced any more.
    pub(crate) ended: Interrupt,
    /// Reduced values of earlier queries.
    memo: Memo,
    /// Why an empty file took the place of one that could not be used.
    damage: Mutex<Option<String>>,
    /// Held while a compacted copy takes the file's place.
    pub(crate) renaming: Mutex<()>,
    failed: FailedDocument,
}

impl std::fmt::Debug for ViewIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ViewIndex({})", self.path.display())
    }
}

/// State of one index: its file, and a memtable of changes over it. If the memtable is lost, its
/// documents are mapped once more.
#[derive(Clone)]
pub(crate) struct IndexState {
    pub(crate) file: Arc<TreeFile>,
    pub(crate) rows: Overlay,
    /// The memory of the memtable.
    _reservation: Option<Arc<Reservation>>,
}

impl IndexState {
    /// All of it is in the file.
    fn of(file: Arc<TreeFile>) -> Self {
        IndexState {
            rows: file.snapshot().into(),
            file,
            _reservation: None,
        }
    }
}

/// An index as of one sequence of its database.
#[derive(Clone, Debug)]
pub struct IndexSnapshot {
    pub(crate) group: Arc<ViewGroup>,
    pub(crate) rows: Overlay,
    pub(crate) seq: u64,
    pub(crate) purge_seq: u64,
    pub(crate) memo: Memo,
    /// Whose rows are read.
    pub(crate) viewer: Viewer,
}

impl IndexSnapshot {
    /// The sequence of the database that it covers.
    pub fn update_seq(&self) -> u64 {
        self.seq
    }

    /// The last purge that it follows.
    pub fn purge_seq(&self) -> u64 {
        self.purge_seq
    }

    /// The same as a viewer sees it, in a database with access: rows of the documents that name the viewer.
    #[must_use]
    pub fn as_seen_by(mut self, viewer: &Viewer) -> IndexSnapshot {
        self.viewer = viewer.clone();
        self
    }

    /// Whether some of its rows are in memory only.
    pub fn has_memtable(&self) -> bool {
        self.rows.changed_items() > 0
    }

    /// Whether the memtable has so many changes that a reduction takes long.
    pub fn reduces_slowly(&self) -> bool {
        self.rows.changed_items() > FEW_CHANGES
    }
}

impl ViewIndex {
    /// Opens the index of a group in `directory`, or makes an empty one. A file that is damaged, torn
    /// at its creation, or of another version is replaced by an empty one.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn open(
        storage: Arc<dyn Storage>,
        directory: &Path,
        group: Arc<ViewGroup>,
        options: IndexOptions,
    ) -> Result<Self, ViewError> {
        storage.create_directory(directory)?;
        let path = directory.join(file_name(group.kind(), group.signature()));
        remove_rest(&*storage, &copy_path(&path))?;
        remove_rest(&*storage, &fetched_path(&path))?;
        let mut damage = None;
        let file = match TreeFile::open(&*storage, &path, tree_options(&group, &options)) {
            Ok(file) if !file.is_read_only() => {
                let is_broken = file.recovery().tail == Tail::Broken;
                damage = is_broken.then(|| "its newest commit is not whole".to_owned());
                file
            }
            Ok(file) => {
                damage = file.recovery().tail.damage().map(str::to_owned);
                create_anew(&*storage, &path, &group, &options)?
            }
            Err(TreeError::Storage(error)) if error.is_not_found() => {
                TreeFile::create(&*storage, &path, tree_options(&group, &options))?
            }
            Err(error) if is_of_no_use(&error) => {
                damage = Some(error.to_string());
                create_anew(&*storage, &path, &group, &options)?
            }
            Err(error) => return Err(error.into()),
        };
        Ok(ViewIndex {
            storage,
            path,
            group,
            options,
            state: RwLock::new(IndexState::of(Arc::new(file))),
            building: Mutex::new(()),
            compared: AtomicBool::new(false),
            is_compacting: AtomicBool::new(false),
            ended: Interrupt::default(),
            memo: Memo::default(),
            damage: Mutex::new(damage),
            renaming: Mutex::new(()),
            failed: FailedDocument::default(),
        })
    }

    /// The group that the index is of.
    pub fn group(&self) -> &Arc<ViewGroup> {
        &self.group
    }

    /// Whether a build is under way.
    pub fn is_building(&self) -> bool {
        self.building.is_locked()
    }

    /// Ends a compaction: once this returns, none puts back a file that is about to be removed.
    pub fn end(&self) {
        let _renaming = self.renaming.lock();
        self.ended.raise();
    }

    pub(crate) fn state(&self) -> IndexState {
        let state = self.state.read();
        state.clone()
    }

    /// The index at whatever sequence it has; empty if it was never built. It is read in the mode of
    /// `documents`, and by the same viewer.
    ///
    /// # Errors
    /// Errors of the storage; [`ViewError::is_would_block`].
    pub fn current(&self, documents: &varve_docdb::Snapshot) -> Result<IndexSnapshot, ViewError> {
        let rows = self.state().rows;
        let state = self.usable_header(&rows, documents);
        if state.is_none() && !rows.user_header().is_empty() {
            // Rows of another database must not show.
            documents.mode().refuse_long_work(true)?;
            let _builder = self.lock();
            return Ok(self.view((self.replace()?, None), documents));
        }
        let rows = rows.with_mode(documents.mode());
        Ok(self.view((rows, state), documents))
    }

    /// Brings the index up to the sequence of `documents`. If another thread is building, waits for
    /// it first.
    ///
    /// # Errors
    /// See [`ViewError`]. The rows built until then are kept. [`ViewError::Function`] comes without a build while the
    /// document that ended the last one is unchanged. [`ViewError::is_would_block`] if there is anything to do
    /// and `documents` is read in another mode than [`ReadMode::Blocking`].
    ///
    /// [`ReadMode::Blocking`]: varve_base::ReadMode::Blocking
    pub fn update_to(
        &self,
        documents: &varve_docdb::Snapshot,
        context: &BuildContext<'_>,
    ) -> Result<IndexSnapshot, ViewError> {
        if let Some(view) = self.get_if_current(documents) {
            return Ok(view);
        }
        documents.mode().refuse_long_work(true)?;
        let _builder = self.lock();
        if let Some(view) = self.get_if_current(documents) {
            return Ok(view);
        }
        let conditions = (context.limits, context.compilation);
        if !context.skips_failed
            && let Some(failure) = self.failed.expected(documents, conditions)?
        {
            return Err(failure);
        }
        let damage = match self.build(documents, context) {
            Err(error) if error.is_index_damage() => error,
            outcome => {
                return outcome.inspect_err(|error| self.failed.remember(error, conditions));
            }
        };
        *self.damage.lock() = Some(damage.to_string());
        // The old file is damaged; a new one needs nothing of it.
        self.replace()?;
        self.build(documents, context)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, ()> {
        self.building.lock()
    }

    /// The lock of the thread that builds, if none does.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, ()>> {
        self.building.try_lock()
    }

    /// The index, if it covers the sequence of `documents`. It is read in the mode of `documents`, and by the same
    /// viewer.
    pub fn get_if_current(&self, documents: &varve_docdb::Snapshot) -> Option<IndexSnapshot> {
        let rows = self.state().rows;
        let state = self.usable_header(&rows, documents)?;
        let is_fresh =
            state.seq >= documents.update_seq() && state.purge_seq >= documents.purge_seq();
        let rows = rows.with_mode(documents.mode());
        is_fresh.then(|| self.view((rows, Some(state)), documents))
    }

    fn build(
        &self,
        documents: &varve_docdb::Snapshot,
        context: &BuildContext<'_>,
    ) -> Result<IndexSnapshot, ViewError> {
        let rows = self.state().rows;
        let mut state = self.usable_header(&rows, documents);
        // The index is for all viewers.
        let all = documents.unrestricted();
        if let Some(state) = &mut state
            && build::forget(self, &all, state, context)?
        {
            build::update(self, &all, state.seq, context)?;
        } else {
            if !rows.user_header().is_empty() {
                self.replace()?;
            }
            build::update(self, &all, 0, context)?;
        }
        let rows = self.state().rows;
        let state = IndexHeader::decode(rows.user_header());
        Ok(self.view((rows, state), documents))
    }

    /// The sequence that the index covers, if it is about this database. A file that was found
    /// with a sequence that the database does not have is that of a database which lost commits;
    /// later the index may well be ahead of a reader's snapshot.
    fn usable_header(
        &self,
        rows: &Overlay,
        documents: &varve_docdb::Snapshot,
    ) -> Option<IndexHeader> {
        let state = IndexHeader::decode(rows.user_header())?;
        let known = self.compared.load(Ordering::Acquire) || state.seq <= documents.update_seq();
        let usable = known && state.database == documents.uuid();
        if usable {
            self.compared.store(true, Ordering::Release);
        }
        usable.then_some(state)
    }

    fn view(
        &self,
        (rows, state): (Overlay, Option<IndexHeader>),
        documents: &varve_docdb::Snapshot,
    ) -> IndexSnapshot {
        IndexSnapshot {
            viewer: documents.viewer().clone(),
            group: Arc::clone(&self.group),
            rows,
            seq: state.map_or(0, |state| state.seq),
            purge_seq: state.map_or(0, |state| state.purge_seq),
            memo: self.memo.clone(),
        }
    }

    /// Puts an empty file in the place of the present one; readers of the old one go on.
    fn replace(&self) -> Result<Overlay, ViewError> {
        let _renaming = self.renaming.lock();
        self.ended.check()?;
        let made = create_anew(&*self.storage, &self.path, &self.group, &self.options)?;
        let state = IndexState::of(Arc::new(made));
        let rows = state.rows.clone();
        self.put(state);
        self.compared.store(true, Ordering::Release);
        Ok(rows)
    }

    fn put(&self, made: IndexState) {
        *self.state.write() = made;
    }

    /// Makes a file the one that is used from now on, which is about the database as it is.
    pub(crate) fn use_compared_file(&self, file: Arc<TreeFile>) {
        self.use_file(file);
        self.compared.store(true, Ordering::Release);
    }

    /// Makes a file the one that is used from now on.
    pub(crate) fn use_file(&self, file: Arc<TreeFile>) {
        self.put(IndexState::of(file));
    }

    /// Applies a builder's changes: few stay in the memtable, many go into the file.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(crate) fn apply(&self, rows: Overlay) -> Result<(), ViewError> {
        let file = self.state().file;
        let most = match self.memo.is_used() || self.group.reduces_by_scripts() {
            true => FEW_CHANGES,
            false => MOST_CHANGES,
        };
        let is_short = rows.changed_items() <= most && rows.changed_bytes() <= LONGEST_CHANGES;
        let reservation = match is_short {
            true => self.options.memtable_budget.reserve(rows.changed_bytes()),
            false => None,
        };
        if let Some(reservation) = reservation {
            let _reservation = Some(Arc::new(reservation));
            self.put(IndexState {
                file,
                rows,
                _reservation,
            });
            return Ok(());
        }
        self.write(file, &rows)
    }

    /// Applies changes to the file, which leaves none in the memtable.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(crate) fn write(&self, file: Arc<TreeFile>, rows: &Overlay) -> Result<(), ViewError> {
        let mut txn = file.begin()?;
        // Most nodes of an update are written anew by one of the next; a compaction uses the setting.
        txn.compress_nodes_by(self.options.setting.fastest())?;
        rows.write_to(&mut txn)?;
        // An index can be made again, so it need not be durable.
        txn.commit_unsynced()?;
        self.use_file(file);
        Ok(())
    }

    /// Puts an empty index in the place of one that answered with damage; `seen` is what was read. Nothing is done if
    /// that file was replaced before.
    ///
    /// # Errors
    /// An error of the storage.
    pub fn discard(&self, seen: &IndexSnapshot, damage: String) -> Result<(), ViewError> {
        let _builder = self.lock();
        let current = self.state().rows;
        if !current.base().is_same_file(seen.rows.base()) {
            return Ok(());
        }
        *self.damage.lock() = Some(damage);
        self.replace().map(|_| ())
    }

    /// Why the index is built anew, once after each time that this was found to be needed.
    pub fn take_damage(&self) -> Option<String> {
        self.damage.lock().take()
    }

    /// Stored bytes of the rows of all views, without the tree that leads from documents to rows: what CouchDB calls the
    /// external size of an index.
    pub fn row_bytes(&self) -> u64 {
        let file = &self.state().file;
        let trees = BY_DOCUMENT + 1..file.tree_count();
        trees.map(|tree| file.stored_bytes(tree)).sum()
    }

    /// Sizes of the file.
    pub fn sizes(&self) -> Sizes {
        self.state().file.sizes()
    }
}

fn create_anew(
    storage: &dyn Storage,
    path: &Path,
    group: &ViewGroup,
    options: &IndexOptions,
) -> Result<TreeFile, ViewError> {
    storage.remove(path)?;
    Ok(TreeFile::create(
        storage,
        path,
        tree_options(group, options),
    )?)
}

pub(crate) fn tree_options(group: &ViewGroup, options: &IndexOptions) -> Options {
    let mut reducers: Vec<Arc<dyn Reducer>> = vec![Arc::new(NoReduction)];
    for map in group.maps() {
        reducers.push(MapReducer::shared(&map.reductions, options));
    }
    if group.has_access() {
        for map in group.maps() {
            reducers.push(MapReducer::by_principal(&map.reductions, options));
        }
        reducers.push(Arc::new(NoReduction));
    }
    Options {
        optional_trees: 0,
        kind: KIND,
        reducers,
        setting: options.setting,
        cache: options.cache.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoLog;
    use varve_base::{MemoryStorage, Silent};
    use varve_docdb::{Database, DatabaseOptions, Edit, Mode};
    use varve_json::parse_object;

    #[test]
    fn an_index_of_another_collator_is_made_anew() {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
        let options = DatabaseOptions::new(EngineSetting::SNAPPY, NodeCache::new(1 << 20));
        let db = Database::create(Arc::clone(&storage), Path::new("db"), &options).unwrap();
        let edit = Edit::parse(Some("a"), b"{}").unwrap();
        db.update_one(edit, Mode::Interactive).unwrap().unwrap();
        let design = parse_object(br#"{"views":{"v":{"map":"function(d){emit(1)}"}}}"#).unwrap();
        let group = Arc::new(ViewGroup::read(&design).unwrap());
        let options = IndexOptions {
            setting: EngineSetting::SNAPPY,
            cache: NodeCache::new(1 << 20),
            memtable_budget: MemtableBudget::new(0),
            limits: Limits::default(),
            reduce_limit: true,
        };
        let index = ViewIndex::open(storage, Path::new("i"), group, options).unwrap();
        let context = BuildContext {
            throttle: &(Arc::new(|| ()) as Arc<dyn Fn() + Send + Sync>),
            workers: 1,
            limits: Limits::default(),
            compilation: varve_js::Compilation::default(),
            skips_failed: true,
            progress: &Silent,
            interrupt: &Interrupt::default(),
            log: &NoLog,
        };
        let snapshot = db.snapshot();
        index.update_to(&snapshot, &context).unwrap();
        let built = index.state().file;
        index.update_to(&snapshot, &context).unwrap();
        assert!(Arc::ptr_eq(&built, &index.state().file));
        let mut txn = built.begin().unwrap();
        let mut header = built.snapshot().user_header().to_vec();
        *header.last_mut().unwrap() ^= 1;
        txn.set_user_header(&header);
        txn.commit().unwrap();
        index.use_file(Arc::clone(&built));
        assert!(index.get_if_current(&snapshot).is_none());
        assert_eq!(index.current(&snapshot).unwrap().row_count("v").unwrap(), 0);
        let view = index.update_to(&snapshot, &context).unwrap();
        assert_eq!(view.row_count("v").unwrap(), 1);
        assert!(!Arc::ptr_eq(&built, &index.state().file));
    }
}
