//! Opening a tree file: the newest whole commit is found, and the bytes behind it are judged.

use crate::chunk::ChunkRef;
use crate::file::{Options, Recovery, TreeFile};
use crate::header::{HEADER_LEN, Header};
use crate::pages::NodeSource;
use crate::snapshot::CommitState;
use crate::tail::{self, CommitPlace, Tail};
use crate::{TreeError, recover};
use std::path::Path;
use std::sync::Arc;
use varve_base::{OpenMode, Storage, StorageError, StorageFile};

impl TreeFile {
    /// Opens a file for reading and writing; a torn append at its end is cut off. A file with more behind its newest
    /// whole commit than a crash explains, see [`Recovery::tail`], is left as it is and cannot be written to.
    ///
    /// # Errors
    /// [`TreeError::Foreign`], [`TreeError::Version`], [`TreeError::WrongKind`],
    /// [`TreeError::Unfinished`], [`TreeError::Damaged`], or an error of the storage.
    pub fn open(storage: &dyn Storage, path: &Path, options: Options) -> Result<Self, TreeError> {
        let file = storage.open(path, OpenMode::Append)?;
        TreeFile::open_cutting(file, options, |_, _| Ok(()))
    }

    /// As [`TreeFile::open`]; a cut off tail that may be a damaged commit is kept in [`kept_tail`](crate::kept_tail).
    /// A file that may not be written to is opened for reading only.
    ///
    /// # Errors
    /// See [`TreeFile::open`].
    pub fn open_keeping(
        storage: &dyn Storage,
        path: &Path,
        options: Options,
    ) -> Result<Self, TreeError> {
        let file = match storage.open(path, OpenMode::Append) {
            Err(error) if error.is_refused() => {
                return TreeFile::open_read_only(storage, path, options);
            }
            opened => opened?,
        };
        TreeFile::open_cutting(file, options, |file, end| tail::keep(storage, file, end))
    }

    /// As [`TreeFile::open`], whatever stands behind the newest whole commit: it is cut off.
    ///
    /// # Errors
    /// See [`TreeFile::open`].
    pub fn cut_off_tail(
        storage: &dyn Storage,
        path: &Path,
        options: &Options,
    ) -> Result<u64, TreeError> {
        let file = storage.open(path, OpenMode::Append)?;
        let (_, state, recovery) = examine(file.as_ref(), options)?;
        if recovery.ignored > 0 {
            file.truncate(state.end)?;
            file.sync()?;
        }
        Ok(recovery.ignored)
    }

    fn open_cutting(
        file: Arc<dyn StorageFile>,
        options: Options,
        keep: impl FnOnce(&dyn StorageFile, u64) -> Result<(), StorageError>,
    ) -> Result<Self, TreeError> {
        let (header, state, mut recovery) = examine(file.as_ref(), &options)?;
        if recovery.tail == Tail::Broken && keep(file.as_ref(), state.end).is_err() {
            recovery.tail = Tail::Damaged(
                "the newest commit is not whole, and what stands in its place could not be kept in another file",
            );
        }
        if recovery.tail.damage().is_some() {
            return TreeFile::make(file, header, options, state, None, recovery);
        }
        if recovery.ignored > 0 {
            file.truncate(state.end)?;
        }
        // Whether the newest commit was synced is not known; its own record names the last synced one.
        let durable = state.commit.durable;
        TreeFile::make(file, header, options, state, Some(durable), recovery)
    }

    /// Opens a file for reading; it is not changed.
    ///
    /// # Errors
    /// See [`TreeFile::open`].
    pub fn open_read_only(
        storage: &dyn Storage,
        path: &Path,
        options: Options,
    ) -> Result<Self, TreeError> {
        let file = storage.open(path, OpenMode::Read)?;
        // Another process may write to the file and does not know of these readers.
        file.pin()?;
        let (header, state, recovery) = examine(file.as_ref(), &options)?;
        TreeFile::make(file, header, options, state, None, recovery)
    }

    /// Makes a commit the newest one that another writer has appended to a file opened for reading. Returns false if there is
    /// none.
    ///
    /// # Errors
    /// Damage, and errors of the storage.
    pub fn follow(&self) -> Result<bool, TreeError> {
        let (file, header) = (self.pages.file.as_ref(), &self.pages.header);
        let (len, known) = (file.len()?, self.sizes().file);
        if len <= known {
            return Ok(false);
        }
        let state = newest(file, header, len)?;
        let is_newer = state.end > known;
        if is_newer {
            self.publish(state);
        }
        Ok(is_newer)
    }

    /// True if this file stands at `path`, and not another that has taken its place.
    ///
    /// # Errors
    /// Errors of the storage, among them that nothing is there; damage.
    pub fn is_at(&self, storage: &dyn Storage, path: &Path) -> Result<bool, TreeError> {
        let file = storage.open(path, OpenMode::Read)?;
        let (header, _) = Header::read(file.as_ref())?;
        Ok(header.id == self.pages.header.id)
    }

    /// Opens a file for reading, with as much of it as can be read: the newest commit with a whole record counts even
    /// if the bytes it covers are damaged or were cut short. A tree whose root cannot be read is seen as the newest
    /// whole commit has it.
    ///
    /// # Errors
    /// See [`TreeFile::open`].
    pub fn open_damaged(
        storage: &dyn Storage,
        path: &Path,
        options: Options,
    ) -> Result<Self, TreeError> {
        let file = storage.open(path, OpenMode::Read)?;
        file.pin()?;
        let (header, is_header_damaged) = identify(file.as_ref(), &options)?;
        let len = file.len()?;
        let whole = newest(file.as_ref(), &header, len);
        let whole_place = whole.as_ref().map_or(BEFORE_ALL, place_of);
        let whole_end = whole_place.end;
        let recovery = Recovery {
            ignored: len - whole_end,
            tail: Tail::judge(file.as_ref(), &header, whole_place, len)?,
            is_header_damaged,
        };
        let record = recover::newest_record(file.as_ref(), &header, len)?;
        let (state, older) = match record.filter(|state| state.end > whole_end) {
            Some(torn) => (torn, whole.ok()),
            None => (whole?, None),
        };
        let opened = TreeFile::make(file, header, options, state, None, recovery)?;
        if let Some(older) = older {
            opened.use_older_roots(older);
        }
        Ok(opened)
    }

    /// Gives trees whose root cannot be read the one that they had in an older commit.
    fn use_older_roots(&self, older: CommitState) {
        let snapshot = self.snapshot();
        let mut commit = snapshot.state.commit.clone();
        for (root, older) in commit.roots.iter_mut().zip(older.commit.roots) {
            if snapshot.root_node(root).is_err() {
                *root = older;
            }
        }
        let (at, end) = (snapshot.state.at, snapshot.state.end);
        self.publish(CommitState { commit, at, end });
    }

    /// Kind and number of trees of the tree file at `path`; `None` if something else is there.
    ///
    /// # Errors
    /// [`TreeError::Version`], [`TreeError::Damaged`], or an error of the storage.
    pub fn kind_of(
        storage: &dyn Storage,
        path: &Path,
    ) -> Result<Option<([u8; 8], usize)>, TreeError> {
        let file = storage.open(path, OpenMode::Read)?;
        match Header::read(file.as_ref()) {
            Ok((header, _)) => Ok(Some((header.kind, header.trees.into()))),
            Err(TreeError::Foreign { .. } | TreeError::Unfinished { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Stands for a file without a whole commit.
const BEFORE_ALL: CommitPlace = CommitPlace {
    at: 0,
    end: HEADER_LEN as u64,
};

fn place_of(state: &CommitState) -> CommitPlace {
    let (at, end) = (state.at, state.end);
    CommitPlace { at, end }
}

/// Reads the header, compares it with the options, and finds the newest commit. Also returns the damage that was passed
/// over.
fn examine(
    file: &dyn StorageFile,
    options: &Options,
) -> Result<(Header, CommitState, Recovery), TreeError> {
    let (header, is_header_damaged) = identify(file, options)?;
    let len = file.len()?;
    let state = newest(file, &header, len)?;
    let recovery = Recovery {
        ignored: len - state.end,
        tail: Tail::judge(file, &header, place_of(&state), len)?,
        is_header_damaged,
    };
    Ok((header, state, recovery))
}

/// Reads the header and compares it with the options; also returns whether it is damaged.
fn identify(file: &dyn StorageFile, options: &Options) -> Result<(Header, bool), TreeError> {
    let (header, is_damaged) = Header::read(file)?;
    let most = options.reducers.len();
    let trees = most.saturating_sub(options.optional_trees)..=most;
    if header.kind != options.kind || !trees.contains(&usize::from(header.trees)) {
        return Err(TreeError::WrongKind {
            path: file.path().to_owned(),
            found: Header::kind_name(&header.kind),
            found_trees: header.trees.into(),
            expected: Header::kind_name(&options.kind),
            expected_trees: options.reducers.len(),
        });
    }
    Ok((header, is_damaged))
}

fn newest(file: &dyn StorageFile, header: &Header, len: u64) -> Result<CommitState, TreeError> {
    let state = recover::newest_commit(file, header, len)?;
    let roots = &state.commit.roots;
    let outside = |at: ChunkRef| at.end().is_none_or(|end| end > state.at);
    if roots.iter().filter_map(|root| root.node).any(outside) {
        let reason = "a commit record's root points behind the record";
        return Err(TreeError::damaged(file.path(), state.at, reason));
    }
    Ok(state)
}
