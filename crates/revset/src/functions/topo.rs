//! The order `topo`: each line of descent is listed as a whole, before those beside it.

use crate::bitset::BitSet;
use crate::{Engine, Member, RevsetError, Set};
use std::collections::{BTreeSet, HashSet};
use varve_repo::Rev;

/// Members that are listed together, newest first, once their turn has come.
#[derive(Default)]
struct Line {
    members: Vec<Rev>,
    /// Parents of the line that have not been reached yet.
    awaited: HashSet<Rev>,
}

/// The members of `set`, each before its ancestors; the line of `first_branch` comes first.
///
/// # Errors
/// If the repository cannot be read.
pub(super) fn sorted(
    engine: &Engine<'_>,
    set: &Set,
    first_branch: &Set,
) -> Result<Vec<Member>, RevsetError> {
    let wanted = set.to_bits(engine)?;
    let mut lines = Lines::starting_at(first_branch.to_bits(engine)?.revs());
    let mut pending: BTreeSet<Rev> = wanted.members().flatten().collect();
    let oldest = pending.first().copied();
    while let Some(rev) = pending.pop_last() {
        if oldest.is_none_or(|oldest| rev < oldest) {
            break;
        }
        let parents: Vec<Rev> = engine.parents(rev).into_iter().flatten().collect();
        lines.reach(rev, &wanted, &parents);
        pending.extend(parents);
    }
    let mut members: Vec<Member> = lines.finish().into_iter().map(Some).collect();
    members.extend(wanted.contains(None).then_some(None));
    Ok(members)
}

/// The lines that wait for their turn, while history is walked from its newest changeset down.
struct Lines {
    /// The line whose members are listed at once, then those that wait, oldest first.
    waiting: Vec<Line>,
    listed: Vec<Rev>,
}

impl Lines {
    fn starting_at(first_branch: impl Iterator<Item = Rev>) -> Lines {
        let first = Line {
            members: Vec::new(),
            awaited: first_branch.collect(),
        };
        Lines {
            waiting: vec![first],
            listed: Vec::new(),
        }
    }

    /// Adds a changeset to the lines that wait for it, which become one, or begins a line.
    fn reach(&mut self, rev: Rev, wanted: &BitSet, parents: &[Rev]) {
        let is_awaited = |line: &Line| line.awaited.contains(&rev);
        let at = match self.waiting.iter().position(is_awaited) {
            Some(at) => at,
            None => {
                self.waiting.push(Line::default());
                self.waiting.len() - 1
            }
        };
        let later = self.waiting.split_off(at + 1);
        let (joined, later): (Vec<Line>, Vec<Line>) = later.into_iter().partition(is_awaited);
        self.waiting.extend(later);
        let line = &mut self.waiting[at];
        for other in joined {
            line.members.extend(other.members);
            line.awaited.extend(other.awaited);
        }
        line.members
            .extend(wanted.contains(Some(rev)).then_some(rev));
        line.awaited.remove(&rev);
        line.awaited.extend(parents);
        self.list_next(at);
    }

    /// Lists the line that was changed, if what has been listed leads to it; the oldest one, if
    /// nothing that has been listed leads further.
    fn list_next(&mut self, changed: usize) {
        let first = &self.waiting[0].awaited;
        let next = match first.is_empty() {
            true if self.waiting.len() > 1 => 1,
            true => changed,
            false if self.waiting[changed].awaited.is_disjoint(first) => return,
            false => changed,
        };
        if next == 0 {
            self.listed.append(&mut self.waiting[0].members);
            return;
        }
        let line = self.waiting.remove(next);
        self.listed.extend(line.members);
        self.waiting[0].awaited.extend(line.awaited);
    }

    /// Everything in its order, the lines that still wait at the end.
    fn finish(mut self) -> Vec<Rev> {
        let rest = self.waiting.into_iter().flat_map(|line| line.members);
        self.listed.extend(rest);
        self.listed
    }
}
