//! Every option, on rows that are easy to see through.

use crate::common::{ask, short, view_of};
use varve_views::IndexSnapshot;

const DESIGN: &str = r#"{"views":{
    "n":{"map":"function(d){emit(d.n)}"},
    "k":{"map":"function(d){emit([d.a, d.b, d.n], d.n)}","reduce":"_sum"},
    "st":{"map":"function(d){emit([d.a, d.b, d.n], d.n)}","reduce":"_stats"},
    "js":{"map":"function(d){emit([d.a, d.b, d.n], d.n)}",
          "reduce":"function(k, v, r){ return r ? sum(v) : v.length }"},
    "bad":{"map":"function(d){emit(d.a, d.a)}","reduce":"_sum"}}}"#;

/// Documents d0 to d9: n 0 to 9, a is x for the first six and y for the rest, b is n mod 2.
fn ten() -> IndexSnapshot {
    let documents: Vec<String> = (0..10)
        .map(|n| {
            let (a, b) = (if n < 6 { "x" } else { "y" }, n % 2);
            format!(r#"{{"_id":"d{n}","_rev":"1-a","n":{n},"a":"{a}","b":{b}}}"#)
        })
        .collect();
    view_of(&documents, DESIGN)
}

/// Numbers of the documents in the answer, with the offset.
fn numbers(view: &IndexSnapshot, question: &str) -> (u64, String) {
    let answer = ask(view, question).unwrap();
    let offset = answer.split("\"offset\":").nth(1).unwrap();
    let offset = offset.split(',').next().unwrap().parse().unwrap();
    let ids = answer.split("\"id\":\"d").skip(1);
    (offset, ids.map(|rest| &rest[..1]).collect())
}

#[test]
fn ranges_in_both_directions() {
    let view = ten();
    for (options, offset, expected) in [
        ("", 0, "0123456789"),
        ("descending=true", 0, "9876543210"),
        ("startkey=3&endkey=5", 3, "345"),
        ("startkey=3&endkey=5&inclusive_end=false", 3, "34"),
        ("startkey=5&endkey=3&descending=true", 4, "543"),
        (
            "startkey=5&endkey=3&descending=true&inclusive_end=false",
            4,
            "54",
        ),
        ("key=4", 4, "4"),
        ("key=4&startkey_docid=d4", 4, "4"),
        ("key=4&startkey_docid=d5", 5, ""),
        ("key=4&endkey_docid=d3", 4, ""),
        ("key=4&endkey_docid=d4", 4, "4"),
        ("key=4&endkey_docid=d4&inclusive_end=false", 4, ""),
        ("limit=3", 0, "012"),
        ("skip=8", 8, "89"),
        ("skip=8&limit=1", 8, "8"),
        ("skip=20", 10, ""),
        ("limit=0", 0, ""),
        ("descending=true&skip=1&limit=2", 1, "87"),
        ("keys=[7,1,7,99]", 7, "717"),
        ("keys=[7,1,5]&skip=1&limit=1", 8, "1"),
        ("startkey=4.5", 5, "56789"),
        ("endkey=\"a\"", 0, "0123456789"),
        ("startkey=\"a\"", 10, ""),
    ] {
        let question = format!("n?{options}");
        assert_eq!(
            numbers(&view, &question),
            (offset, expected.to_owned()),
            "{options}"
        );
    }
}

#[test]
fn groups_of_every_level() {
    let view = ten();
    let level = |level, expected: &str| {
        assert_eq!(short(&view, &format!("k?{level}")), expected, "{level}");
    };
    level("", r#"[{"key":null,"value":45}]"#);
    level("group_level=0", r#"[{"key":null,"value":45}]"#);
    level(
        "group_level=1",
        r#"[{"key":["x"],"value":15},{"key":["y"],"value":30}]"#,
    );
    level(
        "group_level=2",
        r#"[{"key":["x",0],"value":6},{"key":["x",1],"value":9},{"key":["y",0],"value":14},{"key":["y",1],"value":16}]"#,
    );
    level(
        "group_level=2&skip=1&limit=1",
        r#"[{"key":["x",1],"value":9}]"#,
    );
    level(
        "group_level=2&descending=true&limit=2",
        r#"[{"key":["y",1],"value":16},{"key":["y",0],"value":14}]"#,
    );
    level(
        "group_level=1&startkey=[\"x\",1]&endkey=[\"y\",0,6]",
        r#"[{"key":["x"],"value":9},{"key":["y"],"value":6}]"#,
    );
    level("group=true&limit=1", r#"[{"key":["x",0,0],"value":0}]"#);
    level("group_level=9&limit=1", r#"[{"key":["x",0,0],"value":0}]"#);
    level(
        "group=true&keys=[[\"y\",0,8],[\"z\"],[\"x\",1,1]]",
        r#"[{"key":["y",0,8],"value":8},{"key":["x",1,1],"value":1}]"#,
    );
    assert_eq!(
        short(&view, "st?group_level=1&limit=1"),
        r#"[{"key":["x"],"value":{"sum":15,"count":6,"min":0,"max":5,"sumsqr":55}}]"#
    );
}

#[test]
fn scripts_reduce_and_failures_are_shown() {
    let view = ten();
    assert_eq!(short(&view, "js"), r#"[{"key":null,"value":10}]"#);
    assert_eq!(
        short(&view, "js?group_level=1"),
        r#"[{"key":["x"],"value":6},{"key":["y"],"value":4}]"#
    );
    let failed = short(&view, "bad");
    assert!(
        failed.starts_with(r#"[{"key":null,"value":{"error":"builtin_reduce_error""#),
        "{failed}"
    );
}

#[test]
fn short_arrays_and_other_keys_are_groups_of_their_own() {
    let documents = [
        r#"{"_id":"0","_rev":"1-a","key":[]}"#,
        r#"{"_id":"1","_rev":"1-a","key":["a"]}"#,
        r#"{"_id":"2","_rev":"1-a","key":["a",1]}"#,
        r#"{"_id":"3","_rev":"1-a","key":["a",[2]]}"#,
        r#"{"_id":"4","_rev":"1-a","key":["b",1]}"#,
        r#"{"_id":"5","_rev":"1-a","key":{"a":1}}"#,
        r#"{"_id":"6","_rev":"1-a","key":"a"}"#,
    ];
    let design = r#"{"views":{"v":{"map":"function(d){emit(d.key)}","reduce":"_count"}}}"#;
    let view = view_of(&documents, design);
    assert_eq!(
        short(&view, "v?group_level=1"),
        r#"[{"key":"a","value":1},{"key":[],"value":1},{"key":["a"],"value":3},{"key":["b"],"value":1},{"key":{"a":1},"value":1}]"#
    );
    assert_eq!(
        short(&view, "v?group_level=1&descending=true&skip=1&limit=2"),
        r#"[{"key":["b"],"value":1},{"key":["a"],"value":3}]"#
    );
}

#[test]
fn strange_document_ids_are_given_back() {
    let ids = ["a", "a\u{1}", "a\u{0}b", "é😀", "a b"];
    let documents: Vec<String> = ids
        .iter()
        .map(|id| {
            format!(
                r#"{{"_id":{},"_rev":"1-a"}}"#,
                varve_json::to_string(&(*id).into())
            )
        })
        .collect();
    let design = r#"{"views":{"v":{"map":"function(d){emit(0); emit(0)}"}}}"#;
    let rows = view_of(&documents, design).query("v", &Default::default());
    let rows = rows.unwrap().into_rows().unwrap();
    let found: Vec<String> = rows.map(|row| row.unwrap().id()).collect();
    let mut expected: Vec<&str> = ids.iter().flat_map(|id| [*id; 2]).collect();
    expected.sort();
    assert_eq!(found, expected);
}
