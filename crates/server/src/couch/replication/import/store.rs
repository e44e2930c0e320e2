//! Databases of the directory, each with a checkpoint that says how far the server was copied.
//!
//! The checkpoint is a local document. Commits are ordered: it is never in the file without the documents that it
//! counts.

use super::super::database::{ChangeRow, MissingRevisions};
use super::remote::RemoteInfo;
use crate::couch::database::files::file_of;
use crate::directory::OfflineDirectory;
use std::sync::Arc;
use std::time::Duration;
use varve_base::{Interrupt, Silent, Storage};
use varve_btree::NodeCache;
use varve_docdb::{
    Compressible, Database, DatabaseOptions, DocdbError, Durability, Edit, EditOutcome, Limits,
    Mode, NewDatabase, Rev, TrainsBy, Viewer,
};
use varve_json::{Object, Value};
use varve_replicate::ReplicateError;

/// Id of the checkpoint.
pub(super) const CHECKPOINT: &str = "_local/varve-import";
/// Memory for nodes of all databases.
const CACHE: usize = 64 << 20;
/// A power cut costs what came within this time; the import then reads it again.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);
/// Revisions whose attachments need not come again, of one document, about; a server may list any number of leaves.
const ANCESTORS: usize = 40;

/// The directory's databases.
#[derive(Clone, Debug)]
pub(super) struct Store {
    storage: Arc<dyn Storage>,
    options: DatabaseOptions,
}

/// How far a database was copied.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Checkpoint {
    /// URL of the server, without a password.
    pub(super) source: String,
    /// Tells the server's database from another one of this name.
    pub(super) incarnation: Value,
    /// Sequence of the server up to which everything is in the directory.
    pub(super) since: Value,
    /// Whether the database was whole once.
    pub(super) is_whole: bool,
}

impl Checkpoint {
    pub(super) fn new(source: &str, info: &RemoteInfo) -> Checkpoint {
        Checkpoint {
            source: source.to_owned(),
            incarnation: info.incarnation.clone(),
            since: 0_u64.into(),
            is_whole: false,
        }
    }

    fn read(database: &Database) -> Result<Option<Checkpoint>, DocdbError> {
        let Some(found) = database.snapshot().local(CHECKPOINT)? else {
            return Ok(None);
        };
        let object = varve_json::parse_object(&found.body).unwrap_or_default();
        let named = |name: &str| object.get(name).cloned();
        Ok(Some(Checkpoint {
            source: named("source")
                .and_then(|text| text.as_str().map(str::to_owned))
                .unwrap_or_default(),
            incarnation: named("instance_start_time").unwrap_or(Value::Null),
            since: named("source_last_seq").unwrap_or(0_u64.into()),
            is_whole: named("is_whole").and_then(|it| it.as_bool()) == Some(true),
        }))
    }

    fn text(&self) -> Vec<u8> {
        let mut object = Object::new();
        object.insert("source", self.source.as_str());
        object.insert("instance_start_time", self.incarnation.clone());
        object.insert("source_last_seq", self.since.clone());
        object.insert("is_whole", self.is_whole);
        varve_json::to_string(&Value::from(object)).into_bytes()
    }
}

impl Store {
    pub(super) fn new(directory: &OfflineDirectory) -> Store {
        let cache = NodeCache::new(CACHE);
        let limits = Limits {
            document: u64::MAX,
            attachment: u64::MAX,
            attachments: u64::MAX,
            id: u64::MAX,
        };
        Store {
            storage: Arc::new(directory.storage.clone()),
            options: DatabaseOptions {
                limits,
                // Attachments keep the form that they have, and with it their digests.
                compressible: Compressible {
                    types: Vec::new(),
                    ..Compressible::default()
                },
                trains: TrainsBy::Itself,
                durability: Durability::Interval(SYNC_INTERVAL),
                ..DatabaseOptions::new(directory.compression, cache)
            },
        }
    }

    /// Whether the directory has a database of this name, of whatever origin.
    pub(super) fn has(&self, name: &str) -> Result<bool, ReplicateError> {
        Ok(self.storage.kind(&file_of(name))?.is_some())
    }

    /// Opens the database of an earlier import from this server, or makes a new one.
    ///
    /// # Errors
    /// [`ReplicateError::Foreign`] for a database that came from elsewhere.
    pub(super) fn open(
        &self,
        name: &str,
        source: &str,
        info: &RemoteInfo,
    ) -> Result<(Database, Checkpoint), ReplicateError> {
        let path = file_of(name);
        let storage = Arc::clone(&self.storage);
        if !self.has(name)? {
            let new = NewDatabase {
                compression: None,
                is_partitioned: info.is_partitioned,
                has_access: info.has_access,
            };
            let database = Database::create_with(storage, &path, &self.options, new)?;
            let checkpoint = Checkpoint::new(source, info);
            set_checkpoint(&database, &checkpoint)?;
            return Ok((database, checkpoint));
        }
        let database = Database::open(storage, &path, &self.options)?;
        match Checkpoint::read(&database)? {
            Some(found) if found.source != source => Err(ReplicateError::Foreign(name.to_owned())),
            Some(found) if found.incarnation != info.incarnation => {
                Ok((database, Checkpoint::new(source, info)))
            }
            Some(found) => Ok((database, found)),
            // The import that made it was killed before its first checkpoint.
            None if database.snapshot().update_seq() == 0 => {
                Ok((database, Checkpoint::new(source, info)))
            }
            None => Err(ReplicateError::Foreign(name.to_owned())),
        }
    }
}

/// Writes the checkpoint.
pub(super) fn set_checkpoint(
    database: &Database,
    checkpoint: &Checkpoint,
) -> Result<(), ReplicateError> {
    put_local(database, Edit::parse(Some(CHECKPOINT), &checkpoint.text())?)
}

/// Writes a local document, whatever revision it has, unless it has this text already.
pub(super) fn put_local(database: &Database, edit: Edit) -> Result<(), ReplicateError> {
    let known = database.snapshot().local(edit.id())?;
    if known.is_some_and(|known| known.body == edit.body().text()) {
        return Ok(());
    }
    database.update_one(edit.written_by(&Viewer::ALL), Mode::Replicated)??;
    Ok(())
}

/// Sets the security object, unless it is this one already.
pub(super) fn set_security(database: &Database, security: &Object) -> Result<(), ReplicateError> {
    let text = varve_json::to_string(&Value::Object(security.clone()));
    if database.snapshot().security()?.as_deref() != Some(text.as_bytes()) {
        database.set_security(security)?;
    }
    Ok(())
}

/// Sets the limits of revisions and of purges that are remembered, where they are others.
pub(super) fn set_limits(
    database: &Database,
    (revs, purges): (Option<u64>, Option<u64>),
) -> Result<(), ReplicateError> {
    let snapshot = database.snapshot();
    if let Some(limit) = revs.filter(|limit| *limit != snapshot.revs_limit()) {
        database.set_revs_limit(limit)?;
    }
    let known = snapshot.purges_limit()?;
    if let Some(limit) = purges.filter(|limit| *limit != known) {
        database.set_purges_limit(limit)?;
    }
    Ok(())
}

/// Stores revisions.
pub(super) fn write(
    database: &Database,
    edits: Vec<Edit>,
) -> Result<Vec<EditOutcome>, ReplicateError> {
    let edits = edits
        .into_iter()
        .map(|edit| edit.written_by(&Viewer::ALL))
        .collect();
    Ok(database.update(edits, Mode::Replicated)?)
}

/// Which revisions of the changes the database lacks.
pub(super) fn missing(
    database: &Database,
    rows: &[ChangeRow],
) -> Result<Vec<MissingRevisions>, ReplicateError> {
    let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    let documents = database.snapshot().documents(&ids)?;
    let mut all = Vec::new();
    for (row, document) in rows.iter().zip(documents) {
        let mut lacking = Vec::new();
        let mut possible_ancestors: Vec<String> = Vec::new();
        for text in &row.revs {
            let rev: Option<Rev> = text.parse().ok();
            let Some(document) = &document else {
                lacking.push(text.clone());
                continue;
            };
            let tree = document.tree();
            if rev.as_ref().is_some_and(|rev| tree.find(rev).is_some()) {
                continue;
            }
            lacking.push(text.clone());
            if let (Some(rev), true) = (&rev, possible_ancestors.len() < ANCESTORS) {
                let ancestors = tree.possible_ancestors(rev).take(ANCESTORS);
                possible_ancestors.extend(ancestors.map(|node| node.rev.to_string()));
            }
        }
        if !lacking.is_empty() {
            possible_ancestors.sort();
            possible_ancestors.dedup();
            all.push(MissingRevisions {
                id: row.id.clone(),
                revs: lacking,
                possible_ancestors,
            });
        }
    }
    Ok(all)
}

/// Compacts a database that was copied, with a dictionary of its documents.
pub(super) fn compact(database: &Database, stop: &Interrupt) -> Result<(), ReplicateError> {
    match database.compact(&Silent, stop) {
        // Without room for a copy it stays larger than it could be.
        Ok(_) | Err(DocdbError::NoRoom { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
