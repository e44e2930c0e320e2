//! Entry points of fuzzers: functions of the supported grammar and documents, both grown from bytes, and the two ways
//! of running them side by side.

mod grow;
mod words;

use crate::map::MapEngine;
use crate::native::{NativeMap, Outcome, Text};
use crate::{Compilation, Emission, Emitted, JsError, Limits, MapFunctions};
pub use grow::{document, function};
use std::collections::HashMap;

/// How a function ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ran {
    /// The function is not among the simple ones.
    Engine,
    /// The function left the document to the engine.
    Left,
    /// Without an engine, and threw.
    Threw,
    /// Without an engine.
    Native,
}

/// Runs a function over a document both ways and says how the simple way went.
///
/// # Panics
/// If the two ways differ.
pub fn compiled(source: &str, document: &str) -> Ran {
    let limits = Limits::default();
    let Ok(mut engine) = MapEngine::compile(&[source], limits) else {
        return Ran::Engine;
    };
    let Some(native) = NativeMap::compile(source) else {
        return Ran::Engine;
    };
    let Ok(wanted) = engine.map(document.as_bytes()).map(told) else {
        return Ran::Left;
    };
    let simple = MapFunctions::compile(&[source], None, limits, Compilation::Simple);
    let said = |mut simple: MapFunctions| simple.map(document.as_bytes()).map(told);
    let told: Result<Vec<String>, JsError> = simple.and_then(said);
    assert_eq!(told, Ok(wanted), "{source}\n{document}");
    outcome(&native, document)
}

/// Runs the functions that are compiled over all documents, each both ways, and says how often which way was taken; one
/// engine serves all of them.
///
/// # Panics
/// If the two ways differ.
pub fn compared(sources: &[String], documents: &[String]) -> HashMap<Ran, usize> {
    let mut counts = HashMap::new();
    let compiled = sources
        .iter()
        .map(|source| (source, NativeMap::compile(source)));
    let compiled = compiled.filter_map(|(source, native)| Some((source.as_str(), native?)));
    let (sources, natives): (Vec<&str>, Vec<NativeMap>) = compiled.unzip();
    let Ok(mut engine) = MapEngine::compile(&sources, Limits::default()) else {
        return counts;
    };
    for document in documents {
        for (at, (source, native)) in sources.iter().zip(&natives).enumerate() {
            let mut said = String::new();
            let outcome = native.run(&mut Text::new(document), &mut said);
            let ran = close(&outcome, &mut said);
            let mut wanted = String::new();
            let asked = engine.run(document.as_bytes(), Some(&[at]), &mut wanted);
            if ran != Ran::Left && asked.is_ok() {
                let order = [at];
                let (told, wanted) = (Emitted::new(&said, &order), Emitted::new(&wanted, &order));
                assert_eq!(self::told(told), self::told(wanted), "{source}\n{document}");
            }
            *counts.entry(ran).or_insert(0) += 1;
        }
    }
    counts
}

/// Ends the output of a function as [`MapFunctions`] does.
fn close(outcome: &Outcome, said: &mut String) -> Ran {
    match outcome {
        Outcome::Unsure => Ran::Left,
        Outcome::Failed { reason } => {
            said.push_str(&format!(
                "!{}\n",
                varve_json::to_string(&reason.as_str().into())
            ));
            Ran::Threw
        }
        Outcome::Done => {
            said.push_str(".\n");
            Ran::Native
        }
    }
}

/// How a function runs without an engine, which is not asked.
pub fn ran(source: &str, document: &str) -> Ran {
    match NativeMap::compile(source) {
        Some(native) => outcome(&native, document),
        None => Ran::Engine,
    }
}

fn outcome(native: &NativeMap, document: &str) -> Ran {
    match native.run(&mut Text::new(document), &mut String::new()) {
        Outcome::Unsure => Ran::Left,
        Outcome::Failed { .. } => Ran::Threw,
        Outcome::Done => Ran::Native,
    }
}

/// Grows a function and a document from the bytes and runs them.
///
/// # Panics
/// As [`compiled`].
pub fn grown(data: &[u8]) -> Ran {
    let (of_function, of_document) = data.split_at(data.len() / 2);
    compiled(&function(of_function), &document(of_document))
}

/// Rows and messages as text, escapes written in one way.
fn told(emitted: Emitted<'_>) -> Vec<String> {
    let plain = |json: &str| match varve_json::parse(json.as_bytes()) {
        Ok(value) if json.contains('\\') => varve_json::to_string(&value),
        _ => json.to_owned(),
    };
    emitted
        .map(|emission| match emission {
            Emission::Row { key, value, .. } => format!("{} {}", plain(key), plain(value)),
            Emission::Failed { reason, .. } => format!("!{}", plain(reason)),
            Emission::Logged(text) => format!("#{}", plain(text)),
        })
        .collect()
}
