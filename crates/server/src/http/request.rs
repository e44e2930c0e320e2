//! A request as handlers see it: path segments and query decoded, body whole.

use crate::Failure;
use crate::http::FailureKind;
use crate::http::Upload;
use crate::runtime::BodyReservation;
use hyper::header::HeaderMap;
use hyper::{Method, Uri};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str};
use std::net::IpAddr;
use std::sync::Arc;

/// Characters that are escaped in the path of a link.
pub(crate) const IN_PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// One request. The body is complete and already free of any `Content-Encoding`, but for uploads.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method; `X-HTTP-Method-Override` of a POST is already applied.
    pub method: Method,
    /// The path as sent, still percent-encoded, so that `%2F` can be told from `/`.
    pub raw_path: String,
    /// The query as sent, without the question mark; empty if there was none.
    pub raw_query: String,
    /// The path's parts between slashes, percent-decoded, empty ones left out.
    pub segments: Vec<String>,
    /// The query's pairs in order, decoded; `+` means a space.
    pub query: Vec<(String, String)>,
    /// All headers.
    pub headers: HeaderMap,
    /// The body; empty if there was none, or if it is to be read as it arrives.
    pub body: Vec<u8>,
    /// A body that is to be read as it arrives.
    pub upload: Option<Upload>,
    /// The room that the body takes of what all bodies may.
    pub(crate) memory: Option<Arc<BodyReservation>>,
    /// From where the request came.
    pub peer: Option<IpAddr>,
    /// Whether it came over TLS of this server's own.
    pub is_encrypted: bool,
    /// Whether it came from a proxy whose `X-Forwarded-` headers are believed.
    pub is_proxied: bool,
    /// Servers of the same store that have forwarded it.
    pub(crate) forwards: u8,
    /// The path below which the server has everything, escaped; it is no part of the paths here.
    pub mount: String,
}

impl Request {
    /// Decodes path and query.
    ///
    /// # Errors
    /// 400 if either is not UTF-8 once it is decoded.
    pub fn new(
        method: Method,
        uri: &Uri,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<Request, Failure> {
        let method = overridden(method, &headers);
        let raw_path = uri.path().to_owned();
        let segments = raw_path
            .split('/')
            .filter(|part| !part.is_empty())
            .map(|part| decode(part, "path"))
            .collect::<Result<_, _>>()?;
        let raw_query = uri.query().unwrap_or("").to_owned();
        let query = parse_query(&raw_query)?;
        Ok(Request {
            method,
            raw_path,
            raw_query,
            segments,
            query,
            headers,
            body,
            upload: None,
            memory: None,
            peer: None,
            is_encrypted: false,
            is_proxied: false,
            forwards: 0,
            mount: String::new(),
        })
    }

    /// Reads the path anew, with `+` as a space.
    ///
    /// # Errors
    /// 400 if it is not UTF-8 once it is decoded.
    pub(crate) fn read_plus_as_space(&mut self) -> Result<(), Failure> {
        let parts = self.raw_path.split('/').filter(|part| !part.is_empty());
        let decoded = parts.map(|part| decode(&part.replace('+', " "), "path"));
        self.segments = decoded.collect::<Result<_, _>>()?;
        Ok(())
    }

    /// The value of the first query pair of this name.
    pub fn query(&self, name: &str) -> Option<&str> {
        let pair = self.query.iter().find(|(key, _)| key == name);
        pair.map(|(_, value)| value.as_str())
    }

    /// A header's text; `None` if it is missing or not visible ASCII.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// True if it can be answered again after an attempt that has failed: its body is there still.
    pub(crate) fn is_repeatable(&self) -> bool {
        self.upload.as_ref().is_none_or(Upload::is_whole)
    }

    /// Whether the method is GET or HEAD: they share every handler, and the listener drops the
    /// body of an answer to HEAD.
    pub fn is_read(&self) -> bool {
        self.method == Method::GET || self.method == Method::HEAD
    }

    /// The decoded segments as slices, for matching.
    pub fn path(&self) -> Vec<&str> {
        self.segments.iter().map(String::as_str).collect()
    }

    /// Whether it could not be read on the way: by TLS here, or as a trusted proxy in front says.
    pub fn is_secure(&self) -> bool {
        self.is_encrypted || self.forwarded("x-forwarded-proto") == Some("https")
    }

    /// A header that counts from trusted proxies only.
    fn forwarded(&self, name: &str) -> Option<&str> {
        self.header(name).filter(|_| self.is_proxied)
    }

    /// The address of the client, also behind a trusted proxy.
    pub fn client(&self) -> Option<IpAddr> {
        let addresses = self.forwarded("x-forwarded-for");
        // A proxy appends the address that it saw; the addresses before it are claims of the client.
        let nearest = addresses.and_then(|list| list.rsplit(',').next());
        let nearest = nearest.and_then(|address| address.trim().parse().ok());
        nearest.or(self.peer)
    }

    /// Name and port as the client addressed this server.
    pub fn host(&self) -> Option<&str> {
        self.forwarded("x-forwarded-host").or(self.header("host"))
    }

    /// Where this server has everything, as the client addressed it, without a slash at the end:
    /// for `Location` headers.
    pub fn base(&self) -> String {
        format!("{}{}", self.origin(), self.mount)
    }

    /// `http://HOST` as the client addressed this server.
    pub fn origin(&self) -> String {
        let scheme = if self.is_secure() { "https" } else { "http" };
        format!("{scheme}://{}", self.host().unwrap_or("127.0.0.1"))
    }

    /// The media type of the body in lower case, without parameters.
    pub fn content_type(&self) -> Option<String> {
        let value = self.header("content-type")?;
        let media = value.split(';').next().unwrap_or("");
        Some(media.trim().to_ascii_lowercase())
    }

    /// Whether the `Accept` header names this media type itself.
    pub fn accepts(&self, media: &str) -> bool {
        let accept = self.header("accept").unwrap_or("");
        let mut parts = accept.split(',');
        parts.any(|part| part.split(';').next().unwrap_or("").trim() == media)
    }

    /// Whether the client accepts this kind of `multipart`, which a client that says nothing does: CouchDB sends parts
    /// to all but those that name other types only.
    pub fn accepts_parts(&self, media: &str) -> bool {
        let mut ranges = self.header("accept").unwrap_or("*/*").split(',');
        ranges.any(|range| {
            let mut fields = range.split(';').map(str::trim);
            let is_named = matches!(fields.next(), Some("*/*" | "multipart/*"))
                || range
                    .split(';')
                    .next()
                    .is_some_and(|name| name.trim() == media);
            let weight = fields.find_map(|field| field.strip_prefix("q="));
            is_named && weight.is_none_or(|weight| weight.parse::<f32>().is_ok_and(|q| q > 0.0))
        })
    }

    /// Refuses a body whose `Content-Type` is not JSON's, as CouchDB does for many a POST.
    ///
    /// # Errors
    /// 415 `bad_content_type`.
    pub fn require_json(&self) -> Result<(), Failure> {
        match self.content_type().as_deref() {
            Some("application/json") => Ok(()),
            _ => Err(Failure::new(
                FailureKind::UnsupportedType,
                "bad_content_type",
                "Content-Type must be application/json",
            )),
        }
    }
}

/// Host name and port of an authority such as `a.test:5984` or `[::1]:5984`.
pub(crate) fn authority(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    }
}

/// Whether a URL or an origin is one of the server, as the client of a request addressed it.
pub(crate) fn same_host(request: &Request, url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else {
        return false;
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let usual = match scheme {
        "http" if !request.is_secure() => "80",
        "https" => "443",
        _ => return false,
    };
    let parts = |text| {
        let (host, port) = authority(text);
        (host.to_ascii_lowercase(), port.unwrap_or(usual).to_owned())
    };
    let own = request.host();
    own.is_some_and(|own| parts(own) == parts(&rest[..end]))
}

/// POST with `X-HTTP-Method-Override` stands for the method that the header names.
fn overridden(method: Method, headers: &HeaderMap) -> Method {
    if method != Method::POST {
        return method;
    }
    let named = headers.get("x-http-method-override");
    let named = named.and_then(|name| Method::from_bytes(name.as_bytes()).ok());
    named.unwrap_or(method)
}

/// Splits `a=1&b=2`, also the body of an HTML form.
///
/// # Errors
/// 400 if a part is not UTF-8 once it is decoded.
pub fn parse_query(text: &str) -> Result<Vec<(String, String)>, Failure> {
    text.split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let plain = |part: &str| decode(&part.replace('+', " "), "query");
            Ok((plain(key)?, plain(value)?))
        })
        .collect()
}

fn decode(part: &str, place: &str) -> Result<String, Failure> {
    let text = percent_decode_str(part).decode_utf8();
    let text = text.map_err(|_| Failure::bad_request(format!("invalid UTF-8 in {place}")))?;
    Ok(text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: Method, uri: &str, headers: &[(&'static str, &str)]) -> Request {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        Request::new(method, &uri.parse().unwrap(), map, Vec::new()).unwrap()
    }

    #[test]
    fn an_escaped_slash_stays_inside_its_segment() {
        let got = request(
            Method::GET,
            "/hg%2Fteam//doc%20one/?a=1&b=x%26y&c&a=2&d=e+f",
            &[],
        );
        assert_eq!(got.path(), ["hg/team", "doc one"]);
        assert_eq!(got.raw_path, "/hg%2Fteam//doc%20one/");
        assert_eq!(got.query("a"), Some("1"));
        assert_eq!(got.query("b"), Some("x&y"));
        assert_eq!(got.query("c"), Some(""));
        assert_eq!(got.query("d"), Some("e f"));
        assert_eq!(got.query("zz"), None);
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        let uri: Uri = "/a%ff".parse().unwrap();
        let got = Request::new(Method::GET, &uri, HeaderMap::new(), Vec::new());
        assert_eq!(got.unwrap_err().status(), 400);
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        let headers = [
            ("host", "inner:5984"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "db.example"),
            ("x-forwarded-for", "192.0.2.1, 198.51.100.7"),
        ];
        let mut got = request(Method::GET, "/", &headers);
        got.peer = Some("10.0.0.1".parse().unwrap());
        assert!(!got.is_secure());
        assert_eq!(got.origin(), "http://inner:5984");
        assert_eq!(got.client(), got.peer);
        got.is_proxied = true;
        assert!(got.is_secure());
        assert_eq!(got.origin(), "https://db.example");
        assert_eq!(got.client().unwrap().to_string(), "198.51.100.7");
    }

    #[test]
    fn only_a_post_can_be_overridden() {
        let headers = [("x-http-method-override", "PUT")];
        assert_eq!(request(Method::POST, "/a", &headers).method, Method::PUT);
        assert_eq!(request(Method::GET, "/a", &headers).method, Method::GET);
    }

    #[test]
    fn media_types_are_compared_without_parameters() {
        let got = request(
            Method::POST,
            "/",
            &[
                ("content-type", "Application/JSON; charset=utf-8"),
                ("accept", "text/html, application/json;q=0.9"),
            ],
        );
        assert!(got.require_json().is_ok());
        assert!(got.accepts("application/json"));
        assert!(!got.accepts("multipart/mixed"));
        for (accept, expected) in [
            ("*/*", true),
            ("application/json", false),
            ("multipart/mixed", false),
            ("application/json, multipart/related; q=0.1", true),
            ("text/html, multipart/*;q=1", true),
            ("application/json, */*;q=0", false),
            ("multipart/related;q=x", false),
        ] {
            let got = request(Method::GET, "/", &[("accept", accept)]);
            assert_eq!(got.accepts_parts("multipart/related"), expected, "{accept}");
        }
        assert!(request(Method::GET, "/", &[]).accepts_parts("multipart/related"));
        assert_eq!(
            request(Method::POST, "/", &[])
                .require_json()
                .unwrap_err()
                .status(),
            415
        );
    }
}
