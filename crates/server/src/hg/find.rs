//! From the path behind `/hg/` to a repository below the served directory.
//!
//! Nothing is scanned at the start: a repository is there as soon as its directory is. Symbolic links
//! are not followed, neither on the way nor at the end: a working copy may hold links that its
//! committers chose.

use crate::directory::REPOSITORIES;
use crate::http::IN_PATH;
use percent_encoding::utf8_percent_encode;
use std::path::{Path, PathBuf};
use varve_base::storage::EntryKind;
use varve_base::{Storage, StorageError};

/// Directories between `repos/` and a repository that a listing goes down.
const LISTED_DEPTH: usize = 5;
/// Directories that a listing looks into at most. Working copies are among them, as repositories may stand in them.
const LOOKED_INTO: usize = 50_000;
/// Repositories that a listing names at most.
const LISTED: usize = 10_000;

/// A repository's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServedRepository {
    /// Its path below `repos/`, with slashes; or how it is called.
    pub(super) name: String,
    /// Its directory, relative to the served one.
    pub(super) directory: PathBuf,
    /// Whether it is all that is served, and has no path of its own.
    pub(super) is_lone: bool,
    /// Whether it is one of several that have nothing but their names in common.
    pub(super) is_in_collection: bool,
}

impl ServedRepository {
    /// One below `repos/`.
    pub(super) fn named(name: String) -> ServedRepository {
        ServedRepository {
            directory: Path::new(REPOSITORIES).join(&name),
            name,
            is_lone: false,
            is_in_collection: false,
        }
    }

    /// One of a shared store, whose storage has it alone.
    pub(super) fn in_log(path: &str) -> ServedRepository {
        ServedRepository {
            directory: PathBuf::new(),
            ..ServedRepository::named(path.to_owned())
        }
    }

    /// The path of its URL behind that of the server, without a slash at its end.
    pub(super) fn path(&self) -> String {
        match self.is_lone {
            true => String::new(),
            false => format!("/hg/{}", utf8_percent_encode(&self.name, IN_PATH)),
        }
    }

    /// How many segments behind `/hg/` it takes.
    pub(super) fn depth(&self) -> usize {
        match self.is_lone {
            true => 0,
            false => self.name.split('/').count(),
        }
    }
}

/// The repository that the decoded path segments name: the longest prefix of them that is one.
///
/// # Errors
/// [`StorageError`] if the disk fails; a name that cannot be is simply not found.
pub(super) fn find(
    storage: &dyn Storage,
    segments: &[String],
) -> Result<Option<ServedRepository>, StorageError> {
    let mut directory = PathBuf::from(REPOSITORIES);
    let mut found = None;
    for (index, segment) in segments.iter().enumerate() {
        // Behind the repository a page may be about `.hgignore`.
        if !is_plain(segment) {
            break;
        }
        directory.push(segment);
        if storage.kind(&directory)? != Some(EntryKind::Directory) {
            break;
        }
        if is_repository(storage, &directory)? {
            found = Some(ServedRepository {
                name: segments[..=index].join("/"),
                directory: directory.clone(),
                is_lone: false,
                is_in_collection: false,
            });
        }
    }
    Ok(found)
}

/// Whether a path segment can be a directory's name that is meant for others: no way up, no hidden
/// directory such as `.hg`, nothing that is a path itself.
pub(super) fn is_plain(segment: &str) -> bool {
    !segment.starts_with('.') && !segment.contains(['/', '\\', '\0'])
}

fn is_repository(storage: &dyn Storage, directory: &Path) -> Result<bool, StorageError> {
    Ok(storage.kind(&directory.join(".hg"))? == Some(EntryKind::Directory))
}

/// Names of the repositories below `repos/`, in order, also of those inside others. The ones that stand higher come
/// first where there are too many.
///
/// # Errors
/// [`StorageError`] if the disk fails.
pub(super) fn list(storage: &dyn Storage) -> Result<Vec<String>, StorageError> {
    let mut names = Vec::new();
    let mut level = vec![String::new()];
    let mut looked_into = 0;
    for _ in 0..LISTED_DEPTH {
        let mut below = Vec::new();
        for above in level {
            if looked_into == LOOKED_INTO || names.len() == LISTED {
                break;
            }
            looked_into += 1;
            below.extend(directories_in(storage, &above)?);
        }
        for name in &below {
            if names.len() < LISTED && is_repository(storage, &Path::new(REPOSITORIES).join(name))?
            {
                names.push(name.clone());
            }
        }
        level = below;
    }
    names.sort_unstable();
    Ok(names)
}

/// The directories in one below `repos/` that can have a name in a URL, by their names below `repos/`.
fn directories_in(storage: &dyn Storage, above: &str) -> Result<Vec<String>, StorageError> {
    let entries = match storage.list(&Path::new(REPOSITORIES).join(above)) {
        // It was removed since its name was read.
        Err(error) if error.is_not_found() && !above.is_empty() => Vec::new(),
        entries => entries?,
    };
    let directories = entries
        .into_iter()
        .filter(|entry| entry.kind == EntryKind::Directory);
    let names = directories.filter_map(|entry| {
        let name = entry.name.to_str().filter(|name| is_plain(name))?;
        Some(match above {
            "" => name.to_owned(),
            _ => format!("{above}/{name}"),
        })
    });
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use varve_base::DiskStorage;

    fn directory() -> (tempfile::TempDir, DiskStorage) {
        let dir = tempfile::tempdir().unwrap();
        for path in [
            "a/.hg",
            "team/b/.hg",
            "team/b/sub/.hg",
            "team/empty",
            ".hidden/.hg",
        ] {
            std::fs::create_dir_all(dir.path().join(REPOSITORIES).join(path)).unwrap();
        }
        std::fs::create_dir_all(dir.path().join("outside/.hg")).unwrap();
        let link = dir.path().join(REPOSITORIES).join("link");
        std::os::unix::fs::symlink(dir.path().join("outside"), link).unwrap();
        let storage = DiskStorage::new(dir.path());
        (dir, storage)
    }

    #[test]
    fn the_longest_prefix_is_the_repository() {
        let (_dir, storage) = directory();
        let name = |path: &str| {
            let segments: Vec<String> = path.split('/').map(str::to_owned).collect();
            find(&storage, &segments).unwrap().map(|found| found.name)
        };
        assert_eq!(name("a").as_deref(), Some("a"));
        assert_eq!(name("a/rev/tip").as_deref(), Some("a"));
        assert_eq!(name("team/b").as_deref(), Some("team/b"));
        assert_eq!(name("team/b/sub").as_deref(), Some("team/b/sub"));
        for nothing in ["", "none", "team", "team/empty", "link", ".hidden"] {
            assert_eq!(name(nothing), None, "{nothing}");
        }
        for outside in ["..", "../outside", "./a", "a\0"] {
            assert_eq!(name(outside), None, "{outside}");
        }
        for behind in ["a/../../outside", "a/.hg", "a/file/tip/.hgignore"] {
            assert_eq!(name(behind).as_deref(), Some("a"), "{behind}");
        }
        let one_segment = ["../outside".to_owned()];
        assert_eq!(find(&storage, &one_segment).unwrap(), None);
    }

    #[test]
    fn a_listing_names_what_is_meant_for_others() {
        let (_dir, storage) = directory();
        assert_eq!(list(&storage).unwrap(), ["a", "team/b", "team/b/sub"]);
    }

    #[test]
    fn all_that_is_listed_is_found() {
        let (_dir, storage) = directory();
        for name in list(&storage).unwrap() {
            let segments: Vec<String> = name.split('/').map(str::to_owned).collect();
            let found = find(&storage, &segments).unwrap();
            assert_eq!(found, Some(ServedRepository::named(name)));
        }
    }
}
