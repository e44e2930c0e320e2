//! A repository and its database in memory.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use varve_base::{Interrupt, MemoryStorage, Silent, Storage};
use varve_codec::EngineSetting;
use varve_docdb::{Database, DatabaseOptions, Direction, IdRange, NodeCache};
use varve_history::{Changes, HistoryError, HistorySettings, is_generated, synchronize};
use varve_json::{Object, Value};
use varve_repo::{
    FileChange, FileKind, LockKind, NewChangeset, Node, Phase, Repository, Rev, ViewFilter,
};

pub const DATABASE: &str = "database";

/// A repository with its database.
pub struct History {
    pub repository: Repository,
    pub storage: Arc<dyn Storage>,
    pub database: Database,
    pub settings: HistorySettings,
}

fn options() -> DatabaseOptions {
    DatabaseOptions::new(EngineSetting::ZSTD, NodeCache::new(1 << 20))
}

impl History {
    pub fn new() -> History {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
        let repository = Repository::create(Arc::clone(&storage), Path::new("repo")).unwrap();
        let path = Path::new(DATABASE);
        let database = Database::create(Arc::clone(&storage), path, &options()).unwrap();
        History {
            repository,
            storage,
            database,
            settings: HistorySettings::default(),
        }
    }

    /// The same after all handles were dropped, as after a kill.
    pub fn reopened(self) -> History {
        let History {
            storage, settings, ..
        } = self;
        let path = Path::new(DATABASE);
        History {
            repository: Repository::open(Arc::clone(&storage), Path::new("repo")).unwrap(),
            database: Database::open(Arc::clone(&storage), path, &options()).unwrap(),
            storage,
            settings,
        }
    }

    /// Commits changesets, each over the one before it; the first one over `parent`.
    pub fn commit(&self, parent: Node, phase: Phase, words: &[&str]) -> Vec<Node> {
        let mut batch = self.repository.begin(EngineSetting::ZSTD).unwrap();
        let (mut nodes, mut parent) = (Vec::new(), parent);
        for word in words {
            let changes = [write(word, word)];
            let new = NewChangeset {
                parents: [parent, Node::NULL],
                phase,
                description: word.as_bytes(),
                changes: &changes,
                ..plain()
            };
            parent = batch.commit(&new).unwrap();
            nodes.push(parent);
        }
        batch.finish().unwrap();
        nodes
    }

    /// Commits one changeset.
    pub fn commit_one(&self, new: &NewChangeset<'_>) -> Node {
        let mut batch = self.repository.begin(EngineSetting::ZSTD).unwrap();
        let node = batch.commit(new).unwrap();
        batch.finish().unwrap();
        node
    }

    pub fn strip(&self, nodes: &[Node]) {
        let lock = self.repository.try_lock(LockKind::Store).unwrap();
        let stop = Interrupt::default();
        let stripped = self
            .repository
            .strip(lock, nodes, EngineSetting::ZSTD, &stop);
        assert!(stripped.unwrap() > 0);
    }

    pub fn move_phase(&self, node: Node, phase: Phase) {
        assert!(self.set_phase(node, phase) > 0);
    }

    /// Moves a changeset to a phase, with those that follow from it; returns how many moved.
    pub fn set_phase(&self, node: Node, phase: Phase) -> usize {
        let lock = self.repository.try_lock(LockKind::Store).unwrap();
        let revs = [self.rev(node)];
        let moved = self.repository.move_phases(lock, &revs, phase, true);
        moved.unwrap().changed
    }

    pub fn bookmark(&self, name: &str, node: Node) {
        let lock = self.repository.try_lock(LockKind::Store).unwrap();
        let set = self.repository.set_bookmark(lock, name.as_bytes(), node);
        set.unwrap();
    }

    fn rev(&self, node: Node) -> Rev {
        let view = self.repository.view_for(ViewFilter::Unfiltered).unwrap();
        view.changelog().rev(&node).unwrap()
    }

    /// Interrupts a fill once its first batch shows.
    pub fn interrupt_after_first_commit(&self) {
        let stop = Interrupt::default();
        let raised = stop.clone();
        let _subscription = self.database.on_commit(move |_| raised.raise());
        let interrupted = self.try_synchronize(&stop).unwrap_err();
        assert!(matches!(interrupted, HistoryError::Interrupted(_)));
    }

    pub fn try_synchronize(&self, stop: &Interrupt) -> Result<Changes, HistoryError> {
        let view = self.repository.view().unwrap();
        synchronize(
            &view,
            &self.database,
            self.settings.clone(),
            (&Silent, stop),
        )
    }

    pub fn synchronize(&self) -> Changes {
        self.try_synchronize(&Interrupt::default()).unwrap()
    }

    /// All documents that are not deleted, as JSON texts without special members.
    pub fn documents(&self) -> BTreeMap<String, String> {
        let snapshot = self.database.snapshot();
        let rows = snapshot.all_docs(IdRange::ALL, Direction::Forward).unwrap();
        rows.map(|row| {
            let row = row.unwrap();
            let mut body = Vec::new();
            snapshot.body(&row.stored, &mut body).unwrap();
            (row.id().to_owned(), String::from_utf8(body).unwrap())
        })
        .collect()
    }

    /// Generated documents but for the design document.
    pub fn generated(&self) -> BTreeMap<String, String> {
        let mut documents = self.documents();
        documents.retain(|id, _| is_generated(id) && !id.starts_with("_design/"));
        documents
    }

    /// Generated documents of a database that is filled anew.
    pub fn expected(&self) -> BTreeMap<String, String> {
        let fresh = History::new();
        let view = self.repository.view().unwrap();
        let watch = (&Silent as &dyn varve_base::Progress, &Interrupt::default());
        synchronize(&view, &fresh.database, self.settings.clone(), watch).unwrap();
        fresh.generated()
    }

    pub fn document(&self, id: impl ToString) -> Option<Object> {
        let text = self.documents().remove(&id.to_string())?;
        Some(varve_json::parse_object(text.as_bytes()).unwrap())
    }

    /// A member of a document as JSON.
    pub fn member(&self, id: impl ToString, path: &[&str]) -> String {
        let document = self.document(id).map_or(Value::Null, Value::from);
        let found = path
            .iter()
            .try_fold(&document, |value, name| value.get(name));
        found.map_or_else(String::new, varve_json::to_string)
    }

    /// Ids of the documents in the order of `_changes`, of sequences above `since`.
    pub fn changed_since(&self, since: u64) -> Vec<String> {
        let snapshot = self.database.snapshot();
        let rows = snapshot.all_docs(IdRange::ALL, Direction::Forward).unwrap();
        let ids = rows.map(|row| row.unwrap().id().to_owned());
        let changed = |id: &String| snapshot.document(id).unwrap().unwrap().seq() > since;
        ids.filter(changed).collect()
    }
}

impl History {
    /// The member `value` of a document's winner and of its ancestors, newest first; `-` of a tombstone.
    pub fn values(&self, id: &str) -> Vec<String> {
        let snapshot = self.database.snapshot();
        let document = snapshot.document(id).unwrap().unwrap();
        let winner = document.winner().unwrap().0;
        let value = |node: &varve_docdb::Node| {
            let stored = node.stored.as_ref().unwrap();
            let mut body = Vec::new();
            snapshot.body(stored, &mut body).unwrap();
            let body = varve_json::parse_object(&body).unwrap();
            let value = || varve_json::to_string(body.get("value").unwrap());
            if stored.deleted {
                "-".to_owned()
            } else {
                value()
            }
        };
        document.tree().path(winner).map(value).collect()
    }
}

/// A public changeset over nothing, without changes.
pub fn plain() -> NewChangeset<'static> {
    NewChangeset {
        parents: [Node::NULL, Node::NULL],
        user: b"Ada <ada@example.org>",
        date: (0, 0),
        branch: b"default",
        extras: &[],
        description: b"",
        phase: Phase::Public,
        changes: &[],
    }
}

pub fn write<'a>(path: &'a str, content: &'a str) -> FileChange<'a> {
    FileChange::Write {
        path: path.as_bytes(),
        content: content.as_bytes(),
        kind: FileKind::Plain,
        copied_from: None,
    }
}
