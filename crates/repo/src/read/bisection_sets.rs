//! The parts that a bisection has cut the history into.

use crate::format::RepoError;
use crate::read::RepoView;
use crate::read::bisection::BisectState;
use varve_revlog::{Node, Rev};

/// A set of changesets, as queries name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BisectSet {
    /// Marked as good.
    Good,
    /// Marked as bad.
    Bad,
    /// Those that cannot be tested.
    Skip,
    /// The one to be tested.
    Current,
    /// Good, because those marked are.
    Goods,
    /// Bad, because those marked are.
    Bads,
    /// From a good one to a bad one, or the other way.
    Range,
    /// Those that need no more tests.
    Pruned,
    /// Those that may still be tested.
    Untested,
    /// Ancestors of one kind only, beside the range.
    Ignored,
}

impl BisectSet {
    /// The set of this name.
    pub fn named(name: &[u8]) -> Option<BisectSet> {
        Some(match name {
            b"good" => BisectSet::Good,
            b"bad" => BisectSet::Bad,
            b"skip" => BisectSet::Skip,
            b"current" => BisectSet::Current,
            b"goods" => BisectSet::Goods,
            b"bads" => BisectSet::Bads,
            b"range" => BisectSet::Range,
            b"pruned" => BisectSet::Pruned,
            b"untested" => BisectSet::Untested,
            b"ignored" => BisectSet::Ignored,
            _ => return None,
        })
    }
}

/// Whether each changeset has a property.
type Flags = Vec<bool>;

/// All sets of a bisection.
#[derive(Clone, Debug, Default)]
pub struct BisectSets {
    good: Flags,
    bad: Flags,
    skip: Flags,
    current: Flags,
    goods: Flags,
    bads: Flags,
    range: Flags,
    ignored: Flags,
}

impl BisectSets {
    /// Those of the bisection that is under way; all are empty without one.
    ///
    /// # Errors
    /// A state that is damaged or names other changesets.
    pub fn of(view: &RepoView) -> Result<BisectSets, RepoError> {
        let state = BisectState::of(view)?;
        // Marks on changesets that the view hides do not count.
        let marked = |nodes: &[Node]| {
            let mut flags = marked(view, nodes)?;
            for (at, flag) in flags.iter_mut().enumerate() {
                *flag &= view.is_visible(Rev(at as u32));
            }
            Ok::<Flags, RepoError>(flags)
        };
        let (good, bad) = (marked(&state.good)?, marked(&state.bad)?);
        let before = |of: &Flags| ancestors(view, of.clone());
        // All changesets descend from the null revision.
        let after = |of: &Flags, nodes: &[Node]| match nodes.contains(&Node::NULL) {
            true => vec![true; of.len()],
            false => descendants(view, of.clone()),
        };
        let (before_good, after_good) = (before(&good), after(&good, &state.good));
        let (before_bad, after_bad) = (before(&bad), after(&bad, &state.bad));
        let from_good = both(&after_good, &before_bad);
        let from_bad = both(&after_bad, &before_good);
        let range = combined(&from_good, &from_bad, |one, other| one | other);
        let outside = combined(&before_good, &before_bad, |one, other| one != other);
        let (goods, bads) = match from_good.contains(&true) {
            true => (before_good, after_bad),
            false => (after_good, before_bad),
        };
        Ok(BisectSets {
            skip: marked(&state.skip)?,
            current: marked(&state.current)?,
            ignored: combined(&outside, &range, |one, other| one & !other),
            good,
            bad,
            goods,
            bads,
            range,
        })
    }

    /// Whether a changeset is in a set.
    pub fn has(&self, set: BisectSet, rev: Rev) -> bool {
        let is_in = |flags: &Flags| flags.get(rev.index()).copied().unwrap_or_default();
        match set {
            BisectSet::Good => is_in(&self.good),
            BisectSet::Bad => is_in(&self.bad),
            BisectSet::Skip => is_in(&self.skip),
            BisectSet::Current => is_in(&self.current),
            BisectSet::Goods => is_in(&self.goods),
            BisectSet::Bads => is_in(&self.bads),
            BisectSet::Range => is_in(&self.range),
            BisectSet::Pruned => is_in(&self.skip) || is_in(&self.goods) || is_in(&self.bads),
            BisectSet::Untested => is_in(&self.range) && !self.has(BisectSet::Pruned, rev),
            BisectSet::Ignored => is_in(&self.ignored),
        }
    }

    /// The word for a changeset in templates.
    pub fn label(&self, rev: Rev) -> Option<&'static str> {
        let labels = [
            (BisectSet::Good, "good"),
            (BisectSet::Bad, "bad"),
            (BisectSet::Skip, "skipped"),
            (BisectSet::Untested, "untested"),
            (BisectSet::Current, "untested"),
            (BisectSet::Ignored, "ignored"),
            (BisectSet::Goods, "good (implicit)"),
            (BisectSet::Bads, "bad (implicit)"),
        ];
        let found = labels.into_iter().find(|(set, _)| self.has(*set, rev));
        found.map(|(_, label)| label)
    }
}

fn marked(view: &RepoView, nodes: &[Node]) -> Result<Flags, RepoError> {
    let changelog = view.changelog();
    let mut flags = vec![false; changelog.len()];
    for node in nodes.iter().filter(|node| !node.is_null()) {
        let rev = changelog.rev(node).ok_or_else(|| RepoError::MissingNode {
            what: "changeset",
            node: *node,
            path: changelog.path().to_owned(),
        })?;
        flags[rev.index()] = true;
    }
    Ok(flags)
}

/// Adds all ancestors.
fn ancestors(view: &RepoView, mut flags: Flags) -> Flags {
    for at in (0..flags.len()).rev() {
        if flags[at] {
            for parent in view
                .changelog()
                .parents(Rev(at as u32))
                .into_iter()
                .flatten()
            {
                flags[parent.index()] = true;
            }
        }
    }
    flags
}

/// Adds all descendants.
fn descendants(view: &RepoView, mut flags: Flags) -> Flags {
    for at in 0..flags.len() {
        let mut parents = view
            .changelog()
            .parents(Rev(at as u32))
            .into_iter()
            .flatten();
        flags[at] |= parents.any(|parent| flags[parent.index()]);
    }
    flags
}

fn combined(one: &Flags, other: &Flags, with: impl Fn(bool, bool) -> bool) -> Flags {
    let pairs = one.iter().zip(other);
    pairs.map(|(one, other)| with(*one, *other)).collect()
}

fn both(one: &Flags, other: &Flags) -> Flags {
    combined(one, other, |one, other| one & other)
}
