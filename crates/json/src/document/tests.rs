//! Documents read with and without a tree of values.

use super::{Document, Request, Terms};
use crate::{Body, JsonError, Object, Value, parse_object};

fn is_special(name: &str) -> bool {
    name.starts_with('_') && name != "_kept"
}

/// Reads a document with and without a tree of values.
fn both(text: &str) -> Document {
    let read = Document::parse(text.as_bytes(), is_special).unwrap();
    let object = parse_object(text.as_bytes()).unwrap();
    assert_eq!(read, Document::new(object, is_special), "{text}");
    read
}

#[test]
fn bodies_are_what_a_tree_of_values_gives() {
    for text in [
        "{}",
        r#" { "a" : [ ] , "b" : { } , "_id" : "x" } "#,
        r#"{"bytes":[0,255,7],"no":[0,256],"no2":[1,-1],"no3":[1,[2],3],"no4":[1,1.0],"no5":[[],1]}"#,
        r#"{"_id":"a","_kept":[1,{"_id":2}],"n":null,"t":[true,false],"_rev":"1-a"}"#,
        r#"{"escaped\"\u00e9\n":"\ud83d\ude00\/\t","plain é":"\\"}"#,
        r#"{"i":[-0,0,1,-1,2147483647,-2147483649,9223372036854775807,-9223372036854775809]}"#,
        r#"{"f":[0.0,-0.0,1.0,1.50,0.000001,0.0000001,1e3,1E-9,123456789012345.5,12345678901234.5,1e21]}"#,
        r#"{"f":[100000000000000000000.0,0.1234567890123456,0.10,10.0,5e-324,-7.25,1.0e5,00.5]}"#
            .replace("00.5", "0.5")
            .as_str(),
    ] {
        both(text);
    }
    let long: Vec<_> = (0..70_000)
        .map(|number| (number % 256).to_string())
        .collect();
    for count in [65_535, 65_536] {
        both(&format!(r#"{{"list":[{}]}}"#, long[..count].join(",")));
    }
}

#[test]
fn of_repeated_names_the_last_member_stays() {
    let document = both(r#"{"a":1,"b":{"c":1,"d":2,"c":3},"a":-0.0,"_id":"x","_id":"y"}"#);
    assert_eq!(document.body.text(), br#"{"b":{"d":2,"c":3},"a":0.0}"#);
    assert_eq!(document.special, [("_id".to_owned(), "y".into())]);
    let document = both(r#"{"_id":"x","b":1,"_id":"y"}"#);
    assert_eq!(document.special, [("_id".to_owned(), "y".into())]);
    let many: Vec<_> = (0..40).map(|n| format!(r#""n{}":{n}"#, n % 39)).collect();
    let document = both(&format!("{{{}}}", many.join(",")));
    assert_eq!(document.body.to_object().unwrap().len(), 39);
    both(r#"{"a":{"a":{"a":1}},"b":{"a":1}}"#);
}

#[test]
fn errors_are_those_of_reading_values() {
    for text in [
        "",
        "[",
        "{",
        "{1",
        r#"{"a"}"#,
        r#"{"a":}"#,
        r#"{"a":1,}"#,
        r#"{"a":[1,]}"#,
        r#"{"a":[1}"#,
        r#"{"a":01}"#,
        r#"{"a":-}"#,
        r#"{"a":1e999}"#,
        r#"{"a":nul}"#,
        r#"{"a":"\ud800"}"#,
        "{\"a\":\"\n\"}",
        r#"{"a":1} x"#,
        r#"{"a":{"b":1]}"#,
        "[]",
        "3",
        r#"{"_a":[}"#,
        r#"{"a":1,"a":}"#,
    ] {
        let wanted = parse_object(text.as_bytes()).unwrap_err();
        let found = Document::parse(text.as_bytes(), is_special).unwrap_err();
        assert_eq!(found, wanted, "{text}");
    }
    let deep = format!(r#"{{"a":{}1{}}}"#, "[".repeat(2499), "]".repeat(2499));
    assert_eq!(both(&deep).body.text(), deep.as_bytes());
    let deeper = format!(r#"{{"a":{}"#, "[".repeat(2500));
    let error = Document::parse(deeper.as_bytes(), is_special).unwrap_err();
    assert_eq!(error, JsonError::TooDeep { at: 2504 });
}

#[test]
fn requests_are_read_in_any_order_of_their_members() {
    let read = |text: &str| Request::parse(text.as_bytes(), "docs", is_special, Terms::AtOnce);
    let request = read(r#" {"a":1,"docs":[{"_id":"x","b":[1]},7,{}],"new_edits":false} "#).unwrap();
    assert_eq!(request.rest.get("new_edits"), Some(&Value::Bool(false)));
    let documents = request.documents.unwrap();
    let first = documents[0].as_ref().unwrap();
    assert_eq!(first.body.text(), br#"{"b":[1]}"#);
    assert_eq!(
        first.body,
        Body::from(&parse_object(br#"{"b":[1]}"#).unwrap())
    );
    assert_eq!(documents[1], Err(Value::from(7_i64)));
    assert_eq!(
        documents[2].as_ref().unwrap().body,
        Body::from(&Object::new())
    );
    // The last member of a name counts.
    let request = read(r#"{"docs":[{}],"docs":5}"#).unwrap();
    assert!(request.documents.is_none() && request.rest.get("docs").is_some());
    let request = read(r#"{"docs":5,"docs":[]}"#).unwrap();
    assert!(request.documents.unwrap().is_empty() && request.rest.get("docs").is_none());
    assert_eq!(read("[1]").unwrap().rest, Value::Array(vec![1_i64.into()]));
    for text in [
        "{",
        r#"{"docs":[{]}"#,
        r#"{"docs":[{},]}"#,
        r#"{"docs":[]"#,
        r#"{"docs":[]} 1"#,
        "{}{",
    ] {
        let wanted = crate::parse(text.as_bytes()).unwrap_err();
        assert_eq!(read(text).unwrap_err(), wanted, "{text}");
    }
    let at = "{\"docs\":[{\"a\":".len() + 2497;
    let deep = format!("{{\"docs\":[{{\"a\":{}", "[".repeat(2498));
    assert_eq!(read(&deep).unwrap_err(), JsonError::TooDeep { at });
}

#[test]
fn many_small_documents_take_no_more_memory_than_their_text_allows() {
    let list = |count: usize, item: &str| format!("{{\"docs\":[{}]}}", vec![item; count].join(","));
    let read =
        |text: &str| Request::parse(text.as_bytes(), "docs", |_| false, Terms::AtOnce).map(drop);
    assert_eq!(read(&list(100_000, "{}")), Ok(()));
    let refused = read(&list(200_000, "{}"));
    assert!(
        matches!(refused, Err(JsonError::TooLarge { .. })),
        "{refused:?}"
    );
    let names = format!("{{{}}}", vec!["\"\":0"; 3_000_000].join(","));
    let refused = Document::parse(names.as_bytes(), |_| false).map(drop);
    assert!(
        matches!(refused, Err(JsonError::TooLarge { .. })),
        "{refused:?}"
    );
}
