//! Headers of forwarded requests and of their answers.

use super::identity::FORWARDED;
use hyper::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, EXPECT, HOST,
    HeaderMap, HeaderName, HeaderValue, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};

/// Headers that are about one connection (RFC 9110, 7.6.1), besides those that `Connection` names.
const HOP_BY_HOP: [HeaderName; 8] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("proxy-authenticate"),
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];
/// Headers of a request that the forwarding server has acted on, besides a login: the body is on its way already, and an answer is
/// compressed for the client where it leaves for the client.
const ANSWERED_HERE: [HeaderName; 6] = [
    hyper::header::PROXY_AUTHORIZATION,
    EXPECT,
    ACCEPT_ENCODING,
    HeaderName::from_static("x-forwarded-for"),
    HeaderName::from_static("x-forwarded-host"),
    HeaderName::from_static("x-forwarded-proto"),
];

/// Removes the headers that are about one connection.
pub(super) fn strip_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}

/// True if the server that answers acts with the login of the user itself: a replication of databases that are named without a
/// URL asks for them as the user does. For all else the signed header says what came of the login.
pub(super) fn needs_login(path: &[&str]) -> bool {
    path.first() == Some(&"_replicate")
}

/// The headers of a request for the server that answers it: those of the client, with its name for the server and one signed
/// header; the password goes along only where it is needed.
pub(super) fn of_request(
    client: &HeaderMap,
    (host, needs_login): (Option<&str>, bool),
    signed: HeaderValue,
) -> HeaderMap {
    let mut headers = client.clone();
    strip_hop_by_hop(&mut headers);
    if !needs_login {
        headers.remove(AUTHORIZATION);
    }
    for name in &ANSWERED_HERE {
        headers.remove(name);
    }
    if let Some(host) = host.and_then(|host| HeaderValue::from_str(host).ok()) {
        headers.insert(HOST, host);
    }
    headers.insert(FORWARDED, signed);
    headers
}

/// Takes out what described the body as the client sent it: the whole body is free of its encoding, and as long as it is.
pub(super) fn describe_whole_body(headers: &mut HeaderMap) {
    headers.remove(CONTENT_ENCODING);
    headers.remove(CONTENT_LENGTH);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(given: &[(&'static str, &'static str)]) -> HeaderMap {
        let given = given.iter();
        given
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            })
            .collect()
    }

    #[test]
    fn headers_of_one_connection_stay_there() {
        let mut all = headers(&[
            ("connection", "close, X-Private"),
            ("x-private", "1"),
            ("keep-alive", "timeout=5"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("etag", "\"1-a\""),
        ]);
        strip_hop_by_hop(&mut all);
        assert_eq!(all, headers(&[("etag", "\"1-a\"")]));
    }

    #[test]
    fn a_client_cannot_name_a_sender() {
        let client = headers(&[
            ("x-varve-forwarded", "forged"),
            ("x-varve-forwarded", "twice"),
            ("x-forwarded-for", "192.0.2.1"),
            ("authorization", "Basic x"),
            ("accept-encoding", "gzip"),
            ("expect", "100-continue"),
            ("host", "inner"),
            ("cookie", "AuthSession=x"),
            ("content-encoding", "gzip"),
        ]);
        let signed = HeaderValue::from_static("signed");
        let sent = of_request(&client, (Some("db.example"), false), signed.clone());
        let expected = headers(&[
            ("x-varve-forwarded", "signed"),
            ("host", "db.example"),
            ("cookie", "AuthSession=x"),
            ("content-encoding", "gzip"),
        ]);
        assert_eq!(sent, expected);
        let sent = of_request(&client, (Some("db.example"), true), signed);
        assert_eq!(sent[AUTHORIZATION], "Basic x");
        assert_eq!(sent.len(), expected.len() + 1);
        assert!(needs_login(&["_replicate"]) && !needs_login(&["d", "_replicate"]));
    }
}
