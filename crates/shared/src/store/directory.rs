//! Objects as files of a directory that processes, or machines with NFS or CephFS, share.
//!
//! An object is written under another name, synced, and linked to its own: of several links to one name, the file system
//! lets one succeed.

use super::{CreateOutcome, ObjectInfo, ObjectStore};
use crate::error::StoreError;
use crate::format::nonce;
use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Files that are not objects yet.
const UPLOADS: &str = ".uploads";
/// Uploads older than this belong to processes that were killed.
const ABANDONED: Duration = Duration::from_hours(24);

/// A store in a directory.
#[derive(Debug)]
pub struct DirectoryStore {
    root: PathBuf,
}

impl DirectoryStore {
    /// A store in this directory, which is made unless it is there.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn new(root: impl Into<PathBuf>) -> Result<DirectoryStore, StoreError> {
        let root = root.into();
        let store = DirectoryStore { root };
        let made = create_private(&store.root.join(UPLOADS));
        made.map_err(|error| StoreError::new("make directory of", UPLOADS, error))?;
        store.remove_abandoned();
        Ok(store)
    }

    /// An upload that cannot be removed is only clutter.
    fn remove_abandoned(&self) {
        let uploads = fs::read_dir(self.root.join(UPLOADS)).into_iter().flatten();
        for upload in uploads.flatten() {
            let modified = upload.metadata().and_then(|it| it.modified());
            let age = modified
                .ok()
                .and_then(|it| SystemTime::now().duration_since(it).ok());
            if age.is_some_and(|age| age > ABANDONED) {
                let _ = fs::remove_file(upload.path());
            }
        }
    }

    fn path(&self, key: &str) -> PathBuf {
        self.root.join(key)
    }

    fn upload(&self, key: &str, bytes: &[u8]) -> Result<CreateOutcome, StoreError> {
        let mut name = String::new();
        for byte in nonce().map_err(|error| StoreError::new("name", key, error))? {
            let _ = write!(name, "{byte:02x}");
        }
        let upload = self.root.join(UPLOADS).join(name);
        let path = self.path(key);
        let done = write_synced(&upload, bytes).and_then(|()| self.link(&upload, &path));
        let removed = fs::remove_file(&upload);
        let outcome = done.map_err(|error| StoreError::new("create", key, error))?;
        removed.map_err(|error| StoreError::new("create", key, error))?;
        Ok(outcome)
    }

    fn link(&self, upload: &Path, path: &Path) -> io::Result<CreateOutcome> {
        let directory = path.parent().unwrap_or(&self.root);
        let linked = match fs::hard_link(upload, path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.make_directory(directory)?;
                fs::hard_link(upload, path)
            }
            linked => linked,
        };
        let outcome = match linked {
            Ok(()) => CreateOutcome::Created,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => CreateOutcome::AlreadyThere,
            Err(error) => return Err(error),
        };
        // An object that is there already may be that of a process that was killed before its own sync.
        File::open(directory)?.sync_all()?;
        Ok(outcome)
    }

    /// Makes the directory and those above, and their names durable.
    fn make_directory(&self, directory: &Path) -> io::Result<()> {
        create_private(directory)?;
        let inside = |above: &&Path| above.starts_with(&self.root);
        for above in directory.ancestors().skip(1).take_while(inside) {
            File::open(above)?.sync_all()?;
        }
        Ok(())
    }

    fn walk(&self, directory: &Path, out: &mut Vec<ObjectInfo>) -> io::Result<()> {
        let entries = match fs::read_dir(directory) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                if entry.file_name() != UPLOADS {
                    self.walk(&path, out)?;
                }
                continue;
            }
            let metadata = match entry.metadata() {
                // Removed meanwhile.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                metadata => metadata?,
            };
            let key = path.strip_prefix(&self.root).ok().and_then(Path::to_str);
            let Some(key) = key else { continue };
            out.push(ObjectInfo {
                key: key.to_owned(),
                len: metadata.len(),
                modified: since_1970(metadata.modified()?),
            });
        }
        Ok(())
    }
}

fn since_1970(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Makes a directory and those above. Databases, hashes of passwords and the key of cookies are for their owner only.
fn create_private(directory: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create_new(true).mode(0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// `None` for an absent object.
fn present<T>(result: io::Result<T>, op: &'static str, key: &str) -> Result<Option<T>, StoreError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::new(op, key, error)),
    }
}

impl ObjectStore for DirectoryStore {
    fn address(&self) -> String {
        format!("file://{}", self.root.display())
    }

    fn create(&self, key: &str, bytes: &[u8]) -> Result<CreateOutcome, StoreError> {
        self.upload(key, bytes)
    }

    fn read(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        present(fs::read(self.path(key)), "read", key)
    }

    fn object_len(&self, key: &str) -> Result<Option<u64>, StoreError> {
        let metadata = fs::metadata(self.path(key));
        present(metadata.map(|it| it.len()), "look at", key)
    }

    fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>, StoreError> {
        let mut found = Vec::new();
        let walked = self.walk(&self.path(prefix), &mut found);
        walked.map_err(|error| StoreError::new("list", prefix, error))?;
        found.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(found)
    }

    fn remove(&self, key: &str) -> Result<(), StoreError> {
        present(fs::remove_file(self.path(key)), "remove", key).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::probe;
    use std::thread;

    #[test]
    fn one_of_many_creators_wins_and_all_see_its_bytes() {
        let scratch = tempfile::tempdir().unwrap();
        let store = DirectoryStore::new(scratch.path()).unwrap();
        probe(&store).unwrap();
        for round in 0..20 {
            let key = format!("a/b/{round}");
            let won: Vec<_> = thread::scope(|scope| {
                let (store, key) = (&store, &key);
                let create = |n: u8| scope.spawn(move || (n, store.create(key, &[n]).unwrap()));
                let all: Vec<_> = (0..4).map(create).collect();
                let all = all.into_iter().map(|one| one.join().unwrap());
                all.filter(|(_, it)| *it == CreateOutcome::Created)
                    .collect()
            });
            assert_eq!(won.len(), 1);
            assert_eq!(store.read(&key).unwrap(), Some(vec![won[0].0]));
        }
        let listed = store.list("a/b/").unwrap();
        assert_eq!(listed.len(), 20);
        assert!(
            listed
                .iter()
                .all(|it| it.len == 1 && it.key.starts_with("a/b/"))
        );
        assert_eq!(store.list("").unwrap().len(), 20, "no uploads, no probe");
    }

    #[test]
    fn objects_that_are_absent() {
        let scratch = tempfile::tempdir().unwrap();
        let store = DirectoryStore::new(scratch.path()).unwrap();
        store.create("x", b"0123456789").unwrap();
        assert_eq!(store.read("y").unwrap(), None);
        assert_eq!(store.object_len("x").unwrap(), Some(10));
        assert_eq!(store.object_len("y").unwrap(), None);
        store.remove("x").unwrap();
        store.remove("x").unwrap();
        assert_eq!(store.list("nothing/").unwrap(), []);
    }
}
