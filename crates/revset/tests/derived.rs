//! Sets that follow from others, against their definitions over random histories; and sets that read no more than they must.

use super::laws::{Graph, graphs, queries, view};
use super::memory::{History, answer, engine, numbers};
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use varve_revset::{Engine, RevsetError, Set};

/// The least number of steps from one of `from` to each changeset.
fn distances(
    graph: &Graph,
    from: &[usize],
    next: impl Fn(usize) -> Vec<usize>,
) -> BTreeMap<usize, usize> {
    let mut found: BTreeMap<usize, usize> = from.iter().map(|rev| (*rev, 0)).collect();
    for steps in 0..graph.len() {
        let last: Vec<usize> = found
            .iter()
            .filter(|(_, at)| **at == steps)
            .map(|(rev, _)| *rev)
            .collect();
        for rev in last.into_iter().flat_map(&next) {
            found.entry(rev).or_insert(steps + 1);
        }
    }
    found
}

fn children(graph: &Graph, of: usize) -> Vec<usize> {
    (0..graph.len())
        .filter(|rev| graph[*rev].contains(&of))
        .collect()
}

/// Numbers in the set that `query` stands for, which is not empty or the query is not to be tested.
fn members(engine: &Engine<'_>, query: &str) -> Vec<usize> {
    answer(engine, query)
        .into_iter()
        .filter_map(|rev| usize::try_from(rev).ok())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Depths count the steps of every way, from any member of the set.
    #[test]
    fn depths_count_steps(graph in graphs(), x in queries(), least in 0..4_usize, more in 0..4_usize) {
        let view = view(&graph);
        let engine = engine(&view, &[]);
        let x = x.text(graph.len());
        let from = members(&engine, &x);
        let most = least + more;
        let within = |next: &dyn Fn(usize) -> Vec<usize>| -> Vec<i64> {
            let mut level: BTreeSet<usize> = from.iter().copied().collect();
            let mut found = BTreeSet::new();
            for steps in 0..=most {
                if steps >= least {
                    found.extend(level.iter().map(|rev| *rev as i64));
                }
                level = level.into_iter().flat_map(next).collect();
            }
            found.into_iter().collect()
        };
        let above = within(&|rev| graph[rev].clone());
        prop_assert_eq!(answer(&engine, &format!("ancestors({x}, startdepth={least}, depth={most})")), above);
        let below = within(&|rev| children(&graph, rev));
        prop_assert_eq!(answer(&engine, &format!("descendants({x}, startdepth={least}, depth={most})")), below);
    }

    #[test]
    fn parents_are_counted_and_first_lines_are_followed(graph in graphs(), x in queries(), steps in 0..5_usize) {
        let view = view(&graph);
        let engine = engine(&view, &[]);
        let x = x.text(graph.len());
        let from = members(&engine, &x);
        let sorted = |revs: Vec<Option<usize>>| -> Vec<i64> {
            let revs: BTreeSet<i64> = revs.into_iter().map(|rev| rev.map_or(-1, |rev| rev as i64)).collect();
            revs.into_iter().collect()
        };
        for nth in [1, 2] {
            let parents = from.iter().filter_map(|rev| graph[*rev].get(nth - 1).copied()).map(Some);
            prop_assert_eq!(answer(&engine, &format!("({x})^{nth}")), sorted(parents.collect()));
        }
        prop_assert_eq!(answer(&engine, &format!("({x})^0")), answer(&engine, &format!("sort({x})")));
        let ends = from.iter().map(|rev| (0..steps).try_fold(*rev, |at, _| graph[at].first().copied()));
        prop_assert_eq!(answer(&engine, &format!("({x})~{steps}")), sorted(ends.collect()));
    }

    #[test]
    fn common_ancestors_are_those_of_every_member(graph in graphs(), x in queries()) {
        let view = view(&graph);
        let engine = engine(&view, &[]);
        let x = x.text(graph.len());
        let above = members(&engine, &x).into_iter().map(|rev| {
            distances(&graph, &[rev], |rev| graph[rev].clone()).into_keys().collect::<BTreeSet<usize>>()
        });
        let common = above.reduce(|a, b| &a & &b).unwrap_or_default();
        let expected: Vec<i64> = common.into_iter().map(|rev| rev as i64).collect();
        prop_assert_eq!(answer(&engine, &format!("commonancestors({x})")), expected);
        let branching = (0..graph.len()).filter(|rev| children(&graph, *rev).len() > 1);
        prop_assert_eq!(answer(&engine, "branchpoint()"), branching.map(|rev| rev as i64).collect::<Vec<_>>());
    }

    /// A changeset comes from the first of its chain, and all of the chain are destinations of it.
    #[test]
    fn origins_and_destinations_are_followed(sources in proptest::collection::vec(prop::option::of(any::<prop::sample::Index>()), 1..9)) {
        let mut history = History::new();
        let sources: Vec<Option<usize>> = sources.iter().enumerate()
            .map(|(rev, source)| source.filter(|_| rev > 0).map(|source| source.index(rev))).collect();
        for (rev, source) in sources.iter().enumerate() {
            let parents: Vec<usize> = rev.checked_sub(1).into_iter().collect();
            let hex = source.map(|source| history.node(source).to_hex());
            let extra = hex.as_ref().map(|hex| [(&b"source"[..], &hex[..])]);
            history.commit_files(&parents, &[], |new| {
                new.extras = extra.as_ref().map_or(&[], |extra| &extra[..]);
            });
        }
        let view = history.finish();
        let engine = engine(&view, &[]);
        let first = |rev: usize| {
            let mut at = rev;
            while let Some(source) = sources[at] {
                at = source;
            }
            at
        };
        for (rev, source) in sources.iter().enumerate() {
            let origin = Vec::from_iter(source.map(|_| first(rev) as i64));
            prop_assert_eq!(answer(&engine, &format!("origin({rev})")), origin);
            let comes_from = |other: &usize| {
                let mut at = sources[*other];
                while let Some(source) = at.filter(|source| *source != rev) {
                    at = sources[source];
                }
                at.is_some()
            };
            let taken = (0..sources.len()).filter(comes_from).map(|rev| rev as i64);
            prop_assert_eq!(answer(&engine, &format!("destination({rev})")), taken.collect::<Vec<_>>());
        }
    }

    /// Sets that are put together by hand, the null revision among them.
    #[test]
    fn sets_are_lists_without_repetition(one in proptest::collection::vec(-1..4_i64, 0..6), other in proptest::collection::vec(-1..4_i64, 0..6)) {
        let view = view(&vec![Vec::new(); 4]);
        let engine = engine(&view, &[]);
        let rev = |number: i64| view.changelog().rev_at(number);
        let set = |all: &[i64]| Set::list(all.iter().map(|number| rev(*number)).collect());
        let unique = |all: Vec<i64>| -> Vec<i64> {
            let mut seen = BTreeSet::new();
            all.into_iter().filter(|number| seen.insert(*number)).collect()
        };
        let (a, b) = (unique(one.clone()), unique(other.clone()));
        let read = |set: &Set| numbers(&engine, set).unwrap();
        prop_assert_eq!(read(&set(&one)), a.clone());
        prop_assert_eq!(read(&Set::chain(vec![set(&one), set(&other)])), unique([a.clone(), b.clone()].concat()));
        let keep = |is_in: bool| a.iter().copied().filter(|number| b.contains(number) == is_in).collect::<Vec<_>>();
        prop_assert_eq!(read(&set(&one).and(set(&other))), keep(true));
        prop_assert_eq!(read(&set(&one).without(set(&other))), keep(false));
        for made in [set(&one), Set::chain(vec![set(&one), set(&other)]), set(&one).without(set(&other))] {
            let all = read(&made);
            let reversed: Vec<i64> = all.iter().rev().copied().collect();
            prop_assert_eq!(read(&made.reversed(&engine).unwrap()), reversed);
            let mut ascending = all.clone();
            ascending.sort_unstable();
            prop_assert_eq!(read(&made.clone().ascending(&engine).unwrap()), ascending);
            for number in -1..4 {
                prop_assert_eq!(made.contains(&engine, rev(number)).unwrap(), all.contains(&number));
            }
        }
    }
}

/// A set of a predicate reads changesets one after the other, and none before it is asked.
#[test]
fn members_are_computed_as_they_are_asked_for() {
    let view = view(
        &(0..10_usize)
            .map(|rev| Vec::from_iter(rev.checked_sub(1)))
            .collect(),
    );
    let engine = engine(&view, &[]);
    let read = Rc::new(Cell::new(0));
    let counted = |modulus: u32| {
        let read = read.clone();
        engine.where_text(move |rev, _| {
            read.set(read.get() + 1);
            rev.0 % modulus == modulus - 1
        })
    };
    let rev = |number| view.changelog().rev_at(number);
    let set = counted(3);
    assert_eq!(read.take(), 0);
    assert_eq!(set.first(&engine).unwrap(), Some(rev(2)));
    assert_eq!(read.take(), 3);
    assert_eq!(set.last(&engine).unwrap(), Some(rev(8)));
    assert_eq!(read.take(), 2);
    assert!(set.contains(&engine, rev(5)).unwrap());
    assert_eq!(read.take(), 1);
    assert_eq!(set.members(&engine).take(2).count(), 2);
    assert_eq!(read.take(), 6);
    // Of an intersection only members of the left side are tested on the right one.
    let both = Set::list(vec![rev(4), rev(5)]).and(counted(3));
    assert_eq!(numbers(&engine, &both).unwrap(), [5]);
    assert_eq!(read.take(), 2);
    // The second of a chain is not read while the first has members.
    let chain = Set::chain(vec![Set::list(vec![rev(1)]), counted(3)]);
    assert_eq!(chain.first(&engine).unwrap(), Some(rev(1)));
    assert!(chain.contains(&engine, rev(1)).unwrap());
    assert_eq!(read.take(), 0);
}

#[test]
fn a_set_has_the_expected_size_or_is_refused() {
    let view = view(&vec![Vec::new(); 5]);
    let engine = engine(&view, &[]);
    for (size, range) in [
        ("3", Some(3..=3)),
        ("2:4", Some(2..=4)),
        (":1", Some(0..=1)),
        ("4:", Some(4..=99)),
        (":", Some(0..=99)),
        ("4:2", None),
    ] {
        for len in 0..=5_i64 {
            let query = format!("expectsize(first(all(), {len}), {size})");
            let set = engine.query(query.as_bytes());
            match range.as_ref().is_some_and(|range| range.contains(&len)) {
                true => assert_eq!(
                    numbers(&engine, &set.unwrap()).unwrap().len() as i64,
                    len,
                    "{query}"
                ),
                false => {
                    let error = set.map(drop).unwrap_err();
                    assert!(matches!(error, RevsetError::Missing(_)), "{query}: {error}");
                    assert!(
                        error.to_string().ends_with(&format!("got {len}")),
                        "{query}: {error}"
                    );
                }
            }
        }
    }
}
