//! The files of a store, and how each is handled.

use crate::format::context::RepoContext;
use crate::format::{RepoError, fncache};
use std::collections::{BTreeMap, HashMap};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use varve_base::storage::EntryKind;

/// The directory of files with hashed names.
const HASHED: &str = "dh";

/// How a file of the store is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoreFileKind {
    /// The index of a revlog: written again.
    Index,
    /// The data of a revlog: written with its index.
    Data,
    /// Belongs to the last transaction or is written at the end: left out.
    Dropped,
    /// Anything else: linked as it is.
    Other,
}

/// All that is in the store; paths are relative to it.
#[derive(Debug, Default)]
pub(super) struct StoreTree {
    pub directories: Vec<PathBuf>,
    pub files: Vec<(PathBuf, StoreFileKind)>,
    /// The longest first.
    pub revlogs: Vec<StoredRevlog>,
}

/// Where a revlog lies, relative to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoredRevlog {
    pub index: PathBuf,
    /// Where its chunks lie, or would lie if they were not in the index.
    pub data: PathBuf,
    /// Bytes of both files.
    pub len: u64,
}

impl StoreTree {
    pub fn walk(context: &RepoContext) -> Result<StoreTree, RepoError> {
        let (storage, store) = (context.storage.as_ref(), context.store());
        let mut tree = StoreTree::default();
        let mut wanted = vec![PathBuf::new()];
        while let Some(directory) = wanted.pop() {
            for entry in storage.list(&store.join(&directory))? {
                let path = directory.join(&entry.name);
                match entry.kind {
                    EntryKind::Directory => wanted.push(path),
                    EntryKind::File => tree.files.push((path, StoreFileKind::Other)),
                    // Locks.
                    EntryKind::Other => {}
                }
            }
            tree.directories.push(directory);
        }
        tree.sort_out(context)?;
        Ok(tree)
    }

    fn sort_out(&mut self, context: &RepoContext) -> Result<(), RepoError> {
        let paths = self.files.iter().map(|(path, _)| path);
        let indexes = paths.filter(|path| is_history(path) && has_end(path, b"i"));
        let pairs = pair(context, indexes)?;
        let index_of: HashMap<&PathBuf, &PathBuf> =
            pairs.iter().map(|(index, data)| (data, index)).collect();
        let mut lens: HashMap<&PathBuf, u64> = HashMap::new();
        for (path, kind) in &mut self.files {
            let of_data = index_of.get(path);
            let index = of_data
                .copied()
                .or(pairs.get_key_value(path).map(|(i, _)| i));
            *kind = match index {
                Some(_) if of_data.is_some() => StoreFileKind::Data,
                Some(_) => StoreFileKind::Index,
                None if is_dropped(path) => StoreFileKind::Dropped,
                None => StoreFileKind::Other,
            };
            if let Some(index) = index {
                let len = context.storage.file_len(&context.store().join(path))?;
                *lens.entry(index).or_default() += len.unwrap_or(0);
            }
        }
        self.revlogs
            .extend(pairs.iter().map(|(index, data)| StoredRevlog {
                index: index.clone(),
                data: data.clone(),
                len: lens.get(index).copied().unwrap_or(0),
            }));
        self.revlogs
            .sort_unstable_by(|a, b| (b.len, &a.index).cmp(&(a.len, &b.index)));
        Ok(())
    }
}

/// Finds the data file of each index. Long names are hashed with their ending, so there only the
/// list of the store's files knows which two belong together.
fn pair<'p>(
    context: &RepoContext,
    indexes: impl Iterator<Item = &'p PathBuf>,
) -> Result<BTreeMap<PathBuf, PathBuf>, RepoError> {
    let mut hashed = HashMap::new();
    for name in fncache::read(context.storage.as_ref(), &context.store())? {
        if let Some(stem) = name.strip_suffix(b".i") {
            let index = context.layout.path(&name);
            if index.starts_with(HASHED) {
                hashed.insert(index, context.layout.path(&[stem, b".d"].concat()));
            }
        }
    }
    let mut pairs = BTreeMap::new();
    for index in indexes {
        let data = match index.starts_with(HASHED) {
            false => Some(index.with_extension("d")),
            true => hashed.remove(index),
        };
        let data = data.ok_or_else(|| RepoError::CannotRecompress {
            path: context.store().join(index),
            reason: "it belongs to no name in fncache".to_owned(),
        })?;
        pairs.insert(index.clone(), data);
    }
    Ok(pairs)
}

fn has_end(path: &Path, end: &[u8]) -> bool {
    path.extension().is_some_and(|e| e.as_bytes() == end)
}

/// Whether a file lies where revlogs lie.
fn is_history(path: &Path) -> bool {
    let names = [Path::new("00changelog.i"), Path::new("00manifest.i")];
    names.contains(&path) || path.starts_with("data") || path.starts_with(HASHED)
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
