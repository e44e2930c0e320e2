//! Names of changesets in the descriptions of those that are rewritten.
//!
//! A run of at least 6 hexadecimal digits that begins the name of a changeset names it. Where that one was replaced, the
//! first digits of the new one take their place, as many as there were.

use crate::WorkdirError;
use std::collections::{BTreeMap, BTreeSet};
use varve_repo::{Node, PrefixMatch, RepoView};

/// The fewest digits that name a changeset.
const FEWEST: usize = 6;
/// Digits of a whole name.
const MOST: usize = 40;

/// The changesets that are being replaced. Markers name further ones.
#[derive(Clone, Copy, Debug)]
pub struct HashReferences<'a> {
    /// The changeset in the place of each one, if any.
    pub replaced: &'a BTreeMap<Node, Option<Node>>,
}

impl HashReferences<'_> {
    /// False if there is nothing in a description that could be a name.
    pub fn may_be_in(description: &[u8]) -> bool {
        !names(description).is_empty()
    }

    /// Puts new names in the place of old ones, and returns those that stay though their changesets were replaced: not by
    /// exactly one. `view` shows hidden changesets too.
    ///
    /// # Errors
    /// Damage in the repository.
    pub fn update(
        &self,
        view: &RepoView,
        description: &mut Vec<u8>,
    ) -> Result<Vec<Vec<u8>>, WorkdirError> {
        let mut stale = Vec::new();
        // A long description may have one name many times over.
        let mut seen = BTreeSet::new();
        for name in names(description) {
            let PrefixMatch::One(rev) = view.changelog().rev_by_prefix(&name) else {
                continue;
            };
            let old = view.changelog().node(rev);
            let sets = match self.replaced.get(&old) {
                Some(new) => vec![new.iter().copied().collect()],
                None => view.successor_sets(&old, false)?,
            };
            match sets.first().map_or(&[][..], Vec::as_slice) {
                [new] if sets.len() == 1 => {
                    let new = &new.to_hex()[..name.len()];
                    if seen.insert(name.clone()) {
                        // As in Mercurial, wherever these digits are, in later names too.
                        *description = replaced(description, &name, new);
                    }
                }
                _ if sets.len() < 2 => stale.push(name),
                _ => {}
            }
        }
        Ok(stale)
    }
}

/// Words that may be names, in order.
fn names(description: &[u8]) -> Vec<Vec<u8>> {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let runs = description.split(|byte| !is_digit(byte));
    let names = runs.flat_map(|run| run.chunks(MOST));
    let names = names.filter(|name| name.len() >= FEWEST);
    names.map(<[u8]>::to_vec).collect()
}

fn replaced(text: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.windows(old.len()).position(|digits| digits == old) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(new);
        rest = &rest[at + old.len()..];
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_runs_of_digits_are_cut_and_short_ones_are_words() {
        let text = [
            &b"see abcdef, xdeadbee_ and abcde; "[..],
            &[b'1'; 47],
            b" F00F00",
        ]
        .concat();
        let expected: [&[u8]; 4] = [b"abcdef", b"deadbee", &[b'1'; 40], &[b'1'; 7]];
        assert_eq!(names(&text), expected);
    }

    #[test]
    fn digits_change_wherever_they_are() {
        let text = b"abcdef of abcdef0 abcde";
        assert_eq!(
            replaced(text, b"abcdef", b"012345"),
            b"012345 of 0123450 abcde"
        );
    }
}
