//! Rows by principal, in databases whose documents name their readers.

mod conflicts;
mod cost;
mod crash;
mod model;

use crate::common::{DATABASE, DIRECTORY, index_options, with_context};
use std::path::Path;
use std::sync::Arc;
use varve_base::{MemoryStorage, Storage};
use varve_codec::EngineSetting;
use varve_docdb::{Database, DatabaseOptions, NewDatabase, NodeCache, Viewer};
use varve_json::parse_object;
use varve_views::{IndexOptions, IndexSnapshot, MemtableBudget, ViewGroup, ViewIndex};

fn with_access(storage: Arc<dyn Storage>) -> Database {
    let options = DatabaseOptions::new(EngineSetting::SNAPPY, NodeCache::new(1 << 20));
    let new = NewDatabase {
        has_access: true,
        ..NewDatabase::default()
    };
    Database::create_with(storage, Path::new(DATABASE), &options, new).unwrap()
}

fn memory() -> Arc<dyn Storage> {
    Arc::new(MemoryStorage::default())
}

fn group(design: &str) -> Arc<ViewGroup> {
    let group = ViewGroup::read(&parse_object(design.as_bytes()).unwrap()).unwrap();
    Arc::new(group.by_principal().unwrap())
}

/// An index by principal; one with a memtable of no bytes writes every change into its file at once.
fn open(storage: Arc<dyn Storage>, design: &str, memtable: usize) -> ViewIndex {
    let options = IndexOptions {
        memtable_budget: MemtableBudget::new(memtable),
        ..index_options()
    };
    ViewIndex::open(storage, Path::new(DIRECTORY), group(design), options).unwrap()
}

/// Brings the index up to date for a viewer.
fn refresh(index: &ViewIndex, db: &Database, viewer: &Viewer) -> IndexSnapshot {
    let snapshot = db.snapshot().as_seen_by(viewer);
    with_context(|context| index.update_to(&snapshot, context)).unwrap()
}

fn user(name: &str, roles: &[&str]) -> Viewer {
    let roles: Vec<String> = roles.iter().map(|&role| role.to_owned()).collect();
    Viewer::named(Some(name), &roles)
}
