//! Requests that a page of another site makes in the name of its reader.
//!
//! A browser sends a form, or a `fetch` that looks like one, to any server without asking it first, together with the
//! reader's cookie or basic login. It says from where: in `Origin`, `Sec-Fetch-Site` or `Referer`. Programs say
//! nothing of the kind; they are believed unless they log in with a cookie, as browsers do.

use crate::auth::Login;
use crate::http::same_host;
use crate::{Failure, Request};
use hyper::Method;
use varve_config::Cors;

/// Content types that a form can have. A form can also send a body without one.
const OF_FORMS: [&str; 3] = [
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "text/plain",
];

/// Refuses what a page of another site may have made.
///
/// # Errors
/// 400 in the words that CouchDB has for its form uploads.
pub(super) fn check(
    request: &Request,
    login: Option<&Login>,
    cors: Option<&Cors>,
) -> Result<(), Failure> {
    if !is_forgeable(request) {
        return Ok(());
    }
    if let Some(origin) = request.headers.get("origin") {
        let origin = origin.to_str().unwrap_or_default();
        let is_own = same_host(request, origin) || is_listed(cors, origin);
        return refuse_unless(is_own, "Origin header must match host.");
    }
    if let Some(site) = request.headers.get("sec-fetch-site") {
        let is_own = site == "same-origin" || site == "none";
        return refuse_unless(is_own, "Referer header must match host.");
    }
    if let Some(referer) = request.headers.get("referer") {
        let is_own = same_host(request, referer.to_str().unwrap_or_default());
        return refuse_unless(is_own, "Referer header must match host.");
    }
    // Logging in makes nothing of the login before it.
    let logs_in = request.path() == ["_session"];
    let has_cookie = login.is_some_and(|login| login.by == Some("cookie"));
    refuse_unless(!has_cookie || logs_in, "Referer header required.")
}

fn is_forgeable(request: &Request) -> bool {
    let is_of_form = |media: String| OF_FORMS.contains(&media.as_str());
    request.method == Method::POST && request.content_type().is_none_or(is_of_form)
}

/// Whether scripts of this origin may send what they like. `*` is not for requests with a login.
fn is_listed(cors: Option<&Cors>, origin: &str) -> bool {
    cors.is_some_and(|cors| {
        let mut listed = cors.origins.iter();
        cors.credentials && listed.any(|known| known != "*" && known.eq_ignore_ascii_case(origin))
    })
}

fn refuse_unless(is_own: bool, reason: &str) -> Result<(), Failure> {
    match is_own {
        true => Ok(()),
        false => Err(Failure::bad_request(reason)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UserContext;
    use hyper::header::{HeaderMap, HeaderName};
    use std::time::Duration;

    type Headers<'h> = &'h [(&'static str, &'h str)];

    fn request(method: Method, path: &str, headers: Headers<'_>) -> Request {
        let host = [("host", "db.test:5984")];
        let headers = host
            .iter()
            .chain(headers)
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        let headers = HeaderMap::from_iter(headers);
        Request::new(method, &path.parse().unwrap(), headers, Vec::new()).unwrap()
    }

    fn login(by: Option<&'static str>) -> Login {
        Login {
            user: UserContext::admin("a"),
            by,
            ..Login::default()
        }
    }

    fn refusal(by: Option<&'static str>, headers: Headers<'_>) -> Option<String> {
        let posted = request(Method::POST, "/db/doc", headers);
        check(&posted, Some(&login(by)), None)
            .err()
            .map(|failure| failure.reason)
    }

    const COOKIE: Option<&str> = Some("cookie");
    const BASIC: Option<&str> = Some("default");

    #[test]
    fn pages_of_other_sites_are_refused_whatever_the_login() {
        for by in [None, COOKIE, BASIC] {
            for foreign in [
                ("origin", "https://evil.test"),
                ("origin", "null"),
                ("origin", "http://db.test"),
                ("origin", "http://db.test:5984.evil.test"),
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-site", "same-site"),
                ("referer", "http://evil.test/db.test:5984"),
            ] {
                for kind in [
                    "multipart/form-data; boundary=b",
                    "text/plain",
                    "Application/x-www-form-URLencoded",
                ] {
                    let told = refusal(by, &[foreign, ("content-type", kind)]);
                    assert!(
                        told.is_some_and(|told| told.ends_with("must match host.")),
                        "{foreign:?} {kind}"
                    );
                }
                assert!(refusal(by, &[foreign]).is_some());
                let json = ("content-type", "application/json");
                assert_eq!(refusal(by, &[foreign, json]), None, "a browser asks first");
            }
            for own in [
                ("origin", "http://DB.test:5984"),
                ("sec-fetch-site", "same-origin"),
                (
                    "referer",
                    "http://db.test:5984/form.html?x=http://evil.test",
                ),
            ] {
                assert_eq!(refusal(by, &[own]), None, "{own:?}");
            }
        }
    }

    #[test]
    fn only_cookies_need_an_origin() {
        assert_eq!(refusal(BASIC, &[]), None);
        assert_eq!(refusal(None, &[]), None);
        assert_eq!(
            refusal(COOKIE, &[]).as_deref(),
            Some("Referer header required.")
        );
        let renewed = request(Method::POST, "/_session", &[]);
        assert!(check(&renewed, Some(&login(COOKIE)), None).is_ok());
        let foreign = [("origin", "http://evil.test")];
        let forged = request(Method::POST, "/_session", &foreign);
        assert!(check(&forged, None, None).is_err());
        for method in [Method::PUT, Method::DELETE, Method::GET] {
            let other = request(method, "/db/doc", &foreign);
            assert!(check(&other, Some(&login(COOKIE)), None).is_ok());
        }
    }

    #[test]
    fn only_listed_origins_with_credentials_are_let_in() {
        let cors = |origin: &str, credentials| Cors {
            origins: vec![origin.to_owned()],
            credentials,
            headers: Vec::new(),
            methods: Vec::new(),
            max_age: Duration::from_secs(60),
        };
        let posted = request(Method::POST, "/db/doc", &[("origin", "https://app.test")]);
        let checked = |cors| check(&posted, Some(&login(COOKIE)), Some(&cors)).is_ok();
        assert!(checked(cors("https://app.test", true)));
        assert!(!checked(cors("https://app.test", false)));
        assert!(!checked(cors("*", true)));
    }

    #[test]
    fn standard_ports_need_not_be_named() {
        let mut posted = request(Method::POST, "/db/doc", &[("origin", "https://db.test")]);
        posted
            .headers
            .insert("host", "db.test:443".parse().unwrap());
        assert!(check(&posted, None, None).is_ok());
        posted
            .headers
            .insert("origin", "http://db.test".parse().unwrap());
        assert!(check(&posted, None, None).is_err());
        posted.headers.insert("host", "db.test".parse().unwrap());
        assert!(check(&posted, None, None).is_ok());
        posted.is_encrypted = true;
        assert!(
            check(&posted, None, None).is_err(),
            "a page that came without TLS"
        );
    }
}
