//! Options of a request for a document.

use varve_json::Value;

use crate::Failure;
use crate::http::Request;

/// Which leaves `open_revs` wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenRevs {
    /// All of them.
    All,
    /// These revisions.
    Listed(Vec<String>),
}

/// How attachments are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Data {
    /// Names, types, digests and lengths.
    #[default]
    Stubs,
    /// Their bytes too, in the document.
    Inline,
    /// Their bytes too, behind the document.
    Follows,
}

/// Members of a shown document beside its body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// `_revisions`: the ids of its ancestors.
    pub revs: bool,
    /// `_revs_info`: its ancestors and whether they can be read.
    pub revs_info: bool,
    /// `_conflicts`: the other leaves.
    pub conflicts: bool,
    /// `_deleted_conflicts`: the other leaves that are deleted.
    pub deleted_conflicts: bool,
    /// `_local_seq`: the update that last changed it.
    pub local_seq: bool,
    pub attachments: Data,
    /// How attachments are stored.
    pub att_encoding_info: bool,
}

/// The options, checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// This revision instead of the winner.
    pub rev: Option<String>,
    /// Several leaves.
    pub open_revs: Option<OpenRevs>,
    /// Leaves below the revisions that were asked for.
    pub latest: bool,
    /// Attachments that came after these revisions are sent whole, the others as stubs.
    pub atts_since: Option<Vec<String>>,
    /// Members added to the document.
    pub extras: Extras,
}

impl Data {
    /// The bytes in the document, if they are wanted.
    pub fn inline(wanted: bool) -> Data {
        match wanted {
            true => Data::Inline,
            false => Data::Stubs,
        }
    }
}

impl Extras {
    /// The same for documents whose attachments come behind them.
    #[must_use]
    pub fn with_parts(self) -> Extras {
        Extras {
            attachments: Data::Follows,
            att_encoding_info: true,
            ..self
        }
    }

    /// Reads the query; other values than `true` mean nothing, as in CouchDB.
    pub fn parse(request: &Request) -> Extras {
        let flag = |name: &str| request.query(name) == Some("true");
        let meta = flag("meta");
        Extras {
            revs: flag("revs"),
            revs_info: meta || flag("revs_info"),
            conflicts: meta || flag("conflicts"),
            deleted_conflicts: meta || flag("deleted_conflicts"),
            local_seq: flag("local_seq"),
            attachments: Data::inline(flag("attachments")),
            att_encoding_info: flag("att_encoding_info"),
        }
    }
}

impl ReadOptions {
    /// Reads the query.
    ///
    /// # Errors
    /// 400 if a list of revisions is no JSON or no list.
    pub fn parse(request: &Request) -> Result<ReadOptions, Failure> {
        let open_revs = match request.query("open_revs") {
            None => None,
            Some("all") => Some(OpenRevs::All),
            Some(text) => Some(OpenRevs::Listed(parse_list("open_revs", text)?)),
        };
        let since = request.query("atts_since");
        Ok(ReadOptions {
            rev: request.query("rev").map(str::to_owned),
            open_revs,
            latest: request.query("latest") == Some("true"),
            atts_since: since
                .map(|text| parse_list("atts_since", text))
                .transpose()?,
            extras: Extras::parse(request),
        })
    }
}

fn parse_list(name: &str, text: &str) -> Result<Vec<String>, Failure> {
    let invalid = || Failure::bad_request(format!("`{name}` must be a JSON array of revisions"));
    let value = varve_json::parse(text.as_bytes()).map_err(|_| invalid())?;
    let items = value.as_array().ok_or_else(invalid)?;
    let items = items.iter().map(|item| item.as_str().map(str::to_owned));
    items.collect::<Option<_>>().ok_or_else(invalid)
}

/// The text of a revision that a client gives: in the query, or in `If-Match`.
///
/// # Errors
/// 400 if two of them are there and differ.
pub fn given_rev(request: &Request, in_body: Option<String>) -> Result<Option<String>, Failure> {
    let in_query = request.query("rev").filter(|rev| !rev.is_empty());
    let header = request.header("if-match").map(|tag| tag.trim_matches('"'));
    let differ = |one: Option<&str>, other: Option<&str>| {
        one.zip(other).is_some_and(|(one, other)| one != other)
    };
    if differ(in_query, in_body.as_deref()) {
        return Err(Failure::bad_request(
            "Document rev from request body and query string have different values",
        ));
    }
    let explicit = in_body.or(in_query.map(str::to_owned));
    if differ(header, explicit.as_deref()) {
        let reason = "Document rev and etag have different values";
        return Err(Failure::bad_request(reason));
    }
    Ok(explicit.or(header.map(str::to_owned)))
}

/// The revisions of a JSON array, for bodies.
pub fn revision_texts(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use hyper::{HeaderMap, Method};

    use super::*;

    fn request(query: &str) -> Request {
        let uri = format!("/db/a?{query}").parse().unwrap();
        Request::new(Method::GET, &uri, HeaderMap::new(), Vec::new()).unwrap()
    }

    #[test]
    fn meta_stands_for_three() {
        let extras = Extras::parse(&request("meta=true&revs=yes"));
        assert!(extras.revs_info && extras.conflicts && extras.deleted_conflicts);
        assert!(!extras.revs);
    }

    #[test]
    fn open_revs_are_all_or_listed() {
        let all = ReadOptions::parse(&request("open_revs=all")).unwrap();
        assert_eq!(all.open_revs, Some(OpenRevs::All));
        let listed = ReadOptions::parse(&request("open_revs=%5B%221-a%22%5D")).unwrap();
        assert_eq!(
            listed.open_revs,
            Some(OpenRevs::Listed(vec!["1-a".to_owned()]))
        );
        assert_eq!(
            ReadOptions::parse(&request("open_revs=1-a"))
                .unwrap_err()
                .status(),
            400
        );
    }

    #[test]
    fn two_different_revisions_are_refused() {
        let given = |body: Option<&str>| given_rev(&request("rev=1-a"), body.map(str::to_owned));
        assert_eq!(given(None).unwrap().as_deref(), Some("1-a"));
        assert_eq!(given(Some("1-a")).unwrap().as_deref(), Some("1-a"));
        assert_eq!(given(Some("1-b")).unwrap_err().status(), 400);
    }
}
