//! A storage that remembers every call and yields the states a power cut could have left.
//!
//! Model: bytes appended since a file's last sync may be there up to any point, and the last byte
//! there may be torn; files are cut independently of one another. Creations, renames, removals and
//! truncations take effect in order and whole; of bytes that are given back any part may be zero,
//! from the beginning on, once the call was made. Symbolic links, which are locks, are in no image:
//! the process that held them is gone. A test wraps its workload around a [`Recorder`],
//! calls [`Recorder::acknowledge`] where a caller would have got the acknowledgement, and opens each image
//! with the real recovery code.

mod names;

use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use varve_base::storage::{Entry, EntryKind, Hole};
use varve_base::{MemoryStorage, OpenMode, Storage, StorageError, StorageFile};

#[derive(Clone, Debug)]
enum Op {
    Create(PathBuf),
    Append(PathBuf, Vec<u8>),
    Truncate(PathBuf, u64),
    Sync(PathBuf),
    PunchHole(PathBuf, Range<u64>),
    Rename(PathBuf, PathBuf),
    Link(PathBuf, PathBuf),
    Exchange(PathBuf, PathBuf),
    RemoveTree(PathBuf),
    SyncTree(PathBuf),
    SyncDirectory(PathBuf),
    Remove(PathBuf),
    Acknowledge,
}

/// Memory with a log of all calls that change it; clones share both.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    memory: MemoryStorage,
    log: Arc<Mutex<Vec<Op>>>,
}

/// Files that a power cut left behind.
#[derive(Debug)]
pub struct CrashImage {
    /// How many times [`Recorder::acknowledge`] had been called by then.
    pub acknowledged: usize,
    /// Place of the cut, for the message of a failing test.
    pub cut: String,
    /// The files.
    pub storage: MemoryStorage,
}

#[derive(Clone, Debug, Default)]
struct FileState {
    durable: Vec<u8>,
    pending: Vec<u8>,
}

impl FileState {
    fn upto(&self, cut: usize) -> Vec<u8> {
        [&self.durable[..], &self.pending[..cut]].concat()
    }
}

impl Recorder {
    fn log(&self) -> MutexGuard<'_, Vec<Op>> {
        self.log.lock()
    }

    /// Records that the workload acknowledged its writes as durable.
    pub fn acknowledge(&self) {
        self.log().push(Op::Acknowledge);
    }

    /// Calls `check` with every image; of pending runs longer than `dense` bytes only some cuts
    /// are made (the first and last bytes and an even spread). Returns how many images there were.
    pub fn for_each_image(&self, dense: usize, mut check: impl FnMut(CrashImage)) -> usize {
        let mut files: BTreeMap<PathBuf, FileState> = BTreeMap::new();
        let (mut acknowledged, mut count) = (0, 0);
        for (step, op) in self.log().clone().iter().enumerate() {
            let before = match op {
                Op::PunchHole(path, _) => files.get(path).cloned().unwrap_or_default(),
                _ => FileState::default(),
            };
            if matches!(op, Op::SyncDirectory(_)) {
                // Names are durable at once here; see `for_each_image_of_names`.
                continue;
            }
            apply(&mut files, op);
            acknowledged += usize::from(matches!(op, Op::Acknowledge));
            let mut emit = |files: BTreeMap<PathBuf, Vec<u8>>, cut: String| {
                count += 1;
                let storage = MemoryStorage::with_files(files);
                check(CrashImage {
                    acknowledged,
                    cut: format!("step {step}, {cut}"),
                    storage,
                });
            };
            // Only an append opens new cuts; after other calls two images suffice.
            let appended = match op {
                Op::Append(path, _) => Some(path),
                _ => None,
            };
            for others_kept in [true, false] {
                let rest = |path: &PathBuf, state: &FileState| {
                    let kept = if others_kept { state.pending.len() } else { 0 };
                    (path.clone(), state.upto(kept))
                };
                let base: BTreeMap<_, _> = files.iter().map(|(p, s)| rest(p, s)).collect();
                if let Op::PunchHole(path, bytes) = op {
                    let mut image = base.clone();
                    let half = bytes.start.midpoint(bytes.end);
                    fill_back(&mut image, &before, path, half..bytes.end);
                    emit(
                        image,
                        format!("half given back, pending kept: {others_kept}"),
                    );
                }
                let Some(path) = appended else {
                    emit(base, format!("pending kept: {others_kept}"));
                    continue;
                };
                let state = &files[path];
                for cut in cuts(state.pending.len(), dense) {
                    let mut image = base.clone();
                    let bytes = state.upto(cut);
                    let name = path.display();
                    if cut > 0 {
                        let mut torn = bytes.clone();
                        if let Some(last) = torn.last_mut() {
                            *last ^= 0x80;
                        }
                        image.insert(path.clone(), torn);
                        emit(image.clone(), format!("{name} torn at +{cut}"));
                    }
                    image.insert(path.clone(), bytes);
                    emit(image, format!("{name} cut at +{cut}"));
                }
            }
        }
        count
    }
}

/// Puts bytes of a file back as they were, as far as the image has them.
fn fill_back(
    image: &mut BTreeMap<PathBuf, Vec<u8>>,
    before: &FileState,
    path: &Path,
    bytes: Range<u64>,
) {
    let before = before.upto(before.pending.len());
    let Some(now) = image.get_mut(path) else {
        return;
    };
    let end = usize::try_from(bytes.end)
        .unwrap_or(usize::MAX)
        .min(now.len());
    let hole = usize::try_from(bytes.start).unwrap_or(usize::MAX).min(end)..end;
    now[hole.clone()].copy_from_slice(&before[hole]);
}

fn cuts(len: usize, dense: usize) -> Vec<usize> {
    if len <= dense {
        return (0..=len).collect();
    }
    let edge = dense / 4;
    let stride = (len / (dense / 2).max(1)).max(1);
    let mut all: Vec<usize> = (0..edge)
        .chain((edge..len - edge).step_by(stride))
        .chain(len - edge..=len)
        .collect();
    all.dedup();
    all
}

fn apply(files: &mut BTreeMap<PathBuf, FileState>, op: &Op) {
    match op {
        Op::Create(path) => {
            files.insert(path.clone(), FileState::default());
        }
        Op::Append(path, bytes) => {
            files
                .entry(path.clone())
                .or_default()
                .pending
                .extend_from_slice(bytes);
        }
        Op::Truncate(path, len) => {
            let state = files.entry(path.clone()).or_default();
            let mut all = state.upto(state.pending.len());
            all.truncate(usize::try_from(*len).unwrap_or(usize::MAX));
            let kept = state.durable.len().min(all.len());
            state.pending = all.split_off(kept);
            state.durable = all;
        }
        Op::Sync(path) => {
            let state = files.entry(path.clone()).or_default();
            let mut pending = std::mem::take(&mut state.pending);
            state.durable.append(&mut pending);
        }
        Op::PunchHole(path, bytes) => {
            let state = files.entry(path.clone()).or_default();
            let durable = state.durable.len();
            for at in bytes.clone() {
                let at = usize::try_from(at).unwrap_or(usize::MAX);
                match at.checked_sub(durable) {
                    None => state.durable[at] = 0,
                    Some(at) if at < state.pending.len() => state.pending[at] = 0,
                    Some(_) => break,
                }
            }
        }
        Op::Rename(from, to) => {
            if let Some(state) = files.remove(from) {
                files.insert(to.clone(), state);
            }
        }
        Op::Link(from, to) => {
            let state = files.get(from).cloned().unwrap_or_default();
            files.insert(to.clone(), state);
        }
        Op::Exchange(one, other) => {
            let swapped = |path: PathBuf| match (path.strip_prefix(one), path.strip_prefix(other)) {
                (Ok(rest), _) => other.join(rest),
                (_, Ok(rest)) => one.join(rest),
                _ => path,
            };
            let all = std::mem::take(files).into_iter();
            *files = all.map(|(path, state)| (swapped(path), state)).collect();
        }
        Op::RemoveTree(directory) => files.retain(|path, _| !path.starts_with(directory)),
        Op::SyncTree(directory) => {
            for (_, state) in files
                .iter_mut()
                .filter(|(path, _)| path.starts_with(directory))
            {
                let mut pending = std::mem::take(&mut state.pending);
                state.durable.append(&mut pending);
            }
        }
        Op::Remove(path) => {
            files.remove(path);
        }
        Op::SyncDirectory(_) | Op::Acknowledge => {}
    }
}

impl Storage for Recorder {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn StorageFile>, StorageError> {
        let inner = self.memory.open(path, mode)?;
        if mode == OpenMode::CreateNew {
            self.log().push(Op::Create(path.to_owned()));
        }
        Ok(Arc::new(RecordedFile {
            inner,
            log: self.log.clone(),
        }))
    }

    fn kind(&self, path: &Path) -> Result<Option<EntryKind>, StorageError> {
        self.memory.kind(path)
    }

    fn file_len(&self, path: &Path) -> Result<Option<u64>, StorageError> {
        self.memory.file_len(path)
    }

    fn modified(&self, directory: &Path) -> Result<Option<SystemTime>, StorageError> {
        self.memory.modified(directory)
    }

    fn list(&self, directory: &Path) -> Result<Vec<Entry>, StorageError> {
        self.memory.list(directory)
    }

    fn create_directory(&self, directory: &Path) -> Result<(), StorageError> {
        self.memory.create_directory(directory)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), StorageError> {
        self.memory.rename(from, to)?;
        self.log().push(Op::Rename(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<(), StorageError> {
        self.memory.remove(path)?;
        self.log().push(Op::Remove(path.to_owned()));
        Ok(())
    }

    fn exchange(&self, one: &Path, other: &Path) -> Result<(), StorageError> {
        self.memory.exchange(one, other)?;
        self.log()
            .push(Op::Exchange(one.to_owned(), other.to_owned()));
        Ok(())
    }

    fn remove_tree(&self, directory: &Path) -> Result<(), StorageError> {
        self.memory.remove_tree(directory)?;
        self.log().push(Op::RemoveTree(directory.to_owned()));
        Ok(())
    }

    fn sync_tree(&self, directory: &Path) -> Result<(), StorageError> {
        self.memory.sync_tree(directory)?;
        self.log().push(Op::SyncTree(directory.to_owned()));
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> Result<(), StorageError> {
        self.memory.link(from, to)?;
        self.log().push(Op::Link(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn create_symlink(&self, target: &str, path: &Path) -> Result<(), StorageError> {
        self.memory.create_symlink(target, path)
    }

    fn read_symlink(&self, path: &Path) -> Result<Option<String>, StorageError> {
        self.memory.read_symlink(path)
    }

    fn sync_directory(&self, directory: &Path) -> Result<(), StorageError> {
        self.memory.sync_directory(directory)?;
        self.log().push(Op::SyncDirectory(directory.to_owned()));
        Ok(())
    }
}

#[derive(Debug)]
struct RecordedFile {
    inner: Arc<dyn StorageFile>,
    log: Arc<Mutex<Vec<Op>>>,
}

impl RecordedFile {
    fn push(&self, op: Op) {
        self.log.lock().push(op);
    }
}

impl StorageFile for RecordedFile {
    fn path(&self) -> &Path {
        self.inner.path()
    }

    fn len(&self) -> Result<u64, StorageError> {
        self.inner.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, StorageError> {
        self.inner.read_at(offset, buf)
    }

    fn read_cached_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, StorageError> {
        self.inner.read_cached_at(offset, buf)
    }

    fn append(&self, bytes: &[u8]) -> Result<u64, StorageError> {
        let start = self.inner.append(bytes)?;
        self.push(Op::Append(self.path().to_owned(), bytes.to_owned()));
        Ok(start)
    }

    fn truncate(&self, len: u64) -> Result<(), StorageError> {
        self.inner.truncate(len)?;
        self.push(Op::Truncate(self.path().to_owned(), len));
        Ok(())
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.inner.sync()?;
        self.push(Op::Sync(self.path().to_owned()));
        Ok(())
    }

    fn punch_hole(&self, bytes: Range<u64>) -> Result<Hole, StorageError> {
        let done = self.inner.punch_hole(bytes.clone())?;
        if done == Hole::Made {
            self.push(Op::PunchHole(self.path().to_owned(), bytes));
        }
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_given_back_may_be_zero_from_then_on() {
        let disk = Recorder::default();
        let file = disk.open(Path::new("f"), OpenMode::CreateNew).unwrap();
        file.append(b"abcdef").unwrap();
        file.sync().unwrap();
        disk.acknowledge();
        assert_eq!(file.punch_hole(1..5).unwrap(), Hole::Made);
        file.append(b"g").unwrap();
        let mut seen = std::collections::BTreeSet::new();
        disk.for_each_image(100, |image| {
            let bytes = image.storage.open(Path::new("f"), OpenMode::Read).unwrap();
            if image.acknowledged > 0 {
                seen.insert(bytes.read_all().unwrap());
            }
        });
        for expected in [&b"abcdef"[..], b"a\0\0def", b"a\0\0\0\0f", b"a\0\0\0\0fg"] {
            assert!(seen.remove(expected), "no image {expected:?}");
        }
        assert_eq!(seen.len(), 1, "one with a torn byte at the end: {seen:?}");
    }

    #[test]
    fn images_hold_all_that_was_synced_and_any_prefix_of_the_rest() {
        let disk = Recorder::default();
        let file = disk.open(Path::new("f"), OpenMode::CreateNew).unwrap();
        file.append(b"ab").unwrap();
        file.sync().unwrap();
        disk.acknowledge();
        file.append(b"cd").unwrap();
        let mut seen = std::collections::BTreeSet::new();
        let count = disk.for_each_image(100, |image| {
            let bytes = image.storage.open(Path::new("f"), OpenMode::Read).unwrap();
            let bytes = bytes.read_all().unwrap();
            assert!(
                image.acknowledged == 0 || bytes.starts_with(b"ab"),
                "{}",
                image.cut
            );
            seen.insert(bytes);
        });
        assert!(count >= 16, "only {count} images");
        for expected in [&b""[..], b"a", b"ab", b"abc", b"abcd", b"abc\xe4", b"\xe1"] {
            assert!(seen.contains(expected), "no image {expected:?} in {seen:?}");
        }
    }
}
