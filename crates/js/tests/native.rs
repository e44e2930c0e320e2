//! Functions that run without an engine give the engine's output, to the byte.

use super::limits::tight;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::cell::RefCell;
use std::collections::HashMap;
use varve_js::fuzzing::{Ran, compared, compiled, document, function, grown, ran};
use varve_js::{Compilation, Emission, JsError, Limits, MapFunctions, is_compiled};

/// Checks random bytes with a function, always the same ones; others are the fuzz target's to find.
fn with_bytes(cases: u32, count: usize, check: impl Fn(&[Vec<u8>])) {
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::with_cases(cases), random);
    let bytes = proptest::collection::vec(any::<u8>(), 0..300);
    let outcome = runner.run(&proptest::collection::vec(bytes, count), |data| {
        check(&data);
        Ok(())
    });
    outcome.unwrap();
}

#[test]
fn random_functions_over_random_documents_give_the_same_both_ways() {
    let counts = RefCell::new(HashMap::new());
    with_bytes(100, 40, |data| {
        let functions: Vec<_> = data[..30].iter().map(|data| function(data)).collect();
        let documents: Vec<_> = data[30..].iter().map(|data| document(data)).collect();
        for (ran, count) in compared(&functions, &documents) {
            *counts.borrow_mut().entry(ran).or_insert(0) += count;
        }
    });
    // Of 30,000, most functions are compiled, and many of them run to their end.
    let counts = counts.into_inner();
    assert!(counts[&Ran::Native] > 8_000, "{counts:?}");
    assert!(counts[&Ran::Threw] > 200, "{counts:?}");
    assert!(counts.values().sum::<usize>() > 15_000, "{counts:?}");
}

#[test]
fn one_function_and_one_document_out_of_bytes() {
    with_bytes(100, 1, |data| {
        grown(&data[0]);
    });
}

/// Functions as they are written, each with one thing that it shows.
const COMPILED: [&str; 32] = [
    "function(doc) { emit([doc.type, doc.category, doc.level, doc.ratio], doc.nested.coords); }",
    "function(doc) { emit(doc._id, {type: doc.type, cat: doc.category, level: doc.level}); }",
    "function(doc) { if (doc.type === 'post' && doc.tags) { for (var i in doc.tags) emit(doc.tags[i], 1); } }",
    "function(doc) { if (doc.type == 'post') { doc.tags.forEach(function(tag, i) { emit([tag, i], null); }); } }",
    "doc => { if (Array.isArray(doc.tags)) for (const t of doc.tags) emit(t.toLowerCase()); }",
    "(doc) => emit(doc.name.split(' ')[0].substr(0, 1).toUpperCase(), 1)",
    "function (doc) { for (var i = 0, n = doc.tags.length; i < n; i++) { if (i == 1) continue; emit(doc.tags[i]); } }",
    "function (doc) { var key = doc.created; key = key || 0; emit(key - key % 86400, {_id: doc.type}); }",
    "function (doc) { switch (doc.type) { case 'a': emit(1); break; case 'post': emit(2); default: emit(3); } }",
    "function (doc) { emit(doc); }",
    "function (doc) { emit(doc.years); emit({b: 1, '10': 2, '9': 3, a: undefined, b: 4}); }",
    "function (doc) { emit(doc.missing.name); }",
    "function (doc) { emit(doc.nothing.name); }",
    "function (doc) { emit(doc.missing?.name.first, doc.missing?.name ?? 'none'); }",
    "function (doc) { emit(typeof doc.missing + typeof doc.tags + typeof doc, `${doc.level}/${doc.active}`); }",
    "function (doc) { emit(NaN, -0); emit([undefined, Infinity], undefined); emit(1e21, 1e-7); emit(0.1 + 0.2); }",
    "function (doc) { if ('tags' in doc && !('nope' in doc) && doc.hasOwnProperty('type')) emit(Object.keys(doc.nested)); }",
    "function (doc) { emit(doc.escaped, doc.escaped.length); emit('\\u2028\"\\\\', '\\x01'); }",
    "function (doc) { emit(doc.big, doc.float); emit(doc.level == '42', doc.level === '42'); }",
    "function (doc) { let a = 1; { let a = 2; emit(a); } emit(a); var b; while (a < 4) { a++; b = a; } emit(b--, ++b); }",
    "function (doc) { emit(doc.tags.join('+'), doc.tags.indexOf('b')); emit(doc.tags.slice(-2), doc.tags.includes('a')); }",
    "function (doc) { emit(String(doc.level), Number(doc.digits)); emit(Math.floor(doc.float), doc.level | 0); }",
    "function (doc) { if (!doc.type) return; emit(doc.type, doc.tags[7]); emit(doc.tags['1'], doc['ty' + 'pe']); }",
    "function map(doc) { /* a comment */ emit(doc._id) };;// the end",
    "(function (doc) { emit(1, void 0, 3) })",
    "function () { emit(null) }",
    "function (doc) { emit([Math.round(2.5), Math.round(-2.5), Math.round(doc.float), Math.ceil(doc.float), Math.abs(doc.float), Math.trunc(doc.float), Math.round('7.5')]); }",
    "function (doc) { var s = ' ' + doc.name + ' '; emit([s.trim(), s.charAt(1), s.charAt(-1), s.substr(-4, 2), s.substring(4, 1), s.slice(2, -3), s.indexOf('p'), s.startsWith(' c'), s.endsWith('n '), s.split('p'), s.split('')]); }",
    "function (doc) { emit([7 % 3, -7 % 3, 5 >>> 1, -5 >>> 1, -5 >> 1, 1 << 31, 6 ^ 3, 6 & 3, ~6, -'3', +'', +' 4 ', 2 * '3', '3' + 4, true + 1, null + 1, undefined + 1]); }",
    "function (doc) { emit(doc.nested === doc.nested, [1] === [1]); emit(null == undefined, 'b' > 'a'); }",
    "function (doc) { emit(1 / Math.round(-0.4) < 0, 1 / Math.round(0.4) < 0); }",
    "function (doc) { emit([1 / Math.round(-0) < 0, Math.round(-0.5), Math.round(-0.6)]); }",
];

const DOCUMENT: &str = r#"{"_id":"x","type":"post","category":"alpha","level":42,"ratio":0.537501,"active":true,
"created":1300000007,"nested":{"coords":[[1.0,-0.5],[1e21,0.0]],"b":{}},"tags":["a","b","C"],"name":"copper falcon",
"years":{"b":1,"2021":[],"2020":0,"a":{"1":2}},"nothing":null,"escaped":"\"\\\n\u0001é😀","digits":"12.50",
"big":123456789012345678901234567890,"float":-12.75}"#;

#[test]
fn functions_as_they_are_written_need_no_engine() {
    let document = DOCUMENT.replace('\n', "");
    for source in COMPILED {
        assert!(is_compiled(source), "{source}");
        assert_ne!(compiled(source, &document), Ran::Left, "{source}");
        compiled(source, r#"{"_id":"y"}"#);
    }
}

#[test]
fn what_is_not_surely_known_is_the_engines() {
    for source in [
        "function (doc) { emit(n); n = 1; }",
        "function (doc) { 'use strict'; n = 1; emit(n); }",
        "function (doc) { Date = 1; emit(1); }",
        "function (doc) { require = 1; emit(1); }",
        "function (doc) { doc.seen = 1; emit(doc); }",
        "function (doc) { emit(new Date()); }",
        "function (doc) { doc.nested.seen = 1; emit(doc); }",
        "function (doc) { delete doc._rev; emit(doc); }",
        "function (doc) { emit(this); }",
        r"function (doc) { emit(doc.name.match(/(a)\1/)); }",
        "function (doc) { emit(doc.name.match(/a(?=b)/)); }",
        "function (doc) { emit(doc.name.match(/(?:a*)*/)); }",
        "function (doc) { emit(doc.name.match(/(?:(a)|b)*/)); }",
        "function (doc) { emit(doc.name.match(/a/u)); }",
        "function (doc) { emit(doc.name.match(/^a/m)); }",
        "function (doc) { emit(doc.name.match(/é/i)); }",
        r"function (doc) { emit(doc.name.match(/\B/)); }",
        "function (doc) { emit(doc.name.match(/(?<n>a)/)); }",
        r"function (doc) { emit(doc.name.match(/(?:\w\d?){40}/)); }",
        "function (doc) { emit(new RegExp(doc.name)); }",
        "function (doc) { emit(doc.tags.sort(function (a, b) { return a - b; })); }",
        "function emit(doc) { emit(doc); }",
        "function (doc) { const a = 1; a = 2; }",
        "function (doc) { emit(a); let a = 1; let a = 2; }",
        "function (doc) { function key() { return 1; } emit(key); }",
        "function (doc) { function key() { return 1; } key = 2; emit(key()); }",
        "function (doc) { if (doc.a) { function key() { return 1; } emit(key()); } }",
        "function (doc) { var key; key = function () { return 1; }; emit(key()); }",
        "function (doc) { emit({__proto__: doc}); }",
        "function (doc) { emit(arguments.length, eval('1')); }",
        "function (doc, emit) { emit(1); }",
        "async function (doc) { emit(1); }",
        "function (doc) { emit(1); } emit(2);",
        "function (doc) { emit(1)",
    ] {
        assert!(!is_compiled(source), "{source}");
    }
    let deep = format!(
        "function (doc) {{ emit({}1{}); }}",
        "[".repeat(100),
        "]".repeat(100)
    );
    assert!(!is_compiled(&deep));
    let deepest = format!("function (doc) {{ emit({}1); }}", "!".repeat(8_000));
    assert!(!is_compiled(&deepest));
    let long = format!("function (doc) {{ emit(1); }} //{}", " ".repeat(9_000));
    assert!(!is_compiled(&long));
}

#[test]
fn what_a_document_makes_uncertain_is_left_to_the_engine() {
    for (source, document) in [
        (
            "function (doc) { emit(doc.a + ''); }",
            r#"{"a":[1,[2,{}]]}"#,
        ),
        (
            "function (doc) { emit(doc.a.toUpperCase()); }",
            r#"{"a":"straße"}"#,
        ),
        (
            "function (doc) { emit(typeof doc.constructor, doc.a.b); }",
            r#"{"a":{}}"#,
        ),
        (
            "function (doc) { for (var k in doc) emit(k); }",
            r#"{"b":1,"2":1,"1":1}"#,
        ),
        ("function (doc) { emit(doc.a.trim()); }", r#"{"a":7}"#),
        ("function (doc) { emit(+doc.a); }", r#"{"a":"0x1F"}"#),
        ("function (doc) { emit(a); let a = doc; }", "{}"),
        ("function (doc) { emit(doc.a.map); }", r#"{"a":[]}"#),
    ] {
        assert!(is_compiled(source), "{source}");
        assert_eq!(compiled(source, document), Ran::Left, "{source}");
    }
}

fn simple(sources: &[&str], limits: Limits) -> MapFunctions {
    MapFunctions::compile(sources, None, limits, Compilation::Simple).unwrap()
}

/// Position and key of each row.
fn rows(functions: &mut MapFunctions, document: &str) -> Vec<(usize, String)> {
    let emitted = functions.map(document.as_bytes()).unwrap();
    let rows = emitted.filter_map(|emission| match emission {
        Emission::Row { function, key, .. } => Some((function, key.to_owned())),
        _ => None,
    });
    rows.collect()
}

#[test]
fn functions_of_one_group_run_each_in_its_own_way() {
    let sources = [
        "function (doc) { emit(doc.a); }",
        "function (doc) { emit(new Array(doc.a)); }",
        "function (doc) { emit(doc.a.toUpperCase()); }",
        "function (doc) { emit(doc.missing.a); }",
    ];
    let mut functions = simple(&sources, Limits::default());
    let text = rows(&mut functions, r#"{"a":"x"}"#);
    let wanted = [(0, "\"x\""), (2, "\"X\""), (1, "[\"x\"]")];
    assert_eq!(
        text,
        wanted.map(|(function, key)| (function, key.to_owned()))
    );
    let left = rows(&mut functions, r#"{"a":"ß"}"#);
    let wanted = [(0, "\"ß\""), (1, "[\"ß\"]"), (2, "\"SS\"")];
    assert_eq!(
        left,
        wanted.map(|(function, key)| (function, key.to_owned()))
    );
    let off = MapFunctions::compile(&sources, None, Limits::default(), Compilation::Off);
    assert_eq!(rows(&mut off.unwrap(), r#"{"a":"ß"}"#), left);
}

#[test]
fn functions_of_one_group_share_the_globals_that_they_leave() {
    let leaves = "function (doc) { for (i = 0; i < doc.a.length; i++) emit(doc.a[i]); }";
    let asks = "function (doc) { emit(typeof i); }";
    let by_letters = "function (doc) { j = doc.a[0] + ''; emit(j); }";
    for (sources, is_native) in [
        (&[leaves, asks][..], false),
        (&[leaves, leaves], true),
        // Where the second function sees what the first one left, both are the engine's for that document.
        (
            &[leaves, "function (doc) { if (doc.b) { i = 7; } emit(i); }"],
            true,
        ),
        (&[leaves, by_letters, asks], false),
    ] {
        assert_eq!(sources.iter().all(|source| is_compiled(source)), is_native);
        let off = MapFunctions::compile(sources, None, Limits::default(), Compilation::Off);
        let mut off = off.unwrap();
        let mut on = simple(sources, Limits::default());
        for document in [r#"{"a":[1,2]}"#, r#"{"a":[[3]]}"#, r#"{"a":"x"}"#, "{}"] {
            assert_eq!(
                rows(&mut on, document),
                rows(&mut off, document),
                "{document}"
            );
        }
    }
}

#[test]
fn names_that_are_global_already_do_not_become_variables() {
    let names =
        "function () { for (const name of Object.getOwnPropertyNames(globalThis)) emit(name); }";
    let names = rows(&mut simple(&[names], Limits::default()), "{}");
    assert!(names.len() > 60, "{names:?}");
    for (_, name) in names {
        let name = name.trim_matches('"');
        let source = format!("function (doc) {{ {name} = 1; emit({name}); }}");
        assert!(!is_compiled(&source), "{name}");
    }
}

/// Every character that is one unit of UTF-16 is written in both cases, trimmed and looked for as the engine does.
#[test]
fn characters_are_the_engines() {
    let sources = [
        "function (doc) { emit(doc.c.toLowerCase(), doc.c.toUpperCase()); }",
        "function (doc) { emit((doc.c + 'x' + doc.c).trim().length, [doc.c.charCodeAt(0), doc.c.length]); }",
        r"function (doc) { emit([/\s/.test(doc.c), /\W/.test(doc.c), /./.test(doc.c), /\b/.test(doc.c)]); }",
        r"function (doc) { emit([/[^\d]/.test(doc.c), /^[à-þ\s]$/.test(doc.c), /k|s/i.test(doc.c), /[^k]/i.test(doc.c)]); }",
    ];
    let codes = (0..0x3100).chain([0x4e00, 0xfeff, 0xfffd, 0xffff]);
    let of = |code: char| {
        format!(
            "{{\"c\":{}}}",
            varve_json::to_string(&code.to_string().as_str().into())
        )
    };
    let documents: Vec<_> = codes.filter_map(char::from_u32).map(of).collect();
    let ran = compared(&sources.map(str::to_owned), &documents);
    assert!(ran[&Ran::Native] > 2 * documents.len(), "{ran:?}");
}

/// Numbers and dates in many forms are read and written as the engine does.
#[test]
fn numbers_and_dates_are_the_engines() {
    let sources = [
        "function (doc) { emit([parseInt(doc.v), parseInt(doc.v, 10), parseFloat(doc.v), +doc.v, isNaN(doc.v)]); }",
        "function (doc) { emit([doc.n.toFixed(0), doc.n.toFixed(2), doc.n.toFixed(7), doc.n.toString(), (-doc.n).toFixed(1)]); }",
        "function (doc) { emit([Math.max(doc.n, 0), 1 / Math.min(doc.n, 0), Math.sqrt(doc.n), Math.round(doc.n)]); }",
        "function (doc) { var d = new Date(doc.v); emit(d, [d.getTime(), d.getFullYear(), d.getMonth(), d.getDate(), d.getDay(), d.getHours(), d.getMinutes(), d.getSeconds(), d.getMilliseconds()]); }",
        "function (doc) { var d = new Date(doc.n * 1e9); emit(d, [d.getUTCFullYear(), d.getUTCMonth(), d.getUTCDate(), d.getUTCDay(), d - 0]); }",
        "function (doc) { var n = doc.n | 0; emit([new Date(n, n, n), Date.UTC(n, 1), new Date(2000, n, 1 - n, n, n, n, n)]); }",
        "function (doc) { var d = new Date(doc.v); emit([Date.parse(doc.v), d < 5, d == d, d === new Date(doc.v), d instanceof Date, typeof d]); }",
    ];
    let mut values: Vec<String> = "0 -0 7 12.50 1e3 1e .5 5. - +3 \u{a0}8 0x1f 012 1_0 Infinity -Infinity NaN 12px 3,5 \
        99999999999999999999 1e21 1e-7x 2011 2011-07 2011-07-05 2011-02-29 2012-02-29 2011-13-01 2011-07-05T10:20 \
        2011-07-05T10:20:30 2011-07-05T10:20:30Z 2011-07-05T10:20:30.123Z 2011-07-05T10:20:30.1234Z \
        2011-07-05T24:00:00Z 2011-07-05T23:59:60Z 2011-07-05T10:20:30+02:00 2011-07-05T10:20:30-0800 \
        2011-07-05T10:20:30.500-08:30 0000-01-01 0001-01-01T00:00:00Z 9999-12-31T23:59:59.999Z 1969-12-31 \
        1900-03-01 2000-02-29 2100-02-29 1600-02-29T12:00Z"
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    values.extend(
        [
            "",
            " ",
            "2011-07-05 10:20:30",
            "Tue, 05 Jul 2011 10:20:30 GMT",
            " 2011-07-05",
        ]
        .map(str::to_owned),
    );
    let numbers = [
        "0",
        "-0.0",
        "1",
        "-1",
        "0.5",
        "1.5",
        "2.5",
        "0.05",
        "1.005",
        "1.45",
        "-2.5",
        "10.235",
        "123456.789",
        "1e-6",
        "1e15",
        "999999999999.5",
        "1300000000000",
        "-62135596800",
        "253402300799",
        "0.000001",
        "99",
        "100",
        "1970",
        "-40",
    ];
    let pairs = values
        .iter()
        .flat_map(|value| numbers.iter().map(move |number| (value, number)));
    let document = |(value, number): (&String, &&str)| {
        format!(
            "{{\"v\":{},\"n\":{number}}}",
            varve_json::to_string(&value.as_str().into())
        )
    };
    let documents: Vec<_> = pairs.map(document).collect();
    let ran = compared(&sources.map(str::to_owned), &documents);
    assert!(ran[&Ran::Native] > 3 * documents.len(), "{ran:?}");
}

#[test]
fn days_of_all_years_are_the_engines() {
    let source = "function (doc) { for (var i = 0; i < 500; i++) { \
                  var d = new Date((doc.n + i * 73.3) * 86400000); \
                  emit(d, [d.getFullYear(), d.getMonth(), d.getDate(), d.getDay(), Date.parse(d.toISOString())]); } }";
    // A hundred years each, in steps of 73 days; then days one by one at the ends of February.
    let starts = (-19..80).map(|century| century * 36_525);
    let documents: Vec<_> = starts.map(|start| format!("{{\"n\":{start}}}")).collect();
    let mut ran = compared(&[source.to_owned()], &documents);
    assert_eq!(ran.remove(&Ran::Native), Some(documents.len()), "{ran:?}");
    let days = source.replace("i * 73.3", "i");
    let ends = [10_957, 11_000, 15_300, 47_400, -25_600, -135_200];
    let documents = ends.map(|start| format!("{{\"n\":{start}}}"));
    let mut ran = compared(&[days], &documents);
    assert_eq!(ran.remove(&Ran::Native), Some(documents.len()), "{ran:?}");
}

#[test]
fn a_function_that_leaves_most_documents_goes_on_in_the_engine() {
    let mut functions = simple(&["function (doc) { emit(doc.a + ''); }"], Limits::default());
    for n in 0..300 {
        let text = rows(&mut functions, &format!(r#"{{"a":[{n}]}}"#));
        assert_eq!(text, [(0, format!("\"{n}\""))]);
    }
}

#[test]
fn endless_and_growing_functions_meet_the_limits_of_the_engine() {
    let document = r#"{"a":[1,2]}"#;
    let error = |source| simple(&[source], tight()).map(document.as_bytes()).err();
    let endless = error("function (doc) { while (true) { doc.a; } }");
    assert!(matches!(endless, Some(JsError::Time { .. })), "{endless:?}");
    for source in [
        "function (doc) { var a = 'x'; while (true) a = a + a; }",
        "function (doc) { var a = 'x'; while (true) a = `${a}${a}`; }",
        "function (doc) { var a = []; while (true) a = [a, a]; }",
        "function (doc) { var a = []; for (var i = 0; i < 40; i++) a = [a, a]; emit(a); }",
        "function (doc) { while (true) emit(doc, doc); }",
        "function (doc) { function f(n) { return f(n + 1) + 1; } emit(f(0)); }",
        "function (doc) { var f = function (n) { return n ? f(n - 1) + f(n - 1) : 1; }; emit(f(60)); }",
        "function (doc) { var a = []; while (true) a.push(a.length); }",
        "function (doc) { var a = {}, n = 0; while (true) a['x' + n++] = n; }",
        "function (doc) { var a = 'xx'; while (true) a = a.replace(/x/g, '$&$&'); }",
        "function (doc) { var a = 'xx'; while (true) a = a.replace(/x/g, function (x) { return a; }); }",
        "function (doc) { var a = [1]; while (true) a = a.concat(a); }",
        "function (doc) { var a = [1]; for (var x of a) a.push(x); }",
        "function (doc) { var a = []; a.push(a); emit(a); }",
        "function (doc) { var a = {}; a.a = a; emit(JSON.stringify(a)); }",
        "function (doc) { while (true) try { doc.missing.a; } catch (e) { emit(1); } }",
        "function (doc) { while (true) log('x'); }",
    ] {
        let error = error(source);
        let is_limit = matches!(error, Some(JsError::Memory { .. } | JsError::Time { .. }));
        assert!(is_limit || error.is_none(), "{source}: {error:?}");
    }
}

/// Members `"0"`, `"1"` and so on, all with the same value.
fn members(count: usize, name: impl Fn(usize) -> String, value: &str) -> String {
    let members = (0..count).map(|at| format!("\"{}\":{value}", name(at)));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

#[test]
fn work_and_memory_are_counted_wherever_a_document_can_make_them_large() {
    let plain = |at: usize| format!("n{at}");
    let long = |at: usize| format!("{at:0>2000}");
    let text = |count: usize, of: &str| format!(r#"{{"a":"{}"}}"#, of.repeat(count));
    let zeros = |count: usize| format!(r#"{{"a":[{}0]}}"#, "0,".repeat(count));
    let looped = |times: u32, body: &str| {
        format!(
            "function (doc) {{ var a = doc.a; for (var i = 0; i < {times}; i++) {{ {body} }} emit(1); }}"
        )
    };
    // Each would run to its end, were one thing not counted.
    let cases = [
        // A look at a member passes all those before it, and their names.
        (looped(9_000, "doc.missing;"), members(1_000, plain, "0")),
        (looped(5_000, "'x' in doc;"), members(20, long, "0")),
        (
            looped(2_500, "doc.hasOwnProperty('x');"),
            members(20, long, "0"),
        ),
        // Long strings are read once more each time.
        (looped(200, "doc.a;"), text(1 << 20, "x")),
        (looped(200, "+a;"), text(1 << 20, "x")),
        (looped(200, "a < 'y';"), text(1 << 20, "x")),
        (looped(200, "Number(a);"), text(1 << 20, "x")),
        (looped(200, "'y'.includes(a);"), text(1 << 20, "x")),
        // New values are counted as if they were never freed.
        (looped(70, "doc.a;"), text(1 << 20, "\\\\")),
        (
            looped(30_000, &format!("a = [{}1];", "1,".repeat(99))),
            zeros(0),
        ),
        (looped(3_000, "a.split('');"), text(1_000, "x")),
        (
            looped(1_500, "Object.keys(doc);"),
            members(1_000, plain, "0"),
        ),
        (looped(2_500, "for (var k in a) break;"), zeros(1_000)),
        (looped(5_000, "for (var k of a) break;"), zeros(1_000)),
        // Regular expressions read their text once more each time.
        (looped(200, "/y/.test(a);"), text(1 << 20, "x")),
        (looped(200, "a.replace(/y/, '');"), text(1 << 20, "x")),
        (looped(200, "a.replace('y', '');"), text(1 << 20, "x")),
        // Each match begins to read what follows it.
        (looped(1, "a.match(/x*y|x/g);"), text(30_000, "x")),
        (
            looped(20, "/(?:x|y)*x(?:x|y){25}z/.test(a);"),
            text(1 << 19, "xyyx"),
        ),
        (looped(3_000, "a.split(/x/);"), text(1_000, "x")),
        (looped(30_000, "a.concat(a);"), zeros(100)),
        (looped(30_000, "a.map(String);"), zeros(100)),
        (looped(1_000, "a.slice().reverse().sort();"), zeros(1_000)),
        (
            looped(300_000, "[1].push(1, 2, 3, 4, 5, 6, 7, 8);"),
            zeros(0),
        ),
        (looped(2_000_000, "new Date(0) < 1;"), zeros(0)),
        (looped(5_000, "JSON.stringify(a);"), zeros(1_000)),
        // In one go.
        (looped(1, "a.split('').length;"), text(1 << 20, "x")),
        (looped(1, "a.length;"), zeros(8_500_000)),
        (
            looped(1, &format!("`{}`.length;", "${a}".repeat(900))),
            text(1 << 20, "x"),
        ),
    ];
    for (source, document) in cases {
        assert!(is_compiled(&source), "{source}");
        assert_eq!(ran(&source, &document), Ran::Left, "{source}");
    }
    // Opening containers from the last to the first takes no longer than the other way.
    let backwards =
        "function (doc) { for (var i = doc.a.length - 1; i >= 0; i--) doc.a[i].b; emit(1); }";
    let document = format!(r#"{{"a":[{}{{}}]}}"#, "{},".repeat(100_000));
    assert_eq!(ran(backwards, &document), Ran::Native);
}
