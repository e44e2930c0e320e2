//! Options of a request for `_changes`.

use std::time::Duration;

use crate::Failure;
use crate::couch::changes::sequence::{Since, parse_since};
use crate::http::Request;

/// How the answer is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feed {
    /// The present changes only.
    Normal,
    /// Like normal, but waits for the first change.
    Longpoll,
    /// One JSON object a line, without end.
    Continuous,
    /// Server-sent events.
    EventSource,
}

/// Which changes are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterName {
    /// All.
    None,
    /// Those of the documents that the request's body (or query) names.
    DocumentIds,
    /// Those whose document matches the body's selector.
    Selector,
    /// Those of design documents.
    Design,
    /// Those for which a view's map function emits something: design document and view.
    View(String, String),
    /// Those that a filter function lets through: design document and filter.
    Function(String, String),
}

/// The options, checked.
#[derive(Clone, Debug)]
pub struct ChangesOptions {
    /// How the answer is sent.
    pub feed: Feed,
    /// Where it begins.
    pub since: Since,
    /// At most that many changes.
    pub limit: u64,
    /// Newest first.
    pub descending: bool,
    /// With each change its document.
    pub include_docs: bool,
    /// All leaves of each document, not only the winner.
    pub all_leaves: bool,
    /// `_conflicts` in the documents.
    pub conflicts: bool,
    /// Attachments whole in the documents.
    pub attachments: bool,
    /// How attachments are encoded, in the documents.
    pub att_encoding_info: bool,
    /// Every how many changes one tells its sequence; the others have `null`.
    pub seq_interval: u64,
    /// How long a feed waits for a change before it ends, unless it has heartbeats.
    pub timeout: Duration,
    /// How often a waiting feed sends an empty line.
    pub heartbeat: Option<Duration>,
    /// Which changes are sent.
    pub filter: FilterName,
}

impl ChangesOptions {
    /// Reads the query of a request to a database of that incarnation. `longest` is the longest wait of a feed; longer ones,
    /// and longer intervals of heartbeats, are cut to it, as CouchDB does.
    ///
    /// # Errors
    /// 400 with CouchDB's reason where it has one.
    pub fn parse(
        request: &Request,
        incarnation: &str,
        longest: Duration,
    ) -> Result<ChangesOptions, Failure> {
        let flag = |name: &str| request.query(name) == Some("true");
        let last_event = request
            .query("last-event-id")
            .or(request.header("last-event-id"));
        let feed = parse_feed(request.query("feed"))?;
        let since = match feed {
            // A browser that connects again repeats its URL.
            Feed::EventSource => last_event.or(request.query("since")),
            _ => request.query("since").or(last_event),
        };
        let since = since.unwrap_or("0");
        let heartbeat = parse_heartbeat(request.query("heartbeat"), longest)?;
        let timeout = match parse_milliseconds("timeout", request.query("timeout"))? {
            Some(asked) => asked.min(longest),
            None => longest,
        };
        Ok(ChangesOptions {
            feed,
            since: parse_since(since, incarnation)?,
            // CouchDB documents that 0 means 1.
            limit: parse_number("limit", request.query("limit"))?.map_or(u64::MAX, |n| n.max(1)),
            descending: flag("descending"),
            include_docs: flag("include_docs"),
            all_leaves: request.query("style") == Some("all_docs"),
            conflicts: flag("conflicts"),
            attachments: flag("attachments"),
            att_encoding_info: flag("att_encoding_info"),
            seq_interval: parse_number("seq_interval", request.query("seq_interval"))?
                .map_or(1, |every| every.max(1)),
            timeout,
            heartbeat,
            filter: parse_filter(request)?,
        })
    }
}

fn parse_feed(name: Option<&str>) -> Result<Feed, Failure> {
    match name {
        None | Some("normal" | "") => Ok(Feed::Normal),
        Some("longpoll") => Ok(Feed::Longpoll),
        Some("continuous" | "live") => Ok(Feed::Continuous),
        Some("eventsource") => Ok(Feed::EventSource),
        Some(_) => Err(Failure::bad_request(
            "Supported `feed` types: normal, continuous, live, longpoll, eventsource",
        )),
    }
}

fn parse_filter(request: &Request) -> Result<FilterName, Failure> {
    let form = || Failure::bad_request("`filter` must be of the form `designname/filtername`");
    match request.query("filter") {
        None | Some("") => Ok(FilterName::None),
        Some("_doc_ids") => Ok(FilterName::DocumentIds),
        Some("_selector") => Ok(FilterName::Selector),
        Some("_design") => Ok(FilterName::Design),
        Some("_view") => {
            let named = request.query("view").and_then(|view| view.split_once('/'));
            let (design, view) = named.ok_or_else(|| {
                Failure::bad_request("`view` must be of the form `designname/viewname`")
            })?;
            Ok(FilterName::View(design.to_owned(), view.to_owned()))
        }
        Some(name) => {
            let (design, filter) = name.split_once('/').ok_or_else(form)?;
            Ok(FilterName::Function(design.to_owned(), filter.to_owned()))
        }
    }
}

fn parse_heartbeat(value: Option<&str>, longest: Duration) -> Result<Option<Duration>, Failure> {
    match value {
        Some("true") => Ok(Some(longest)),
        Some("false") => Ok(None),
        None => Ok(None),
        Some(text) => match text.parse() {
            Err(_) | Ok(0) => Err(Failure::bad_request(
                "The heartbeat value should be a positive integer (in milliseconds).",
            )),
            Ok(milliseconds) => Ok(Some(Duration::from_millis(milliseconds).min(longest))),
        },
    }
}

fn parse_milliseconds(name: &str, value: Option<&str>) -> Result<Option<Duration>, Failure> {
    Ok(parse_number(name, value)?.map(Duration::from_millis))
}

fn parse_number(name: &str, value: Option<&str>) -> Result<Option<u64>, Failure> {
    let Some(text) = value else {
        return Ok(None);
    };
    let number = text
        .parse()
        .map_err(|_| Failure::bad_request(format!("`{name}` must be a number, not {text:?}")))?;
    Ok(Some(number))
}

#[cfg(test)]
mod tests {
    use hyper::{HeaderMap, Method};

    use super::*;

    const LONGEST: Duration = Duration::from_secs(60);

    fn parse(query: &str) -> Result<ChangesOptions, Failure> {
        let uri = format!("/db/_changes?{query}").parse().unwrap();
        let request = Request::new(Method::GET, &uri, HeaderMap::new(), Vec::new()).unwrap();
        ChangesOptions::parse(&request, "ab", LONGEST)
    }

    #[test]
    fn a_heartbeat_takes_the_place_of_the_timeout() {
        let options = parse("feed=continuous&heartbeat=500&timeout=3").unwrap();
        assert_eq!(options.heartbeat, Some(Duration::from_millis(500)));
        let options = parse("feed=continuous&heartbeat=70000").unwrap();
        assert_eq!(options.heartbeat, Some(LONGEST));
        let options = parse("timeout=999999999").unwrap();
        assert_eq!(options.timeout, LONGEST);
        assert_eq!(parse("limit=0").unwrap().limit, 1);
    }

    #[test]
    fn filters_are_named_by_design_document_and_function() {
        let function = FilterName::Function("t".to_owned(), "f/g".to_owned());
        assert_eq!(parse("filter=t/f%2Fg").unwrap().filter, function);
        assert_eq!(parse("filter=nope").unwrap_err().status(), 400);
        assert_eq!(parse("filter=_view").unwrap_err().status(), 400);
    }

    #[test]
    fn what_couchdb_falls_over_is_refused() {
        for query in [
            "limit=x",
            "seq_interval=x",
            "limit=-1",
            "heartbeat=0",
            "timeout=soon",
            "feed=wrong",
        ] {
            assert_eq!(parse(query).unwrap_err().status(), 400, "{query}");
        }
    }
}
