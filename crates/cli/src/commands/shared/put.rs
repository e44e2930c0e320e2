//! `shared put`: from a served directory into a store.

use super::abort;
use super::thing::StoredThing;
use crate::store_address::StoreAddress;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use varve_base::storage::EntryKind;
use varve_base::{DiskStorage, Interrupt, Storage};
use varve_hgcli::ui::{Abort, Ui};
use varve_repo::{Lock, LockKind, LockWait, Repository};
use varve_server::couch::database::files::file_of;
use varve_server::couch::database::logs::FILE;
use varve_server::directory::REPOSITORIES;
use varve_shared::{Catalog, LogOptions, SystemClock, import, probe};

/// Each copy reads all records since the last checkpoint, so there are more of these than a long-lived owner makes.
const CHECKPOINT_SLOTS: u64 = 32;

/// Time to wait for a push that is under way.
const LOCK_TIMEOUT: Duration = Duration::from_secs(600);

/// Files of `.hg` beside the store that belong to a repository without a working copy.
const SHARED_FILES: [&str; 5] = [
    "00changelog.i",
    "bookmarks",
    "hgrc",
    "localtags",
    "requires",
];

/// Files of the store that say what processes are at work there, or how to undo the last transaction.
const PASSING_FILES: [&str; 4] = ["lock", "undo", "journal", "lock.break"];

/// Files with the paths that they get in a log, and what keeps them as they are meanwhile.
struct PutSource {
    files: Vec<(PathBuf, PathBuf)>,
    _lock: Option<Lock>,
}

/// Copies databases and repositories of a directory.
///
/// # Errors
/// A name that the directory has not, a repository that is locked for long or has its store elsewhere; errors of the store.
pub(super) fn put(
    ui: &mut Ui,
    address: &str,
    directory: &Path,
    names: &[String],
) -> Result<u8, Abort> {
    let source: Arc<dyn Storage> = Arc::new(DiskStorage::new(directory));
    let things = names.iter().map(|name| StoredThing::named(name));
    let things = things.collect::<Result<Vec<_>, _>>()?;
    for thing in &things {
        if source.kind(&place_of(thing))?.is_none() {
            let path = directory.display();
            return Err(Abort::new(format!("{path} has no {}", thing.described())));
        }
    }
    let address = StoreAddress::parse(address).map_err(abort)?;
    let store = address.open().map_err(abort)?;
    probe(store.as_ref()).map_err(abort)?;
    let options = LogOptions {
        checkpoint_slots: CHECKPOINT_SLOTS,
        ..LogOptions::default()
    };
    let catalog = Catalog::new(Arc::clone(&store), Arc::new(SystemClock::default()));
    for thing in things {
        let failed = |error| Abort::new(format!("{thing}: {error}"));
        let PutSource { files, _lock } = source_of(&source, &thing)?;
        let from = (source.as_ref(), files.as_slice());
        let done = import(&store, &thing.log, &options, from).map_err(failed)?;
        // A server that deletes a database meanwhile removes entries that it saw before; so the new one comes first.
        let before = catalog.entries(&thing.log).map_err(failed)?;
        catalog.add(&thing.log).map_err(failed)?;
        catalog.remove(&before).map_err(failed)?;
        let (stored, kept, slot) = (done.stored, done.kept, done.slot);
        let line = format!("{thing}: {stored} bytes stored, {kept} were there, record {slot}\n");
        ui.write(line)?;
    }
    Ok(0)
}

/// A path that is in the directory if the thing is.
fn place_of(thing: &StoredThing) -> PathBuf {
    match thing.repository() {
        Some(name) => Path::new(REPOSITORIES).join(name).join(".hg"),
        None => file_of(&thing.name),
    }
}

fn source_of(storage: &Arc<dyn Storage>, thing: &StoredThing) -> Result<PutSource, Abort> {
    let Some(name) = thing.repository() else {
        return Ok(PutSource {
            files: vec![(file_of(&thing.name), PathBuf::from(FILE))],
            _lock: None,
        });
    };
    let root = Path::new(REPOSITORIES).join(name);
    let failed = |error: &dyn std::fmt::Display| Abort::new(format!("{thing}: {error}"));
    let repository = Repository::open(Arc::clone(storage), &root).map_err(|it| failed(&it))?;
    if storage.kind(&root.join(".hg/sharedpath"))?.is_some() {
        return Err(failed(&"its store is in another repository; put that one"));
    }
    repository.recover_abandoned().map_err(|it| failed(&it))?;
    let wait = LockWait {
        timeout: Some(LOCK_TIMEOUT),
        notify_after: Duration::MAX,
        on_event: &|_| {},
        stop: &Interrupt::default(),
    };
    let lock = repository
        .lock(LockKind::Store, &wait)
        .map_err(|it| failed(&it))?;
    if repository.has_journal().map_err(|it| failed(&it))? {
        return Err(failed(&"a transaction was interrupted; run 'hg recover'"));
    }
    let mut files = Vec::new();
    for name in SHARED_FILES {
        let path = Path::new(".hg").join(name);
        if storage.kind(&root.join(&path))? == Some(EntryKind::File) {
            files.push((root.join(&path), path));
        }
    }
    files_below(storage.as_ref(), &root, Path::new(".hg/store"), &mut files)?;
    Ok(PutSource {
        files,
        _lock: Some(lock),
    })
}

/// Adds the files of a repository's directory, in order, so that those that are compared stand together.
fn files_below(
    storage: &dyn Storage,
    root: &Path,
    top: &Path,
    files: &mut Vec<(PathBuf, PathBuf)>,
) -> Result<(), Abort> {
    let mut waiting = vec![top.to_owned()];
    while let Some(directory) = waiting.pop() {
        let mut entries = storage.list(&root.join(&directory))?;
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        for entry in entries {
            let path = directory.join(&entry.name);
            match entry.kind {
                EntryKind::Directory => waiting.push(path),
                EntryKind::File if directory != top || !is_passing(&path) => {
                    files.push((root.join(&path), path));
                }
                EntryKind::File | EntryKind::Other => {}
            }
        }
    }
    Ok(())
}

fn is_passing(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_of = |passing: &&str| name == **passing || name.starts_with(&format!("{passing}."));
    PASSING_FILES.iter().any(is_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_processes_and_of_undone_transactions_stay_behind() {
        for passing in [
            "lock",
            "undo",
            "undo.backup.fncache",
            "journal.backupfiles",
            "lock.break",
        ] {
            assert!(
                is_passing(&Path::new(".hg/store").join(passing)),
                "{passing}"
            );
        }
        for kept in [
            "fncache",
            "00changelog.i",
            "phaseroots",
            "undone",
            "requires",
        ] {
            assert!(!is_passing(&Path::new(".hg/store").join(kept)), "{kept}");
        }
    }
}
