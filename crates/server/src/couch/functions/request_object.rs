//! A request as functions of design documents see it.

use hyper::Method;
use varve_json::{Object, Value};

use crate::Failure;
use crate::couch::call::Call;
use crate::couch::database;
use crate::couch::functions::scripts;
use crate::http::parse_query;

/// The type of bodies that are taken apart for functions.
const FORM: &str = "application/x-www-form-urlencoded";

/// Name of the cookie that is a login.
const LOGIN: &str = "AuthSession";
/// Members of the query that functions get as values.
const VALUES: [&str; 4] = ["startkey", "endkey", "key", "descending"];

/// The JSON text of the request, as CouchDB describes it, about a document if one is named. Logins are
/// left out.
///
/// # Errors
/// 400 for a key in the query that is not JSON; 500 if the database cannot be read.
pub fn request_object(call: &Call, id: Option<&str>) -> Result<Vec<u8>, Failure> {
    let mut object = common(call)?;
    object.insert("uuid", call.app.new_uuid());
    object.insert("id", id.map_or(Value::Null, Value::from));
    object.insert("form", form(call));
    let mut text = Vec::new();
    varve_json::write_object(&object, &mut text);
    text.pop();
    text.extend_from_slice(b",\"info\":");
    database::write_info(call, &mut text)?;
    finish(call, text)
}

/// The same for a function that rewrites the request: it is about no document.
///
/// # Errors
/// As [`request_object`].
pub fn request_of_rewrite(call: &Call) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    varve_json::write_object(&common(call)?, &mut text);
    text.pop();
    finish(call, text)
}

/// Writes the members that are there as text, behind the others.
fn finish(call: &Call, mut text: Vec<u8>) -> Result<Vec<u8>, Failure> {
    text.extend_from_slice(b",\"userCtx\":");
    scripts::write_user(call, &mut text);
    text.extend_from_slice(b",\"secObj\":");
    let security = call.snapshot().security()?;
    text.extend_from_slice(security.as_deref().unwrap_or(b"{}"));
    text.push(b'}');
    Ok(text)
}

/// Members of all requests.
fn common(call: &Call) -> Result<Object, Failure> {
    let request = &call.request;
    let segments = || {
        request
            .segments
            .iter()
            .map(|part| Value::from(part.as_str()))
    };
    let raw_path = match request.raw_query.as_str() {
        "" => request.raw_path.clone(),
        query => format!("{}?{query}", request.raw_path),
    };
    let peer = request.peer.map(|peer| peer.to_string());
    let mut object = Object::new();
    object.insert("method", method(&request.method));
    object.insert("requested_path", segments().collect::<Value>());
    object.insert("path", segments().collect::<Value>());
    object.insert("raw_path", raw_path);
    object.insert("query", query(&request.query)?);
    object.insert("headers", headers(call));
    object.insert("body", body(call));
    object.insert("peer", peer.map_or(Value::Null, Value::from));
    object.insert("cookie", cookies(call));
    Ok(object)
}

/// As CouchDB, which knows no HEAD.
fn method(method: &Method) -> &str {
    match *method {
        Method::HEAD => "GET",
        _ => method.as_str(),
    }
}

fn query(given: &[(String, String)]) -> Result<Object, Failure> {
    let mut query = pairs(given);
    for name in VALUES {
        if let Some(Value::String(text)) = query.get(name) {
            let value = varve_json::parse(text.as_bytes())?;
            query.insert(name, value);
        }
    }
    Ok(query)
}

/// All but the login.
fn cookies(call: &Call) -> Object {
    let headers = call.request.headers.get_all(hyper::header::COOKIE).iter();
    let texts = headers.filter_map(|header| header.to_str().ok());
    let pairs = texts.flat_map(|text| text.split(';'));
    let pairs = pairs.filter_map(|pair| pair.trim().split_once('='));
    let others = pairs.filter(|(name, _)| *name != LOGIN);
    others
        .map(|(name, value)| (name.to_owned(), Value::from(value.trim_matches('"'))))
        .collect()
}

/// Of several with one name the last counts.
fn pairs(pairs: &[(String, String)]) -> Object {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
        .collect()
}

/// Names as CouchDB writes them: `Content-Type`.
fn headers(call: &Call) -> Object {
    let headers = call.request.headers.iter();
    let headers = headers.filter(|(name, _)| *name != hyper::header::AUTHORIZATION);
    let headers = headers.filter(|(name, _)| *name != hyper::header::COOKIE);
    let headers = headers.filter_map(|(name, value)| {
        let value = Value::from(value.to_str().ok()?);
        Some((in_capitals(name.as_str()), value))
    });
    headers.collect()
}

fn in_capitals(name: &str) -> String {
    let mut begins = true;
    let letters = name.chars().map(|letter| {
        let written = match begins {
            true => letter.to_ascii_uppercase(),
            false => letter,
        };
        begins = letter == '-';
        written
    });
    letters.collect()
}

fn body(call: &Call) -> String {
    match call.request.is_read() {
        true => "undefined".to_owned(),
        false => String::from_utf8_lossy(&call.request.body).into_owned(),
    }
}

fn form(call: &Call) -> Object {
    let has_form = matches!(call.request.method, Method::POST | Method::PUT);
    if !has_form || call.request.content_type().as_deref() != Some(FORM) {
        return Object::new();
    }
    let text = std::str::from_utf8(&call.request.body).unwrap_or_default();
    // A body that is no form counts as an empty one.
    pairs(&parse_query(text).unwrap_or_default())
}
