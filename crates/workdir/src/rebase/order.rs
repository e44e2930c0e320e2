//! The order in which changesets are rebased: one line of development after another, where their numbers mix several.

use std::collections::{BTreeMap, BTreeSet};
use varve_repo::{Node, RepoView, Rev};

/// A line of development that is held back until the place where it joins the emitted ones is known.
#[derive(Default)]
struct HeldLine {
    /// Newest first.
    revs: Vec<Rev>,
    /// Parents of these that are not among them.
    awaited: BTreeSet<Rev>,
}

/// The order for changesets with these destinations: one whose destination moves too comes after that one. `None` if
/// that is impossible.
pub fn rebase_order(view: &RepoView, destinations: &BTreeMap<Rev, Node>) -> Option<Vec<Rev>> {
    let mut left: BTreeMap<Rev, Option<Rev>> = destinations
        .iter()
        .map(|(rev, at)| (*rev, view.changelog().rev(at)))
        .collect();
    let mut order = Vec::new();
    while !left.is_empty() {
        let waits = |at: &Option<Rev>| at.is_some_and(|at| left.contains_key(&at));
        let next = left.iter().filter(|(_, at)| !waits(at));
        let next: BTreeSet<Rev> = next.map(|(rev, _)| *rev).collect();
        if next.is_empty() {
            return None;
        }
        left.retain(|rev, _| !next.contains(rev));
        order.extend(sorted(view, &next));
    }
    Some(order)
}

/// The changesets of `revs`, ancestors first, as Mercurial's query `sort(REVS, -topo)` has them.
fn sorted(view: &RepoView, revs: &BTreeSet<Rev>) -> Vec<Rev> {
    let mut sorter = TopologicalSorter {
        view,
        emitted: Vec::new(),
        // Belongs to what is emitted: whatever it awaits is no longer held back.
        lines: vec![HeldLine::default()],
        pending: BTreeSet::new(),
    };
    for wanted in revs.iter().rev() {
        sorter.pending.insert(*wanted);
        while let Some(rev) = sorter.pending.pop_last() {
            sorter.add(rev, rev == *wanted);
            if rev == *wanted {
                break;
            }
        }
    }
    let TopologicalSorter {
        mut emitted, lines, ..
    } = sorter;
    emitted.extend(lines.into_iter().flat_map(|line| line.revs));
    emitted.reverse();
    emitted
}

struct TopologicalSorter<'a> {
    view: &'a RepoView,
    /// Newest first.
    emitted: Vec<Rev>,
    lines: Vec<HeldLine>,
    /// Parents that are looked at in their turn, whether they are wanted or not.
    pending: BTreeSet<Rev>,
}

impl TopologicalSorter<'_> {
    fn add(&mut self, rev: Rev, is_wanted: bool) {
        let target = self.line_awaiting(rev);
        let parents: Vec<Rev> = self
            .view
            .changelog()
            .parents(rev)
            .into_iter()
            .flatten()
            .collect();
        self.pending.extend(&parents);
        let line = &mut self.lines[target];
        if is_wanted {
            line.revs.push(rev);
        }
        line.awaited.remove(&rev);
        line.awaited.extend(&parents);
        if self.lines[0].awaited.is_empty() {
            // Everything so far is out, so that any line may come next.
            self.emit(if self.lines.len() > 1 { 1 } else { target });
        } else if !self.lines[target]
            .awaited
            .is_disjoint(&self.lines[0].awaited)
        {
            self.emit(target);
        }
    }

    /// The line that waits for `rev`: all that do become one; a head begins a new one.
    fn line_awaiting(&mut self, rev: Rev) -> usize {
        let lines = self.lines.iter().enumerate();
        let waiting = lines.filter(|(_, line)| line.awaited.contains(&rev));
        let waiting: Vec<usize> = waiting.map(|(at, _)| at).collect();
        let Some((first, others)) = waiting.split_first() else {
            self.lines.push(HeldLine {
                revs: Vec::new(),
                awaited: BTreeSet::from([rev]),
            });
            return self.lines.len() - 1;
        };
        for other in others.iter().rev() {
            let other = self.lines.remove(*other);
            self.lines[*first].revs.extend(other.revs);
            self.lines[*first].awaited.extend(other.awaited);
        }
        *first
    }

    fn emit(&mut self, target: usize) {
        let line = match target {
            0 => {
                let revs = std::mem::take(&mut self.lines[0].revs);
                self.emitted.extend(revs);
                return;
            }
            target => self.lines.remove(target),
        };
        self.emitted.extend(line.revs);
        self.lines[0].awaited.extend(line.awaited);
    }
}
