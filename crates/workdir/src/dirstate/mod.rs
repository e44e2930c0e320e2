//! The dirstate: the parents of the working copy, and each tracked file with its stat from when it
//! was last known to be clean.
//!
//! The file is read whole and written whole, beside the old one and then renamed over it. A writer
//! holds the lock of the working copy and has read the dirstate under that lock.

mod entry;
pub mod fuzzing;
mod table;
#[cfg(test)]
mod tests;
mod v1;
mod v2;
mod v2_write;

pub use entry::{DirstateEntry, EntryState, Stat, StatMatch, Timestamp, Tracking};
pub use v1::V1Fields;

use crate::WorkdirError;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use table::Table;
use varve_base::storage::read_if_there;
use varve_base::{OpenMode, Storage, StorageFile};
use varve_repo::{BaseDir, Node, Repository, Transaction};

type Parents = [Node; 2];

/// Where a file is damaged and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damage(pub usize, pub &'static str);

fn node_at(bytes: &[u8], place: usize) -> Result<Node, Damage> {
    let node = bytes.get(place..).and_then(|rest| rest.first_chunk());
    node.map(|node| Node(*node))
        .ok_or(Damage(place, "a parent is cut off"))
}

/// The dirstate of a repository, in memory.
#[derive(Clone, Debug)]
pub struct Dirstate {
    parents: Parents,
    table: Table,
    changed: bool,
    /// Whether the set of tracked files changed.
    tracked_changed: bool,
}

impl Dirstate {
    /// Reads `.hg/dirstate`; without one, nothing is tracked and there are no parents.
    ///
    /// # Errors
    /// [`WorkdirError::DamagedDirstate`], or a failure of the storage.
    pub fn read(repository: &Repository) -> Result<Dirstate, WorkdirError> {
        let path = path(repository);
        let parsed = if is_v2(repository) {
            read_v2(repository, &path)?
        } else {
            let storage = repository.storage().as_ref();
            let pending = match repository.shows_pending() {
                true => read_if_there(storage, &path.with_extension("pending"))?,
                false => None,
            };
            let bytes = pending.map_or_else(|| read_if_there(storage, &path), |b| Ok(Some(b)))?;
            v1::parse(bytes.unwrap_or_default())
        };
        let damaged = |Damage(offset, reason)| WorkdirError::DamagedDirstate {
            path,
            offset,
            reason,
        };
        let (parents, table) = parsed.map_err(damaged)?;
        Ok(Dirstate {
            parents,
            table,
            changed: false,
            tracked_changed: false,
        })
    }

    /// Both parents of the working copy; null where there is none.
    pub fn parents(&self) -> [Node; 2] {
        self.parents
    }

    /// Moves the working copy to other parents. Entries stay as they are.
    pub fn set_parents(&mut self, parents: [Node; 2]) {
        self.changed |= self.parents != parents;
        self.parents = parents;
    }

    /// The entry of one file.
    pub fn get(&self, path: &[u8]) -> Option<DirstateEntry> {
        self.table.get(path)
    }

    /// Whether a file will be in the next commit.
    pub fn is_tracked(&self, path: &[u8]) -> bool {
        self.get(path).is_some_and(|entry| entry.is_tracked())
    }

    /// All entries, sorted bytewise by path.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], DirstateEntry)> {
        self.table.iter()
    }

    /// There are not more entries than this.
    pub(crate) fn max_len(&self) -> usize {
        self.table.max_len()
    }

    /// The entries in a directory and below, sorted bytewise; of the root directory, which is named by an
    /// empty path, all.
    pub fn below<'a>(
        &'a self,
        directory: &[u8],
    ) -> impl Iterator<Item = (&'a [u8], DirstateEntry)> {
        let mut prefix = directory.to_vec();
        if !directory.is_empty() {
            prefix.push(b'/');
        }
        let entries = self.table.iter_from(&prefix);
        entries.take_while(move |(path, _)| path.starts_with(&prefix))
    }

    /// The source that a file will be recorded as copied from.
    pub fn copy_source(&self, path: &[u8]) -> Option<&[u8]> {
        self.table.copies.get(path).map(Vec::as_slice)
    }

    /// All copies: destination and source, sorted by destination.
    pub fn copies(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let copies = self.table.copies.iter();
        copies.map(|(path, source)| (&path[..], &source[..]))
    }

    /// Records that a file is a copy, or with `None` that it is none.
    pub fn copy(&mut self, path: &[u8], source: Option<&[u8]>) {
        let before = match source {
            Some(source) => self.table.copies.insert(path.to_vec(), source.to_vec()),
            None => self.table.copies.remove(path),
        };
        self.changed |= before.as_deref() != source;
    }

    /// Tracks a file, as `add` does. One that was removed comes back as it was; its content must be
    /// looked at again.
    pub fn add(&mut self, path: &[u8]) {
        let mut entry = self.get(path).unwrap_or_default();
        if !entry.tracking.working {
            entry.tracking.working = true;
            entry.clear_stat();
            self.set(path, entry);
        }
    }

    /// Refuses a path that cannot be tracked because a tracked file is in the way: one that has the name of
    /// a directory above, or one below.
    ///
    /// # Errors
    /// [`WorkdirError::TrackedBelow`] or [`WorkdirError::TrackedAbove`].
    pub fn check_clash(&self, path: &[u8]) -> Result<(), WorkdirError> {
        if self.is_tracked(path) {
            return Ok(());
        }
        let shown = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
        if self.below(path).any(|(_, entry)| entry.is_tracked()) {
            return Err(WorkdirError::TrackedBelow(shown(path)));
        }
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        for (at, _) in slashes {
            if self.is_tracked(&path[..at]) {
                let (file, path) = (shown(&path[..at]), shown(path));
                return Err(WorkdirError::TrackedAbove { file, path });
            }
        }
        Ok(())
    }

    /// Stops tracking a file, as `remove` and `forget` do. A file that no parent has leaves no
    /// entry.
    pub fn remove(&mut self, path: &[u8]) {
        let Some(mut entry) = self.get(path) else {
            return;
        };
        entry.tracking.working = false;
        entry.clear_stat();
        self.copy(path, None);
        self.set(path, entry);
    }

    /// Drops the entry of a file that neither the working copy nor a parent has.
    pub fn forget(&mut self, path: &[u8]) {
        self.copy(path, None);
        self.set(path, DirstateEntry::default());
    }

    /// Records the stat of a file that is as in the first parent. `boundary` is
    /// [`Dirstate::clock`] from before it was read or after it was written.
    pub fn set_clean(&mut self, path: &[u8], seen: &Stat, boundary: Timestamp) {
        let mut entry = DirstateEntry::of(Tracking {
            working: true,
            p1: true,
            p2_info: false,
        });
        entry.set_stat(seen, boundary);
        self.copy(path, None);
        self.set(path, entry);
    }

    /// Makes the next status read a file, whatever its stat.
    pub fn set_possibly_dirty(&mut self, path: &[u8]) {
        if let Some(mut entry) = self.get(path) {
            entry.clear_mtime();
            self.set(path, entry);
        }
    }

    /// Says where a file is tracked, as an update, a merge or a commit does; its stat becomes unknown.
    pub fn set_tracking(&mut self, path: &[u8], tracking: Tracking) {
        let entry = DirstateEntry::of(tracking);
        if entry == DirstateEntry::default() {
            // A copy without an entry would come back with the next entry of that path.
            self.copy(path, None);
        }
        self.set(path, entry);
    }

    fn set(&mut self, path: &[u8], entry: DirstateEntry) {
        let before = self.table.get(path).unwrap_or_default();
        if before != entry {
            self.changed = true;
            self.tracked_changed |= before.is_tracked() != entry.is_tracked();
            self.table.set(path, entry);
        }
    }

    /// Drops all entries and copies; the parents stay.
    pub fn clear(&mut self) {
        (self.changed, self.tracked_changed) = (true, true);
        self.table.clear();
    }

    /// Whether there is something to write.
    pub fn is_changed(&self) -> bool {
        self.changed
    }

    /// Whether the file is unchanged since it was read, so that results from without the lock may
    /// be written.
    ///
    /// # Errors
    /// A failure of the storage.
    pub fn is_current(&self, repository: &Repository) -> Result<bool, WorkdirError> {
        let now = Dirstate::read(repository)?;
        Ok(now.parents == self.parents && now.table.text() == self.table.text())
    }

    /// The file system's time, as a file written now would get it.
    ///
    /// # Errors
    /// If no file can be made in `.hg`.
    pub fn clock(repository: &Repository) -> Result<Timestamp, WorkdirError> {
        let storage = repository.storage().as_ref();
        let probe = repository
            .root()
            .join(format!(".hg/.clock-{}", std::process::id()));
        fresh(storage, &probe)?;
        let time = storage.modified(&probe)?;
        storage.remove(&probe)?;
        Ok(time.map_or(Timestamp::default(), Timestamp::from))
    }

    /// Writes the file if anything changed. The caller holds the lock of the working copy.
    ///
    /// # Errors
    /// [`WorkdirError::TooLarge`], or a failure of the storage; the old file is then untouched.
    pub fn write(&mut self, repository: &Repository) -> Result<(), WorkdirError> {
        if !self.changed {
            return Ok(());
        }
        self.write_hint(repository)?;
        if is_v2(repository) {
            self.write_v2(repository)?;
        } else {
            let bytes = self.encode_v1(repository)?;
            replace(repository.storage().as_ref(), &path(repository), &bytes)?;
        }
        (self.changed, self.tracked_changed) = (false, false);
        Ok(())
    }

    /// Has a transaction write the file, so that a command that is killed leaves both or none, and hooks see it. The
    /// second format has two files, of which one names the other: there [`Dirstate::write`] has to follow the transaction.
    /// Both keep the old file for `rollback`.
    ///
    /// # Errors
    /// As of [`Dirstate::write`].
    pub fn write_within(
        &mut self,
        repository: &Repository,
        transaction: &mut Transaction,
    ) -> Result<(), WorkdirError> {
        for name in [&b"dirstate"[..], b"branch"] {
            transaction.keep_backup(BaseDir::Hg, name);
        }
        if is_v2(repository) {
            return Ok(());
        }
        self.write_hint(repository)?;
        let bytes = self.encode_v1(repository)?;
        transaction.replace(BaseDir::Hg, b"dirstate", bytes);
        (self.changed, self.tracked_changed) = (false, false);
        Ok(())
    }

    /// The hint comes first: a reader that sees it changed reads the dirstate, at worst in vain.
    fn write_hint(&self, repository: &Repository) -> Result<(), WorkdirError> {
        if self.tracked_changed && repository.requirements().has("dirstate-tracked-key-v1") {
            let hint = format!("1\n{}\n", random_name::<16>()?);
            let beside = path(repository).with_file_name("dirstate-tracked-hint");
            replace(repository.storage().as_ref(), &beside, hint.as_bytes())?;
        }
        Ok(())
    }

    fn encode_v1(&self, repository: &Repository) -> Result<Vec<u8>, WorkdirError> {
        let bytes = v1::encode(&self.parents, &self.table);
        bytes.ok_or_else(|| too_large(&path(repository)))
    }

    fn write_v2(&self, repository: &Repository) -> Result<(), WorkdirError> {
        let storage = repository.storage().as_ref();
        let path = path(repository);
        let before = read_if_there(storage, &path)?.unwrap_or_default();
        let id = random_name::<4>()?;
        let encoded = v2_write::encode(&self.parents, &self.table, id.as_bytes());
        let encoded = encoded.ok_or_else(|| too_large(&path))?;
        let data = fresh(storage, &data_path(repository, id.as_bytes()))?;
        data.append(&encoded.data)?;
        replace(storage, &path, &encoded.docket)?;
        if let Ok(old) = v2::Docket::parse(&before) {
            // Only room is lost if the old data stays.
            let _ = storage.remove(&data_path(repository, &old.id));
        }
        Ok(())
    }
}

fn path(repository: &Repository) -> PathBuf {
    repository.root().join(".hg/dirstate")
}

fn data_path(repository: &Repository, id: &[u8]) -> PathBuf {
    let id = String::from_utf8_lossy(id);
    repository.root().join(format!(".hg/dirstate.{id}"))
}

fn is_v2(repository: &Repository) -> bool {
    repository.requirements().has("dirstate-v2")
}

/// How often the docket is read again when the data file that it names is gone, because another
/// process has just written both anew.
const TRIES: u32 = 10;

fn read_v2(
    repository: &Repository,
    path: &Path,
) -> Result<Result<(Parents, Table), Damage>, WorkdirError> {
    let storage = repository.storage().as_ref();
    for _ in 0..TRIES {
        let bytes = read_if_there(storage, path)?.unwrap_or_default();
        if bytes.is_empty() {
            return Ok(Ok(([Node::NULL; 2], Table::default())));
        }
        let docket = match v2::Docket::parse(&bytes) {
            Ok(docket) => docket,
            Err(damage) => return Ok(Err(damage)),
        };
        let data = match docket.used {
            0 => Some(Vec::new()),
            _ => read_if_there(storage, &data_path(repository, &docket.id))?,
        };
        if let Some(data) = data {
            return Ok(v2::parse(&docket, data).map(|table| (docket.parents, table)));
        }
    }
    Ok(Err(Damage(v2::at::ID, "the data file is missing")))
}

/// Makes a file, in place of one that an interrupted process may have left.
fn fresh(storage: &dyn Storage, path: &Path) -> Result<Arc<dyn StorageFile>, WorkdirError> {
    match storage.open(path, OpenMode::CreateNew) {
        Err(error) if error.is_already_there() => {
            storage.remove(path)?;
            Ok(storage.open(path, OpenMode::CreateNew)?)
        }
        other => Ok(other?),
    }
}

/// Writes a file beside the old one and renames it. Nothing is synced, as in Mercurial: a power cut may
/// cost the dirstate, never a commit.
pub(crate) fn replace(
    storage: &dyn Storage,
    path: &Path,
    bytes: &[u8],
) -> Result<(), WorkdirError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let beside = path.with_file_name(name);
    fresh(storage, &beside)?.append(bytes)?;
    Ok(storage.rename(&beside, path)?)
}

fn random_name<const N: usize>() -> Result<String, WorkdirError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| WorkdirError::NoRandomness)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn too_large(path: &Path) -> WorkdirError {
    WorkdirError::TooLarge {
        path: path.to_owned(),
        reason: "a path or the whole is longer than its format allows",
    }
}
