//! Documents that name their readers.

mod crash;
mod files;
mod model;
mod rules;

use crate::{PATH, edit, options};
use std::path::Path;
use std::sync::Arc;
use varve_base::{MemoryStorage, Storage};
use varve_docdb::{
    AccessError, Database, Direction, EditError, EditOutcome, IdRange, Mode, NewDatabase, Snapshot,
    Viewer,
};

const WITH_ACCESS: NewDatabase = NewDatabase {
    compression: None,
    is_partitioned: false,
    has_access: true,
};

fn create(storage: impl Storage + 'static) -> Database {
    let (storage, path) = (Arc::new(storage), Path::new(PATH));
    Database::create_with(storage, path, &options(), WITH_ACCESS).unwrap()
}

fn memory() -> Database {
    create(MemoryStorage::default())
}

fn user(name: &str) -> Viewer {
    Viewer::named(Some(name), &[])
}

fn member(name: &str, roles: &[&str]) -> Viewer {
    let roles: Vec<String> = roles.iter().map(|&role| role.to_owned()).collect();
    Viewer::named(Some(name), &roles)
}

fn put(db: &Database, author: &Viewer, text: &str) -> EditOutcome {
    let edit = edit(text).written_by(author);
    db.update_one(edit, Mode::Interactive).unwrap()
}

fn put_rev(db: &Database, author: &Viewer, text: &str) -> String {
    put(db, author, text).unwrap().rev.to_string()
}

fn replicate(db: &Database, author: &Viewer, text: &str) -> EditOutcome {
    let edit = edit(text).written_by(author);
    db.update_one(edit, Mode::Replicated).unwrap()
}

fn refused(error: AccessError) -> EditOutcome {
    Err(EditError::Access(error))
}

/// The ids and revisions that `_all_docs` lists.
fn listed(snapshot: &Snapshot) -> Vec<(String, String)> {
    let rows = snapshot.all_docs(IdRange::ALL, Direction::Forward).unwrap();
    let rows = rows.map(|row| row.unwrap());
    rows.map(|row| (row.id().to_owned(), row.rev.to_string()))
        .collect()
}

/// Sequence, id and winner of each change.
fn changed(snapshot: &Snapshot, since: u64) -> Vec<(u64, String, String)> {
    let changes = snapshot.changes(since, Direction::Forward).unwrap();
    let changes = changes.map(|change| change.unwrap());
    changes
        .map(|change| (change.seq, change.id, change.rev.to_string()))
        .collect()
}

fn seen_by(db: &Database, viewer: &Viewer) -> Snapshot {
    db.snapshot().as_seen_by(viewer)
}
