use super::said;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use varve_js::{
    Compilation, Emission, FilterEngine, JsError, Limits, MapEngine, MapFunctions, ReduceEngine,
    check_source,
};

/// Short enough for a test, long enough for the good documents.
pub fn tight() -> Limits {
    Limits {
        time: Duration::from_millis(200),
        memory: 8 << 20,
        stack: 256 << 10,
    }
}

/// An engine whose function fails as `body` does for documents with `bad`, and emits for others.
fn engine(body: &str, limits: Limits) -> MapEngine {
    let source = format!("function (doc) {{ if (doc.bad) {{ {body} }} emit(doc.n); }}");
    MapEngine::compile(&[&source], limits).unwrap()
}

/// The error of the bad document; checks that the engine then still works.
fn after_bad(body: &str, limits: Limits) -> JsError {
    let mut engine = engine(body, limits);
    assert_eq!(said(&mut engine, r#"{"n":1}"#), ["0 1 null"]);
    let error = engine.map(br#"{"bad":true}"#).unwrap_err();
    assert_eq!(said(&mut engine, r#"{"n":2}"#), ["0 2 null"], "{body}");
    error
}

/// The error of a bad document, from an engine that may be of no more use then.
fn after_first(body: &str) -> JsError {
    engine(body, tight()).map(br#"{"bad":true}"#).unwrap_err()
}

#[test]
fn an_endless_loop_is_stopped() {
    for body in [
        "while (true) {}",
        "while (true) { try { while (true) {} } catch (e) {} finally { continue; } }",
        "/(a+)+$/.test('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab');",
    ] {
        assert_eq!(
            after_bad(body, tight()),
            JsError::Time {
                limit: tight().time
            },
            "{body}"
        );
    }
}

#[test]
fn a_checkpoint_ends_a_call_and_no_other() {
    let sources = ["function (doc) { while (doc.bad) {} emit(doc.n); }"];
    let how = Compilation::Off;
    let mut functions = MapFunctions::compile(&sources, None, Limits::default(), how).unwrap();
    let calls = AtomicUsize::new(0);
    functions.set_checkpoint(Arc::new(move || {
        match calls.fetch_add(1, Ordering::Relaxed) {
            3 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }));
    assert_eq!(functions.map(br#"{"n":1}"#).unwrap().count(), 1);
    let error = functions.map(br#"{"bad":true}"#).unwrap_err();
    assert_eq!(error, JsError::Interrupted);
    assert_eq!(functions.map(br#"{"n":2}"#).unwrap().count(), 1);
}

#[test]
fn an_allocation_bomb_is_stopped() {
    let limits = Limits {
        time: Duration::from_secs(60),
        ..tight()
    };
    for body in [
        "var a = []; while (true) a.push(new Array(100).join('x') + a.length);",
        "var s = 'x'; while (true) { s += s; s.indexOf('y'); }",
        "var b = new ArrayBuffer(1 << 30); emit(b.byteLength);",
        "while (true) emit('many', 'rows');",
    ] {
        assert_eq!(
            after_bad(body, limits),
            JsError::Memory {
                limit: tight().memory
            },
            "{body}"
        );
    }
}

#[test]
fn deep_recursion_fails_the_function_for_that_document() {
    let mut engine = engine("function f() { return f() + 1; } f();", tight());
    let answer = said(&mut engine, r#"{"bad":true}"#);
    assert!(
        answer[0].starts_with("0 !\"") && answer[0].contains("stack"),
        "{answer:?}"
    );
    assert_eq!(said(&mut engine, r#"{"n":1}"#), ["0 1 null"]);
}

#[test]
fn a_document_that_nests_too_deep_is_an_error() {
    let mut engine = engine("", tight());
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let error = engine.map(deep.as_bytes()).unwrap_err();
    assert_eq!(
        error,
        JsError::Stack {
            limit: tight().stack
        }
    );
    assert_eq!(said(&mut engine, r#"{"n":1}"#), ["0 1 null"]);
}

#[test]
fn a_document_larger_than_the_heap_is_an_error() {
    let mut engine = engine("", tight());
    let large = format!("[{}1]", "1,".repeat(4 << 20));
    let error = engine.map(large.as_bytes()).unwrap_err();
    assert_eq!(
        error,
        JsError::Memory {
            limit: tight().memory
        }
    );
}

#[test]
fn compiling_and_the_other_kinds_have_the_same_limits() {
    let time = Err(JsError::Time {
        limit: tight().time,
    });
    let endless = "function () { while (true) {} }";
    assert_eq!(
        check_source("function (doc) {}; while (true) {}", None, tight()),
        time
    );
    let mut filter = FilterEngine::compile(endless, b"{}", tight()).unwrap();
    assert_eq!(filter.passes(b"{}", b"{}").map(|_| ()), time);
    let mut reduce = ReduceEngine::compile(&[endless], tight()).unwrap();
    assert_eq!(reduce.reduce(0, b"[]", b"[]", &mut String::new()), time);
}

#[test]
fn what_async_functions_leave_is_run_within_the_same_time() {
    let body = "(async function f() { await 0; emit(1); f(); })();";
    assert_eq!(
        after_first(body),
        JsError::Time {
            limit: tight().time
        }
    );
    let source = "function (doc) { (async function () { await 0; emit('late'); })(); emit(1); }";
    let mut engine = MapEngine::compile(&[source], tight()).unwrap();
    for _ in 0..20_000 {
        assert_eq!(said(&mut engine, "{}"), ["0 1 null"]);
    }
}

#[test]
fn garbage_with_cycles_does_not_fill_the_heap() {
    let mut engine = engine("", tight());
    let source = "function (doc) { var a = {big: new Array(1000).join('x')}; a.a = a; emit(1); }";
    let mut cyclic = MapEngine::compile(&[source], tight()).unwrap();
    for _ in 0..50_000 {
        assert_eq!(said(&mut cyclic, "{}").len(), 1);
    }
    for n in 0..50_000 {
        assert_eq!(said(&mut engine, &format!("{{\"n\":{n}}}")).len(), 1);
    }
}

#[test]
fn walks_over_endless_arrays_of_holes_end() {
    let walks = [
        "a.reverse()",
        "a.join()",
        "a.sort()",
        "a.slice(1)",
        "a.concat(1)",
        "[].concat(a)",
        "a.shift()",
        "a.unshift(1)",
        "a.splice(1, 1)",
        "a.flat()",
        "[[a]].flat(2)",
        "a.toString()",
        "'' + a",
        "a.copyWithin(1, 2)",
        "a.toLocaleString()",
        "a.indexOf(1)",
        "a.forEach(log)",
        "JSON.stringify(a)",
    ];
    for walk in walks {
        let source =
            format!("function (doc) {{ var a = []; a.length = 4294967295; {walk}; emit(1); }}");
        let mut engine = MapEngine::compile(&[&source], tight()).unwrap();
        let rows = engine.map(b"{}").map(|said| {
            said.filter(|said| matches!(said, Emission::Row { .. }))
                .count()
        });
        assert!(!matches!(rows, Ok(1)), "{walk}: {rows:?}");
    }
    let source = "function (doc) { emit([3, 1].concat([2], 4).sort().slice(1).reverse().join()); }";
    assert_eq!(super::one(source, "{}"), ["0 \"4,3,2\" null"]);
}
