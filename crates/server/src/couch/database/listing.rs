//! Lists over all databases.

use crate::auth::UserContext;
use crate::couch::admin::{json, read_only};
use crate::http::FailureKind;
use crate::http::blocking;
use crate::{Answer, CouchContext, Failure, Request, couch};
use hyper::header::HeaderMap;
use hyper::{Method, StatusCode};
use std::sync::Arc;
use varve_json::Value;

/// `/_all_dbs`: names in order, cut to the range that is asked for.
pub(crate) async fn all(
    app: Arc<CouchContext>,
    request: Request,
    user: &UserContext,
) -> Result<Answer, Failure> {
    read_only(&request)?;
    check_lister(&app, user)?;
    let range = Range::of(&request)?;
    let listed = Arc::clone(&app);
    let names = blocking(&app.executor().reads, move || listed.database_names()).await?;
    let names = range.cut(names);
    Ok(json(&names.into_iter().map(Value::from).collect()))
}

/// Refuses users who may not see which databases there are.
fn check_lister(app: &CouchContext, user: &UserContext) -> Result<(), Failure> {
    match app.settings().admin_only_all_dbs {
        true => user.require_admin(),
        false => Ok(()),
    }
}

/// In bytes: the names of one list take at most this in memory.
const LISTED_ROOM: usize = 8 << 20;

/// `/_dbs_info`: the answers of `GET /{db}`, for many databases at once.
pub(crate) async fn info(
    app: Arc<CouchContext>,
    request: Request,
    user: UserContext,
) -> Result<Answer, Failure> {
    check_lister(&app, &user)?;
    let names = if request.method == Method::POST {
        request.require_json()?;
        posted_keys(&request, app.settings().requests.dbs_info)?
    } else {
        read_only(&request).map_err(|_| Failure::method_not_allowed("GET,HEAD,POST"))?;
        let range = Range::of(&request)?;
        let listed = Arc::clone(&app);
        range.cut(blocking(&app.executor().reads, move || listed.database_names()).await?)
    };
    let mut body = b"[".to_vec();
    for (index, name) in names.iter().enumerate() {
        body.extend_from_slice(if index == 0 { b"\n" } else { b",\n" });
        describe(&app, &user, name, &mut body).await?;
    }
    body.extend_from_slice(b"\n]\n");
    let tag = couch::etag::opaque(&[&body]);
    let answer = Answer::json(StatusCode::OK, body);
    Ok(match request.is_read() {
        true => answer.with_header("etag", &tag),
        false => answer,
    })
}

fn posted_keys(request: &Request, most: usize) -> Result<Vec<String>, Failure> {
    let needed = || Failure::bad_request("`keys` member must exist.");
    let invalid = |error: varve_json::JsonError| Failure::bad_request(error.to_string());
    let body = varve_json::parse_bounded(&request.body, LISTED_ROOM).map_err(invalid)?;
    let keys = body.get("keys").ok_or_else(needed)?;
    let keys = keys
        .as_array()
        .ok_or_else(|| Failure::bad_request("`keys` must be an array."))?;
    if keys.len() > most {
        return Err(Failure::bad_request(format!(
            "`keys` may name at most {most} databases, not {}",
            keys.len()
        )));
    }
    let names = keys.iter().map(|key| key.as_str().map(str::to_owned));
    let names = names.collect::<Option<_>>();
    names.ok_or_else(|| Failure::bad_request("`keys` must be an array of texts"))
}

/// Asks the database itself, as a client would.
async fn describe(
    app: &Arc<CouchContext>,
    user: &UserContext,
    name: &str,
    out: &mut Vec<u8>,
) -> Result<(), Failure> {
    out.extend_from_slice(b"{\"key\":");
    varve_json::write_string(name, out);
    let question = Request {
        method: Method::GET,
        raw_path: String::new(),
        raw_query: String::new(),
        segments: vec![name.to_owned()],
        query: Vec::new(),
        headers: HeaderMap::new(),
        body: Vec::new(),
        upload: None,
        peer: None,
        is_encrypted: false,
        is_proxied: false,
        forwards: 0,
        memory: None,
        mount: String::new(),
    };
    match couch::route(Arc::clone(app), question, user.clone()).await {
        Ok(answer) => {
            out.extend_from_slice(b",\"info\":");
            out.extend_from_slice(answer.whole_body().unwrap_or(b"null").trim_ascii_end());
        }
        Err(failure) if !failure.kind.is_server_fault() => {
            out.extend_from_slice(b",\"error\":");
            varve_json::write_string(&failure.error, out);
        }
        Err(failure) => return Err(failure),
    }
    out.push(b'}');
    Ok(())
}

/// The part of a list of names that a request asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Range {
    descending: bool,
    start: Option<String>,
    end: Option<String>,
    skip: usize,
    limit: Option<usize>,
    keys: Option<Vec<String>>,
}

impl Range {
    fn of(request: &Request) -> Result<Range, Failure> {
        let number = |name: &str| -> Result<Option<usize>, Failure> {
            let wrong = |_| {
                let value = request.query(name).unwrap_or_default();
                let reason = format!("Invalid value for integer: \"{value}\"");
                Failure::new(FailureKind::BadRequest, "query_parse_error", reason)
            };
            request
                .query(name)
                .map(str::parse)
                .transpose()
                .map_err(wrong)
        };
        let text = |names: [&str; 2]| -> Result<Option<String>, Failure> {
            let given = names.iter().find_map(|name| request.query(name));
            let Some(given) = given else { return Ok(None) };
            let value = varve_json::parse(given.as_bytes());
            let value = value.map_err(|error| Failure::bad_request(error.to_string()))?;
            Ok(value.as_str().map(str::to_owned))
        };
        let keys = request.query("keys").map(|given| {
            let value = varve_json::parse(given.as_bytes());
            let value = value.map_err(|error| Failure::bad_request(error.to_string()))?;
            let names = value.as_array().unwrap_or_default().iter();
            Ok::<_, Failure>(
                names
                    .filter_map(|name| name.as_str().map(str::to_owned))
                    .collect(),
            )
        });
        Ok(Range {
            descending: request.query("descending") == Some("true"),
            start: text(["startkey", "start_key"])?,
            end: text(["endkey", "end_key"])?,
            skip: number("skip")?.unwrap_or(0),
            limit: number("limit")?,
            keys: keys.transpose()?,
        })
    }

    fn cut(&self, mut names: Vec<String>) -> Vec<String> {
        if let Some(keys) = &self.keys {
            names.retain(|name| keys.contains(name));
        }
        let (low, high) = if self.descending {
            names.reverse();
            (&self.end, &self.start)
        } else {
            (&self.start, &self.end)
        };
        let inside = |name: &String| {
            low.as_ref().is_none_or(|low| name >= low)
                && high.as_ref().is_none_or(|high| name <= high)
        };
        let wanted = names.into_iter().filter(inside).skip(self.skip);
        wanted.take(self.limit.unwrap_or(usize::MAX)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(query: &str) -> Result<String, u16> {
        let uri = format!("/_all_dbs?{query}").parse().unwrap();
        let request = Request::new(Method::GET, &uri, HeaderMap::new(), Vec::new()).unwrap();
        let names = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        let range = Range::of(&request).map_err(|failure| failure.status().as_u16())?;
        Ok(range.cut(names).join(""))
    }

    #[test]
    fn ranges_are_cut_in_either_direction() {
        assert_eq!(cut("").unwrap(), "abcd");
        assert_eq!(cut("limit=2&skip=1").unwrap(), "bc");
        assert_eq!(cut("startkey=%22b%22&endkey=%22c%22").unwrap(), "bc");
        assert_eq!(
            cut("descending=true&start_key=%22c%22&limit=2").unwrap(),
            "cb"
        );
        assert_eq!(cut("keys=[%22d%22,%22x%22]").unwrap(), "d");
        assert_eq!(cut("limit=x"), Err(400));
        assert_eq!(cut("startkey=x"), Err(400));
    }
}
