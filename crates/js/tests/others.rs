//! Reduce, filter and validation functions.

use varve_js::{FilterEngine, JsError, Limits, ReduceEngine, Refusal, ValidateEngine, Verdict};

#[test]
fn reduce_and_rereduce_get_their_arguments() {
    let sources = [
        "function (k, v, r) { return r ? sum(v) : sum(v) + k.length; }",
        "function (keys, values, rereduce) { return [keys, values, rereduce]; }",
        "function () {}",
        "function () { throw 'no'; }",
    ];
    let mut engine = ReduceEngine::compile(&sources, Limits::default()).unwrap();
    let mut results = String::from("kept ");
    engine
        .reduce(0, br#"[["a","id"],["b","id"]]"#, b"[1,2]", &mut results)
        .unwrap();
    results.push(' ');
    engine.rereduce(0, b"[5,7]", &mut results).unwrap();
    results.push(' ');
    engine
        .reduce(1, br#"[["a","id"]]"#, b"[1]", &mut results)
        .unwrap();
    results.push(' ');
    engine.rereduce(1, b"[1]", &mut results).unwrap();
    results.push(' ');
    engine.rereduce(2, b"[1]", &mut results).unwrap();
    assert_eq!(
        results,
        r#"kept 5 12 [[["a","id"]],[1],false] [null,[1],true] null"#
    );
    let thrown = engine.rereduce(3, b"[]", &mut results);
    assert_eq!(
        thrown,
        Err(JsError::Thrown {
            message: "no".into()
        })
    );
}

#[test]
fn filters_see_document_and_request() {
    let source = "function(doc, req){ req.seen = 1; return doc.v == req.query.v; }";
    let mut filter = FilterEngine::compile(source, b"{}", Limits::default()).unwrap();
    let request = br#"{"query":{"v":"2"}}"#;
    assert_eq!(filter.passes(br#"{"v":2}"#, request), Ok(true));
    assert_eq!(filter.passes(br#"{"v":3}"#, request), Ok(false));
    assert_eq!(filter.passes(b"{}", request), Ok(false));
    let error = filter.passes(b"{}", b"{}").unwrap_err();
    assert!(error.to_string().starts_with("TypeError: "), "{error}");
}

#[test]
fn validation_allows_refuses_or_fails() {
    // Recorded: exchanges 156 and 157.
    let source = "function(n,o,u,s){ if (n.forbid) throw({forbidden: 'no: ' + n.forbid}); \
                  if (n.unauth) throw({unauthorized: 'who'}); if (n.odd) throw({forbidden: {a: 1}}); \
                  if (n.oops) n.a.b.c; if (o && o.v > n.v) throw({forbidden: u.name + s.db}); }";
    let mut engine = ValidateEngine::compile(source, b"{}", Limits::default()).unwrap();
    let mut ask = |document: &[u8], previous: Option<&[u8]>| {
        engine.validate(document, previous, br#"{"name":"ann"}"#, br#"{"db":"x"}"#)
    };
    let forbidden = |text: &str| Ok(Verdict::Refused(Refusal::Forbidden(text.into())));
    assert_eq!(ask(b"{}", None), Ok(Verdict::Allowed));
    assert_eq!(ask(br#"{"forbid":"me"}"#, None), forbidden("no: me"));
    let unauthorized = Verdict::Refused(Refusal::Unauthorized("who".into()));
    assert_eq!(ask(br#"{"unauth":1}"#, None), Ok(unauthorized));
    assert_eq!(ask(br#"{"odd":1}"#, None), forbidden(r#"{"a":1}"#));
    assert_eq!(ask(br#"{"v":1}"#, Some(br#"{"v":2}"#)), forbidden("annx"));
    assert!(matches!(
        ask(br#"{"oops":1}"#, None),
        Err(JsError::Thrown { .. })
    ));
}
