//! The result of a rewrite function.

use hyper::{Method, StatusCode};
use varve_json::{Object, Value};

use crate::couch::call::Call;
use crate::couch::functions::response::{headers, set_headers};
use crate::couch::functions::rewrite::rules::escaped;
use crate::couch::functions::rewrite::target::Elsewhere;
use crate::couch::functions::rewrite::unusable;
use crate::{Answer, Failure};

/// Outcome of a rewrite function.
pub enum Returned {
    /// The function answers the request itself.
    Response(Answer),
    Elsewhere(Elsewhere),
}

/// Reads what the function has returned, as JSON text.
///
/// # Errors
/// 500 for members of wrong types.
pub fn read(call: &Call, text: &str) -> Result<Returned, Failure> {
    let Ok(Value::Object(object)) = varve_json::parse(text.as_bytes()) else {
        return Err(unusable("bad rewrite"));
    };
    let body = text_of(&object, "body", "bad body")?;
    let set = match object.get("headers") {
        None => Object::new(),
        Some(Value::Object(set)) => texts(set)?.clone(),
        Some(_) => return Err(unusable("bad headers")),
    };
    let query = match object.get("query") {
        None => None,
        Some(Value::Object(query)) => Some(texts(query)?),
        Some(_) => return Err(unusable("bad query")),
    };
    let method = text_of(&object, "method", "bad method")?;
    let method = method.map(|name| Method::from_bytes(name.as_bytes()));
    let method = method.transpose().map_err(|_| unusable("bad method"))?;
    let path = text_of(&object, "path", "bad path")?;
    let body = body.map(|text| text.as_bytes().to_vec());
    if let Some(code) = object.get("code") {
        return respond(call, code, &set, body).map(Returned::Response);
    }
    let path = path.ok_or_else(|| unusable("Rewrite result must produce a new path."))?;
    let (path, of_path) = path.split_once('?').unwrap_or((path, ""));
    let query = match query {
        Some(query) => joined(
            query
                .iter()
                .map(|(name, value)| (name, value.as_str().unwrap_or_default())),
        ),
        None => call.request.raw_query.clone(),
    };
    let parts = [of_path, &query];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    Ok(Returned::Elsewhere(Elsewhere {
        path: path.to_owned(),
        query: parts.collect::<Vec<_>>().join("&"),
        method,
        headers: set,
        body,
    }))
}

fn respond(
    call: &Call,
    code: &Value,
    set: &Object,
    body: Option<Vec<u8>>,
) -> Result<Answer, Failure> {
    let code = code.as_u64().and_then(|code| u16::try_from(code).ok());
    let code = code.filter(|code| (200..600).contains(code));
    let code = code.and_then(|code| StatusCode::from_u16(code).ok());
    let code = code.ok_or_else(|| unusable("bad code"))?;
    let body = body.unwrap_or_else(|| call.request.body.clone());
    let mut answer = Answer::whole(code, "", body);
    set_headers(&mut answer, headers(set)?, &call.app.settings().csp);
    Ok(answer)
}

fn text_of<'o>(object: &'o Object, name: &str, words: &str) -> Result<Option<&'o str>, Failure> {
    match object.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(unusable(words)),
    }
}

fn texts(object: &Object) -> Result<&Object, Failure> {
    match object.iter().find(|(_, value)| value.as_str().is_none()) {
        Some((name, value)) => {
            let value = varve_json::to_string(value);
            Err(unusable(format!(
                "object key/value must be strings {name}={value}"
            )))
        }
        None => Ok(object),
    }
}

fn joined<'p>(pairs: impl Iterator<Item = (&'p str, &'p str)>) -> String {
    let pairs = pairs.map(|(name, value)| format!("{}={}", escaped(name), escaped(value)));
    pairs.collect::<Vec<_>>().join("&")
}
