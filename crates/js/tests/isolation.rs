//! What a document or a script cannot do to the next document's rows.

use super::said;
use varve_js::{Limits, MapEngine};

/// Rows of a clean document after `poison` ran for another one.
fn after(poison: &str) -> Vec<String> {
    let source = format!(
        "function (doc) {{ if (doc.poison) {{ try {{ {poison} }} catch (e) {{}} return; }} \
         emit([doc.a, typeof x], sum([1, 2])); }}"
    );
    let mut engine = MapEngine::compile(&[&source], Limits::default()).unwrap();
    assert_eq!(said(&mut engine, r#"{"poison":true}"#), [""; 0], "{poison}");
    said(&mut engine, r#"{"a":{"b":1}}"#)
}

#[test]
fn nothing_that_is_shared_can_be_changed() {
    for poison in [
        "Object.prototype.toJSON = function () { return 'poison'; }",
        "Array.prototype.push = null; Array.prototype.toJSON = function () { return 0; }",
        "Object.defineProperty(Object.prototype, 'a', {value: 'poison'})",
        "JSON.stringify = function () { return 'poison'; }; JSON = null",
        "Object.getPrototypeOf([][Symbol.iterator]()).next = null",
        "emit = log = sum = isArray = toJSON = null",
        "delete globalThis.emit; delete globalThis.JSON",
        "x = 1; globalThis.y = 2",
        "Object.setPrototypeOf(Object.prototype, {a: 1})",
        "doc.__proto__.a = 'poison'; doc.constructor.prototype.toJSON = function () {}",
        "String.prototype.toString = null; Number.prototype.toJSON = function () { return 9; }",
        "(function () {}).constructor.prototype.call = null",
    ] {
        assert_eq!(after(poison), [r#"0 [{"b":1},"undefined"] 3"#], "{poison}");
    }
}

#[test]
fn a_document_with_the_name_of_the_prototype_is_only_data() {
    let mut engine = MapEngine::compile(
        &["function (doc) { emit(doc.__proto__, ({}).polluted); }"],
        Limits::default(),
    )
    .unwrap();
    let document = r#"{"__proto__":{"polluted":1}}"#;
    assert_eq!(said(&mut engine, document), [r#"0 {"polluted":1} null"#]);
}

#[test]
fn objects_of_a_script_may_still_override_what_they_inherit() {
    let source = "function (doc) { var o = {}; o.toString = function () { return 'mine'; }; \
                  function T() {} T.prototype.toString = function () { return 'T'; }; \
                  T.prototype.constructor = T; var e = new Error('m'); e.message = 'n'; \
                  for (i = 0, total = 0; i < 3; i++) total += i; \
                  emit([String(o), String(new T()), e.message, total, o.hasOwnProperty('toString')]); }";
    assert_eq!(
        super::one(source, "{}"),
        [r#"0 ["mine","T","n",3,true] null"#]
    );
}

#[test]
fn nothing_outside_the_language_is_there() {
    let source = "function (doc) { emit([typeof process, typeof std, typeof os, \
                  typeof print, typeof setTimeout, typeof fetch, typeof load, typeof Promise]); }";
    let row = super::one(source, "{}").remove(0);
    assert_eq!(row.matches("undefined").count(), 8, "{row}");
    for load in ["import('std')", "require('std')", "require('os')"] {
        let answer = super::one(&format!("function (doc) {{ return {load}; }}"), "{}");
        assert!(
            answer.iter().all(|line| line.starts_with("0 !")),
            "{answer:?}"
        );
    }
}
