//! Creating and sharing a tree file.

use crate::chunk::ChunkRef;
use crate::commit::{self, Commit, Root};
use crate::header::Header;
use crate::live_commits::LiveCommits;
use crate::pages::Pages;
use crate::reducer::Reducer;
use crate::snapshot::{CommitState, Snapshot};
use crate::tail::Tail;
use crate::{NodeCache, TreeError};
use parking_lot::{Mutex, MutexGuard, RwLock};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use varve_base::{OpenMode, ReadMode, Storage, StorageFile};
use varve_codec::{Compressor, EngineSetting};
use xxhash_rust::xxh3::xxh3_64;

/// How to open or create a file.
#[derive(Clone)]
pub struct Options {
    /// Purpose of the file, in ASCII, filled up with zeros; another kind is refused.
    pub kind: [u8; 8],
    /// One for each tree, at most 255; another number of trees is refused.
    pub reducers: Vec<Arc<dyn Reducer>>,
    /// So many of the last trees may be missing in a file that is opened; one that is made has all.
    pub optional_trees: usize,
    /// How nodes are compressed from now on; it may differ each time the file is opened.
    pub setting: EngineSetting,
    /// Where decoded nodes are kept; shared by all files that have a clone of it.
    pub cache: NodeCache,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, trees) = (Header::kind_name(&self.kind), self.reducers.len());
        write!(f, "Options({kind}, {trees} trees, {})", self.setting)
    }
}

/// Sizes of a file in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The file up to its newest commit.
    pub file: u64,
    /// Of that, the newest commit's trees and record. Chunks are known only to the callers that appended them.
    pub nodes: u64,
    /// Of these, the roots: a file that was put away has them twice.
    pub roots: u64,
}

/// Deviations that opening found and went around.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Length in bytes of the torn append behind the newest whole commit, which is ignored; usually 0.
    pub ignored: u64,
    /// Kind of the ignored bytes.
    pub tail: Tail,
    /// Whether one bit of the file's header is not as it was written; it is read as it was.
    pub is_header_damaged: bool,
}

/// State that the writer keeps between transactions.
pub(crate) struct Writer {
    pub(crate) compressor: Compressor,
    pub(crate) buffer: Vec<u8>,
    pub(crate) raw: Vec<u8>,
    /// Everything before this position survives a power cut.
    pub(crate) durable: u64,
    /// Whether there may be bytes behind the newest commit.
    pub(crate) torn: bool,
    /// Whether the last sync failed, so that bytes behind `durable` may be lost although they can
    /// still be read.
    pub(crate) in_doubt: bool,
    /// Commits that are being written a second time because of that.
    rescue: Option<Vec<u8>>,
}

/// An open file. Share it behind an [`Arc`]; snapshots outlive it.
pub struct TreeFile {
    pub(crate) pages: Arc<Pages>,
    newest: RwLock<Arc<CommitState>>,
    /// `None` if open for reading only.
    writer: Option<Mutex<Writer>>,
    recovery: Recovery,
    /// The commits that readers may still have.
    pub(crate) live_commits: LiveCommits,
}

impl fmt::Debug for TreeFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TreeFile({})", self.pages.path().display())
    }
}

impl TreeFile {
    /// Makes a file with empty trees; durable when this returns.
    ///
    /// # Errors
    /// Errors of the storage, among them that the file is there already.
    pub fn create(storage: &dyn Storage, path: &Path, options: Options) -> Result<Self, TreeError> {
        TreeFile::create_with(storage, path, options, &[])
    }

    /// Makes a file whose first commit has empty trees and this user header, so that no crash
    /// leaves a file without it.
    ///
    /// # Errors
    /// See [`TreeFile::create`].
    pub fn create_with(
        storage: &dyn Storage,
        path: &Path,
        options: Options,
        user_header: &[u8],
    ) -> Result<Self, TreeError> {
        let made = TreeFile::create_to_rename(storage, path, options, user_header)?;
        let directory = path.parent().unwrap_or(Path::new(""));
        let synced = storage.sync_directory(directory).inspect_err(|_| {
            // The file was not announced; a later creation finds it in its way if this fails as well.
            let _ = storage.remove(path);
        });
        synced?;
        Ok(made)
    }

    /// [`TreeFile::create_with`] for a file that gets another name next: its bytes are durable when this returns, its
    /// name is not. The caller renames it and syncs the directory once, for both.
    ///
    /// # Errors
    /// See [`TreeFile::create`].
    pub fn create_to_rename(
        storage: &dyn Storage,
        path: &Path,
        options: Options,
        user_header: &[u8],
    ) -> Result<Self, TreeError> {
        crate::error::check_len("list of trees", options.reducers.len(), 255)?;
        let mut id = [0; 16];
        getrandom::fill(&mut id).map_err(|_| TreeError::NoRandom {
            path: path.to_owned(),
        })?;
        let header = Header {
            kind: options.kind,
            trees: options.reducers.len() as u8,
            id,
        };
        let mut bytes = header.encode().to_vec();
        bytes.resize(bytes.len() + commit::padding(bytes.len() as u64), 0);
        let commit = Commit {
            previous: 0,
            durable: 0,
            span: 0,
            span_sum: xxh3_64(&bytes),
            roots: vec![Root::default(); options.reducers.len()],
            user_header: user_header.to_vec(),
        };
        let at = bytes.len() as u64;
        commit.encode(&header, at, &mut bytes)?;
        let end = bytes.len() as u64;
        let file = storage.open(path, OpenMode::CreateNew)?;
        file.append(&bytes)
            .and_then(|_| file.sync())
            .inspect_err(|_| {
                // The file was not announced; if this fails as well, opening reports it as unfinished.
                let _ = storage.remove(path);
            })?;
        let state = CommitState { commit, at, end };
        TreeFile::make(file, header, options, state, Some(end), Recovery::default())
    }

    /// `durable` is `None` for reading only.
    pub(crate) fn make(
        file: Arc<dyn StorageFile>,
        header: Header,
        mut options: Options,
        state: CommitState,
        durable: Option<u64>,
        recovery: Recovery,
    ) -> Result<Self, TreeError> {
        options.reducers.truncate(header.trees.into());
        let writer = |durable| -> Result<_, TreeError> {
            Ok(Mutex::new(Writer {
                compressor: Compressor::new(options.setting).map_err(TreeError::Compress)?,
                buffer: Vec::new(),
                raw: Vec::new(),
                durable,
                torn: false,
                in_doubt: false,
                rescue: None,
            }))
        };
        let writer = durable.map(writer).transpose()?;
        let number = options.cache.new_file();
        let (state, live_commits) = (Arc::new(state), LiveCommits::default());
        live_commits.add(&state);
        Ok(TreeFile {
            pages: Arc::new(Pages {
                file,
                header,
                reducers: options.reducers,
                cache: options.cache,
                number,
                dictionaries: Arc::default(),
                readahead: None,
            }),
            newest: RwLock::new(state),
            writer,
            recovery,
            live_commits,
        })
    }

    /// True once the file has no name any more: writes to it are lost with the last handle.
    pub fn is_removed(&self) -> bool {
        self.pages.file.is_removed()
    }

    /// Whether commits are refused.
    pub fn is_read_only(&self) -> bool {
        self.writer.is_none()
    }

    /// Bytes that opening had to leave out, and other damage.
    pub fn recovery(&self) -> Recovery {
        self.recovery
    }

    /// The newest commit.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            pages: self.pages.clone(),
            state: self.newest.read().clone(),
            mode: ReadMode::Blocking,
        }
    }

    pub(crate) fn publish(&self, state: CommitState) -> Snapshot {
        let state = Arc::new(state);
        self.live_commits.add(&state);
        *self.newest.write() = state;
        self.snapshot()
    }

    /// The state of the writer, once a transaction that was started before is done, and its bytes are gone if it failed.
    ///
    /// # Errors
    /// [`TreeError::ReadOnly`]; errors of the storage on removing the bytes of a failed transaction.
    pub(crate) fn lock_writer(&self) -> Result<MutexGuard<'_, Writer>, TreeError> {
        let writer = self.writer.as_ref().ok_or_else(|| TreeError::ReadOnly {
            path: self.pages.path().to_owned(),
        })?;
        let mut writer = writer.lock();
        self.repair(&mut writer)?;
        Ok(writer)
    }

    /// Length of the file with the bytes that a transaction under way has appended so far.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn appended(&self) -> Result<u64, TreeError> {
        Ok(self.pages.file.len()?)
    }

    /// Syncs the bytes that a long transaction has appended so far, so that its commit syncs less. After a failure the
    /// transaction must not be committed: the next sync may not report the lost bytes.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn flush(&self) -> Result<(), TreeError> {
        Ok(self.pages.file.sync()?)
    }

    /// Removes the bytes of a failed transaction. After a failed sync the system may have dropped
    /// bytes that it still shows, so commits that were not synced before are written once more.
    fn repair(&self, writer: &mut MutexGuard<'_, Writer>) -> Result<(), TreeError> {
        let file = &self.pages.file;
        let end = self.snapshot().state.end;
        if writer.in_doubt && writer.durable < end && writer.rescue.is_none() {
            // At most UNSYNCED bytes.
            let len = usize::try_from(end - writer.durable).unwrap_or(usize::MAX);
            writer.rescue = Some(file.read_vec(writer.durable, len)?);
        }
        if let Some(bytes) = &writer.rescue {
            file.truncate(writer.durable)?;
            file.append(bytes)?;
        } else if writer.torn {
            file.truncate(end)?;
        }
        writer.rescue = None;
        // A failed transaction may have synced bytes that are gone now.
        writer.durable = writer.durable.min(end);
        writer.torn = false;
        writer.in_doubt = false;
        Ok(())
    }

    /// Stored bytes of all nodes of a tree, as of the newest commit.
    pub fn stored_bytes(&self, tree: usize) -> u64 {
        let state = self.snapshot().state;
        state.commit.roots.get(tree).map_or(0, |root| root.stored)
    }

    /// Number of the file's trees.
    pub fn tree_count(&self) -> usize {
        self.snapshot().state.commit.roots.len()
    }

    /// Sizes as of the newest commit.
    pub fn sizes(&self) -> Sizes {
        let state = self.snapshot().state;
        let roots = &state.commit.roots;
        let stored = roots.iter().map(|root| root.stored);
        let len = |node: ChunkRef| u64::from(node.len);
        Sizes {
            file: state.end,
            nodes: stored.fold(state.end - state.at, u64::saturating_add),
            roots: roots.iter().filter_map(|root| root.node).map(len).sum(),
        }
    }
}
