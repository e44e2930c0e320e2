//! Exchanges 109 to 144 of the recorded answers: the documents as they were then.

use crate::common::{ask, view_of};
use varve_views::IndexSnapshot;

const DESIGN: &str = r#"{"_id":"_design/t","views":{
    "v":{"map":"function(doc){ if (doc.v !== undefined) emit(doc.v, doc._id); }"},
    "s":{"map":"function(doc){ if (typeof doc.v === 'number') { emit(['n', doc.v % 2], doc.v); } }","reduce":"_stats"},
    "c":{"map":"function(doc){emit(null,1)}","reduce":"_count"},
    "j":{"map":"function(doc){emit(1,1)}","reduce":"function(k,v,r){return sum(v)}"},
    "m":{"map":"function(doc){emit(1,{_id:'b1'}); emit(1,2)}"},
    "err":{"map":"function(doc){ throw({bad: 1}) }"}}}"#;

fn recorded_view() -> IndexSnapshot {
    view_of(
        &[
            r#"{"_id":"a","_rev":"4-561260d9416e1563c49c84db5abe313b","back":true}"#,
            r#"{"_id":"acopy","_rev":"1-5a3ec46cc293d2c804e885c39a800919","x":2}"#,
            r#"{"_id":"bad","_rev":"1-967a00dff5e02add41819138abb3284d"}"#,
            r#"{"_id":"c","_rev":"2-cccccccccccccccccccccccccccccccc","v":"c"}"#,
            r#"{"_id":"new","_rev":"2-9a2f9bd4979924793802fd6cb23bcff3"}"#,
            r#"{"_id":"p1","_rev":"1-731bef401491606a3b246ed178e697c1","n":1}"#,
            r#"{"_id":"b1","_rev":"2-731bef401491606a3b246ed178e697c1","_deleted":true,"v":1}"#,
            r#"{"_id":"_design/t","_rev":"1-a0e7274feea7e7bcfe08e088a4fc4540","v":1}"#,
        ],
        DESIGN,
    )
}

const C: &str = r#"{"id":"c","key":"c","value":"c"}"#;

#[test]
fn answers_are_those_that_were_recorded() {
    let view = recorded_view();
    let rows = |total, offset, rows: &str| {
        format!("{{\"total_rows\":{total},\"offset\":{offset},\"rows\":[{rows}]}}")
    };
    for (question, expected) in [
        ("v", rows(1, 0, C)),
        ("v?limit=1", rows(1, 0, C)),
        ("v?key=1", rows(1, 0, "")),
        ("v?startkey=1&endkey=\"z\"", rows(1, 0, C)),
        ("v?descending=true", rows(1, 0, C)),
        ("v?keys=[2,1,7]", rows(1, 0, "")),
        ("s", "{\"rows\":[]}".to_owned()),
        ("s?group=true", "{\"rows\":[]}".to_owned()),
        ("s?reduce=false", rows(0, 0, "")),
        ("s?startkey=[\"n\",1]", "{\"rows\":[]}".to_owned()),
        (
            "s?keys=[[\"n\",0],[\"n\",1]]&group=true",
            "{\"rows\":[]}".to_owned(),
        ),
        ("c", r#"{"rows":[{"key":null,"value":6}]}"#.to_owned()),
        (
            "c?group=true",
            r#"{"rows":[{"key":null,"value":6}]}"#.to_owned(),
        ),
        ("j", r#"{"rows":[{"key":null,"value":6}]}"#.to_owned()),
        ("err", rows(0, 0, "")),
        ("v?update_seq=true&limit=0", rows(1, 0, "")),
        ("v?limit=1&skip=1&sorted=false", rows(1, 1, C)),
        ("v?startkey_docid=b2&startkey=2", rows(1, 0, C)),
        ("v?inclusive_end=false&endkey=2", rows(1, 0, "")),
        ("v?keys=[\"a\",1]", rows(1, 0, "")),
    ] {
        assert_eq!(ask(&view, question).unwrap(), expected, "{question}");
    }
}

/// Exchange 131: rows with equal keys come in the order of their values.
#[test]
fn rows_of_one_document_with_one_key_are_ordered_by_value() {
    let ids = ["a", "acopy", "bad", "c", "new", "p1"];
    let rows: Vec<String> = ids
        .iter()
        .map(|id| {
            format!(
                "{{\"id\":\"{id}\",\"key\":1,\"value\":2}},\
                 {{\"id\":\"{id}\",\"key\":1,\"value\":{{\"_id\":\"b1\"}}}}"
            )
        })
        .collect();
    let expected = format!(
        "{{\"total_rows\":12,\"offset\":0,\"rows\":[{}]}}",
        rows.join(",")
    );
    assert_eq!(ask(&recorded_view(), "m").unwrap(), expected);
}

/// Exchange 132: a value with `_id` names the document to be shown.
#[test]
fn rows_name_the_documents_that_are_shown_with_them() {
    let rows = recorded_view().query("m", &Default::default()).unwrap();
    let linked: Vec<_> = rows
        .into_rows()
        .unwrap()
        .take(2)
        .map(|row| row.unwrap().linked().0)
        .collect();
    assert_eq!(linked, ["a", "b1"]);
}

/// Exchange 134.
#[test]
fn a_view_that_is_not_there_is_named() {
    let error = ask(&recorded_view(), "nope").unwrap_err();
    assert!(matches!(error, varve_views::ViewError::NoView { name } if name == "nope"));
}
