//! The path below which a server has everything: requests for other paths find nothing.

use hyper::Uri;
use percent_encoding::{percent_decode_str, utf8_percent_encode};

use crate::http::request::IN_PATH;

/// Names of directories, as they are between slashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mount(Vec<String>);

impl Mount {
    /// Reads a path as people write it: slashes at its ends do not matter.
    pub(crate) fn parse(path: &str) -> Mount {
        let names = path.split('/').filter(|name| !name.is_empty());
        Mount(names.map(str::to_owned).collect())
    }

    /// As it stands in URLs: nothing, or `/a/b`.
    pub(crate) fn path(&self) -> String {
        let names = self.0.iter();
        names
            .map(|name| format!("/{}", utf8_percent_encode(name, IN_PATH)))
            .collect()
    }

    /// The part of a target below it; `None` if the target lies elsewhere. However many slashes are between names, and
    /// whatever is escaped, means the same.
    pub(crate) fn strip(&self, target: &Uri) -> Option<Uri> {
        if self.0.is_empty() {
            return Some(target.clone());
        }
        let mut rest = target.path();
        for name in &self.0 {
            let part = rest.trim_start_matches('/');
            let end = part.find('/').unwrap_or(part.len());
            if percent_decode_str(&part[..end]).ne(name.bytes()) {
                return None;
            }
            rest = &part[end..];
        }
        let path = if rest.is_empty() { "/" } else { rest };
        let inner = match target.query() {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        };
        inner.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_below_is_found_however_it_is_written() {
        let mount = Mount::parse("/a b/c/");
        assert_eq!(mount.path(), "/a%20b/c");
        let inner = |target: &str| {
            let found = mount.strip(&target.parse().unwrap());
            found.map(|uri| uri.to_string())
        };
        assert_eq!(inner("/a%20b/c").as_deref(), Some("/"));
        assert_eq!(inner("/a%20b/c?x=1").as_deref(), Some("/?x=1"));
        assert_eq!(inner("//a%20b//%63/d%2Fe/?x").as_deref(), Some("/d%2Fe/?x"));
        for outside in ["/", "/a%20b", "/a%20b/cc", "/c", "/x/a%20b/c", "/a%20b%2Fc"] {
            assert_eq!(inner(outside), None, "{outside}");
        }
    }

    #[test]
    fn without_a_path_nothing_lies_outside() {
        for nothing in ["", "/", "//"] {
            let mount = Mount::parse(nothing);
            assert_eq!(mount.path(), "");
            let target: Uri = "//x?y".parse().unwrap();
            assert_eq!(mount.strip(&target), Some(target));
        }
    }
}
