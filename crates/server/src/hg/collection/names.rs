//! From `[paths]` and `[collections]` of a settings file to the names of repositories.
//!
//! ```text
//! [paths]
//! NAME = DIR        one repository
//! NAME = DIR/*      NAME/REST for each below DIR, but none inside of others
//! NAME = DIR/**     those inside of others, too
//! [collections]
//! PREFIX = DIR      as DIR/*, named by its path without PREFIX
//! ```
//! Paths are as typed: neither `~` nor variables are replaced. Slashes at the ends of names do not matter.

use super::walk::{WalkBudget, WalkError, find_repositories};
use crate::ServerError;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use varve_config::hgrc::ConfigItem;

/// A repository with the name that its URL has behind that of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedRepository {
    /// Without slashes at its ends; empty for the one at the root.
    pub(super) name: Vec<u8>,
    /// An absolute path.
    pub(super) directory: PathBuf,
}

/// Names all repositories, in order. Of equal names the last one counts.
///
/// # Errors
/// [`ServerError::NotARepository`], [`ServerError::Walk`], [`ServerError::Interrupted`].
pub(super) fn name_repositories(
    paths: &[ConfigItem],
    collections: &[ConfigItem],
    started_in: &Path,
    budget: &mut WalkBudget<'_>,
) -> Result<Vec<NamedRepository>, ServerError> {
    let mut named = Vec::new();
    for item in paths.iter().filter(|item| !item.value.is_empty()) {
        let name = trim_slashes(&item.key);
        let (above, last) = split_last(&item.value);
        let is_recursive = match last {
            b"*" => false,
            b"**" => true,
            _ => {
                named.push(one(name, &item.value, started_in)?);
                continue;
            }
        };
        let root = normalize(&started_in.join(path_of(above)));
        for below in walk(&root, &root, is_recursive, budget)? {
            named.push(NamedRepository {
                name: joined(name, below.as_os_str().as_bytes()),
                directory: join(&root, &below),
            });
        }
    }
    for item in collections {
        let typed = path_of(&item.value);
        if item.value.is_empty() {
            let source = std::io::Error::from_raw_os_error(rustix::io::Errno::NOENT.raw_os_error());
            let path = typed.to_owned();
            return Err(ServerError::Walk { path, source });
        }
        for below in walk(&started_in.join(typed), typed, false, budget)? {
            let path = normalize(&join(typed, &below));
            let path_bytes = path.as_os_str().as_bytes();
            let name = path_bytes.strip_prefix(&item.key[..]).unwrap_or(path_bytes);
            named.push(NamedRepository {
                name: trim_slashes(name).to_owned(),
                directory: started_in.join(path),
            });
        }
    }
    Ok(named)
}

fn one(name: &[u8], typed: &[u8], started_in: &Path) -> Result<NamedRepository, ServerError> {
    let directory = started_in.join(path_of(typed));
    if !directory.join(".hg").is_dir() {
        return Err(ServerError::NotARepository {
            path: path_of(typed).to_owned(),
            name: String::from_utf8_lossy(name).into_owned(),
        });
    }
    Ok(NamedRepository {
        name: name.to_owned(),
        directory: normalize_end(&directory),
    })
}

fn walk(
    root: &Path,
    shown: &Path,
    is_recursive: bool,
    budget: &mut WalkBudget<'_>,
) -> Result<Vec<PathBuf>, ServerError> {
    find_repositories(root, is_recursive, budget).map_err(|error| match error {
        WalkError::Interrupted => ServerError::Interrupted,
        WalkError::Unreadable(source) => ServerError::Walk {
            path: shown.to_owned(),
            source,
        },
    })
}

fn path_of(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// The bytes before the last slash, with it where nothing else is before it, and those behind it.
fn split_last(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        None => (b"", path),
        Some(0) => (b"/", &path[1..]),
        Some(at) => (&path[..at], &path[at + 1..]),
    }
}

pub(super) fn trim_slashes(mut name: &[u8]) -> &[u8] {
    while let [b'/', rest @ ..] | [rest @ .., b'/'] = name {
        name = rest;
    }
    name
}

/// Both names with a slash between them, if neither is empty.
fn joined(name: &[u8], below: &[u8]) -> Vec<u8> {
    match (name, below) {
        (one, []) | ([], one) => one.to_owned(),
        _ => [name, b"/", below].concat(),
    }
}

/// Joined with nothing, a path would end in a slash.
fn join(path: &Path, below: &Path) -> PathBuf {
    match below.as_os_str().is_empty() {
        true => path.to_owned(),
        false => path.join(below),
    }
}

/// Without slashes and dots at its end, so that a directory has one spelling.
fn normalize_end(path: &Path) -> PathBuf {
    path.components().collect()
}

/// The path without `.`, `..` and needless slashes, whatever links there are.
fn normalize(path: &Path) -> PathBuf {
    let mut parts: Vec<Component<'_>> = Vec::new();
    for part in path.components() {
        match (part, parts.last()) {
            (Component::CurDir, _) | (Component::ParentDir, Some(Component::RootDir)) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    match parts.is_empty() {
        true => PathBuf::from("."),
        false => parts.iter().collect(),
    }
}
