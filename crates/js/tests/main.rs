//! Scripts within limits: every kind of function, every limit, and the isolation of documents.
#![allow(clippy::unwrap_used)]

mod corpus;
mod isolation;
mod limits;
mod map;
mod modules;
mod native;
mod others;
mod render;

use varve_js::{Emission, Limits, MapEngine};

/// Rows of one document as `function key value`, failures as `function !reason`.
fn said(engine: &mut MapEngine, document: &str) -> Vec<String> {
    let emitted = engine.map(document.as_bytes()).unwrap();
    emitted
        .map(|emission| match emission {
            Emission::Row {
                function,
                key,
                value,
            } => format!("{function} {key} {value}"),
            Emission::Failed { function, reason } => format!("{function} !{reason}"),
            Emission::Logged(text) => format!("log {text}"),
        })
        .collect()
}

/// Output of one map function for one document.
fn one(source: &str, document: &str) -> Vec<String> {
    let mut engine = MapEngine::compile(&[source], Limits::default()).unwrap();
    said(&mut engine, document)
}
