//! Sets of changesets as one bit each, and walks along the lines of descent.

use crate::Member;
use varve_repo::Rev;
use varve_revlog::Revlog;

/// A set of changesets and perhaps the null revision, one bit each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BitSet {
    words: Vec<u64>,
    null: bool,
}

const WIDTH: usize = u64::BITS as usize;

impl BitSet {
    pub fn of(members: impl IntoIterator<Item = Member>) -> BitSet {
        let mut bits = BitSet::default();
        for member in members {
            bits.insert(member);
        }
        bits
    }

    pub fn insert(&mut self, member: Member) {
        let Some(rev) = member else {
            self.null = true;
            return;
        };
        let (word, bit) = (rev.index() / WIDTH, rev.index() % WIDTH);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << bit;
    }

    pub fn remove(&mut self, rev: Rev) {
        if let Some(word) = self.words.get_mut(rev.index() / WIDTH) {
            *word &= !(1 << (rev.index() % WIDTH));
        }
    }

    pub fn forget_null(&mut self) {
        self.null = false;
    }

    pub fn contains(&self, member: Member) -> bool {
        match member {
            None => self.null,
            Some(rev) => {
                let word = self.words.get(rev.index() / WIDTH);
                word.is_some_and(|word| word >> (rev.index() % WIDTH) & 1 == 1)
            }
        }
    }

    /// Ascending, without the null revision.
    pub fn revs(&self) -> impl DoubleEndedIterator<Item = Rev> + '_ {
        let bits = 0..self.words.len() * WIDTH;
        let revs = bits.map(|index| Rev(index as u32));
        revs.filter(|rev| self.contains(Some(*rev)))
    }

    /// Ascending, the null revision first.
    pub fn members(&self) -> impl DoubleEndedIterator<Item = Member> + '_ {
        let null = self.null.then_some(None);
        null.into_iter().chain(self.revs().map(Some))
    }

    pub fn first(&self) -> Option<Rev> {
        self.revs().next()
    }

    pub fn last(&self) -> Option<Rev> {
        self.revs().next_back()
    }

    /// Keeps the members for which `keep` holds.
    pub fn retain(&mut self, keep: impl Fn(Rev) -> bool) {
        for (number, word) in self.words.iter_mut().enumerate() {
            let mut left = *word;
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                if !keep(Rev((number * WIDTH) as u32 + bit)) {
                    *word &= !(1 << bit);
                }
            }
        }
    }
}

pub(crate) fn parents(changelog: &Revlog, rev: Rev) -> impl Iterator<Item = Rev> {
    changelog.parents(rev).into_iter().flatten()
}

/// Everything that `of` descends from, itself included.
pub(crate) fn ancestors(changelog: &Revlog, mut of: BitSet) -> BitSet {
    let Some(newest) = of.last() else {
        return of;
    };
    for index in (0..=newest.index() as u32).rev() {
        if of.contains(Some(Rev(index))) {
            for parent in parents(changelog, Rev(index)) {
                of.insert(Some(parent));
            }
        }
    }
    of
}

/// Everything that descends from `of`, itself included; all there is, if the null revision is in it.
pub(crate) fn descendants(changelog: &Revlog, mut of: BitSet) -> BitSet {
    let all = of.null;
    let oldest = if all { Some(Rev(0)) } else { of.first() };
    let Some(oldest) = oldest else {
        return of;
    };
    for rev in changelog.revs().skip(oldest.index()) {
        if all || parents(changelog, rev).any(|parent| of.contains(Some(parent))) {
            of.insert(Some(rev));
        }
    }
    of
}

/// Those within so many steps along `next`, from `from` to `to` steps.
pub(crate) fn within(
    start: &BitSet,
    (from, to): (u32, u32),
    next: impl Fn(Rev) -> Vec<Rev>,
) -> BitSet {
    let mut found = BitSet::default();
    let mut seen = BitSet::default();
    let mut edge: Vec<Rev> = start.revs().collect();
    for step in 0..=to {
        let mut further = Vec::new();
        for rev in edge {
            if seen.contains(Some(rev)) {
                continue;
            }
            seen.insert(Some(rev));
            if step >= from {
                found.insert(Some(rev));
            }
            further.extend(next(rev));
        }
        if further.is_empty() {
            break;
        }
        edge = further;
    }
    found
}

/// Per changeset from `first` on, its children.
pub(crate) fn children_from(changelog: &Revlog, first: Rev) -> Vec<Vec<Rev>> {
    let mut children = vec![Vec::new(); changelog.len().saturating_sub(first.index())];
    for rev in changelog.revs().skip(first.index()) {
        for parent in parents(changelog, rev) {
            if let Some(at) = parent.index().checked_sub(first.index()) {
                children[at].push(rev);
            }
        }
    }
    children
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_in_order() {
        let bits = BitSet::of([Some(Rev(70)), None, Some(Rev(3))]);
        let members: Vec<_> = bits.members().collect();
        assert_eq!(members, [None, Some(Rev(3)), Some(Rev(70))]);
        assert_eq!((bits.first(), bits.last()), (Some(Rev(3)), Some(Rev(70))));
        assert!(bits.contains(None) && !bits.contains(Some(Rev(4))));
        let mut bits = bits;
        bits.remove(Rev(70));
        bits.retain(|rev| rev != Rev(3));
        assert_eq!(bits.members().collect::<Vec<_>>(), [None]);
    }
}
