//! The store's files as they are, for copying a repository without looking into it.

use crate::format::RepoError;
use crate::format::obsstore;
use crate::format::store_path::unescape;
use crate::read::Repository;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use varve_base::Storage;
use varve_base::storage::{EntryKind, read_if_there};

/// One file of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreFile {
    /// Name below the store without any encoding, such as `data/src/A.c.i`. The first version of
    /// stream clones wants it through [`crate::encode_directories`].
    pub name: Vec<u8>,
    /// The file, relative to the repository's storage.
    pub path: PathBuf,
    /// Bytes that belong to the state that was seen; the file may grow behind them.
    pub len: u64,
}

/// A store as it was at one moment.
#[derive(Clone, Debug)]
pub struct StoreSnapshot {
    /// Every revlog file, the changelog's index last.
    pub files: Vec<StoreFile>,
    /// Obsolescence markers, if there are any; they are only added to.
    pub markers: Option<StoreFile>,
    /// The file of phases: it is replaced, so it is here.
    pub phase_roots: Vec<u8>,
}

/// Length of the version byte, which is all of an obsstore without markers.
const VERSION_LEN: u64 = 1;

/// The other revlogs, in the order in which they follow the tracked files' ones. A copy that is
/// cut off before the last of them has no changesets yet.
const LAST: [&str; 4] = [
    "00manifest.d",
    "00manifest.i",
    "00changelog.d",
    "00changelog.i",
];

impl Repository {
    /// Every revlog file of one committed state, the changelog's index last. Listed files that
    /// are not there are left out, as Mercurial does; files that are there and not listed come along, which Mercurial
    /// leaves out.
    ///
    /// # Errors
    /// [`RepoError::Busy`] if a transaction is under way all the time, or one was left behind.
    pub fn store_files(&self) -> Result<Vec<StoreFile>, RepoError> {
        Ok(self.store_snapshot()?.files)
    }

    /// The same, with the markers and phase roots of that moment.
    ///
    /// # Errors
    /// As of [`Repository::store_files`].
    pub fn store_snapshot(&self) -> Result<StoreSnapshot, RepoError> {
        let context = self.context();
        context.read_consistent(|stamp| {
            if stamp.journal {
                return Ok(None);
            }
            let view = self.view()?;
            let (storage, store) = (self.storage(), context.store());
            let mut files = Vec::new();
            let mut add = |name: Vec<u8>, path: PathBuf| -> Result<(), RepoError> {
                if let Some(len) = storage.file_len(&path)? {
                    files.push(StoreFile { name, path, len });
                }
                Ok(())
            };
            for name in view.all_store_names()? {
                let path = view.store_path(&name);
                add(name, path)?;
            }
            for name in LAST {
                add(name.as_bytes().to_vec(), store.join(name))?;
            }
            let markers = store.join(obsstore::FILE);
            let len = storage.file_len(&markers)?;
            let markers = len.filter(|len| *len > VERSION_LEN).map(|len| StoreFile {
                name: obsstore::FILE.as_bytes().to_vec(),
                path: markers,
                len,
            });
            let phase_roots = read_if_there(storage.as_ref(), &store.join("phaseroots"))?;
            Ok(Some(StoreSnapshot {
                files,
                markers,
                phase_roots: phase_roots.unwrap_or_default(),
            }))
        })
    }
}

/// Names of revlog files below `data/`, for stores without a list.
pub(crate) fn walk(storage: &dyn Storage, store: &Path) -> Result<Vec<Vec<u8>>, RepoError> {
    let mut names = Vec::new();
    let mut directories = vec![PathBuf::from("data")];
    while let Some(directory) = directories.pop() {
        let full = store.join(&directory);
        if storage.kind(&full)? != Some(EntryKind::Directory) {
            continue;
        }
        for entry in storage.list(&full)? {
            let path = directory.join(&entry.name);
            let bytes = path.as_os_str().as_bytes();
            match entry.kind {
                EntryKind::Directory => directories.push(path),
                EntryKind::File if bytes.ends_with(b".i") || bytes.ends_with(b".d") => {
                    // Mercurial never writes names that do not decode.
                    let name = unescape(bytes);
                    names.extend(
                        name.map(|n| {
                            crate::format::store_path::decode_directories(&n).into_owned()
                        }),
                    );
                }
                EntryKind::File | EntryKind::Other => {}
            }
        }
    }
    names.sort_unstable();
    Ok(names)
}
