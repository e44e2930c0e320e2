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
    /// The path as it was written or found.
    pub(super) written: PathBuf,
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
                written: join(&root, &below),
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
                directory: started_in.join(&path),
                written: path,
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
        written: path_of(typed).to_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::create_dir_all;
    use std::os::unix::fs::symlink;
    use varve_base::Interrupt;
    use varve_config::hgrc::SettingSource;

    fn tree(repositories: &[&str], links: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for path in repositories {
            create_dir_all(dir.path().join(path).join(".hg")).unwrap();
        }
        for (to, link) in links {
            symlink(to, dir.path().join(link)).unwrap();
        }
        dir
    }

    fn items(pairs: &[(&str, &str)]) -> Vec<ConfigItem> {
        let item = |(key, value): &(&str, &str)| ConfigItem {
            key: key.as_bytes().to_vec(),
            value: value.as_bytes().to_vec(),
            source: SettingSource::Named("test".to_owned()),
        };
        pairs.iter().map(item).collect()
    }

    /// Names with the directories below `root`.
    fn names(
        root: &Path,
        paths: &[(&str, &str)],
        collections: &[(&str, &str)],
        (directories, repositories): (usize, usize),
    ) -> Result<(Vec<String>, bool), ServerError> {
        let stop = Interrupt::default();
        let mut budget = WalkBudget {
            directories,
            repositories,
            is_exceeded: false,
            stop: &stop,
        };
        let named = name_repositories(&items(paths), &items(collections), root, &mut budget)?;
        let shown = named.iter().map(|named| {
            let directory = named.directory.strip_prefix(root).unwrap();
            format!(
                "{}={}",
                String::from_utf8_lossy(&named.name),
                directory.display()
            )
        });
        Ok((shown.collect(), budget.is_exceeded))
    }

    fn all(root: &Path, paths: &[(&str, &str)], collections: &[(&str, &str)]) -> Vec<String> {
        let (named, is_cut) = names(root, paths, collections, (1000, 1000)).unwrap();
        assert!(!is_cut);
        named
    }

    #[test]
    fn patterns_name_what_is_below() {
        let repositories = [
            "d/one",
            "d/one/sub/in",
            "d/deep/x",
            "d/one/.hg/patches",
            "e",
            "d/one/.hg/other",
        ];
        let links = [
            ("../e", "d/link"),
            ("..", "d/deep/loop"),
            (".", "d/self"),
            ("../../e", "d/one/in"),
            ("gone", "d/none"),
        ];
        let dir = tree(&repositories, &links);
        let one_level = [
            "n/link=d/link",
            "n/deep/x=d/deep/x",
            "n/one=d/one",
            "n/one/.hg/patches=d/one/.hg/patches",
        ];
        assert_eq!(all(dir.path(), &[("/n/", "d/*")], &[]), one_level);
        let deep = [&one_level[..], &["n/one/sub/in=d/one/sub/in"]].concat();
        assert_eq!(all(dir.path(), &[("n", "e/.././d/**")], &[]), deep);
        let root = dir.path().to_str().unwrap();
        let absolute = format!("{root}/d/../d/one/sub/*");
        assert_eq!(
            all(dir.path(), &[("/", &absolute)], &[]),
            ["in=d/one/sub/in"]
        );
        assert_eq!(
            all(dir.path(), &[("n", "d/one/*"), ("/", "e/*")], &[]),
            ["n=d/one", "n/.hg/patches=d/one/.hg/patches", "=e"]
        );
    }

    #[test]
    fn links_that_a_working_copy_holds_lead_nowhere() {
        let dir = tree(
            &["d/one", "d/one/sub/in", "secret"],
            &[("../../secret", "d/one/link")],
        );
        create_dir_all(dir.path().join("d/one/plain")).unwrap();
        symlink("../../../secret", dir.path().join("d/one/plain/link")).unwrap();
        let named = all(dir.path(), &[("", "d/**")], &[]);
        assert_eq!(named, ["one=d/one", "one/sub/in=d/one/sub/in"]);
    }

    #[test]
    fn a_link_comes_before_the_directory_that_it_leads_to() {
        let dir = tree(&["d/b", "d/z"], &[("b", "d/a"), ("z", "d/zz")]);
        assert_eq!(all(dir.path(), &[("", "d/*")], &[]), ["a=d/a", "z=d/z"]);
    }

    #[test]
    fn collections_drop_a_part_of_the_path() {
        let dir = tree(&["d/one", "d/deep/x", "e"], &[]);
        let root = dir.path().to_str().unwrap().to_owned();
        let typed = format!("{root}/d");
        let part = format!("{root}/d/o");
        assert_eq!(
            all(dir.path(), &[], &[(&root, &typed)]),
            ["d/deep/x=d/deep/x", "d/one=d/one"]
        );
        let named = all(dir.path(), &[], &[(&part, &typed)]);
        assert_eq!(named[1], "ne=d/one");
        assert_eq!(
            all(dir.path(), &[("p", "e")], &[("d", "./d/deep"), ("x", "e/")]),
            ["p=e", "deep/x=d/deep/x", "e=e"]
        );
    }

    #[test]
    fn names_that_lead_nowhere_are_refused() {
        let dir = tree(&["d"], &[]);
        fn refused(
            root: &Path,
            paths: &[(&str, &str)],
            collections: &[(&str, &str)],
        ) -> ServerError {
            names(root, paths, collections, (9, 9)).unwrap_err()
        }
        let no_repository = |typed: &str| {
            let error = refused(dir.path(), &[("/a/b/", typed)], &[]);
            let ServerError::NotARepository { path, name } = error else {
                panic!("{error}")
            };
            assert_eq!((path.to_str(), &name[..]), (Some(typed), "a/b"));
        };
        for typed in ["none/", "d/o*", "~/d", "d/***", "$HOME"] {
            no_repository(typed);
        }
        for (paths, collections, shown) in [
            (&[("a", "none/../x/*")][..], &[][..], dir.path().join("x")),
            (&[], &[("a", "none")], PathBuf::from("none")),
            (&[], &[("a", "")], PathBuf::new()),
        ] {
            let error = refused(dir.path(), paths, collections);
            assert!(matches!(error, ServerError::Walk { path, .. } if path == shown));
        }
        assert_eq!(all(dir.path(), &[("a", "")], &[]), [""; 0]);
    }

    #[test]
    fn a_walk_ends_at_its_bounds_and_when_it_is_interrupted() {
        let dir = tree(&["d/a", "d/b", "d/c/d/e"], &[]);
        let cut = |bounds| names(dir.path(), &[("", "d/*")], &[], bounds).unwrap();
        assert_eq!(cut((1000, 2)), (vec!["a=d/a".into(), "b=d/b".into()], true));
        assert_eq!(cut((2, 1000)), (vec!["a=d/a".into()], true));
        assert_eq!(cut((6, 3)).0.len(), 3);
        let stop = Interrupt::default();
        stop.raise();
        let mut budget = WalkBudget {
            directories: 9,
            repositories: 9,
            is_exceeded: false,
            stop: &stop,
        };
        let paths = items(&[("", "d/*")]);
        let stopped = name_repositories(&paths, &[], dir.path(), &mut budget);
        assert!(matches!(stopped, Err(ServerError::Interrupted)));
    }
}
