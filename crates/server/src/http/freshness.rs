//! How new the state must be that a read sees, where several servers share databases.

use crate::Request;

/// State that a read may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// All commits that were acknowledged anywhere before the request came.
    Current,
    /// That of the server's own copy, which follows the log: no request to the store is made for it.
    Stale,
}

impl Request {
    /// The freshness that a request asks for: `stale=ok` and `stale=update_after` of any read allow an old state, as do
    /// `update=false` and `update=lazy` of a view, whose index is not brought up to date then either.
    pub(crate) fn freshness(&self) -> Freshness {
        let allows = |name, values: [&str; 2]| {
            let value = self.query(name);
            value.is_some_and(|value| values.contains(&value))
        };
        let is_view = || self.segments.iter().any(|part| part == "_view");
        let is_stale = allows("stale", ["ok", "update_after"])
            || allows("update", ["false", "lazy"]) && is_view();
        match self.is_read() && is_stale {
            true => Freshness::Stale,
            false => Freshness::Current,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::{HeaderMap, Method};

    #[test]
    fn only_reads_that_say_so_may_see_an_old_state() {
        for (method, target, expected) in [
            (Method::GET, "/d/x?stale=ok", Freshness::Stale),
            (
                Method::HEAD,
                "/d/_changes?stale=update_after",
                Freshness::Stale,
            ),
            (
                Method::GET,
                "/d/_design/a/_view/b?update=false",
                Freshness::Stale,
            ),
            (
                Method::GET,
                "/d/_design/a/_view/b?update=lazy",
                Freshness::Stale,
            ),
            (
                Method::GET,
                "/d/_design/a/_view/b?stable=true",
                Freshness::Current,
            ),
            (Method::GET, "/d/x?update=false", Freshness::Current),
            (Method::GET, "/d/x?stale=false", Freshness::Current),
            (Method::GET, "/d/x", Freshness::Current),
            (Method::POST, "/d/_find?stale=ok", Freshness::Current),
        ] {
            let uri = target.parse().unwrap();
            let request = Request::new(method, &uri, HeaderMap::new(), Vec::new()).unwrap();
            assert_eq!(request.freshness(), expected, "{target}");
        }
    }
}
