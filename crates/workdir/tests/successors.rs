//! Effects of obsolescence markers: where orphans belong, and the names of changesets in descriptions.

use super::histories::{Graph, History, graphs};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use varve_repo::{LockKind, NewMarker, Node, RepoView, Rev, ViewFilter};
use varve_workdir::{HashReferences, orphan_destinations};

/// Successors of rewritten changesets, by number; each is newer than what it replaces.
type Replaced = BTreeMap<usize, Vec<usize>>;

fn histories() -> impl Strategy<Value = (Graph, Replaced)> {
    let marker = (
        0..14_usize,
        proptest::collection::btree_set(0..14_usize, 0..3),
    );
    let markers = proptest::collection::vec(marker, 0..8);
    (graphs(), markers).prop_map(|(graph, markers)| {
        let len = graph.len();
        let marker = |(old, new): (usize, BTreeSet<usize>)| {
            let old = old % len;
            let newer = new
                .into_iter()
                .map(|rev| rev % len)
                .filter(|rev| *rev > old);
            (old, newer.collect::<BTreeSet<_>>().into_iter().collect())
        };
        let markers = markers.into_iter().map(marker).collect();
        (graph, markers)
    })
}

/// The history with one marker for each replaced changeset, with everything shown.
fn view(graph: &Graph, replaced: &Replaced) -> (Arc<RepoView>, Vec<Node>) {
    let mut history = History::new();
    for parents in graph {
        history.commit(parents, "default", &[]);
    }
    let (repository, nodes) = history.into_repository();
    let sets: Vec<(Node, Vec<Node>)> = replaced
        .iter()
        .map(|(old, new)| (nodes[*old], new.iter().map(|rev| nodes[*rev]).collect()))
        .collect();
    let markers = sets.iter().map(|(old, successors)| NewMarker {
        flags: 0,
        old: *old,
        successors,
        parents: None,
        date: (0, 0),
        metadata: &[],
    });
    let lock = repository.try_lock(LockKind::Store).unwrap();
    let mut transaction = repository.transaction(lock, "mark").unwrap();
    transaction
        .add_markers(&markers.collect::<Vec<_>>())
        .unwrap();
    transaction.finish().unwrap();
    (repository.view_for(ViewFilter::Unfiltered).unwrap(), nodes)
}

/// The last successors of a changeset.
fn latest(replaced: &Replaced, rev: usize) -> BTreeSet<usize> {
    match replaced.get(&rev) {
        None => BTreeSet::from([rev]),
        Some(new) => new.iter().flat_map(|rev| latest(replaced, *rev)).collect(),
    }
}

/// The new place of changesets that were built on `rev`.
fn place(graph: &Graph, replaced: &Replaced, rev: usize) -> BTreeSet<usize> {
    let found = latest(replaced, rev);
    match found.is_empty() {
        true => graph[rev]
            .iter()
            .flat_map(|parent| place(graph, replaced, *parent))
            .collect(),
        false => found,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Orphans belong to what became of their parents; where nothing did, to what became of the parents of those.
    #[test]
    fn orphans_belong_where_their_parents_went((graph, replaced) in histories()) {
        let (view, _) = view(&graph, &replaced);
        for (rev, parents) in graph.iter().enumerate() {
            let expected = parents.iter().flat_map(|parent| place(&graph, &replaced, *parent));
            let expected: BTreeSet<Rev> = expected.map(|rev| Rev(rev as u32)).collect();
            prop_assert_eq!(orphan_destinations(&view, Rev(rev as u32)).unwrap(), expected, "{}", rev);
        }
    }

    /// Names of one successor take the place of names that are out of date, with as many digits; names of changesets
    /// that were dropped or split stay and are told; all other words stay.
    #[test]
    fn names_in_descriptions_follow_their_changesets(
        (graph, replaced) in histories(), named in proptest::collection::vec((0..14_usize, 7..41_usize), 0..4),
    ) {
        // Of several in a row, one alone is followed here; chains are the matter of the markers.
        let is_last = |new: &[usize]| new.iter().all(|rev| !replaced.contains_key(rev));
        prop_assume!(replaced.values().all(|new| is_last(new)));
        let (view, nodes) = view(&graph, &replaced);
        let name = |rev: usize, digits: usize| String::from_utf8(nodes[rev].to_hex()[..digits].to_vec()).unwrap();
        let (mut before, mut after, mut stale) = (String::new(), String::new(), Vec::new());
        let mut seen = BTreeSet::new();
        for (rev, digits) in named {
            let rev = rev % graph.len();
            // A name in front of a longer one would be replaced within it too.
            if !seen.insert(rev) {
                continue;
            }
            let (old, rest) = (name(rev, digits), " is named, no abcde or facade99, x\n");
            before += &format!("{old}{rest}");
            let new = match replaced.get(&rev).map(Vec::as_slice) {
                Some([only]) => name(*only, digits),
                Some(_) => {
                    stale.push(old.clone().into_bytes());
                    old
                }
                None => old,
            };
            after += &format!("{new}{rest}");
        }
        let mut description = before.clone().into_bytes();
        let references = HashReferences { replaced: &BTreeMap::new() };
        prop_assert_eq!(references.update(&view, &mut description).unwrap(), stale);
        prop_assert_eq!(String::from_utf8(description).unwrap(), after);
    }

    /// Replacements that are under way go before the markers.
    #[test]
    fn changesets_that_are_being_replaced_go_first((graph, replaced) in histories(), of in 0..14_usize, drops: bool) {
        let (view, nodes) = view(&graph, &replaced);
        let of = of % graph.len();
        let new = (!drops).then_some(Node([0xab; Node::LEN]));
        let hex = nodes[of].to_string();
        let mut description = format!("see {}", &hex[..12]).into_bytes();
        let under_way = BTreeMap::from([(nodes[of], new)]);
        let stale = HashReferences { replaced: &under_way }.update(&view, &mut description).unwrap();
        let (expected, is_stale) = match drops {
            true => (format!("see {}", &hex[..12]), vec![hex.as_bytes()[..12].to_vec()]),
            false => ("see abababababab".to_owned(), Vec::new()),
        };
        prop_assert_eq!(String::from_utf8(description).unwrap(), expected);
        prop_assert_eq!(stale, is_stale);
    }
}
