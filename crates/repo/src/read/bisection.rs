//! A bisection: its state, `.hg/bisect.state`, and the changeset to test next.
//!
//! The state has a line `KIND NODE` for each changeset that was marked, sorted by kind:
//!
//! ```text
//! bad 64c25d40117bc5e85f110a1446ac7899f06f49be
//! current ee2f7156f73e06673e2f5ab3f860241505fc1b63
//! good 7a44eb274c90fab0e0707ecfd51c384b13f702fd
//! skip 7fe2d0d41bfe05d1e46ac7eec0b155c2422421ff
//! ```

use crate::format::RepoError;
use crate::read::{RepoView, Repository};
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use varve_base::Storage;
use varve_base::storage::{read_if_there, replace};
use varve_revlog::{Node, Rev};

/// Marked changesets, each list in the order in which they were marked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BisectState {
    /// Marked as bad.
    pub bad: Vec<Node>,
    /// The one to be tested.
    pub current: Vec<Node>,
    /// Marked as good.
    pub good: Vec<Node>,
    /// Those that cannot be tested.
    pub skip: Vec<Node>,
}

/// The next step of a bisection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BisectStep {
    /// The changeset to test; at the end the one that was looked for, or all that may be.
    pub revs: Vec<Rev>,
    /// How many changesets are left; 0 at the end.
    pub remaining: usize,
    /// Whether the first good changeset is looked for, and not the first bad one.
    pub finds_good: bool,
}

impl BisectState {
    /// Reads the state; without a file, nothing is marked.
    ///
    /// # Errors
    /// [`RepoError::DamagedLine`]; a failure of the storage.
    pub fn read(repository: &Repository) -> Result<BisectState, RepoError> {
        read(repository.storage().as_ref(), &path(repository.root()))
    }

    /// The same, of the repository that a view was read from.
    ///
    /// # Errors
    /// As of [`BisectState::read`].
    pub fn of(view: &RepoView) -> Result<BisectState, RepoError> {
        read(view.context.storage.as_ref(), &path(view.root()))
    }

    /// Whether a bisection is under way.
    ///
    /// # Errors
    /// A failure of the storage.
    pub fn is_there(repository: &Repository) -> Result<bool, RepoError> {
        let path = path(repository.root());
        Ok(repository.storage().kind(&path)?.is_some())
    }

    /// Writes the state. The caller holds the lock of the working copy.
    ///
    /// # Errors
    /// A failure of the storage.
    pub fn write(&self, repository: &Repository) -> Result<(), RepoError> {
        let mut text = Vec::new();
        let kinds = [
            (&b"bad"[..], &self.bad),
            (b"current", &self.current),
            (b"good", &self.good),
            (b"skip", &self.skip),
        ];
        for (kind, nodes) in kinds {
            for node in nodes {
                text.extend_from_slice(&[kind, b" ", &node.to_hex()[..], b"\n"].concat());
            }
        }
        let path = path(repository.root());
        Ok(replace(repository.storage().as_ref(), &path, &text)?)
    }

    /// Removes the state.
    ///
    /// # Errors
    /// A failure of the storage.
    pub fn clear(repository: &Repository) -> Result<(), RepoError> {
        let path = path(repository.root());
        if BisectState::is_there(repository)? {
            repository.storage().remove(&path)?;
        }
        Ok(())
    }

    /// Chooses the next changeset to test: the one that halves the rest best, whatever the outcome.
    ///
    /// # Errors
    /// [`RepoError::UnrelatedBisection`], [`RepoError::InconsistentBisection`], [`RepoError::MissingNode`].
    pub fn next(&self, view: &RepoView) -> Result<BisectStep, RepoError> {
        let revs = |nodes: &[Node]| {
            let revs = nodes.iter().map(|node| known(view, node));
            revs.collect::<Result<Vec<Option<Rev>>, _>>()
        };
        let (bad, good, skip) = (revs(&self.bad)?, revs(&self.good)?, revs(&self.skip)?);
        let skip: HashSet<Rev> = skip.into_iter().flatten().collect();
        if let Some(range) = BisectRange::between(view, &bad, &good) {
            return Ok(range.step(&skip, false));
        }
        if let Some(range) = BisectRange::between(view, &good, &bad) {
            return Ok(range.step(&skip, true));
        }
        if self.bad.len() == 1 && self.good.len() == 1 && self.bad != self.good {
            return Err(RepoError::UnrelatedBisection);
        }
        let oldest = good.iter().min().copied().flatten();
        let node = view.changelog().node_or_null(oldest);
        let rev = oldest.map_or(-1, |rev| i64::from(rev.0));
        Err(RepoError::InconsistentBisection { rev, node })
    }
}

fn path(root: &Path) -> PathBuf {
    root.join(".hg/bisect.state")
}

/// Number of a marked changeset; `None` is the null revision.
fn known(view: &RepoView, node: &Node) -> Result<Option<Rev>, RepoError> {
    if node.is_null() {
        return Ok(None);
    }
    let rev = view.changelog().rev(node);
    rev.map(Some).ok_or_else(|| RepoError::MissingNode {
        what: "changeset",
        node: *node,
        path: path(view.root()),
    })
}

fn read(storage: &dyn Storage, path: &Path) -> Result<BisectState, RepoError> {
    let text = read_if_there(storage, path)?.unwrap_or_default();
    parse(&text).map_err(|(line, reason)| RepoError::DamagedLine {
        path: path.to_owned(),
        line,
        reason,
    })
}

/// Reads the lines of a state; a fault with the number of its line.
pub(crate) fn parse(text: &[u8]) -> Result<BisectState, (usize, &'static str)> {
    let mut state = BisectState::default();
    let lines = text.split_inclusive(|byte| *byte == b'\n').enumerate();
    for (at, line) in lines {
        let mut words = line
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        let kind = words.next().unwrap_or_default();
        let node = words.next().and_then(Node::from_hex);
        let node = node.ok_or((at + 1, "no changeset"))?;
        match kind {
            b"bad" => state.bad.push(node),
            b"current" => state.current.push(node),
            b"good" => state.good.push(node),
            b"skip" => state.skip.push(node),
            _ => return Err((at + 1, "unknown bisect kind")),
        }
    }
    Ok(state)
}

/// The changesets of which one must be the first of the kind that is looked for.
struct BisectRange {
    /// The oldest known one of that kind.
    last: Rev,
    /// Oldest first, `last` included.
    candidates: Vec<Rev>,
    /// Children of each, those of the candidates only.
    children: BTreeMap<Rev, Vec<Rev>>,
}

impl BisectRange {
    /// Between `after`, which has what is looked for, and `before`, which lacks it; `None` if no member of `before` is
    /// an ancestor, as the null revision is of all changesets.
    fn between(
        view: &RepoView,
        after: &[Option<Rev>],
        before: &[Option<Rev>],
    ) -> Option<BisectRange> {
        let changelog = view.changelog();
        let last = (*after.iter().min()?)?;
        let from_null = before.contains(&None);
        let before: Vec<Rev> = before.iter().copied().flatten().collect();
        let count = last.index() + 1;
        let parents = |rev: Rev| changelog.parents(rev).into_iter().flatten();
        // Members of `before` that are newer have ancestors among the candidates too.
        let newest = before
            .iter()
            .max()
            .map_or(count, |rev| count.max(rev.index() + 1));
        let mut lacking = vec![false; newest];
        before.iter().for_each(|rev| lacking[rev.index()] = true);
        let mut descends: Vec<bool> = lacking.iter().map(|is| *is || from_null).collect();
        for at in (0..newest).rev() {
            if lacking[at] {
                parents(Rev(at as u32)).for_each(|parent| lacking[parent.index()] = true);
            }
        }
        for at in 0..count {
            descends[at] |= parents(Rev(at as u32)).any(|parent| descends[parent.index()]);
        }
        let is_candidate = |rev: Rev| descends[rev.index()] && !lacking[rev.index()];
        if !is_candidate(last) {
            return None;
        }
        let mut found = BTreeSet::from([last]);
        let mut children: BTreeMap<Rev, Vec<Rev>> = BTreeMap::new();
        let mut waiting = VecDeque::from([last]);
        while let Some(rev) = waiting.pop_front() {
            for parent in parents(rev).filter(|parent| is_candidate(*parent)) {
                children.entry(parent).or_default().push(rev);
                if found.insert(parent) {
                    waiting.push_back(parent);
                }
            }
        }
        Some(BisectRange {
            last,
            candidates: found.into_iter().collect(),
            children,
        })
    }

    fn step(self, skip: &HashSet<Rev>, finds_good: bool) -> BisectStep {
        let total = self.candidates.len();
        let mut testable = self.candidates.iter().filter(|rev| **rev != self.last);
        let best = match testable.any(|rev| !skip.contains(rev)) {
            true => self.best(skip),
            false => None,
        };
        match best {
            Some(best) => BisectStep {
                revs: vec![best],
                remaining: total,
                finds_good,
            },
            None => BisectStep {
                revs: self.candidates,
                remaining: 0,
                finds_good,
            },
        }
    }

    fn children(&self, rev: Rev) -> &[Rev] {
        self.children.get(&rev).map_or(&[], Vec::as_slice)
    }

    /// The candidate of which ancestors and others are as many as possible, the oldest of several.
    fn best(&self, skip: &HashSet<Rev>) -> Option<Rev> {
        let total = self.candidates.len();
        let perfect = total / 2;
        let mut best: Option<(usize, Rev)> = None;
        // Candidates that cannot be better, because an ancestor has more than half of all as its ancestors.
        let mut passed: HashSet<Rev> = HashSet::new();
        let mut ancestors: BTreeMap<Rev, AncestorSet> = BTreeMap::new();
        for (at, rev) in self.candidates.iter().copied().enumerate() {
            if passed.contains(&rev) {
                passed.extend(self.children(rev));
                continue;
            }
            let mut own = ancestors.remove(&rev).unwrap_or_default();
            own.insert(at);
            let (is_skipped, others) = (skip.contains(&rev), total - own.len);
            let value = own.len.min(others);
            if !is_skipped && best.is_none_or(|(most, _)| value > most) {
                best = Some((value, rev));
                if value == perfect {
                    break;
                }
            }
            if others < perfect && !is_skipped {
                passed.extend(self.children(rev));
                continue;
            }
            let Some((first, rest)) = self.children(rev).split_first() else {
                continue;
            };
            for child in rest {
                ancestors.entry(*child).or_default().add(&own);
            }
            match ancestors.entry(*first) {
                std::collections::btree_map::Entry::Occupied(mut there) => {
                    there.get_mut().add(&own)
                }
                // A line of single children hands one set on.
                std::collections::btree_map::Entry::Vacant(free) => drop(free.insert(own)),
            }
        }
        best.map(|(_, rev)| rev)
    }
}

/// Positions among the candidates, one bit each.
#[derive(Clone, Debug, Default)]
struct AncestorSet {
    words: Vec<u64>,
    /// How many there are.
    len: usize,
}

impl AncestorSet {
    fn insert(&mut self, at: usize) {
        let (word, bit) = (at / 64, 1 << (at % 64));
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.len += usize::from(self.words[word] & bit == 0);
        self.words[word] |= bit;
    }

    fn add(&mut self, other: &AncestorSet) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
        let ones = self.words.iter().map(|word| word.count_ones() as usize);
        self.len = ones.sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read() {
        let text = b"bad 64c25d40117bc5e85f110a1446ac7899f06f49be\n\
            good 7a44eb274c90fab0e0707ecfd51c384b13f702fd\n";
        let state = parse(text).unwrap();
        assert_eq!((state.bad.len(), state.good.len()), (1, 1));
        assert_eq!(parse(b"bad 12\n"), Err((1, "no changeset")));
        let odd = [&text[..], b"odd 7a44eb274c90fab0e0707ecfd51c384b13f702fd\n"].concat();
        assert_eq!(parse(&odd), Err((3, "unknown bisect kind")));
    }

    /// A range of changesets by number, each with the children that it has in it.
    fn range(children: &[(u32, &[u32])], count: u32) -> BisectRange {
        let revs = |numbers: &[u32]| numbers.iter().copied().map(Rev).collect();
        BisectRange {
            last: Rev(count - 1),
            candidates: (0..count).map(Rev).collect(),
            children: children
                .iter()
                .map(|(rev, of)| (Rev(*rev), revs(of)))
                .collect(),
        }
    }

    #[test]
    fn a_line_is_halved() {
        let line: Vec<(u32, [u32; 1])> = (0..10).map(|rev| (rev, [rev + 1])).collect();
        let line: Vec<(u32, &[u32])> = line.iter().map(|(rev, of)| (*rev, &of[..])).collect();
        let step = range(&line, 11).step(&HashSet::new(), false);
        assert_eq!((step.revs, step.remaining), (vec![Rev(4)], 11));
        let skip = HashSet::from([Rev(4)]);
        assert_eq!(range(&line, 11).step(&skip, false).revs, [Rev(5)]);
        let skip = (0..10).map(Rev).collect();
        let step = range(&line, 11).step(&skip, true);
        assert_eq!((step.revs.len(), step.remaining), (11, 0));
    }

    #[test]
    fn ancestors_of_merges_count_once() {
        let diamond: &[(u32, &[u32])] = &[(0, &[1, 2]), (1, &[3]), (2, &[3]), (3, &[4]), (4, &[5])];
        let step = range(diamond, 6).step(&HashSet::new(), false);
        assert_eq!(step.revs, [Rev(1)]);
    }
}
