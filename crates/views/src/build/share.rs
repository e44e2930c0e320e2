//! Which rows of a document its principals see: those of the revision that is the winner to each of them.
//!
//! Nearly all documents have one leaf, whose rows admins see too. Where leaves name different principals, each of these
//! may have another winner, and functions run once for each of those. They are shown only conflicts that all readers of
//! the winner may see.

use super::map::{MapInput, Mapper};
use super::rows::{Mapped, SharedRows, Span};
use crate::ViewError;
use crate::principals::{MOST_KEYS, push_readers, readers_key, winner_value, winners_prefix};
use crate::row::prefix_of;
use std::collections::{BTreeMap, HashMap};
use varve_docdb::{Change, DocdbError, Document, Leaf, LeafReaders, Rev};

/// Functions run over at most so many revisions of one document.
const MOST_WINNERS: usize = 64;

/// Names that are compared, for one document, to find which conflicts may be shown.
const MOST_COMPARED: usize = 10_000_000;

/// Bytes of keys and values that one document has under its principals.
const MOST_BYTES: usize = 64 << 20;

/// A leaf that is the winner to some principals.
struct Winner<'a> {
    leaf: &'a LeafReaders,
    principals: Vec<String>,
}

/// The winner of each principal: the preferred leaf among those that name it.
fn winners(readers: &[LeafReaders]) -> Vec<Winner<'_>> {
    let mut ranked: Vec<&LeafReaders> = readers.iter().filter(|leaf| !leaf.deleted).collect();
    ranked.sort_by(|a, b| b.rev.cmp(&a.rev));
    let mut chosen: BTreeMap<&str, usize> = BTreeMap::new();
    for (rank, leaf) in ranked.iter().enumerate() {
        for name in &leaf.names {
            chosen.entry(name).or_insert(rank);
        }
    }
    let mut winners: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (name, rank) in chosen {
        winners.entry(rank).or_default().push(name.to_owned());
    }
    let winners = winners.into_iter();
    winners
        .map(|(rank, principals)| Winner {
            leaf: ranked[rank],
            principals,
        })
        .collect()
}

/// The leaves of a document besides a winner that all readers of the winner see, in the order of `leaves`.
fn shown_with<'l>(
    winner: &LeafReaders,
    leaves: &'l [Leaf],
    readers: &HashMap<&Rev, &LeafReaders>,
    compared: &mut usize,
) -> Vec<&'l Leaf> {
    let is_shown = |leaf: &&Leaf| {
        let Some(other) = readers.get(&leaf.rev) else {
            return false;
        };
        *compared = compared.saturating_add(winner.names.len());
        leaf.rev != winner.rev
            && *compared <= MOST_COMPARED
            && (winner.names.iter()).all(|name| other.names.binary_search(name).is_ok())
    };
    leaves.iter().filter(is_shown).collect()
}

impl Mapper<'_> {
    /// Adds the rows that the principals of a document see. `rows` are those of its winner to admins.
    pub(super) fn share(
        &mut self,
        change: &Change,
        rows: Vec<(usize, Span)>,
        mapped: &mut Mapped,
    ) -> Result<(), ViewError> {
        let id = &change.id;
        let failed = |source: DocdbError| ViewError::Document {
            id: id.clone(),
            rev: change.rev.clone(),
            source: Box::new(source),
        };
        let readers = self.documents.readers(id).map_err(failed)?;
        let winners = winners(&readers);
        if winners.len() > MOST_WINNERS {
            let reason = "it has too many conflicts with different readers, who find no rows of it";
            self.context.log.failure(id, None, reason);
            return Ok(());
        }
        let mut leaves = vec![Leaf {
            rev: change.rev.clone(),
            deleted: false,
        }];
        leaves.extend(change.others.iter().cloned());
        let by_rev = readers.iter().map(|leaf| (&leaf.rev, leaf)).collect();
        let (mut shared, mut value, mut compared) = (Vec::new(), Vec::new(), 0);
        let mut document = None;
        for Winner { leaf, principals } in winners {
            let others = shown_with(leaf, &leaves, &by_rev, &mut compared);
            let seqs = others.iter().filter_map(|other| by_rev.get(&other.rev));
            let seq = seqs.map(|other| other.seq).fold(leaf.seq, u64::max);
            let is_that_of_all = leaf.rev == change.rev
                && others.len() == change.others.len()
                && (seq == change.seq || !self.group.shows_local_seq());
            let rows = match is_that_of_all {
                true => {
                    push_readers(&principals, None, &mut value);
                    rows.clone()
                }
                false => {
                    if document.is_none() {
                        document = self.documents.document(id).map_err(failed)?;
                    }
                    let (rows, own) =
                        self.own_rows(document.as_ref(), (leaf, seq), others, mapped)?;
                    push_readers(&principals, Some(&own), &mut value);
                    rows
                }
            };
            shared.push((leaf, SharedRows { principals, rows }));
        }
        self.enter_shared(id, shared, &value, mapped);
        Ok(())
    }

    /// Runs the functions over a revision that is not the winner to all, and tells its rows also as the tree by document
    /// does.
    fn own_rows(
        &mut self,
        document: Option<&Document>,
        (leaf, seq): (&LeafReaders, u64),
        others: Vec<&Leaf>,
        mapped: &mut Mapped,
    ) -> Result<(Vec<(usize, Span)>, Vec<u8>), ViewError> {
        let found = document.and_then(|document| {
            let (rev, stored) = document.revision(&leaf.rev)?;
            Some((document.id(), rev, stored))
        });
        let Some((id, rev, stored)) = found else {
            return Ok((Vec::new(), Vec::new()));
        };
        self.run(&MapInput {
            id,
            rev,
            stored,
            seq,
            others,
        })?;
        let mut own = Vec::new();
        self.push_entry(&mut own);
        Ok((
            self.push_rows(id, |map, fill| mapped.rows[map].keep(fill)),
            own,
        ))
    }

    /// Moves the rows of a document's principals to the batch, unless they are too many.
    fn enter_shared(
        &self,
        id: &str,
        shared: Vec<(&LeafReaders, SharedRows)>,
        value: &[u8],
        mapped: &mut Mapped,
    ) {
        let is_mixed = shared.len() > 1;
        if shared.iter().all(|(_, shared)| shared.rows.is_empty()) && !is_mixed {
            return;
        }
        let (mut keys, mut bytes) = (0usize, 0usize);
        for (_, SharedRows { principals, rows }) in &shared {
            for prefix in principals.iter().map(|name| prefix_of(name).len()) {
                for (map, span) in rows {
                    let (key, value) = mapped.rows[*map].get(*span);
                    keys = keys.saturating_add(prefix + key.len());
                    bytes = bytes.saturating_add(prefix + key.len() + value.len());
                }
            }
        }
        if keys > MOST_KEYS || bytes > MOST_BYTES {
            let reason = "its rows are too many or too long to be kept for each of its readers, who find none of them";
            self.context.log.failure(id, None, reason);
            return;
        }
        mapped.readers.push(|out| {
            out.extend_from_slice(&readers_key(id));
            let at = out.len();
            out.extend_from_slice(value);
            at
        });
        for (leaf, shared) in shared {
            for principal in shared.principals.iter().filter(|_| is_mixed) {
                mapped.readers.push(|out| {
                    out.extend_from_slice(&winners_prefix(principal));
                    out.extend_from_slice(id.as_bytes());
                    let at = out.len();
                    out.extend_from_slice(&winner_value(&leaf.rev));
                    at
                });
            }
            mapped.shared.push(shared);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(rev: &str, deleted: bool, names: &[&str]) -> LeafReaders {
        LeafReaders {
            rev: rev.parse().unwrap(),
            deleted,
            seq: 1,
            names: names.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    #[test]
    fn each_principal_has_the_best_of_the_leaves_that_name_it() {
        let readers = [
            leaf("1-a", false, &["ann", "bob"]),
            leaf("3-c", true, &["ann", "eve"]),
            leaf("2-b", false, &["bob", "dan"]),
            leaf("2-a", false, &[]),
        ];
        let found: Vec<_> = winners(&readers)
            .into_iter()
            .map(|winner| (winner.leaf.rev.to_string(), winner.principals.join(" ")))
            .collect();
        let expected = [("2-b", "bob dan"), ("1-a", "ann")];
        assert_eq!(
            found,
            expected.map(|(rev, names)| (rev.into(), names.into()))
        );
    }

    #[test]
    fn a_conflict_is_shown_if_all_readers_of_the_winner_see_it() {
        let readers = [
            leaf("2-b", false, &["ann", "bob"]),
            leaf("1-c", false, &["ann", "bob", "eve"]),
            leaf("1-b", true, &["ann", "bob"]),
            leaf("1-a", false, &["ann"]),
        ];
        let leaves: Vec<Leaf> = readers
            .iter()
            .map(|leaf| Leaf {
                rev: leaf.rev.clone(),
                deleted: leaf.deleted,
            })
            .collect();
        let by_rev = readers.iter().map(|leaf| (&leaf.rev, leaf)).collect();
        let shown = |winner: usize, mut compared: usize| {
            let shown = shown_with(&readers[winner], &leaves, &by_rev, &mut compared);
            let shown: Vec<String> = shown.iter().map(|leaf| leaf.rev.to_string()).collect();
            shown.join(" ")
        };
        assert_eq!(shown(0, 0), "1-c 1-b");
        assert_eq!(shown(1, 0), "");
        assert_eq!(shown(3, 0), "2-b 1-c 1-b");
        assert_eq!(shown(3, MOST_COMPARED), "");
    }
}
