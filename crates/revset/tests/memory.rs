//! Histories in memory.

use std::path::Path;
use std::sync::Arc;
use varve_base::MemoryStorage;
use varve_lang::date::{Clock, Zone};
use varve_repo::{
    CommitBatch, FileChange, FileKind, NewChangeset, Node, Phase, RepoView, Repository,
    StorageSettings, ViewFilter,
};
use varve_revset::{Engine, QueryContext, RevsetError, Set};

/// 21 November 2026.
pub const NOW: i64 = 1_795_234_214;

/// A repository in memory to which changesets are added one after the other.
pub struct History {
    repository: Repository,
    batch: CommitBatch,
    nodes: Vec<Node>,
}

impl History {
    pub fn new() -> History {
        let storage = Arc::new(MemoryStorage::default());
        let repository = Repository::create(storage, Path::new("")).unwrap();
        let options = StorageSettings::default().write_options(repository.requirements());
        let batch = repository.begin(options).unwrap();
        History {
            repository,
            batch,
            nodes: Vec::new(),
        }
    }

    /// A changeset over others, by their numbers, without changes of files.
    pub fn commit(&mut self, parents: &[usize]) {
        self.commit_files(parents, &[], |_| {});
    }

    /// A changeset over others with changes of files and the settings of `change`.
    pub fn commit_files<'a>(
        &mut self,
        parents: &[usize],
        changes: &'a [FileChange<'a>],
        change: impl FnOnce(&mut NewChangeset<'a>),
    ) {
        let parent = |at: usize| parents.get(at).map_or(Node::NULL, |rev| self.nodes[*rev]);
        let mut new = NewChangeset {
            parents: [parent(0), parent(1)],
            user: b"Ada <ada@example.org>",
            date: (self.nodes.len() as i64, 0),
            branch: b"default",
            extras: &[],
            description: b"",
            phase: Phase::Public,
            changes,
        };
        change(&mut new);
        self.nodes.push(self.batch.commit(&new).unwrap());
    }

    /// The node of a changeset, by its number.
    pub fn node(&self, rev: usize) -> Node {
        self.nodes[rev]
    }

    pub fn finish(self) -> Arc<RepoView> {
        self.finish_with(|_, _| {})
    }

    /// The view after further changes of the repository, which get the nodes by number.
    pub fn finish_with(self, change: impl FnOnce(&Repository, &[Node])) -> Arc<RepoView> {
        self.batch.finish().unwrap();
        change(&self.repository, &self.nodes);
        self.repository.view_for(ViewFilter::Visible).unwrap()
    }
}

/// A file with a content.
pub fn write<'a>(path: &'a str, content: &'a str) -> FileChange<'a> {
    FileChange::Write {
        path: path.as_bytes(),
        content: content.as_bytes(),
        kind: FileKind::Plain,
        copied_from: None,
    }
}

/// An engine whose working copy is at `parents`.
pub fn engine<'v>(view: &'v RepoView, parents: &[usize]) -> Engine<'v> {
    let rev = |rev: &usize| view.changelog().rev_at(*rev as i64).unwrap();
    Engine::new(QueryContext {
        bundled_from: None,
        preferred: None,
        new_commit_phase: Phase::Draft,
        view,
        parents: parents.iter().map(rev).collect(),
        root: "/repository".into(),
        cwd: "/repository".into(),
        clock: Clock {
            now: NOW,
            zone: Zone::default(),
        },
        aliases: std::sync::Arc::default(),
        files: None,
        peers: None,
        working: None,
    })
}

/// Numbers of a set's members in its order, -1 for the null revision.
pub fn numbers(engine: &Engine<'_>, set: &Set) -> Result<Vec<i64>, RevsetError> {
    let members = set.members(engine);
    members
        .map(|member| Ok(member?.map_or(-1, |rev| i64::from(rev.0))))
        .collect()
}

/// Numbers of a query's members in their order.
pub fn answer(engine: &Engine<'_>, query: &str) -> Vec<i64> {
    let set = engine.query(query.as_bytes());
    let members = set.and_then(|set| numbers(engine, &set));
    members.unwrap_or_else(|error| panic!("{query}: {error}"))
}
