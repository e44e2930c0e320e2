//! The workers that store changesets and manifests.

use super::batch::RevisionSink;
use super::spill;
use crate::format::context::RepoContext;
use crate::format::{Changeset, Phase, RepoError};
use std::collections::HashSet;
use std::sync::Arc;
use varve_revlog::{Appender, Node, ReceivedRevision, Rev};

/// Stores changesets.
#[derive(Debug)]
pub(super) struct Changesets {
    pub log: Appender,
    /// Of all changesets, old and new.
    pub phases: Vec<Phase>,
    /// Phase of new ones, if no parent has a higher one.
    pub target: Phase,
    /// The files that new changesets name and that the journal does not have yet.
    pub files: Vec<Vec<u8>>,
    named: HashSet<Vec<u8>>,
    text: Vec<u8>,
    context: Arc<RepoContext>,
}

impl Changesets {
    pub fn new(log: Appender, phases: Vec<Phase>, context: Arc<RepoContext>) -> Changesets {
        Changesets {
            log,
            phases,
            target: Phase::Draft,
            files: Vec::new(),
            named: HashSet::new(),
            text: Vec::new(),
            context,
        }
    }

    /// The heads among the changesets from `before` on, and how many more there are than before.
    pub fn new_heads(&self, before: usize) -> Result<NewHeads, RepoError> {
        let mut heads = NewHeads::default();
        if before == self.log.len() {
            return Ok(heads);
        }
        let mut followed = vec![false; self.log.len()];
        let mut old_heads = i64::from(before == 0);
        for rev in 0..self.log.len() {
            if rev == before {
                old_heads += count(&followed[..before]);
            }
            let parents = self.log.parents(Rev(rev as u32));
            for parent in parents.into_iter().flatten() {
                followed[parent.index()] = true;
            }
        }
        heads.more = count(&followed) - old_heads;
        for rev in (before..followed.len()).filter(|rev| !followed[*rev]) {
            let rev = Rev(rev as u32);
            let text = self.log.text(rev)?;
            let changeset = self.context.parse_changeset(rev, &text)?;
            heads.more -= i64::from(changeset.closes_branch());
            heads.manifests.push(changeset.manifest);
        }
        Ok(heads)
    }

    /// The journal must know of the files that a changeset names before they come.
    fn will_come(&mut self, changeset: &Changeset<'_>) {
        for file in changeset.files() {
            if !self.named.contains(file) {
                self.named.insert(file.to_vec());
                self.files.push(file.to_vec());
            }
        }
    }
}

/// Heads that have come.
#[derive(Debug, Default)]
pub(super) struct NewHeads {
    /// How many heads there are more; closed ones count as none.
    pub more: i64,
    /// The manifest of each new one.
    pub manifests: Vec<Node>,
}

/// Number of changesets that none follows.
fn count(followed: &[bool]) -> i64 {
    followed.iter().filter(|followed| !**followed).count() as i64
}

impl RevisionSink for Changesets {
    fn revision(&mut self, received: &ReceivedRevision<'_>) -> Result<(), RepoError> {
        let mut text = std::mem::take(&mut self.text);
        if let Some(rev) = self.log.add_received(received, &mut text)? {
            let context = Arc::clone(&self.context);
            self.will_come(&context.parse_changeset(rev, &text)?);
            let parents = self.log.parents(rev).into_iter().flatten();
            let above = parents.map(|rev| self.phases.get(rev.index()));
            let above = above.flatten().max().copied().unwrap_or_default();
            self.phases.push(self.target.max(above));
            spill(&mut self.log)?;
        }
        self.text = text;
        Ok(())
    }
}

/// Stores manifests.
#[derive(Debug)]
pub(super) struct Manifests {
    pub log: Appender,
    /// Whether each one is put together at once and compared with its name. That takes longer than
    /// everything else, because manifests are long and their deltas short.
    pub checks_all: bool,
    text: Vec<u8>,
}

impl Manifests {
    pub fn new(log: Appender) -> Manifests {
        Manifests {
            log,
            checks_all: false,
            text: Vec::new(),
        }
    }

    /// Compares a manifest with its name, if it is there.
    pub fn check(&self, node: &Node) -> Result<(), RepoError> {
        match self.log.rev(node) {
            Some(rev) => Ok(self.log.check(rev)?),
            None => Ok(()),
        }
    }
}

impl RevisionSink for Manifests {
    fn revision(&mut self, received: &ReceivedRevision<'_>) -> Result<(), RepoError> {
        match self.checks_all {
            true => self.log.add_received(received, &mut self.text)?,
            false => self.log.add_unverified(received, &mut self.text)?,
        };
        spill(&mut self.log)
    }
}
