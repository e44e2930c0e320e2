//! Entry points of fuzzers: functions of the supported grammar and documents, both grown from bytes, and the two ways
//! of running them side by side.

mod grow;

use crate::map::MapEngine;
use crate::native::{NativeMap, Outcome, Text};
use crate::{Compilation, Emission, Emitted, JsError, Limits, MapFunctions};
pub use grow::{document, function};

/// How a function ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ran {
    /// It is not among the simple ones.
    Engine,
    /// It left the document to the engine.
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
