//! Entry points of fuzzers; a plain test calls them as well.

use crate::couch::document::multipart;
use crate::couch::{parse_range, parse_since, rewrite_rules as rules};
use crate::http::parse_query;
use varve_json::Value;

/// Parses the input of clients other than JSON: multipart bodies, ranges, sequences. Never panics; parts are no longer
/// than their body, and a range lies within its whole.
pub fn request_texts(data: &[u8]) {
    let parts = multipart::collect(data, "b", data.len().max(1));
    if let Ok(parts) = &parts {
        let together: usize = parts.iter().map(|(_, body)| body.len()).sum();
        assert!(together <= data.len());
    }
    // In which shares a body arrives makes no difference.
    for len in [1, 3] {
        assert_eq!(multipart::collect(data, "b", len), parts);
    }
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let boundary = multipart::boundary_of(text);
    assert!(boundary.is_none_or(|boundary| text.contains(boundary)));
    // Found or not, likewise.
    drop(multipart::parameter(text, "name"));
    let range = parse_range(Some(text), 1000);
    assert!(range.is_none_or(|range| range.start < range.end && range.end <= 1000));
    // Refused or not, it must only come back.
    drop(parse_since(text, "00ff"));
}

/// Reads rules of rewrites, the first line, and applies them to the path and the query of the second one. Never panics;
/// what comes out is a path and a query, and within the database if it is to be.
pub fn rewrites(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (rules_text, target) = text.split_once('\n').unwrap_or((text, ""));
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let path: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let (Ok(Value::Array(rules)), Ok(query)) =
        (varve_json::parse(rules_text.as_bytes()), parse_query(query))
    else {
        return;
    };
    for is_secure in [true, false] {
        let Ok(rules) = rules::Rules::read(&rules, is_secure) else {
            continue;
        };
        if let Ok(Some((path, query))) = rules.apply("GET", &path, &query) {
            let escaped = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
            assert!(escaped(&path) && !path.contains(['?', '#']), "{path}");
            assert!(escaped(&query) && !query.contains(['/', '#']), "{query}");
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn cut_and_flipped_rules_do_no_harm() {
        let texts: [&[u8]; 3] = [
            b"[{\"from\":\"/a/:b/*\",\"to\":\"../../:b/*\",\"query\":{\"key\":[\":b\",1]}}]\na/x y/z?key=[1]&c=%20",
            b"[{\"to\":\":x/*\",\"formats\":{\"x\":\"int\"},\"query\":{\"x\":\":y\",\"z\":\"*\"}}]\n../?y=12",
            b"[{\"from\":\"a\",\"to\":\"b\",\"method\":\"GET\"},{\"from\":\"*/c\",\"to\":\"*\"}]\nb/c",
        ];
        for text in texts {
            for end in 0..=text.len() {
                super::rewrites(&text[..end]);
            }
            for bit in 0..text.len() * 8 {
                let mut flipped = text.to_vec();
                flipped[bit / 8] ^= 1 << (bit % 8);
                super::rewrites(&flipped);
            }
        }
    }

    #[test]
    fn cut_and_flipped_texts_do_no_harm() {
        let texts: [&[u8]; 7] = [
            b"before\r\n--b \r\nX: y\r\n\r\n\r\n--\r\n--b--behind",
            b"form-data; name=\"_attachments\"; filename=\"a\\\"b\"",
            b"--b\r\nContent-Type: a/b\r\n\r\n{}\r\n--b\r\n\r\nx\r\n--b--",
            b"multipart/related; boundary=\"b\"",
            b"bytes=2-4",
            b"bytes=-18446744073709551615",
            b"12-00ff",
        ];
        for text in texts {
            for end in 0..=text.len() {
                super::request_texts(&text[..end]);
            }
            for bit in 0..text.len() * 8 {
                let mut flipped = text.to_vec();
                flipped[bit / 8] ^= 1 << (bit % 8);
                super::request_texts(&flipped);
            }
        }
    }
}
