//! The order of keys, through a whole view.

use crate::common::{ask, short, view_of};
use varve_json::{Value, parse, to_string};

const DESIGN: &str = r#"{"views":{
    "v":{"map":"function(d){emit(d.key,null)}"},
    "g":{"map":"function(d){emit(d.key,null)}","reduce":"_count"}}}"#;

/// Some recorded keys of every kind in CouchDB's order; `json` tests all of them.
const ASCENDING: [&str; 40] = [
    "null",
    "false",
    "true",
    "-10000000000",
    "-1",
    "0",
    "0.1",
    "1",
    "1.5",
    "2",
    "10",
    "1.2345678901234568e+29",
    r#"" ""#,
    r#""_""#,
    r#""-""#,
    r#""$""#,
    r#""0""#,
    r#""10""#,
    r#""2""#,
    r#""a""#,
    r#""A""#,
    r#""á""#,
    r#""aa""#,
    r#""b""#,
    r#""B""#,
    r#""日本""#,
    "[]",
    "[null]",
    "[0]",
    r#"["a"]"#,
    r#"["a",null]"#,
    r#"["a","b"]"#,
    r#"["A"]"#,
    r#"["b"]"#,
    "[[]]",
    "[{}]",
    "{}",
    r#"{"a":1}"#,
    r#"{"a":2}"#,
    r#"{"b":2,"a":1}"#,
];

#[test]
fn rows_come_in_the_recorded_order_and_equal_keys_are_one_group() {
    // Ids in the opposite order, and one key twice in two spellings.
    let mut documents: Vec<String> = ASCENDING
        .iter()
        .enumerate()
        .map(|(at, key)| format!(r#"{{"_id":"{:02}","_rev":"1-a","key":{key}}}"#, 90 - at))
        .collect();
    documents.push(r#"{"_id":"zero","_rev":"1-a","key":-0.0}"#.to_owned());
    let view = view_of(&documents, DESIGN);
    let answer = parse(ask(&view, "v").unwrap().as_bytes()).unwrap();
    let rows = answer.get("rows").and_then(Value::as_array).unwrap();
    let keys: Vec<String> = rows
        .iter()
        .map(|row| to_string(row.get("key").unwrap()))
        .collect();
    let mut expected: Vec<&str> = ASCENDING.to_vec();
    expected.insert(6, "0");
    assert_eq!(keys, expected);
    let groups = short(&view, "g?group=true");
    assert_eq!(groups.matches("\"value\":1").count(), ASCENDING.len() - 1);
    assert_eq!(groups.matches("\"value\":2").count(), 1, "{groups}");
}
