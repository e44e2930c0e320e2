//! Functions of design documents, run where a request needs them.
//!
//! An engine belongs to one thread and costs more to make than to run, so each blocking thread
//! keeps the few that it ran last.

use std::cell::RefCell;

use varve_js::{FilterEngine, JsError, Limits, MapEngine, ValidateEngine, Verdict};

use super::call::Call;
use crate::Failure;

/// Engines that one thread keeps.
const KEPT: usize = 8;

/// Engines by the text of their function, the one that ran last at the end.
struct Engines<E>(Vec<(String, E)>);

impl<E> Engines<E> {
    const fn new() -> Engines<E> {
        Engines(Vec::new())
    }

    /// The engine for a text, made if this thread has none.
    fn get(
        &mut self,
        source: &str,
        compile: impl FnOnce(&str) -> Result<E, JsError>,
    ) -> Result<&mut E, JsError> {
        let found = self.0.iter().position(|(known, _)| known == source);
        let entry = match found {
            Some(at) => self.0.remove(at),
            None => (source.to_owned(), compile(source)?),
        };
        if self.0.len() >= KEPT {
            self.0.remove(0);
        }
        self.0.push(entry);
        let last = self.0.len() - 1;
        Ok(&mut self.0[last].1)
    }
}

thread_local! {
    static FILTERS: RefCell<Engines<FilterEngine>> = const { RefCell::new(Engines::new()) };
    static MAPS: RefCell<Engines<MapEngine>> = const { RefCell::new(Engines::new()) };
    static VALIDATORS: RefCell<Engines<ValidateEngine>> = const { RefCell::new(Engines::new()) };
}

/// Whether a filter function lets a document pass; both arguments are JSON text.
///
/// # Errors
/// 400 if the function does not compile, or fails.
pub fn filter(source: &str, document: &[u8], request: &[u8]) -> Result<bool, Failure> {
    FILTERS.with_borrow_mut(|engines| {
        let compile = |source: &str| FilterEngine::compile(source, Limits::default());
        let engine = engines.get(source, compile).map_err(failed)?;
        engine.passes(document, request).map_err(failed)
    })
}

/// Whether a map function emits anything for a document.
///
/// # Errors
/// As [`filter`].
pub fn emits(source: &str, document: &[u8]) -> Result<bool, Failure> {
    MAPS.with_borrow_mut(|engines| {
        let compile = |source: &str| MapEngine::compile(&[source], Limits::default());
        let engine = engines.get(source, compile).map_err(failed)?;
        Ok(engine.map(document).map_err(failed)?.count() > 0)
    })
}

/// Asks a validation function; all arguments are JSON text.
///
/// # Errors
/// As [`filter`].
pub fn validate(
    source: &str,
    document: &[u8],
    previous: Option<&[u8]>,
    user: &[u8],
    security: &[u8],
) -> Result<Verdict, Failure> {
    VALIDATORS.with_borrow_mut(|engines| {
        let compile = |source: &str| ValidateEngine::compile(source, Limits::default());
        let engine = engines.get(source, compile).map_err(failed)?;
        engine
            .validate(document, previous, user, security)
            .map_err(failed)
    })
}

fn failed(error: JsError) -> Failure {
    let word = match error {
        JsError::Compile { .. } => "compilation_error",
        _ => "script_error",
    };
    Failure::new(400, word, error.to_string())
}

/// What a filter function is told of the request.
pub fn request_of(call: &Call) -> Vec<u8> {
    let request = &call.request;
    let mut out = b"{\"method\":".to_vec();
    varve_json::write_string(request.method.as_str(), &mut out);
    out.extend_from_slice(b",\"path\":[");
    for (index, segment) in request.segments.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        varve_json::write_string(segment, &mut out);
    }
    out.extend_from_slice(b"],\"query\":");
    let query = request.query.iter();
    write_pairs(
        query.map(|(name, value)| (name.as_str(), value.as_str())),
        &mut out,
    );
    out.extend_from_slice(b",\"headers\":");
    let headers = request.headers.iter();
    let headers = headers.filter(|(name, _)| *name != hyper::header::AUTHORIZATION);
    let headers = headers.filter(|(name, _)| *name != hyper::header::COOKIE);
    let headers = headers.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    write_pairs(headers, &mut out);
    out.extend_from_slice(
        b",\"id\":null,\"body\":\"undefined\",\"form\":{},\"cookie\":{},\"userCtx\":",
    );
    write_user(call, &mut out);
    out.extend_from_slice(b"}");
    out
}

/// `{"db":…,"name":…,"roles":[…]}`.
pub fn write_user(call: &Call, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"db\":");
    varve_json::write_string(&call.database.name, out);
    out.extend_from_slice(b",\"name\":");
    match &call.user.name {
        Some(name) => varve_json::write_string(name, out),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b",\"roles\":[");
    for (index, role) in call.user.roles.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        varve_json::write_string(role, out);
    }
    out.extend_from_slice(b"]}");
}

fn write_pairs<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>, out: &mut Vec<u8>) {
    out.push(b'{');
    for (index, (name, value)) in pairs.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        varve_json::write_string(name, out);
        out.push(b':');
        varve_json::write_string(value, out);
    }
    out.push(b'}');
}
