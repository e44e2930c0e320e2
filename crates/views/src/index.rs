//! One index file: opening, bringing it up to date, reading it.

use crate::build::{self, BuildContext};
use crate::group::ViewGroup;
use crate::query::Memo;
use crate::reduce::MapReducer;
use crate::state::IndexState;
use crate::{Signature, ViewError};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, TryLockError};
use varve_base::{Interrupt, Storage};
use varve_btree::{NoReduction, NodeCache, Options, Reducer, Sizes, Snapshot, TreeError, TreeFile};
use varve_codec::EngineSetting;
use varve_js::Limits;

/// The kind of tree file that an index is.
const KIND: [u8; 8] = *b"views\0\0\0";

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
    file: RwLock<Arc<TreeFile>>,
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

/// One moment of an index.
#[derive(Clone, Debug)]
pub struct IndexView {
    pub(crate) group: Arc<ViewGroup>,
    pub(crate) snapshot: Snapshot,
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
            file: RwLock::new(Arc::new(file)),
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

    pub(crate) fn file(&self) -> Arc<TreeFile> {
        let file = self.file.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&file)
    }

    /// The index as it is, of whatever moment; empty if it was never built.
    ///
    /// # Errors
    /// What the storage answers.
    pub fn current(&self, documents: &varve_docdb::Snapshot) -> Result<IndexView, ViewError> {
        let file = self.file();
        let snapshot = file.snapshot();
        let state = self.usable_state(&snapshot, documents);
        if state.is_none() && !snapshot.user_header().is_empty() {
            // Of another database: nobody may see it.
            let _builder = self.lock();
            return Ok(self.view(self.replace()?.snapshot(), None));
        }
        Ok(self.view(snapshot, state))
    }

    /// The index brought up to the moment of `documents`. If another thread is building, waits for
    /// it first.
    ///
    /// # Errors
    /// See [`ViewError`]. What was built until then is kept.
    pub fn refreshed(
        &self,
        documents: &varve_docdb::Snapshot,
        context: &BuildContext<'_>,
    ) -> Result<IndexView, ViewError> {
        if let Some(view) = self.if_fresh(documents) {
            return Ok(view);
        }
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

    /// The index, if it needs nothing to show the moment of `documents`.
    pub fn if_fresh(&self, documents: &varve_docdb::Snapshot) -> Option<IndexView> {
        let snapshot = self.file().snapshot();
        let state = self.usable_state(&snapshot, documents)?;
        let is_fresh =
            state.seq >= documents.update_seq() && state.purge_seq >= documents.purge_seq();
        is_fresh.then(|| self.view(snapshot, Some(state)))
    }

    fn build(
        &self,
        documents: &varve_docdb::Snapshot,
        context: &BuildContext<'_>,
    ) -> Result<IndexView, ViewError> {
        let mut file = self.file();
        let snapshot = file.snapshot();
        let mut state = self.usable_state(&snapshot, documents);
        let setting = self.options.setting;
        if let Some(state) = &mut state
            && build::forget(&file, &self.group, documents, state, setting, context)?
        {
            build::update(&file, &self.group, documents, state.seq, setting, context)?;
        } else {
            if !snapshot.user_header().is_empty() {
                file = self.replace()?;
            }
            build::update(&file, &self.group, documents, 0, setting, context)?;
        }
        let snapshot = file.snapshot();
        let state = IndexState::decode(snapshot.user_header());
        Ok(self.view(snapshot, state))
    }

    /// The sequence that the index stands at, if it is about this database. A file that was found
    /// with a sequence that the database does not have is that of a database which lost commits;
    /// later the index may well be ahead of the moment that somebody looks at.
    fn usable_state(
        &self,
        snapshot: &Snapshot,
        documents: &varve_docdb::Snapshot,
    ) -> Option<IndexState> {
        let state = IndexState::decode(snapshot.user_header())?;
        let known = self.compared.load(Ordering::Acquire) || state.seq <= documents.update_seq();
        let usable = known && state.database == documents.uuid();
        if usable {
            self.compared.store(true, Ordering::Release);
        }
        usable.then_some(state)
    }

    fn view(&self, snapshot: Snapshot, state: Option<IndexState>) -> IndexView {
        IndexView {
            group: Arc::clone(&self.group),
            snapshot,
            seq: state.map_or(0, |state| state.seq),
            purge_seq: state.map_or(0, |state| state.purge_seq),
            memo: self.memo.clone(),
        }
    }

    /// Puts an empty file in the place of the present one. Who reads the old one goes on.
    fn replace(&self) -> Result<Arc<TreeFile>, ViewError> {
        let _renaming = self.renaming.lock().unwrap_or_else(PoisonError::into_inner);
        self.ended.check()?;
        let made = create_anew(&*self.storage, &self.path, &self.group, &self.options)?;
        let file = self.put(made);
        self.compared.store(true, Ordering::Release);
        Ok(file)
    }

    /// Makes a file the one that is used from now on.
    pub(crate) fn put(&self, made: TreeFile) -> Arc<TreeFile> {
        let mut file = self.file.write().unwrap_or_else(PoisonError::into_inner);
        *file = Arc::new(made);
        Arc::clone(&file)
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
        self.file().sizes()
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

/// What follows the signature in the name of an index file.
const EXTENSION: &str = "view";
/// What follows that in the name of a compacted copy.
const COPY: &str = ".compact";

/// Where the copy stands while the index is compacted.
pub(crate) fn copy_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(COPY);
    path.with_file_name(name)
}

/// Removes a file that need not be there.
pub(crate) fn remove_rest(storage: &dyn Storage, path: &Path) -> Result<(), ViewError> {
    match storage.remove(path) {
        Err(error) if !error.is_not_found() => Err(error.into()),
        _ => Ok(()),
    }
}

/// The name of a group's file within its folder.
pub(crate) fn file_name(signature: Signature) -> String {
    format!("{signature}.{EXTENSION}")
}

/// Removes the index files in `folder` that no group in `kept` has, and returns how many. Who has
/// one of them open goes on reading it.
///
/// # Errors
/// What the storage answers.
pub fn remove_stale(
    storage: &dyn Storage,
    folder: &Path,
    kept: &[Signature],
) -> Result<usize, ViewError> {
    if storage.kind(folder)?.is_none() {
        return Ok(0);
    }
    let kept: Vec<String> = kept.iter().map(|signature| file_name(*signature)).collect();
    let mut removed = 0;
    for entry in storage.list(folder)? {
        let Some(name) = entry.name.to_str() else {
            continue;
        };
        // A copy goes and stays with its index.
        let index = name.strip_suffix(COPY).unwrap_or(name);
        let is_index = index.ends_with(&format!(".{EXTENSION}"));
        if is_index && !kept.iter().any(|kept| kept == index) {
            // A compaction that was ended removes its copy itself.
            remove_rest(storage, &folder.join(name))?;
            removed += 1;
        }
    }
    Ok(removed)
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
            limits: Limits::default(),
            reduce_limit: true,
        };
        let index = ViewIndex::open(storage, Path::new("i"), group, options).unwrap();
        let context = BuildContext {
            workers: 1,
            limits: Limits::default(),
            compilation: varve_js::Compilation::default(),
            progress: &Silent,
            interrupt: &Interrupt::default(),
            log: &NoLog,
        };
        let snapshot = db.snapshot();
        index.refreshed(&snapshot, &context).unwrap();
        let built = index.file();
        index.refreshed(&snapshot, &context).unwrap();
        assert!(Arc::ptr_eq(&built, &index.file()));
        let mut txn = built.begin().unwrap();
        let mut header = built.snapshot().user_header().to_vec();
        *header.last_mut().unwrap() ^= 1;
        txn.set_user_header(&header);
        txn.commit().unwrap();
        assert!(index.if_fresh(&snapshot).is_none());
        assert_eq!(index.current(&snapshot).unwrap().row_count("v").unwrap(), 0);
        let view = index.refreshed(&snapshot, &context).unwrap();
        assert_eq!(view.row_count("v").unwrap(), 1);
        assert!(!Arc::ptr_eq(&built, &index.file()));
    }
}
