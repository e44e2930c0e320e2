//! The options of queries of rows: of documents and of views.

use varve_json::Value;
use varve_views::QueryOptions;

use crate::Failure;
use crate::couch::call::Call;
use crate::couch::partitions;

/// The options of a request's query and body, of which the query counts more.
///
/// # Errors
/// 400 for the first that cannot be used.
pub fn options_of(call: &Call) -> Result<QueryOptions, Failure> {
    let mut options = QueryOptions::default();
    if !call.request.is_read() && !call.request.body.is_empty() {
        match call.json_body()? {
            Value::Object(body) => options.set_body(&body)?,
            _ => return Err(Failure::bad_request("Request body must be a JSON object")),
        }
    }
    options.set_query(pairs(call))?;
    partitions::restrict(call, &mut options)?;
    Ok(options)
}

fn pairs(call: &Call) -> impl Iterator<Item = (&str, &str)> {
    let pairs = call.request.query.iter();
    pairs.map(|(name, value)| (name.as_str(), value.as_str()))
}

/// Whether the body of a POST holds several queries, as nano sends them to the view itself.
pub fn has_queries(call: &Call) -> bool {
    !call.request.body.is_empty()
        && call
            .json_body()
            .is_ok_and(|body| body.get("queries").is_some())
}

/// The options of each member of `queries`; those of the URL hold for all.
///
/// # Errors
/// 400 if there is no such list, or for the first option that cannot be used.
pub fn queries_of(call: &Call) -> Result<Vec<QueryOptions>, Failure> {
    let body = call.json_body()?;
    let queries = body.get("queries").and_then(Value::as_array);
    let queries = queries
        .ok_or_else(|| Failure::bad_request("`queries` member must exist and be an array."))?;
    let common = QueryOptions::from_query(pairs(call))?;
    let each = queries.iter().map(|query| {
        let mut options = common.clone();
        match query.as_object() {
            Some(query) => options.set_body(query)?,
            None => return Err(Failure::bad_request("`queries` must hold objects.")),
        }
        partitions::restrict(call, &mut options)?;
        Ok(options)
    });
    each.collect()
}
