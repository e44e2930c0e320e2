//! One index file: opening, bringing it up to date, reading it.

use crate::ViewError;
use crate::build::{self, BuildContext};
use crate::files::{copy_path, file_name, remove_rest};
use crate::group::ViewGroup;
use crate::query::Memo;
use crate::reduce::MapReducer;
use crate::state::IndexState;
use crate::unwritten::{Share, Unwritten};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, TryLockError};
use varve_base::{Interrupt, Storage};
use varve_btree::{Amended, NoReduction, NodeCache, Options, Reducer, Sizes, TreeError, TreeFile};
use varve_codec::EngineSetting;
use varve_js::Limits;

/// The kind of tree file that an index is.
const KIND: [u8; 8] = *b"views\0\0\0";

/// So many changed items may be in memory only. Rows are read around them at little cost.
const MOST_CHANGES: usize = 32 << 10;
/// So many where values are reduced: between any two changes, that is done anew.
const FEW_CHANGES: usize = 128;
/// Nor do they take more bytes.
const LONGEST_CHANGES: usize = 8 << 20;

/// The tree that tells which rows a document has.
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
    pub unwritten: Unwritten,
    /// Limits of the engines that reduce.
    pub limits: Limits,
    /// Whether what functions in JavaScript make of many values must be shorter than these.
    pub reduce_limit: bool,
}

/// An open index. Share it behind an [`Arc`]; all calls may come from any thread.
pub struct ViewIndex {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) path: PathBuf,
    pub(crate) group: Arc<ViewGroup>,
    pub(crate) options: IndexOptions,
    standing: RwLock<Standing>,
    /// Held by the one that builds; the others wait and find its work done.
    building: Mutex<()>,
    /// Whether the file, as it was found, was compared with the database.
    compared: AtomicBool,
    pub(crate) is_compacting: AtomicBool,
    /// Raised when the file is not to be replaced any more.
    pub(crate) ended: Interrupt,
    /// What was asked of the index.
    memo: Memo,
    /// Held while a compacted copy takes the file's place.
    pub(crate) renaming: Mutex<()>,
}

impl std::fmt::Debug for ViewIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ViewIndex({})", self.path.display())
    }
}

/// Where an index stands: what its file holds, and changes that it does not hold yet. If these are
/// lost, the documents are mapped once more.
#[derive(Clone)]
pub(crate) struct Standing {
    pub(crate) file: Arc<TreeFile>,
    pub(crate) rows: Amended,
    /// The memory of the changes.
    _share: Option<Arc<Share>>,
}

impl Standing {
    /// All of it is in the file.
    fn of(file: Arc<TreeFile>) -> Self {
        Standing {
            rows: file.snapshot().into(),
            file,
            _share: None,
        }
    }
}

/// One moment of an index.
#[derive(Clone, Debug)]
pub struct IndexView {
    pub(crate) group: Arc<ViewGroup>,
    pub(crate) rows: Amended,
    pub(crate) seq: u64,
    pub(crate) purge_seq: u64,
    pub(crate) memo: Memo,
}

impl IndexView {
    /// The sequence of the database that this moment shows.
    pub fn update_seq(&self) -> u64 {
        self.seq
    }

    /// The last purge that this moment follows.
    pub fn purge_seq(&self) -> u64 {
        self.purge_seq
    }

    /// Whether a part of this moment is not in the index's file.
    pub fn is_unwritten(&self) -> bool {
        self.rows.changed_items() > 0
    }

    /// Whether so much of it is not in the file that the next reduction takes its time.
    pub fn reduces_slowly(&self) -> bool {
        self.rows.changed_items() > FEW_CHANGES
    }
}

impl ViewIndex {
    /// Opens the index of a group in `folder`, or makes an empty one. A file that is damaged, torn
    /// at its creation, or of another version is replaced by an empty one.
    ///
    /// # Errors
    /// What the storage answers.
    pub fn open(
        storage: Arc<dyn Storage>,
        folder: &Path,
        group: Arc<ViewGroup>,
        options: IndexOptions,
    ) -> Result<Self, ViewError> {
        storage.create_folder(folder)?;
        let path = folder.join(file_name(group.signature()));
        remove_rest(&*storage, &copy_path(&path))?;
        let file = match TreeFile::open(&*storage, &path, tree_options(&group, &options)) {
            Ok(file) => file,
            Err(TreeError::Storage(error)) if error.is_not_found() => {
                TreeFile::create(&*storage, &path, tree_options(&group, &options))?
            }
            Err(error) if is_of_no_use(&error) => create_anew(&*storage, &path, &group, &options)?,
            Err(error) => return Err(error.into()),
        };
        Ok(ViewIndex {
            storage,
            path,
            group,
            options,
            standing: RwLock::new(Standing::of(Arc::new(file))),
            building: Mutex::new(()),
            compared: AtomicBool::new(false),
            is_compacting: AtomicBool::new(false),
            ended: Interrupt::default(),
            memo: Memo::default(),
            renaming: Mutex::new(()),
        })
    }

    /// The group that the index is of.
    pub fn group(&self) -> &Arc<ViewGroup> {
        &self.group
    }

    /// Whether somebody brings it up to date.
    pub fn is_building(&self) -> bool {
        matches!(self.building.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// Ends a compaction: once this returns, none makes the file that somebody is about to remove.
    pub fn end(&self) {
        let _renaming = self.renaming.lock().unwrap_or_else(PoisonError::into_inner);
        self.ended.raise();
    }

    pub(crate) fn standing(&self) -> Standing {
        let standing = self.standing.read();
        standing.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The index as it is, of whatever moment; empty if it was never built. It is read in the
    /// mode of `documents`.
    ///
    /// # Errors
    /// What the storage answers; [`ViewError::is_would_block`].
    pub fn current(&self, documents: &varve_docdb::Snapshot) -> Result<IndexView, ViewError> {
        let rows = self.standing().rows;
        let state = self.usable_state(&rows, documents);
        if state.is_none() && !rows.user_header().is_empty() {
            // Of another database: nobody may see it.
            documents.mode().refuse_long_work(true)?;
            let _builder = self.lock();
            return Ok(self.view(self.replace()?, None));
        }
        Ok(self.view(rows.with_mode(documents.mode()), state))
    }

    /// The index brought up to the moment of `documents`. If another thread is building, waits for
    /// it first.
    ///
    /// # Errors
    /// See [`ViewError`]. What was built until then is kept. [`ViewError::is_would_block`] if there
    /// is anything to do and `documents` is read in another mode than [`ReadMode::Blocking`].
    ///
    /// [`ReadMode::Blocking`]: varve_base::ReadMode::Blocking
    pub fn refreshed(
        &self,
        documents: &varve_docdb::Snapshot,
        context: &BuildContext<'_>,
    ) -> Result<IndexView, ViewError> {
        if let Some(view) = self.if_fresh(documents) {
            return Ok(view);
        }
        documents.mode().refuse_long_work(true)?;
        let _builder = self.lock();
        if let Some(view) = self.if_fresh(documents) {
            return Ok(view);
        }
        match self.build(documents, context) {
            Err(ViewError::Index(error)) if is_of_no_use(&error) => {}
            Err(ViewError::Row { .. }) => {}
            outcome => return outcome,
        }
        // The old file is damaged; a new one needs nothing of it.
        self.replace()?;
        self.build(documents, context)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, ()> {
        self.building.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The index, if it needs nothing to show the moment of `documents`. It is read in the mode of
    /// `documents`.
    pub fn if_fresh(&self, documents: &varve_docdb::Snapshot) -> Option<IndexView> {
        let rows = self.standing().rows;
        let state = self.usable_state(&rows, documents)?;
        let is_fresh =
            state.seq >= documents.update_seq() && state.purge_seq >= documents.purge_seq();
        is_fresh.then(|| self.view(rows.with_mode(documents.mode()), Some(state)))
    }

    fn build(
        &self,
        documents: &varve_docdb::Snapshot,
        context: &BuildContext<'_>,
    ) -> Result<IndexView, ViewError> {
        let rows = self.standing().rows;
        let mut state = self.usable_state(&rows, documents);
        if let Some(state) = &mut state
            && build::forget(self, documents, state, context)?
        {
            build::update(self, documents, state.seq, context)?;
        } else {
            if !rows.user_header().is_empty() {
                self.replace()?;
            }
            build::update(self, documents, 0, context)?;
        }
        let rows = self.standing().rows;
        let state = IndexState::decode(rows.user_header());
        Ok(self.view(rows, state))
    }

    /// The sequence that the index stands at, if it is about this database. A file that was found
    /// with a sequence that the database does not have is that of a database which lost commits;
    /// later the index may well be ahead of the moment that somebody looks at.
    fn usable_state(
        &self,
        rows: &Amended,
        documents: &varve_docdb::Snapshot,
    ) -> Option<IndexState> {
        let state = IndexState::decode(rows.user_header())?;
        let known = self.compared.load(Ordering::Acquire) || state.seq <= documents.update_seq();
        let usable = known && state.database == documents.uuid();
        if usable {
            self.compared.store(true, Ordering::Release);
        }
        usable.then_some(state)
    }

    fn view(&self, rows: Amended, state: Option<IndexState>) -> IndexView {
        IndexView {
            group: Arc::clone(&self.group),
            rows,
            seq: state.map_or(0, |state| state.seq),
            purge_seq: state.map_or(0, |state| state.purge_seq),
            memo: self.memo.clone(),
        }
    }

    /// Puts an empty file in the place of the present one. Who reads the old one goes on.
    fn replace(&self) -> Result<Amended, ViewError> {
        let _renaming = self.renaming.lock().unwrap_or_else(PoisonError::into_inner);
        self.ended.check()?;
        let made = create_anew(&*self.storage, &self.path, &self.group, &self.options)?;
        let standing = Standing::of(Arc::new(made));
        let rows = standing.rows.clone();
        self.put(standing);
        self.compared.store(true, Ordering::Release);
        Ok(rows)
    }

    fn put(&self, made: Standing) {
        let standing = self.standing.write();
        *standing.unwrap_or_else(PoisonError::into_inner) = made;
    }

    /// Makes a file the one that is used from now on.
    pub(crate) fn use_file(&self, file: Arc<TreeFile>) {
        self.put(Standing::of(file));
    }

    /// Takes in what a builder has changed: few changes stay in memory, many go into the file.
    ///
    /// # Errors
    /// What the storage answers.
    pub(crate) fn take(&self, rows: Amended) -> Result<(), ViewError> {
        let file = self.standing().file;
        let most = match self.memo.is_used() || self.group.reduces_by_scripts() {
            true => FEW_CHANGES,
            false => MOST_CHANGES,
        };
        let is_short = rows.changed_items() <= most && rows.changed_bytes() <= LONGEST_CHANGES;
        let share = match is_short {
            true => self.options.unwritten.take(rows.changed_bytes()),
            false => None,
        };
        if let Some(share) = share {
            let _share = Some(Arc::new(share));
            self.put(Standing { file, rows, _share });
            return Ok(());
        }
        let mut txn = file.begin()?;
        // Most nodes of an update are written anew by one of the next; a compaction uses the setting.
        txn.compress_nodes_by(self.options.setting.fastest())?;
        rows.write_to(&mut txn)?;
        // An index can be made again, so nobody waits for it to be durable.
        txn.commit_unsynced()?;
        self.use_file(file);
        Ok(())
    }

    /// Puts an empty index in the place of one that answered with damage.
    ///
    /// # Errors
    /// What the storage answers.
    pub fn discard(&self) -> Result<(), ViewError> {
        let _builder = self.lock();
        self.replace().map(|_| ())
    }

    /// Sizes of the file.
    pub fn sizes(&self) -> Sizes {
        self.standing().file.sizes()
    }
}

/// Errors after which a new file is better than none.
fn is_of_no_use(error: &TreeError) -> bool {
    error.is_damage()
        || matches!(
            error,
            TreeError::Foreign { .. }
                | TreeError::Version { .. }
                | TreeError::WrongKind { .. }
                | TreeError::Unfinished { .. }
        )
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
    Options {
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
            unwritten: Unwritten::new(0),
            limits: Limits::default(),
            reduce_limit: true,
        };
        let index = ViewIndex::open(storage, Path::new("i"), group, options).unwrap();
        let context = BuildContext {
            rest: &|| (),
            workers: 1,
            limits: Limits::default(),
            compilation: varve_js::Compilation::default(),
            progress: &Silent,
            interrupt: &Interrupt::default(),
            log: &NoLog,
        };
        let snapshot = db.snapshot();
        index.refreshed(&snapshot, &context).unwrap();
        let built = index.standing().file;
        index.refreshed(&snapshot, &context).unwrap();
        assert!(Arc::ptr_eq(&built, &index.standing().file));
        let mut txn = built.begin().unwrap();
        let mut header = built.snapshot().user_header().to_vec();
        *header.last_mut().unwrap() ^= 1;
        txn.set_user_header(&header);
        txn.commit().unwrap();
        index.use_file(Arc::clone(&built));
        assert!(index.if_fresh(&snapshot).is_none());
        assert_eq!(index.current(&snapshot).unwrap().row_count("v").unwrap(), 0);
        let view = index.refreshed(&snapshot, &context).unwrap();
        assert_eq!(view.row_count("v").unwrap(), 1);
        assert!(!Arc::ptr_eq(&built, &index.standing().file));
    }
}
