//! The features that a reader of a repository must know, one per line of `requires`.

use crate::format::RepoError;
use crate::format::storage_settings::requirement_of;
use std::collections::BTreeSet;
use std::path::Path;
use varve_base::Storage;
use varve_base::storage::read_if_there;
use varve_codec::CodecId;

/// All that this program knows how to read.
const KNOWN: &[&str] = &[
    "bookmarksinstore",
    "delta-info-revlog",
    "dirstate-tracked-key-v1",
    "dirstate-v2",
    "dotencode",
    "exp-compression-none",
    "fncache",
    "generaldelta",
    "persistent-nodemap",
    "relshared",
    "revlog-compression-zstd",
    "revlogv1",
    "share-safe",
    "shared",
    "sparserevlog",
    "store",
];

/// Requirements that say nothing about the bytes of a stream clone: the receiver has its own.
const NOT_STREAMED: &[&str] = &[
    "bookmarksinstore",
    "dirstate-tracked-key-v1",
    "dirstate-v2",
    "dotencode",
    "fncache",
    "persistent-nodemap",
    "relshared",
    "share-safe",
    "shared",
    "store",
];

/// Requirements of the repository around a store.
const OUTSIDE: &[&str] = &[
    "dirstate-tracked-key-v1",
    "dirstate-v2",
    "relshared",
    "share-safe",
    "shared",
];

/// Requirements of the format of the dirstate.
const OF_DIRSTATE: [&str; 2] = ["dirstate-tracked-key-v1", "dirstate-v2"];

/// The requirements of one repository, all of them known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirements(BTreeSet<String>);

impl Requirements {
    /// Requirements of a new repository whose chunks are compressed by `engine`.
    pub fn of_new_repository(engine: CodecId) -> Requirements {
        let names = [
            "dotencode",
            "fncache",
            "generaldelta",
            "revlogv1",
            "share-safe",
            "sparserevlog",
            "store",
        ];
        let names = names.into_iter().chain(requirement_of(engine));
        Requirements(names.map(str::to_owned).collect())
    }

    /// The same with one requirement more, or without it.
    #[must_use]
    pub fn with(mut self, name: &'static str, is_there: bool) -> Requirements {
        match is_there {
            true => _ = self.0.insert(name.to_owned()),
            false => _ = self.0.remove(name),
        }
        self
    }

    /// Reads `.hg/requires` of the repository at `root`, and the store's where that one says so.
    pub(crate) fn read(storage: &dyn Storage, root: &Path) -> Result<Requirements, RepoError> {
        let hg = root.join(".hg");
        let mut names = BTreeSet::new();
        add_lines(storage, &hg.join("requires"), &mut names)?;
        if names.contains("share-safe") {
            add_lines(storage, &hg.join("store/requires"), &mut names)?;
        }
        let known = |name: &String| KNOWN.contains(&name.as_str());
        let unknown: Vec<_> = names.iter().filter(|name| !known(name)).cloned().collect();
        if !unknown.is_empty() {
            return Err(RepoError::UnknownRequirements {
                path: root.to_owned(),
                features: unknown.join(", "),
            });
        }
        for feature in ["store", "revlogv1"] {
            if !names.contains(feature) {
                return Err(RepoError::TooOld {
                    path: root.to_owned(),
                    feature,
                });
            }
        }
        Ok(Requirements(names))
    }

    /// Whether this program can read a repository with this requirement.
    pub fn is_known(name: &str) -> bool {
        KNOWN.contains(&name)
    }

    /// Whether this program can read files of a store that have this requirement.
    pub fn is_streamable(name: &str) -> bool {
        KNOWN.contains(&name) && !NOT_STREAMED.contains(&name)
    }

    /// Whether a requirement stands outside of the store where it is share-safe.
    pub(crate) fn is_outside(name: &str) -> bool {
        OUTSIDE.contains(&name)
    }

    /// Those of a clone that takes the files of the store as they are; `new` are those of a new repository, and count for all that
    /// is not in the store.
    #[must_use]
    pub fn of_copy(&self, new: &Requirements) -> Requirements {
        let of_store = self.iter().filter(|name| !Requirements::is_outside(name));
        let outside = new.iter().filter(|name| Requirements::is_outside(name));
        Requirements(of_store.chain(outside).map(str::to_owned).collect())
    }

    /// True for a requirement of the dirstate's format, which each working copy has for itself.
    pub(crate) fn is_of_dirstate(name: &str) -> bool {
        OF_DIRSTATE.contains(&name)
    }

    /// Whether the store is that of another repository.
    pub fn is_share(&self) -> bool {
        self.has("shared") || self.has("relshared")
    }

    /// Whether a requirement is there.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// All of them, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Requirements that the receiver of a stream clone must know, sorted.
    pub fn streamed(&self) -> impl Iterator<Item = &str> {
        self.iter().filter(|name| !NOT_STREAMED.contains(name))
    }
}

/// The lines of a file of requirements.
pub(crate) fn add_lines(
    storage: &dyn Storage,
    path: &Path,
    names: &mut BTreeSet<String>,
) -> Result<(), RepoError> {
    let bytes = read_if_there(storage, path)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    names.extend(
        text.lines()
            .filter(|line| !line.is_empty())
            .map(str::to_owned),
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use varve_base::MemoryStorage;

    fn read(requires: &str, of_store: &str) -> Result<Requirements, String> {
        let files = [(".hg/requires", requires), (".hg/store/requires", of_store)];
        let files = files.map(|(path, text)| (PathBuf::from("r").join(path), text.into()));
        let storage = MemoryStorage::with_files(files);
        Requirements::read(&storage, Path::new("r")).map_err(|error| error.to_string())
    }

    #[test]
    fn the_stores_requirements_count_only_for_share_safe() {
        let safe = read("share-safe\n", "revlogv1\nstore\ngeneraldelta\n").unwrap();
        assert!(safe.has("generaldelta"));
        assert_eq!(
            safe.streamed().collect::<Vec<_>>(),
            ["generaldelta", "revlogv1"]
        );
        let old = read("revlogv1\nstore\n", "generaldelta\n").unwrap();
        assert!(!old.has("generaldelta"));
    }

    #[test]
    fn unknown_requirements_are_refused_by_name() {
        assert_eq!(
            read("share-safe\n", "revlogv1\nstore\nlfs\ntreemanifest\n").unwrap_err(),
            "repository r requires features unknown to this Varve: lfs, treemanifest"
        );
        assert!(read("revlogv1\n", "").unwrap_err().contains("no store"));
    }
}
