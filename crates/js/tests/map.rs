use super::{one, said};
use proptest::prelude::*;
use varve_js::{JsError, Limits, MapEngine, check_source};

#[test]
fn emit_gives_rows_in_order_as_json() {
    let source = "function (doc) { emit(doc._id, doc.n); emit([1, {a: null}], 'x\\ny'); emit(); }";
    assert_eq!(
        one(source, r#"{"_id":"a","n":1.5}"#),
        [r#"0 "a" 1.5"#, r#"0 [1,{"a":null}] "x\ny""#, "0 null null"]
    );
}

#[test]
fn what_json_cannot_say_becomes_null() {
    let source = "function (doc) { emit(undefined, NaN); emit(function () {}, [undefined, -0]); \
                  emit(new Date(0), {f: function () {}}); }";
    assert_eq!(
        one(source, "{}"),
        [
            "0 null null",
            "0 null [null,0]",
            r#"0 "1970-01-01T00:00:00.000Z" {}"#
        ]
    );
}

#[test]
fn text_comes_back_as_it_went_in() {
    let source = "function (doc) { emit(doc.a, doc.a.length); }";
    let rows = |document| one(source, document);
    assert_eq!(rows("{\"a\":\"é日😀\u{2028}\"}"), ["0 \"é日😀\u{2028}\" 5"]);
    assert_eq!(rows(r#"{"a":"\u0000\ud800"}"#), [r#"0 "\u0000\ud800" 2"#]);
    assert_eq!(rows(r#"{"a":""}"#), [r#"0 "" 0"#]);
}

#[test]
fn numbers_are_those_of_the_language() {
    let source = "function (doc) { for (var i in doc.n) emit(doc.n[i]); }";
    assert_eq!(
        one(
            source,
            r#"{"n":[1.0,-0.0,1e2,123456789012345678901234567890,5e-324,0.1]}"#
        ),
        ["1", "0", "100", "1.2345678901234568e+29", "5e-324", "0.1"]
            .map(|key| format!("0 {key} null"))
    );
}

#[test]
fn a_function_that_throws_loses_its_rows_and_only_its_own() {
    let sources = [
        "function (doc) { emit(0); throw({bad: 1}); }",
        "function (doc) { emit(1); }",
        "function (doc) { doc.missing.member; }",
        "function (doc) { var o = {}; o.o = o; emit(o); }",
    ];
    let mut engine = MapEngine::compile(&sources, Limits::default()).unwrap();
    let said = said(&mut engine, "{}");
    assert_eq!(said[..2], [r#"0 !"{\"bad\":1}""#, "1 1 null"]);
    assert!(
        said[2].starts_with("2 !\"TypeError: cannot read property 'member'"),
        "{said:?}"
    );
    assert!(said[3].starts_with("3 !\"TypeError: circular"), "{said:?}");
}

#[test]
fn a_thrown_null_is_no_lack_of_memory() {
    let sources = [
        "function (doc) { emit(0); throw null; }",
        "function (doc) { emit(1); throw (null); }",
        "function (doc) { emit(2); }",
    ];
    let mut engine = MapEngine::compile(&sources, Limits::default()).unwrap();
    assert_eq!(
        said(&mut engine, "{}"),
        [r#"0 !"null""#, r#"1 !"null""#, "2 2 null"]
    );
}

#[test]
fn helpers_of_the_peer_are_there() {
    let source = "function (doc) { log('hello'); log({a: 1}); emit(isArray([]), sum([1, 2, 3])); \
                  emit(toJSON({a: 1}), JSON.stringify(JSON.parse('[1]'))); }";
    assert_eq!(
        one(source, "{}"),
        [
            r#"log "hello""#,
            r#"log "{\"a\":1}""#,
            "0 true 6",
            r#"0 "{\"a\":1}" "[1]""#
        ]
    );
}

#[test]
fn sources_come_in_every_dress() {
    let sources = [
        "function(doc){emit(1)}",
        "  // comment\n/* another */ function (doc) { emit(1); };;  // end",
        "function map(doc) {\n  emit(1);\n}\n;\n",
        "(function (doc) { emit(1); })",
        "(doc) => { emit(1); }",
        "doc => emit(1) // no semicolon",
    ];
    for source in sources {
        assert_eq!(one(source, "{}"), ["0 1 null"], "{source}");
    }
}

#[test]
fn a_source_that_is_no_function_is_refused_in_the_words_of_the_peer() {
    let refused = |source: &str| {
        check_source(source, None, Limits::default())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused("function(doc){"),
        "SyntaxError: unexpected token in expression: '' (function(doc){)"
    );
    for source in ["1", "", "{}", "function (doc) {}; 5", "emit = 5"] {
        assert!(
            check_source(source, None, Limits::default()).is_err(),
            "{source}"
        );
    }
    let second = MapEngine::compile(&["function(d){}", "nope"], Limits::default()).unwrap_err();
    assert!(
        matches!(second, JsError::Compile { index: 1, .. }),
        "{second:?}"
    );
}

#[test]
fn a_document_that_is_not_json_is_an_error_and_the_engine_lives_on() {
    let mut engine =
        MapEngine::compile(&["function (doc) { emit(doc.a); }"], Limits::default()).unwrap();
    for document in [&b"{"[..], b"", b"\xff", b"{\"a\":1}\0"] {
        let error = engine.map(document).unwrap_err();
        assert!(
            matches!(error, JsError::Argument { .. } | JsError::Thrown { .. }),
            "{error:?}"
        );
    }
    assert_eq!(said(&mut engine, r#"{"a":2}"#), ["0 2 null"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A row holds the document's text unchanged, and never the frame around the rows.
    #[test]
    fn any_string_passes_through(text in any::<String>()) {
        let literal: String = text.chars().flat_map(|c| {
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().map(|u| format!("\\u{u:04x}")).collect::<Vec<_>>()
        }).collect();
        let source = "function (doc) { emit(doc.a, doc.a); log(doc.a); emit(JSON.parse(toJSON(doc.a))); }";
        let said = one(source, &format!("{{\"a\":\"{literal}\"}}"));
        prop_assert_eq!(said.len(), 3);
        let key = said[2].strip_prefix("0 ").and_then(|s| s.strip_suffix(" null")).unwrap();
        prop_assert_eq!(&said[0], &format!("0 {key} {key}"));
        prop_assert_eq!(&said[1], &format!("log {key}"));
    }
}

#[test]
fn a_syntax_error_says_its_line() {
    let reason = |source: &str| {
        let error = check_source(source, None, Limits::default()).unwrap_err();
        let JsError::Compile { reason, .. } = error else {
            panic!("{error:?}")
        };
        reason
    };
    for (source, line) in [
        ("function (doc) {\n  emit(doc.a);\n  emit(;\n}", 3),
        ("// first\nfunction (doc) {\n\n\n  var x y;\n}", 5),
        ("function (doc) {\n", 1),
    ] {
        let reason = reason(source);
        let expected = format!(" at line {line}");
        assert!(
            reason.starts_with("SyntaxError") && reason.ends_with(&expected),
            "{reason}"
        );
    }
    assert!(!reason("function (doc) {").contains("line"));
}
