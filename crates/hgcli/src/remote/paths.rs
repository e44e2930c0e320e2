//! Other repositories by name: the section `[paths]`.

use crate::context::{Config, Repo};
use crate::ui::{Abort, Ui, environment};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use varve_config::hgrc::{ConfigItem, Files, SettingSource, boolean, list};

/// A name with the place that it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemotePath {
    pub(crate) name: Vec<u8>,
    /// A URL, or an absolute path.
    pub(crate) url: Vec<u8>,
    /// Options such as `pushurl`, sorted.
    pub(crate) options: Vec<(&'static str, Vec<u8>)>,
}

/// Options that a path may have.
const OPTIONS: &[&str] = &["bookmarks.mode", "multi-urls", "pushrev", "pushurl"];

/// Values of `bookmarks.mode`.
const BOOKMARK_MODES: &[&[u8]] = &[b"default", b"mirror", b"ignore"];

impl RemotePath {
    /// The value of an option.
    pub(crate) fn option(&self, name: &str) -> Option<&[u8]> {
        let found = self.options.iter().find(|(option, _)| *option == name);
        found.map(|(_, value)| &value[..])
    }
}

/// Options of `*`, which are those of an address without a name.
pub(crate) fn of_unnamed(
    ui: &mut Ui,
    config: &Config,
) -> Result<Vec<(&'static str, Vec<u8>)>, Abort> {
    options(ui, config.section("paths"), b"*")
}

/// All names, sorted.
pub(crate) fn paths(repo: &Repo, ui: &mut Ui, config: &Config) -> Result<Vec<RemotePath>, Abort> {
    let items = config.section("paths");
    let mut paths = Vec::new();
    for item in items {
        if item.key.contains(&b':') || item.value.is_empty() {
            continue;
        }
        let options = options(ui, items, &item.key)?;
        for url in urls(repo, item, &options) {
            paths.push(RemotePath {
                name: item.key.clone(),
                url,
                options: options.clone(),
            });
        }
    }
    let known = paths.clone();
    for path in &mut paths {
        follow(path, &known)?;
    }
    paths.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(paths)
}

/// Options of one name; those of `*` are of all names.
fn options(
    ui: &mut Ui,
    items: &[ConfigItem],
    name: &[u8],
) -> Result<Vec<(&'static str, Vec<u8>)>, Abort> {
    let mut options = Vec::new();
    for option in OPTIONS {
        let written = |name: &[u8]| {
            let key = [name, b":", option.as_bytes()].concat();
            let item = items.iter().find(|item| item.key == key);
            item.map(|item| item.value.clone())
        };
        let Some(value) = written(name).or_else(|| written(b"*")) else {
            continue;
        };
        let (shown_name, shown) = (
            String::from_utf8_lossy(name),
            String::from_utf8_lossy(&value),
        );
        if *option == "pushurl" && !is_url(&value) {
            let words = format!("(paths.{shown_name}:pushurl not a URL; ignoring: \"{shown}\")\n");
            ui.warn(words)?;
        } else if *option == "bookmarks.mode" && !BOOKMARK_MODES.contains(&value.as_slice()) {
            let words =
                format!("(paths.{shown_name}:bookmarks.mode has unknown value: \"{shown}\")\n");
            ui.warn(words)?;
            options.push((*option, value));
        } else {
            options.push((*option, value));
        }
    }
    Ok(options)
}

fn urls(repo: &Repo, item: &ConfigItem, options: &[(&str, Vec<u8>)]) -> Vec<Vec<u8>> {
    let several = options
        .iter()
        .any(|(option, value)| *option == "multi-urls" && boolean(value) == Some(true));
    let written = if several {
        list(&item.value)
    } else {
        vec![item.value.clone()]
    };
    let base = base(repo, item);
    written.iter().map(|url| absolute(url, &base)).collect()
}

/// The directory that relative paths are meant from: the repository's for its own file, the user's
/// for his, the current one for an argument.
fn base(repo: &Repo, item: &ConfigItem) -> PathBuf {
    let root = repo.location().root();
    match (&item.source, root) {
        (SettingSource::Line(file, _), Some(root)) if file.starts_with(root.join(".hg")) => {
            root.to_owned()
        }
        (SettingSource::Line(..), _) => environment::Environment.expand(b"~"),
        (SettingSource::Named(_), _) => repo.cwd.clone(),
    }
}

fn absolute(url: &[u8], base: &Path) -> Vec<u8> {
    if is_url(url) {
        return with_root(url);
    }
    let path = base.join(environment::Environment.expand(url));
    normal(&path).into_os_string().as_bytes().to_vec()
}

/// A URL of a whole server with the `/` that it means.
pub(crate) fn with_root(url: &[u8]) -> Vec<u8> {
    const SCHEMES: [&[u8]; 2] = [b"http://", b"https://"];
    let server = SCHEMES.iter().find_map(|scheme| url.strip_prefix(*scheme));
    let ends = |byte: &u8| b"/?#".contains(byte);
    let end = server.map(|server| server.iter().position(ends).unwrap_or(server.len()));
    match (server, end) {
        (Some(server), Some(end)) if end > 0 && !server[end..].starts_with(b"/") => {
            let (before, behind) = url.split_at(url.len() - server.len() + end);
            [before, b"/", behind].concat()
        }
        _ => url.to_vec(),
    }
}

/// A path without `.` and `..`, by its text alone.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// Replaces `path://NAME` by the URL of that name.
fn follow(path: &mut RemotePath, known: &[RemotePath]) -> Result<(), Abort> {
    let Some(name) = path.url.strip_prefix(b"path://") else {
        return Ok(());
    };
    let refuse = |words: &str| {
        let (url, name) = (
            String::from_utf8_lossy(&path.url),
            String::from_utf8_lossy(name),
        );
        Abort::new(format!("cannot use `{url}`, \"{name}\" is {words}"))
    };
    let target = known.iter().find(|other| other.name == name);
    let target = target.ok_or_else(|| refuse("not a known path"))?;
    if target.url.starts_with(b"path://") {
        return Err(refuse("also defined as a `path://`"));
    }
    for (option, value) in &target.options {
        if path.options.iter().all(|(own, _)| own != option) {
            path.options.push((option, value.clone()));
        }
    }
    path.options.sort_unstable();
    path.url = target.url.clone();
    Ok(())
}

/// Whether this is a URL and no path.
pub(crate) fn is_url(text: &[u8]) -> bool {
    let colon = text.windows(3).position(|part| part == b"://");
    let letters = |scheme: &[u8]| {
        scheme
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte))
    };
    colon.is_some_and(|colon| colon > 0 && letters(&text[..colon]))
}

/// A URL as it may be shown: stars instead of its password.
pub(crate) fn without_password(url: &[u8]) -> Vec<u8> {
    let hide = || {
        let start = url.windows(3).position(|part| part == b"://")? + 3;
        let host = &url[start..];
        let end = host
            .iter()
            .position(|byte| *byte == b'/')
            .unwrap_or(host.len());
        let at = host[..end].iter().rposition(|byte| *byte == b'@')?;
        let colon = host[..at].iter().position(|byte| *byte == b':')?;
        Some([&url[..=start + colon], b"***", &host[at..]].concat())
    };
    hide().unwrap_or_else(|| url.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_a_root() {
        let with = |url: &str| String::from_utf8(with_root(url.as_bytes())).unwrap();
        assert_eq!(with("http://h"), "http://h/");
        assert_eq!(with("https://u:p@h:1#b"), "https://u:p@h:1/#b");
        for same in [
            "http://h/",
            "http://h/r",
            "http://",
            "ssh://h",
            "/p",
            "http://h/#b",
        ] {
            assert_eq!(with(same), same);
        }
    }
}
