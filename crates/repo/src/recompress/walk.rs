//! What is in a store, and what becomes of it.

use crate::RepoError;
use crate::repository::Shared;
use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use varve_base::storage::EntryKind;

/// What becomes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The index of a revlog: written again.
    Index,
    /// The data of a revlog: written with its index.
    Data,
    /// Belongs to the last transaction or is written at the end: not taken over.
    Dropped,
    /// Anything else: taken over as it is.
    Other,
}

/// All that is in the store; paths are relative to it.
#[derive(Debug, Default)]
pub(super) struct StoreTree {
    pub folders: Vec<PathBuf>,
    pub files: Vec<(PathBuf, Kind)>,
    /// Index files with the bytes of the whole revlog, the longest first.
    pub revlogs: Vec<(PathBuf, u64)>,
}

impl StoreTree {
    pub fn walk(shared: &Shared) -> Result<StoreTree, RepoError> {
        let (storage, store) = (shared.storage.as_ref(), shared.store());
        let mut tree = StoreTree::default();
        let mut wanted = vec![PathBuf::new()];
        while let Some(folder) = wanted.pop() {
            for entry in storage.list(&store.join(&folder))? {
                let path = folder.join(&entry.name);
                match entry.kind {
                    EntryKind::Folder => wanted.push(path),
                    EntryKind::File => tree.files.push((path, Kind::Other)),
                    // Locks.
                    EntryKind::Other => {}
                }
            }
            tree.folders.push(folder);
        }
        tree.sort_out(shared)?;
        Ok(tree)
    }

    fn sort_out(&mut self, shared: &Shared) -> Result<(), RepoError> {
        let is_index = |path: &Path| is_history(path) && has_end(path, b"i");
        let indexes: HashSet<PathBuf> = self
            .files
            .iter()
            .map(|(path, _)| path)
            .filter(|path| is_index(path))
            .cloned()
            .collect();
        for (path, kind) in &mut self.files {
            let index = path.with_extension("i");
            *kind = if indexes.contains(path.as_path()) {
                Kind::Index
            } else if has_end(path, b"d") && indexes.contains(&index) {
                Kind::Data
            } else if is_dropped(path) {
                Kind::Dropped
            } else {
                Kind::Other
            };
        }
        let mut lens: HashMap<PathBuf, u64> = HashMap::new();
        for (path, kind) in &self.files {
            if matches!(kind, Kind::Index | Kind::Data) {
                let len = shared.storage.file_len(&shared.store().join(path))?;
                *lens.entry(path.with_extension("i")).or_default() += len.unwrap_or(0);
            }
        }
        self.revlogs.extend(lens);
        self.revlogs
            .sort_unstable_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
        Ok(())
    }
}

fn has_end(path: &Path, end: &[u8]) -> bool {
    path.extension().is_some_and(|e| e.as_bytes() == end)
}

/// Whether a file lies where revlogs lie.
fn is_history(path: &Path) -> bool {
    let names = [Path::new("00changelog.i"), Path::new("00manifest.i")];
    names.contains(&path) || path.starts_with("data") || path.starts_with("dh")
}

fn is_dropped(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let of_store = path.parent() == Some(Path::new(""));
    let ended = [&b"undo.backup."[..], b"journal.backup."];
    ended.iter().any(|start| name.starts_with(start))
        || (of_store && (name == b"undo" || name.starts_with(b"undo.")))
        || (of_store && matches!(name, b"fncache" | b"lock" | b"journal.backupfiles"))
        || (of_store && name == b"requires")
}
