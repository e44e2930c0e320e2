//! The recorded order of keys, through a whole view.

use crate::common::{ask, view_of};
use varve_json::{Value, parse, to_string};

const VIEWS: &str = r#""views":{
    "v":{"map":"function(d){emit(d.key,null)}"},
    "g":{"map":"function(d){emit(d.key,null)}","reduce":"_count"}}"#;

/// The array `member` of a JSON object.
fn items<'v>(value: &'v Value, member: &str) -> &'v [Value] {
    value.get(member).and_then(Value::as_array).unwrap()
}

#[test]
fn rows_and_groups_are_those_of_the_recorded_view() {
    let recorded = include_bytes!("../../testkit/recorded/couchdb-collation.json");
    let recorded = parse(recorded).unwrap();
    let ascending = items(&recorded, "ascending");
    let documents: Vec<String> = ascending
        .iter()
        .map(|row| {
            let (id, key) = (row.get("id").unwrap(), row.get("key").unwrap());
            let (id, key) = (to_string(id), to_string(key));
            format!(r#"{{"_id":{id},"_rev":"1-a","key":{key}}}"#)
        })
        .collect();
    let view = view_of(&documents, &format!("{{{VIEWS}}}"));
    let answer = parse(ask(&view, "v").unwrap().as_bytes()).unwrap();
    let ids = |rows: &[Value]| -> Vec<String> {
        rows.iter()
            .map(|row| row.get("id").and_then(Value::as_str).unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(items(&answer, "rows")), ids(ascending));
    let answer = parse(ask(&view, "g?group=true").unwrap().as_bytes()).unwrap();
    let counts: Vec<&Value> = items(&answer, "rows")
        .iter()
        .map(|row| row.get("value").unwrap())
        .collect();
    let expected: Vec<&Value> = items(&recorded, "group_counts").iter().collect();
    assert_eq!(counts, expected);
    let options = r#""options":{"collation":"raw"}"#;
    let raw = view_of(&documents, &format!("{{{options},{VIEWS}}}"));
    let answer = parse(ask(&raw, "v").unwrap().as_bytes()).unwrap();
    assert_eq!(ids(items(&answer, "rows")), ids(items(&recorded, "raw")));
}
