//! Random histories in memory.

use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;
use varve_base::MemoryStorage;
use varve_repo::{
    CommitBatch, FileChange, NewChangeset, Node, Phase, RepoView, Repository, StorageSettings,
    ViewFilter,
};

/// Parents of each changeset, by number.
pub type Graph = Vec<Vec<usize>>;

/// Up to fourteen changesets with any branches, merges and roots.
pub fn graphs() -> impl Strategy<Value = Graph> {
    let choices = (any::<u8>(), any::<u8>(), any::<u8>());
    proptest::collection::vec(choices, 1..14).prop_map(|choices| {
        let choices = choices.into_iter().enumerate();
        let parents = choices.map(|(number, (shape, first, second))| {
            if number == 0 || shape % 8 == 0 {
                return Vec::new();
            }
            let first = usize::from(first) % number;
            let second = usize::from(second) % number;
            match shape % 3 == 0 && first != second {
                true => vec![first, second],
                false => vec![first],
            }
        });
        parents.collect()
    })
}

/// Numbers of all changesets that follow from `chosen`, and these.
pub fn descendants(graph: &Graph, chosen: &[usize]) -> Vec<usize> {
    let mut found: Vec<usize> = Vec::new();
    for (number, parents) in graph.iter().enumerate() {
        if chosen.contains(&number) || parents.iter().any(|parent| found.contains(parent)) {
            found.push(number);
        }
    }
    found
}

/// A repository in memory and the batch that fills it.
pub struct History {
    repository: Repository,
    batch: CommitBatch,
    pub nodes: Vec<Node>,
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

    /// A history of this shape, each changeset on the branch of its number in `branches` or else on `default`.
    pub fn of(graph: &Graph, branches: &[&str]) -> (Arc<RepoView>, Vec<Node>) {
        let mut history = History::new();
        for (number, parents) in graph.iter().enumerate() {
            let branch = branches.get(number).copied().unwrap_or("default");
            history.commit(parents, branch, &[]);
        }
        history.finish()
    }

    /// A changeset over others, by their numbers.
    pub fn commit<'a>(
        &mut self,
        parents: &[usize],
        branch: &'a str,
        changes: &'a [FileChange<'a>],
    ) {
        self.commit_with(parents, |new| {
            (new.branch, new.changes) = (branch.as_bytes(), changes);
        });
    }

    /// The same, with the settings of `change`.
    pub fn commit_with<'a>(
        &mut self,
        parents: &[usize],
        change: impl FnOnce(&mut NewChangeset<'a>),
    ) {
        let parent = |at: usize| parents.get(at).map_or(Node::NULL, |rev| self.nodes[*rev]);
        let mut new = NewChangeset {
            parents: [parent(0), parent(1)],
            user: b"Ada",
            date: (self.nodes.len() as i64, 0),
            branch: b"default",
            extras: &[],
            description: b"one of many",
            phase: Phase::Draft,
            changes: &[],
        };
        change(&mut new);
        self.nodes.push(self.batch.commit(&new).unwrap());
    }

    /// Ends the transaction.
    pub fn into_repository(self) -> (Repository, Vec<Node>) {
        self.batch.finish().unwrap();
        (self.repository, self.nodes)
    }

    pub fn finish(self) -> (Arc<RepoView>, Vec<Node>) {
        let (repository, nodes) = self.into_repository();
        let view = repository.view_for(ViewFilter::Unfiltered).unwrap();
        (view, nodes)
    }
}
