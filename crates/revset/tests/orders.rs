//! Laws of ordered results over random histories: ranges, ends, sorting by several keys; and printed queries.

use super::laws::{graphs, queries, view};
use super::memory::{History, answer, engine, numbers};
use proptest::prelude::*;
use varve_revset::{RevsetError, parse};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Pieces taken from either end, and the rest of them, make up the whole in its order.
    #[test]
    fn ends_and_rests_make_up_the_whole(graph in graphs(), x in queries(), n in 0..6_usize, skipped in 0..6_usize) {
        let view = view(&graph);
        let engine = engine(&view, &[]);
        let x = x.text(graph.len());
        let all = answer(&engine, &x);
        let len = all.len();
        prop_assert_eq!(answer(&engine, &format!("first({x}, {n})")), &all[..n.min(len)]);
        prop_assert_eq!(answer(&engine, &format!("last({x}, {n})")), &all[len - n.min(len)..]);
        let from = skipped.min(len);
        let to = (skipped + n).min(len);
        prop_assert_eq!(answer(&engine, &format!("limit({x}, {n}, {skipped})")), &all[from..to]);
        prop_assert_eq!(answer(&engine, &format!("limit(set={x}, offset={skipped}, n={n})")), &all[from..to]);
        let reversed: Vec<i64> = all.iter().rev().copied().collect();
        prop_assert_eq!(answer(&engine, &format!("reverse({x})")), reversed);
    }

    /// A range runs from its first number to its second one, whichever is greater, and an open end is that of all.
    #[test]
    fn ranges_run_in_the_direction_of_their_ends(graph in graphs(), from in 0..12_usize, to in 0..12_usize) {
        let view = view(&graph);
        let engine = engine(&view, &[]);
        let last = graph.len() - 1;
        let (from, to) = (from % graph.len(), to % graph.len());
        let expected: Vec<i64> = match from <= to {
            true => (from as i64..=to as i64).collect(),
            false => (to as i64..=from as i64).rev().collect(),
        };
        prop_assert_eq!(answer(&engine, &format!("{from}:{to}")), expected.clone());
        prop_assert_eq!(answer(&engine, &format!("{from}:{to} and all()")), expected);
        prop_assert_eq!(answer(&engine, &format!(":{to}")), answer(&engine, &format!("0:{to}")));
        prop_assert_eq!(answer(&engine, &format!("{from}:")), answer(&engine, &format!("{from}:{last}")));
        prop_assert_eq!(answer(&engine, ":"), answer(&engine, "all()"));
        prop_assert_eq!(answer(&engine, &format!("-{}", graph.len() - from)), vec![from as i64]);
    }

    /// Sorting by the first key, and where that is equal by the next, is stable.
    #[test]
    fn sorting_by_several_keys_is_stable(
        rows in proptest::collection::vec((prop::sample::select(vec!["a", "b"]), prop::sample::select(vec!["x", "y"]), 0_i64..3), 1..10), first: bool, second: bool,
    ) {
        let mut history = History::new();
        for (number, (branch, user, time)) in rows.iter().copied().enumerate() {
            let parent = Vec::from_iter(number.checked_sub(1));
            history.commit_files(&parent, &[], |new| {
                (new.branch, new.user, new.date) = (branch.as_bytes(), user.as_bytes(), (time, 0));
            });
        }
        let view = history.finish();
        let engine = engine(&view, &[]);
        let sign = |reverse: bool| if reverse { "-" } else { "" };
        let text = format!("sort(reverse(all()), '{}branch {}date')", sign(first), sign(second));
        let mut expected: Vec<usize> = (0..rows.len()).rev().collect();
        expected.sort_by(|a, b| {
            let branch = rows[*a].0.cmp(rows[*b].0);
            let date = rows[*a].2.cmp(&rows[*b].2);
            let turned = |order: std::cmp::Ordering, reverse| if reverse { order.reverse() } else { order };
            turned(branch, first).then(turned(date, second))
        });
        let expected: Vec<i64> = expected.into_iter().map(|rev| rev as i64).collect();
        prop_assert_eq!(answer(&engine, &text), expected);
        let by_user = answer(&engine, "sort(all(), user)");
        prop_assert!(by_user.is_sorted_by_key(|rev| (&rows[*rev as usize].1, *rev)));
    }

    /// By topology each changeset comes before its ancestors, and the chosen branch before all others.
    #[test]
    fn descendants_come_before_their_ancestors(graph in graphs(), x in queries(), chosen in 0..12_usize) {
        let view = view(&graph);
        let engine = engine(&view, &[]);
        let x = x.text(graph.len());
        let sorted = answer(&engine, &format!("sort({x}, topo)"));
        let mut members = sorted.clone();
        members.sort_unstable();
        prop_assert_eq!(members, answer(&engine, &format!("sort({x})")));
        let all = answer(&engine, "sort(all(), topo)");
        let place = |rev: i64| all.iter().position(|other| *other == rev);
        for rev in 0..graph.len() as i64 {
            for parent in answer(&engine, &format!("parents({rev})")) {
                prop_assert!(place(rev) < place(parent));
            }
        }
        let reversed: Vec<i64> = sorted.iter().rev().copied().collect();
        prop_assert_eq!(answer(&engine, &format!("sort({x}, -topo)")), reversed);
        // A changeset without descendants may be chosen to come first, if it has a parent.
        let heads = answer(&engine, "heads(all())");
        let head = heads[chosen % heads.len()];
        if !graph[head as usize].is_empty() {
            let first = answer(&engine, &format!("sort(all(), topo, topo.firstbranch={head})"));
            prop_assert_eq!(first[0], head);
        }
    }

    /// A query that is printed and parsed again has the same answer, in the same order.
    #[test]
    fn a_printed_query_means_the_same(graph in graphs(), x in queries()) {
        let view = view(&graph);
        let engine = engine(&view, &[]);
        let text = x.text(graph.len());
        let printed = parse(text.as_bytes(), &|_| false).unwrap().to_string();
        prop_assert_eq!(answer(&engine, &printed), answer(&engine, &text), "{}", printed);
        let again = parse(printed.as_bytes(), &|_| false).unwrap().to_string();
        prop_assert_eq!(again, printed);
    }

    /// The greatest common ancestor is a head of all common ones, and there is one where there are any.
    #[test]
    fn common_ancestors_are_ancestors_of_both(graph in graphs(), a in 0..12_usize, b in 0..12_usize) {
        let view = view(&graph);
        let engine = engine(&view, &[]);
        let (a, b) = (a % graph.len(), b % graph.len());
        let common = answer(&engine, &format!("::{a} and ::{b}"));
        let heads = answer(&engine, &format!("heads(::{a} and ::{b})"));
        let found = answer(&engine, &format!("ancestor({a}, {b})"));
        prop_assert_eq!(found.is_empty(), common.is_empty());
        prop_assert!(found.iter().all(|rev| heads.contains(rev)));
        prop_assert_eq!(answer(&engine, &format!("ancestor({b}, {a})")), found);
        prop_assert_eq!(answer(&engine, &format!("p1({a}) + p2({a})")), answer(&engine, &format!("({a}^1 + {a}^2) - null")));
    }
}

#[test]
fn wrong_arguments_are_refused_in_words() {
    let mut history = History::new();
    history.commit(&[]);
    let view = history.finish();
    let engine = engine(&view, &[]);
    let refused = |query: &str| {
        let set = engine.query(query.as_bytes());
        match set.and_then(|set| numbers(&engine, &set)) {
            Err(RevsetError::Parse { message, .. }) => message,
            other => panic!("{query}: {other:?}"),
        }
    };
    for (query, message) in [
        ("limit()", "limit requires one to three arguments"),
        ("limit(all(), x)", "limit expects a number"),
        ("limit(all(), -1)", "negative number to select"),
        ("last(all(), 1, 2)", "last requires one or two arguments"),
        ("sort(all(), 'rev nothing')", "unknown sort key 'nothing'"),
        ("sort()", "sort requires one or two arguments"),
        ("all(0)", "all takes no arguments"),
    ] {
        assert_eq!(refused(query), message, "{query}");
    }
    assert_eq!(refused("::"), "can't use '::' in this context");
    assert_eq!(answer(&engine, "present(nothing)"), Vec::<i64>::new());
    assert!(engine.query(b"nothing").is_err());
}

/// Recorded from Mercurial 7.2.4.
#[test]
fn lines_without_a_common_ancestor_are_listed_as_in_mercurial() {
    let mut history = History::new();
    for parents in [&[][..], &[0], &[], &[], &[0]] {
        history.commit(parents);
    }
    let view = history.finish();
    let engine = engine(&view, &[]);
    for (first, expected) in [
        ("", [4, 1, 3, 0, 2]),
        (", topo.firstbranch=1", [1, 3, 4, 0, 2]),
        (", topo.firstbranch=2", [4, 1, 3, 2, 0]),
        (", topo.firstbranch=3", [4, 1, 2, 3, 0]),
    ] {
        assert_eq!(
            answer(&engine, &format!("sort(all(), topo{first})")),
            expected,
            "{first}"
        );
    }
}
