//! Groups of one row to many: those of few are read in another way, which shows in nothing.

use crate::common::{short, view_of};
use proptest::prelude::*;
use varve_views::IndexSnapshot;

const DESIGN: &str = r#"{"views":{
    "sum":{"map":"function(d){for (var i = 0; i < d.rows; i++) emit([d._id, d.rows % 2, i], i)}","reduce":"_sum"},
    "count":{"map":"function(d){for (var i = 0; i < d.rows; i++) emit([d._id, d.rows % 2, i], i)}","reduce":"_count"},
    "first":{"map":"function(d){for (var i = 0; i < d.rows; i++) emit([d._id, d.rows % 2, i], i)}","reduce":"_first"},
    "last":{"map":"function(d){for (var i = 0; i < d.rows; i++) emit([d._id, d.rows % 2, i], i)}","reduce":"_last"},
    "raw":{"map":"function(d){for (var i = 0; i < d.rows; i++) emit([d._id, d.rows % 2, i], i)}","reduce":"_sum",
           "options":{"collation":"raw"}}}}"#;

/// A document for each group, which emits so many rows.
fn with_groups(sizes: &[u64]) -> IndexSnapshot {
    let documents = sizes
        .iter()
        .enumerate()
        .map(|(number, rows)| format!(r#"{{"_id":"g{number:03}","_rev":"1-a","rows":{rows}}}"#));
    view_of(&documents.collect::<Vec<_>>(), DESIGN)
}

/// The groups that the first item of their keys makes, and their values by the number of rows.
fn expected(sizes: &[u64], value: impl Fn(u64) -> u64) -> Vec<String> {
    let groups = sizes.iter().enumerate().filter(|(_, rows)| **rows > 0);
    let shown = groups
        .map(|(number, rows)| format!(r#"{{"key":["g{number:03}"],"value":{}}}"#, value(*rows)));
    shown.collect()
}

/// Sizes about which it is decided how a group is read, in runs of the same.
fn sizes() -> impl Strategy<Value = Vec<u64>> {
    let size = prop_oneof![0..4_u64, 14..19_u64, Just(70)];
    let run = (size, 1..6_usize).prop_map(|(size, times)| vec![size; times]);
    prop::collection::vec(run, 1..8).prop_map(|runs| runs.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn groups_of_all_sizes_have_their_values(sizes in sizes(), skip in 0..5_usize, limit in 1..9_usize) {
        let view = with_groups(&sizes);
        let sum = |rows: u64| rows * (rows - 1) / 2;
        let values: [(&str, &dyn Fn(u64) -> u64); 5] = [
            ("sum", &sum),
            ("raw", &sum),
            ("count", &|rows| rows),
            ("first", &|_| 0),
            ("last", &|rows| rows - 1),
        ];
        for (name, value) in values {
            let groups = expected(&sizes, value);
            let all = short(&view, &format!("{name}?group_level=1"));
            prop_assert_eq!(&all, &format!("[{}]", groups.join(",")), "{}", name);
            let some = short(&view, &format!("{name}?group_level=1&skip={skip}&limit={limit}"));
            let page: Vec<_> = groups.iter().skip(skip).take(limit).cloned().collect();
            prop_assert_eq!(some, format!("[{}]", page.join(",")), "{}", name);
            let backwards = short(&view, &format!("{name}?group_level=1&descending=true"));
            if !matches!(name, "first" | "last") {
                let reversed: Vec<_> = groups.into_iter().rev().collect();
                prop_assert_eq!(backwards, format!("[{}]", reversed.join(",")), "{}", name);
            }
        }
    }

    #[test]
    fn a_range_cuts_groups(sizes in sizes(), from in 0..3_u64, to in 0..20_u64) {
        let view = with_groups(&sizes);
        let last = sizes.len() - 1;
        let query = format!("count?group_level=1&startkey=[\"g000\",{},{from}]&endkey=[\"g{last:03}\",{},{to}]",
            sizes[0] % 2, sizes[last] % 2);
        let rows_of = |(number, rows): (usize, &u64)| {
            let end = if number == last { (*rows).min(to + 1) } else { *rows };
            let start = if number == 0 { from } else { 0 };
            (number, end.saturating_sub(start))
        };
        let groups = sizes.iter().enumerate().map(rows_of).filter(|(_, rows)| *rows > 0);
        let groups: Vec<_> = groups
            .map(|(number, rows)| format!(r#"{{"key":["g{number:03}"],"value":{rows}}}"#))
            .collect();
        prop_assert_eq!(short(&view, &query), format!("[{}]", groups.join(",")));
    }
}

#[test]
fn keys_that_are_asked_for_one_by_one_are_groups_of_their_own() {
    let view = with_groups(&[3, 20, 1]);
    let keys = r#"[["g001",0,4],["g000",1,1],["g000",1,1],["g009"],["g000",1,2]]"#;
    assert_eq!(
        short(&view, &format!("sum?group=true&keys={keys}")),
        r#"[{"key":["g001",0,4],"value":4},{"key":["g000",1,1],"value":1},{"key":["g000",1,1],"value":1},{"key":["g000",1,2],"value":2}]"#
    );
}

#[test]
fn a_group_does_not_take_one_whose_key_goes_on() {
    let documents =
        ["g", "ga", "gab"].map(|id| format!(r#"{{"_id":"{id}","_rev":"1-a","rows":2}}"#));
    let view = view_of(&documents, DESIGN);
    let groups = r#"[{"key":["g"],"value":2},{"key":["ga"],"value":2},{"key":["gab"],"value":2}]"#;
    assert_eq!(short(&view, "count?group_level=1"), groups);
    assert_eq!(
        short(&view, "raw?group_level=1"),
        groups.replace(":2", ":1")
    );
}
