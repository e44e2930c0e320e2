//! Entity tags, and the requests that need no body because of them.

use md5::{Digest, Md5};

use crate::http::{Answer, Request};
use hyper::StatusCode;

/// The tag of a document: its revision in quotes.
pub fn of_revision(revision: &str) -> String {
    format!("\"{revision}\"")
}

/// A tag that says nothing but "the same as before": it changes with any of its parts.
pub fn opaque(parts: &[&[u8]]) -> String {
    let mut hash = Md5::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let mut tag = String::with_capacity(34);
    tag.push('"');
    for byte in hash.finalize() {
        tag.push_str(&format!("{byte:02X}"));
    }
    tag.push('"');
    tag
}

/// Whether the client's copy carries this tag.
pub fn matches(request: &Request, tag: &str) -> bool {
    let given = request.header("if-none-match").unwrap_or("");
    given.split(',').any(|known| {
        let known = known.trim();
        known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag
    })
}

/// 304 with the tag.
pub fn not_modified(tag: &str) -> Answer {
    Answer::whole(StatusCode::NOT_MODIFIED, "", Vec::new()).with_header("etag", tag)
}

#[cfg(test)]
mod tests {
    use hyper::{HeaderMap, Method};

    use super::*;

    #[test]
    fn a_known_tag_is_recognised_among_others() {
        let mut headers = HeaderMap::new();
        headers.insert("if-none-match", "\"1-b\", W/\"2-a\"".parse().unwrap());
        let uri = "/d/a".parse().unwrap();
        let request = Request::new(Method::GET, &uri, headers, Vec::new()).unwrap();
        assert!(matches(&request, &of_revision("2-a")));
        assert!(!matches(&request, &of_revision("3-a")));
    }

    #[test]
    fn parts_do_not_run_into_one_another() {
        assert_ne!(opaque(&[b"a", b"bc"]), opaque(&[b"ab", b"c"]));
        assert_eq!(opaque(&[b"a"]), opaque(&[b"a"]));
    }
}
