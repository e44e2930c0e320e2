//! CommonJS modules.

use super::said;
use varve_js::{FilterEngine, JsError, Limits, MapEngine, ValidateEngine, Verdict};

/// The engine of one map function with the modules of `root`.
fn with_modules(source: &str, root: &str) -> MapEngine {
    MapEngine::with_modules(&[source], Some(root.as_bytes()), Limits::default()).unwrap()
}

/// Output of a map function that emits the value of `expression`.
fn value_of(expression: &str, root: &str) -> String {
    let mut engine = with_modules(&format!("function (doc) {{ emit({expression}) }}"), root);
    let first = said(&mut engine, r#"{"n":1}"#);
    assert_eq!(said(&mut engine, r#"{"n":1}"#), first, "{expression}");
    first.join(";")
}

const ROOT: &str = r#"{"views":{"lib":{
    "plain": "exports.double = function (n) { return 2 * n; };",
    "whole": "module.exports = function () { return module.id; };",
    "near": "exports.n = require('./plain').double(4) + require('../lib/plain').double(1);",
    "far": "exports.n = require('views/lib/near').n + require('./deep/er').n;",
    "deep": {"er": "exports.n = require('../plain').double(50) + require('./est');", "est": "module.exports = 1000;"},
    "one": "exports.early = 1; var two = require('./two'); exports.late = two.sees;",
    "two": "exports.sees = require('./one').early + ':' + require('./one').late;",
    "forgot": "helper = function (n) { return n + 1; }; exports.next = function (n) { return helper(n); };",
    "counts": "var n = 0; exports.next = function () { return ++n; };",
    "self": "exports.same = require('views/lib/self') === exports;",
    "broken": "exports.x = ;",
    "throws": "throw new Error('at once');",
    "up": "require('../../../x')"
}}}"#;

#[test]
fn modules_are_found_by_whole_and_relative_paths() {
    for (expression, expected) in [
        ("require('views/lib/plain').double(doc.n)", "0 2 null"),
        ("require('./views/lib/plain').double(doc.n)", "0 2 null"),
        (
            "require('views/lib/whole')()",
            r#"0 "views/lib/whole" null"#,
        ),
        ("require('views/lib/near').n", "0 10 null"),
        ("require('views/lib/far').n", "0 1110 null"),
        ("require('views/lib/one').late", r#"0 "1:undefined" null"#),
        ("require('views/lib/self').same", "0 true null"),
        ("require('views/lib/forgot').next(1)", "0 2 null"),
    ] {
        assert_eq!(value_of(expression, ROOT), expected, "{expression}");
    }
}

#[test]
fn what_cannot_be_required_fails_the_function_and_says_why() {
    for (path, expected) in [
        ("views/lib/none", r#"there is no \"views/lib/none\""#),
        ("views/lib/plain/x", "there is no"),
        ("views/lib", "a module must be a string"),
        ("views/lib/constructor", "there is no"),
        ("views//lib", "there is no"),
        ("../x", "leads out"),
        ("views/lib/up", "leads out"),
        ("views/lib/broken", "SyntaxError"),
        ("views/lib/throws", "at once"),
    ] {
        let said = value_of(&format!("require('{path}')"), ROOT);
        assert!(
            said.starts_with("0 !") && said.contains(expected),
            "{path}: {said}"
        );
    }
    let alone = "function (doc) { emit(require('views/lib/plain')) }";
    assert!(super::one(alone, "{}")[0].contains("there is no"));
}

#[test]
fn chains_of_modules_end_where_the_stack_does() {
    let modules: Vec<_> = (0..20_000)
        .map(|n| format!(r#""m{n}":"module.exports = require('./m{}');""#, n + 1))
        .collect();
    let root = format!("{{{}}}", modules.join(","));
    let said = value_of("require('m0')", &root);
    assert!(said.contains("stack"), "{said}");
}

#[test]
fn functions_cannot_change_the_design_document() {
    let design = br#"{"text":"a","list":[1],"m":"module.exports = 'module';"}"#;
    let source = "function (doc, req) {
        this.text = 'b'; try { this.list.push(2) } catch (e) {}
        return this.text + this.list + require('m') === 'a1module';
    }";
    let mut filter = FilterEngine::compile(source, design, Limits::default()).unwrap();
    for _ in 0..2 {
        assert_eq!(filter.passes(b"{}", b"{}"), Ok(true));
    }
    let source = "function (doc) { if (doc.kind !== require('m')) throw {forbidden: this.text} }";
    let mut validate = ValidateEngine::compile(source, design, Limits::default()).unwrap();
    let mut ask = |doc: &str| {
        validate
            .validate(doc.as_bytes(), None, b"{}", b"{}")
            .unwrap()
    };
    assert_eq!(ask(r#"{"kind":"module"}"#), Verdict::Allowed);
    assert_ne!(ask("{}"), Verdict::Allowed);
}

#[test]
fn modules_have_the_limits_of_the_call_that_loads_them() {
    let limits = Limits {
        time: std::time::Duration::from_millis(200),
        ..Limits::default()
    };
    let root = br#"{"m":"while (true) {}"}"#;
    let source = "function (doc) { require('m') }";
    let mut engine = MapEngine::with_modules(&[source], Some(root), limits).unwrap();
    let error = engine.map(b"{}").unwrap_err();
    assert_eq!(error, JsError::Time { limit: limits.time });
    let in_one_pass = "(function () { require('m'); return function () {}; })()";
    let error = MapEngine::with_modules(&[in_one_pass], Some(root), limits).unwrap_err();
    assert_eq!(error, JsError::Time { limit: limits.time });
}
