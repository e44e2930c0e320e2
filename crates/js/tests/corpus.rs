//! Map functions in the shapes in which people write them: how many are compiled, and that they give the engine's rows.
//!
//! The functions stand in `corpus/`, a file for each kind of source. They were written for this test after what the
//! documentation of CouchDB, books, forums and published design documents show; none is a copy.

use std::collections::HashMap;
use varve_js::fuzzing::{Ran, compared};
use varve_js::{Limits, check_source, is_compiled};

const FILES: [(&str, &str); 8] = [
    ("documentation", include_str!("corpus/documentation.js")),
    ("guide", include_str!("corpus/guide.js")),
    ("answers", include_str!("corpus/answers.js")),
    ("blog", include_str!("corpus/blog.js")),
    ("shop", include_str!("corpus/shop.js")),
    ("health", include_str!("corpus/health.js")),
    ("devices", include_str!("corpus/devices.js")),
    ("accounts", include_str!("corpus/accounts.js")),
];

/// How many there are, and how many of them are compiled: may only rise.
const FUNCTIONS: usize = 116;
const COMPILED: usize = 105;

const DOCUMENTS: &str = include_str!("corpus/documents.json");

/// Name and text of each function.
fn functions() -> Vec<(String, &'static str)> {
    let named = FILES.iter().flat_map(|(file, text)| {
        let parts = text.split("//// ").skip(1);
        parts.filter_map(move |part| {
            let (name, source) = part.split_once('\n')?;
            Some((format!("{file}: {name}"), source.trim()))
        })
    });
    named.collect()
}

fn documents() -> Vec<String> {
    let parsed = varve_json::parse(DOCUMENTS.as_bytes()).unwrap();
    let documents = parsed.as_array().unwrap().iter();
    documents.map(varve_json::to_string).collect()
}

#[test]
fn most_functions_that_people_write_are_compiled() {
    let functions = functions();
    for (name, source) in &functions {
        let checked = check_source(source, None, Limits::default());
        assert_eq!(checked, Ok(()), "{name}");
    }
    let compiled = |(_, source): &&(String, &str)| is_compiled(source);
    let (compiled, others): (Vec<_>, Vec<_>) = functions.iter().partition(compiled);
    let others: Vec<_> = others.iter().map(|(name, _)| name).collect();
    assert_eq!(
        (functions.len(), compiled.len()),
        (FUNCTIONS, COMPILED),
        "{others:#?}"
    );
}

#[test]
fn functions_that_people_write_give_the_same_both_ways() {
    let documents = documents();
    let mut counts = HashMap::new();
    for (name, source) in functions() {
        let ran = compared(&[source.to_owned()], &documents);
        let left = ran.get(&Ran::Left).copied().unwrap_or(0);
        // No function is compiled in vain, but for one whose dates only the engine reads.
        let is_in_vain = left == documents.len();
        assert_eq!(
            is_in_vain,
            name == "answers: a date in the words of a mail",
            "{name}: {ran:?}"
        );
        for (ran, count) in ran {
            *counts.entry(ran).or_insert(0) += count;
        }
    }
    let left = counts.get(&Ran::Left).copied().unwrap_or(0);
    assert!(left * 10 < counts.values().sum::<usize>(), "{counts:?}");
}
