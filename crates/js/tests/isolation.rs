//! Isolation: neither a document nor a script changes the next document's rows.

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

/// A zone half an hour off, which the tests' own process has not.
const ZONE: (&str, &str) = ("TZ", "XYZ-5:30");

/// Results of date functions, in UTC.
const DATES: [(&str, &str); 16] = [
    (
        "new Date(0).getHours() + new Date(0).getTimezoneOffset()",
        "0",
    ),
    (
        "new Date(2020, 0, 2, 3, 4, 5, 6).toJSON()",
        r#""2020-01-02T03:04:05.006Z""#,
    ),
    ("new Date(99, 11).getFullYear()", "1999"),
    ("new Date('2020-01-02').getDate()", "2"),
    (
        "new Date('2020-01-02T03:04').toISOString()",
        r#""2020-01-02T03:04:00.000Z""#,
    ),
    (
        "new Date('2020-01-02T03:04+05:30').toISOString()",
        r#""2020-01-01T21:34:00.000Z""#,
    ),
    (
        "new Date('Jan 2 2020 03:04').toISOString()",
        r#""2020-01-02T03:04:00.000Z""#,
    ),
    (
        "new Date('Thu, 02 Jan 2020 03:04:00 GMT').getTime()",
        "1577934240000",
    ),
    (
        "Date.parse('2020-01-02T03:04Z') - Date.parse('2020/01/02 03:04')",
        "0",
    ),
    (
        "[new Date('no').getTimezoneOffset(), String(new Date('no')), Date.parse('no')]",
        r#"[null,"Invalid Date",null]"#,
    ),
    (
        "String(new Date(0)) + '|' + new Date(0).toDateString()",
        r#""Thu Jan 01 1970 00:00:00 GMT+0000|Thu Jan 01 1970""#,
    ),
    (
        "new Date(46800000).toLocaleString() + '|' + new Date(0).toTimeString()",
        r#""01/01/1970, 01:00:00 PM|00:00:00 GMT+0000""#,
    ),
    (
        "(function () { var d = new Date(0); d.setHours(3, 30); d.setYear(71); return [d, d.getYear(), d.getDay()] })()",
        r#"["1971-01-01T03:30:00.000Z",71,5]"#,
    ),
    (
        "[new Date(new Date(5)).getTime(), new Date(new String('1970-01-01T00:00')).getTime(), new Date(new Number(7)).getTime()]",
        "[5,0,7]",
    ),
    (
        "[new Date() instanceof Date, new Date(0).constructor === Date, typeof Date(), Date.length, Date.UTC(1970, 0)]",
        r#"[true,true,"string",7,0]"#,
    ),
    (
        "(function () { class D extends Date { two() { return this.getTime() * 2 } } return new D(4).two() })()",
        "8",
    ),
];

#[test]
fn dates_know_no_time_zone() {
    if std::env::var(ZONE.0).as_deref() == Ok(ZONE.1) {
        for (expression, expected) in DATES {
            let source = format!("function (doc) {{ emit({expression}) }}");
            let row = format!("0 {expected} null");
            assert_eq!(super::one(&source, "{}"), [row], "{expression}");
        }
        return;
    }
    let this = std::env::current_exe().unwrap();
    let mut child = std::process::Command::new(this);
    child.args([
        "--exact",
        "isolation::dates_know_no_time_zone",
        "--nocapture",
    ]);
    let ended = child.env(ZONE.0, ZONE.1).output().unwrap();
    let printed = String::from_utf8_lossy(&ended.stdout);
    assert!(
        ended.status.success() && printed.contains("1 passed"),
        "{printed}"
    );
}
