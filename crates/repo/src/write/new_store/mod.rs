//! A store that is received as files, as by a stream clone, for a repository that has no history yet.
//!
//! The files are written beside the empty store, as `.hg/store.new`. When all are there the directories
//! are exchanged in one step: before, and if something fails, the repository is empty as it was.

mod writer_pool;

use crate::format::context::RepoContext;
use crate::format::journal::remove_if_exists;
use crate::format::lock::{Lock, LockOwner};
use crate::format::store_path::encode_directories;
use crate::format::{RepoError, Requirements, fncache};
use crate::read::Repository;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use varve_base::OpenMode;
use varve_base::storage::replace;
use writer_pool::WriterPool;

/// Beside the store, while it is made.
pub(crate) const NEW_STORE: &str = "store.new";

/// Files of the store besides those of tracked files.
const OTHERS: [&[u8]; 6] = [
    b"00changelog.i",
    b"00changelog.d",
    b"00manifest.i",
    b"00manifest.d",
    b"obsstore",
    b"phaseroots",
];

/// A store that is being filled.
#[derive(Debug)]
pub struct NewStore {
    // The threads end before the lock goes.
    writers: WriterPool,
    context: Arc<RepoContext>,
    lock: Lock,
    new: PathBuf,
    requirements: BTreeSet<String>,
    /// The list of files, without any encoding.
    names: BTreeSet<Vec<u8>>,
}

impl Repository {
    /// Begins to fill a store, under the lock of the empty one. `streamed` are the requirements of its
    /// files, all of which [`Requirements::is_known`].
    ///
    /// # Errors
    /// [`RepoError::AbandonedTransaction`]; errors of the storage.
    pub fn new_store<'a>(
        &self,
        lock: Lock,
        streamed: impl Iterator<Item = &'a str>,
    ) -> Result<NewStore, RepoError> {
        if self.has_journal()? {
            return Err(RepoError::AbandonedTransaction);
        }
        let context = Arc::clone(self.context());
        let gone: BTreeSet<&str> = context.requirements.streamed().collect();
        let mut requirements: BTreeSet<String> = streamed.map(str::to_owned).collect();
        let kept = context.requirements.iter();
        requirements.extend(kept.filter(|name| !gone.contains(name)).map(str::to_owned));
        drop(gone);
        let new = context.hg().join(NEW_STORE);
        // An interrupted clone may have left it.
        context.storage.remove_tree(&new)?;
        context.storage.create_directory(&new)?;
        Ok(NewStore {
            writers: WriterPool::new(&context.storage),
            context,
            lock,
            new,
            requirements,
            names: BTreeSet::new(),
        })
    }
}

impl NewStore {
    /// Begins a file of the store, whose name has no encoding.
    ///
    /// # Errors
    /// [`RepoError::StoreName`]; errors of the storage, for this file or an earlier one.
    pub fn begin(&mut self, name: &[u8]) -> Result<(), RepoError> {
        let is_revlog = name.starts_with(b"data/")
            && (name.ends_with(b".i") || name.ends_with(b".d"))
            && !name.contains(&b'\n')
            && !name.contains(&0);
        let mut parts = name.split(|byte| *byte == b'/');
        let is_inside = parts.all(|part| !matches!(part, b"" | b"." | b".."));
        if !(is_inside && (is_revlog || OTHERS.contains(&name))) {
            let name = String::from_utf8_lossy(name).into_owned();
            return Err(RepoError::StoreName { name });
        }
        let path = match is_revlog {
            true => self.new.join(self.context.layout.path(name)),
            // One of a few known ones.
            false => self.new.join(String::from_utf8_lossy(name).as_ref()),
        };
        if is_revlog {
            self.names.insert(name.to_vec());
        }
        self.writers.begin(path)
    }

    /// More bytes of the file that was begun last.
    ///
    /// # Errors
    /// Errors of the storage, for this file or an earlier one.
    pub fn append(&mut self, bytes: Vec<u8>) -> Result<(), RepoError> {
        self.writers.append(bytes)
    }

    /// Puts the store in the place of the empty one, whose lock comes back. The repository must be
    /// opened again.
    ///
    /// # Errors
    /// Errors of the storage; the repository is then as it was.
    pub fn finish(mut self) -> Result<Lock, RepoError> {
        self.writers.drain()?;
        let (context, storage) = (&self.context, self.context.storage.as_ref());
        let write = |name: &str, bytes: &[u8]| -> Result<(), RepoError> {
            let file = storage.open(&self.new.join(name), OpenMode::CreateNew)?;
            file.append(bytes)?;
            Ok(())
        };
        if self.requirements.contains("fncache") && !self.names.is_empty() {
            let mut text = Vec::new();
            for name in &self.names {
                text.extend_from_slice(&encode_directories(name));
                text.push(b'\n');
            }
            write(fncache::FILE, &text)?;
        }
        let lines = |names: &mut dyn Iterator<Item = &String>| -> Vec<u8> {
            let lines: String = names.map(|name| format!("{name}\n")).collect();
            lines.into_bytes()
        };
        let is_inside = self.requirements.contains("share-safe");
        let requires = context.hg().join("requires");
        if is_inside {
            let outside = |name: &&String| Requirements::is_outside(name);
            let mut inside = self.requirements.iter().filter(|name| !outside(name));
            write("requires", &lines(&mut inside))?;
        } else {
            // An empty store can be read whatever is required.
            replace(storage, &requires, &lines(&mut self.requirements.iter()))?;
        }
        // A process that waits for the lock must find it in the new store too.
        storage.create_symlink(LockOwner::this_process().as_str(), &self.new.join("lock"))?;
        storage.sync_tree(&self.new)?;
        storage.exchange(&self.new, &context.store())?;
        storage.sync_directory(&context.hg())?;
        remove_if_exists(context, &context.hg().join("undo.desc"))?;
        storage.remove_tree(&self.new)?;
        Ok(self.lock)
    }

    /// Removes the new store; the lock comes back.
    pub fn abandon(self) -> Lock {
        drop(self.writers);
        // Leftovers are removed by the next call of `new_store`.
        let _ = self.context.storage.remove_tree(&self.new);
        self.lock
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use varve_base::{MemoryStorage, Storage};

    fn empty() -> (Arc<dyn Storage>, Repository) {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
        storage.create_directory(Path::new("r")).unwrap();
        let repository = Repository::create(Arc::clone(&storage), Path::new("r")).unwrap();
        (storage, repository)
    }

    fn begin(repository: &Repository) -> NewStore {
        let lock = repository.try_lock(crate::LockKind::Store).unwrap();
        let streamed = ["generaldelta", "revlogv1"].into_iter();
        repository.new_store(lock, streamed).unwrap()
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        let (_, repository) = empty();
        let mut store = begin(&repository);
        for name in [
            &b""[..],
            b"lock",
            b"requires",
            b"data/../x.i",
            b"../x.i",
            b"/data/x.i",
            b"data//x.i",
            b"data/x",
            b"data/a\nb.i",
            b"data/a\0b.i",
            b"00changelog.n",
        ] {
            let refused = store.begin(name).unwrap_err();
            assert!(matches!(refused, RepoError::StoreName { .. }), "{name:?}");
        }
        store.begin(b"data/x.i").unwrap();
        store.begin(b"data/x.i").unwrap();
        assert!(store.finish().is_err(), "twice");
    }

    #[test]
    fn it_counts_when_it_is_finished_and_not_before() {
        let (storage, repository) = empty();
        let changelog = Path::new("r/.hg/store/00changelog.i");
        let mut store = begin(&repository);
        store.begin(b"00changelog.i").unwrap();
        store.append(b"x".to_vec()).unwrap();
        drop(store.abandon());
        assert_eq!(storage.kind(Path::new("r/.hg/store.new")).unwrap(), None);
        let mut store = begin(&repository);
        store.begin(b"data/A.i").unwrap();
        store.append(b"a".to_vec()).unwrap();
        store.begin(b"00changelog.i").unwrap();
        store.append(b"x".to_vec()).unwrap();
        assert_eq!(storage.kind(changelog).unwrap(), None);
        drop(store.finish().unwrap());
        assert_eq!(storage.file_len(changelog).unwrap(), Some(1));
        let read = |path: &str| {
            let bytes = varve_base::storage::read_if_there(storage.as_ref(), Path::new(path));
            String::from_utf8(bytes.unwrap().unwrap()).unwrap()
        };
        assert_eq!(read("r/.hg/store/fncache"), "data/A.i\n");
        assert_eq!(read("r/.hg/store/data/_a.i"), "a");
        let requires = "dotencode\nfncache\ngeneraldelta\nrevlogv1\nstore\n";
        assert_eq!(read("r/.hg/store/requires"), requires);
        assert_eq!(read("r/.hg/requires"), "share-safe\n");
        assert_eq!(storage.kind(Path::new("r/.hg/store/lock")).unwrap(), None);
        assert_eq!(storage.kind(Path::new("r/.hg/store.new")).unwrap(), None);
    }
}
