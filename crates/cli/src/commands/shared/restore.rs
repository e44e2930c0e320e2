//! `shared restore`: from a store into a directory.

use super::abort;
use super::thing::StoredThing;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::{DiskStorage, OpenMode, Storage};
use varve_btree::NodeCache;
use varve_docdb::{Database, DatabaseOptions};
use varve_hgcli::ui::{Abort, Ui};
use varve_repo::Repository;
use varve_server::couch::database::files::file_of;
use varve_server::couch::database::logs::FILE;
use varve_server::directory::{DATABASES, OfflineDirectory, REPOSITORIES};
use varve_server::hg::logs::MARK;
use varve_shared::{LogOptions, ObjectStore, RestorePoint, Restored, restore};

/// Memory for nodes; one look at a restored database needs few.
const CACHE: usize = 1 << 20;

/// Makes a database or a repository in a directory as it is, or was, in a store.
///
/// # Errors
/// One that is there already, a directory that is served, a state that is gone; errors of the store.
pub(super) fn restore_thing(
    ui: &mut Ui,
    store: &Arc<dyn ObjectStore>,
    (thing, directory): (&StoredThing, &Path),
    point: RestorePoint,
) -> Result<u8, Abort> {
    let place = match thing.repository() {
        Some(name) => Path::new(REPOSITORIES).join(name),
        None => file_of(&thing.name),
    };
    let target = OfflineDirectory::open(directory).map_err(abort)?;
    if target.storage.kind(&place)?.is_some() {
        let (path, described) = (directory.display(), thing.described());
        return Err(Abort::new(format!("{path} has a {described} already")));
    }
    let mut scratch = place.clone().into_os_string();
    scratch.push(".restoring");
    let scratch = PathBuf::from(scratch);
    target.storage.remove_tree(&scratch)?;
    target.storage.create_directory(&scratch)?;
    let finished = fill(store, (thing, point), &target, &scratch).and_then(|done| {
        let what = match thing.repository() {
            Some(_) => finish_repository(&target, &scratch, &place),
            None => finish_database(&target, &scratch, &place),
        };
        Ok((done, what?))
    });
    if finished.is_err() {
        target.storage.remove_tree(&scratch)?;
    }
    let (done, what) = finished?;
    let (slot, bytes) = (done.slot, done.bytes);
    ui.write(format!(
        "{thing}: {what}, {bytes} bytes, as of record {slot}\n"
    ))?;
    Ok(0)
}

/// Makes all files in a directory of their own.
fn fill(
    store: &Arc<dyn ObjectStore>,
    (thing, point): (&StoredThing, RestorePoint),
    target: &OfflineDirectory,
    scratch: &Path,
) -> Result<Restored, Abort> {
    let local = Arc::new(DiskStorage::new(target.path.join(scratch)));
    restore(store, &thing.log, &LogOptions::default(), (point, local)).map_err(abort)
}

/// Puts a database in its place, and tells what is in it.
fn finish_database(
    target: &OfflineDirectory,
    scratch: &Path,
    place: &Path,
) -> Result<String, Abort> {
    let restored = scratch.join(FILE);
    let documents = documents_of(target, &restored)?;
    let private = Permissions::from_mode(0o600);
    let path = target.path.join(&restored);
    fs::set_permissions(&path, private).map_err(abort)?;
    target.storage.open(&restored, OpenMode::Append)?.sync()?;
    target.storage.rename(&restored, place)?;
    target.storage.sync_directory(Path::new(DATABASES))?;
    target.storage.remove_tree(scratch)?;
    Ok(format!("{documents} documents"))
}

/// Opens a restored database, which may end with a part of a commit, and counts its documents.
fn documents_of(target: &OfflineDirectory, path: &Path) -> Result<u64, Abort> {
    let options = DatabaseOptions::new(target.compression, NodeCache::new(CACHE));
    let snapshot = Database::read_only(&target.storage, path, &options).map_err(abort)?;
    Ok(snapshot.info().map_err(abort)?.doc_count)
}

/// Puts a repository in its place, and tells what is in it.
fn finish_repository(
    target: &OfflineDirectory,
    scratch: &Path,
    place: &Path,
) -> Result<String, Abort> {
    if target.storage.kind(&scratch.join(MARK))?.is_none() {
        return Err(Abort::new("there was no repository then"));
    }
    let storage: Arc<dyn Storage> = Arc::new(target.storage.clone());
    let repository = Repository::open(storage, scratch).map_err(abort)?;
    let tip = repository.view().map_err(abort)?.tip();
    let changesets = tip.map_or(0, |tip| tip.index() + 1);
    target.storage.sync_tree(scratch)?;
    target.storage.rename(scratch, place)?;
    let above = place.parent().unwrap_or(Path::new(REPOSITORIES));
    target.storage.sync_directory(above)?;
    Ok(format!("{changesets} changesets"))
}
