//! Building a repository from a description of its history.

use super::dag_text::DagStep;
use super::{FileEdits, changes};
use crate::WorkdirError;
use std::collections::BTreeSet;
use varve_repo::{CommitBatch, DEFAULT_BRANCH, NewChangeset, Node, Phase};

/// The committer of everything that is built.
const USER: &[u8] = b"debugbuilddag";
/// Lines of the mergeable file for each changeset.
const LINES: usize = 2;

/// Files that the changesets have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BuiltFiles {
    /// One file of which each changeset changes a line of its own.
    pub mergeable: bool,
    /// One file that each changeset writes anew.
    pub overwritten: bool,
    /// A new file in each changeset.
    pub new: bool,
}

/// Commits the described changesets; returns their local tags in order.
///
/// # Errors
/// A failure to write.
pub fn build_dag(
    batch: &mut CommitBatch,
    steps: &[DagStep],
    files: BuiltFiles,
) -> Result<Vec<(Node, Vec<u8>)>, WorkdirError> {
    let is_changeset = |step: &&DagStep| matches!(step, DagStep::Changeset(_));
    let mut builder = Builder {
        files,
        total: steps.iter().filter(is_changeset).count(),
        nodes: Vec::new(),
        parents: Vec::new(),
    };
    let (mut branch, mut tags) = (DEFAULT_BRANCH.to_vec(), Vec::new());
    for step in steps {
        match step {
            DagStep::Branch(name) => branch.clone_from(name),
            DagStep::Tag(at, name) => tags.push((builder.nodes[*at], name.clone())),
            DagStep::Changeset(parents) => builder.commit(batch, *parents, &branch)?,
        }
    }
    Ok(tags)
}

struct Builder {
    files: BuiltFiles,
    /// Changesets in all.
    total: usize,
    /// The changesets so far, and their parents.
    nodes: Vec<Node>,
    parents: Vec<[Option<usize>; 2]>,
}

impl Builder {
    fn commit(
        &mut self,
        batch: &mut CommitBatch,
        parents: [Option<usize>; 2],
        branch: &[u8],
    ) -> Result<(), WorkdirError> {
        let number = self.nodes.len();
        self.parents.push(parents);
        let description = format!("r{number}");
        let edits = self.edits(batch, parents)?;
        let branch = match branch {
            b"" => DEFAULT_BRANCH,
            named => named,
        };
        let node = batch.commit(&NewChangeset {
            parents: parents.map(|parent| self.node(parent)),
            user: USER,
            date: (number as i64, 0),
            branch,
            extras: &[],
            description: description.as_bytes(),
            phase: Phase::Draft,
            changes: &changes(&edits),
        })?;
        self.nodes.push(node);
        Ok(())
    }

    fn node(&self, number: Option<usize>) -> Node {
        number.map_or(Node::NULL, |number| self.nodes[number])
    }

    fn edits(
        &self,
        batch: &CommitBatch,
        [_, second]: [Option<usize>; 2],
    ) -> Result<FileEdits, WorkdirError> {
        let number = self.nodes.len();
        let mut edits = FileEdits::new();
        if self.files.mergeable {
            edits.insert(b"mf".to_vec(), Some(self.mergeable_text(number)));
        }
        let line = format!("r{number}\n").into_bytes();
        if self.files.overwritten {
            edits.insert(b"of".to_vec(), Some(line.clone()));
        }
        if self.files.new {
            edits.insert(format!("nf{number}").into_bytes(), Some(line));
            if second.is_some() {
                for (path, node) in batch.manifest_files(&self.node(second))? {
                    if path.starts_with(b"nf") {
                        let content = batch.file_content(&path, &node)?;
                        edits.entry(path).or_insert(Some(content));
                    }
                }
            }
        }
        Ok(edits)
    }

    /// The mergeable file: the lines of a changeset and of all its ancestors are marked.
    fn mergeable_text(&self, number: usize) -> Vec<u8> {
        let mut marked = BTreeSet::new();
        let mut wanted = vec![number];
        while let Some(at) = wanted.pop() {
            if marked.insert(at) {
                wanted.extend(self.parents[at].into_iter().flatten());
            }
        }
        let lines = (0..self.total * LINES).map(|line| {
            let owner = line / LINES;
            match line % LINES == 0 && marked.contains(&owner) {
                true => format!("{line} r{owner}\n"),
                false => format!("{line}\n"),
            }
        });
        lines.collect::<String>().into_bytes()
    }
}
