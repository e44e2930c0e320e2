//! Sets of changesets as one bit each, and walks along the lines of descent.

use crate::{Member, WORKING_COPY};
use varve_repo::Rev;
use varve_revlog::Revlog;

/// A set of changesets, one bit each, and perhaps the null revision and the working copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BitSet {
    words: Vec<u64>,
    null: bool,
    working: bool,
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
        let rev = match member {
            None => {
                self.null = true;
                return;
            }
            Some(WORKING_COPY) => {
                self.working = true;
                return;
            }
            Some(rev) => rev,
        };
        let (word, bit) = (rev.index() / WIDTH, rev.index() % WIDTH);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << bit;
    }

    pub fn remove(&mut self, rev: Rev) {
        if rev == WORKING_COPY {
            self.working = false;
        }
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
            Some(WORKING_COPY) => self.working,
            Some(rev) => {
                let word = self.words.get(rev.index() / WIDTH);
                word.is_some_and(|word| word >> (rev.index() % WIDTH) & 1 == 1)
            }
        }
    }

    /// Ascending, without the null revision and the working copy.
    pub fn revs(&self) -> impl DoubleEndedIterator<Item = Rev> + '_ {
        let bits = 0..self.words.len() * WIDTH;
        let revs = bits.map(|index| Rev(index as u32));
        revs.filter(|rev| self.contains(Some(*rev)))
    }

    /// Ascending, the null revision first and the working copy last.
    pub fn members(&self) -> impl DoubleEndedIterator<Item = Member> + '_ {
        let null = self.null.then_some(None);
        let working = self.working.then_some(Some(WORKING_COPY));
        null.into_iter().chain(self.revs().map(Some)).chain(working)
    }

    pub fn first(&self) -> Option<Rev> {
        self.revs().next()
    }

    pub fn last(&self) -> Option<Rev> {
        self.revs().next_back()
    }

    /// Keeps the changesets for which `keep` holds.
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
    // Nothing descends from the working copy.
    of.working = false;
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

/// Those that are from `from` to `to` steps away along `next`, on any way.
pub(crate) fn within(
    start: &BitSet,
    (from, to): (u32, u32),
    next: impl Fn(Member) -> Vec<Member>,
) -> BitSet {
    let mut found = BitSet::default();
    let mut edge: Vec<Member> = start.members().collect();
    for step in 0..=to {
        let mut further = BitSet::default();
        for member in edge {
            // The way on from a member that was found on a shorter way leads no further.
            if found.contains(member) {
                continue;
            }
            if step >= from {
                found.insert(member);
            }
            next(member)
                .into_iter()
                .for_each(|next| further.insert(next));
        }
        edge = further.members().collect();
        if edge.is_empty() {
            break;
        }
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
