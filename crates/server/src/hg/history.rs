//! Repositories as sources of databases.

use crate::hg::find::{self, ServedRepository};
use crate::hg::hgrc::RepositoryConfig;
use crate::hg::{OpenError, RepoRegistry, listing, open, recover};
use crate::runtime::dirty::DirtySet;
use crate::{Failure, UserContext};
use std::time::SystemTime;
use varve_base::StorageError;
use varve_config::hgrc::HgrcError;
use varve_config::{DATA_GLOBS, History, is_data_glob};
use varve_history::HistorySettings;
use varve_repo::Repository;

/// The section of a repository's configuration.
const SECTION: &str = "history";

/// A repository and how it is shown as a database.
#[derive(Debug)]
pub(crate) struct HistorySource {
    pub(crate) repository: Repository,
    pub(crate) settings: HistorySettings,
}

/// Times and lengths of files that change with every change of a repository. Equal stamps that are settled mean an
/// unchanged repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HistoryStamp {
    /// Of `.hg`, `.hg/store` and `.hg/hgrc`. Mercurial replaces bookmarks and phases by renaming, which changes the time
    /// of their directory.
    modified: [Option<SystemTime>; 3],
    /// Of the changelog's index and of the markers, which grow in place.
    lengths: [Option<u64>; 2],
}

impl HistoryStamp {
    /// The newest of its times.
    pub(crate) fn newest(&self) -> Option<SystemTime> {
        self.modified.iter().flatten().max().copied()
    }
}

impl RepoRegistry {
    /// Names of all repositories, in order.
    ///
    /// # Errors
    /// [`StorageError`] if the disk fails.
    pub(crate) fn repository_names(&self) -> Result<Vec<String>, StorageError> {
        find::list(self.storage().as_ref())
    }

    /// Repositories that were pushed to since this was last asked.
    pub(crate) fn pushed(&self) -> &DirtySet {
        &self.pushed
    }

    fn named(&self, name: &str) -> Result<Option<ServedRepository>, StorageError> {
        let segments: Vec<String> = name.split('/').map(str::to_owned).collect();
        // One repository is one database, however many slashes a name has.
        if segments.iter().any(String::is_empty) {
            return Ok(None);
        }
        let found = self.find(&segments)?;
        Ok(found.filter(|found| found.name == name))
    }

    /// State of a repository that changes with it.
    ///
    /// # Errors
    /// [`StorageError`] if the disk fails.
    pub(crate) fn history_stamp(&self, name: &str) -> Result<HistoryStamp, StorageError> {
        let storage = self.storage();
        let hg = ServedRepository::named(name.to_owned())
            .directory
            .join(".hg");
        let store = hg.join("store");
        Ok(HistoryStamp {
            modified: [
                storage.modified(&hg)?,
                storage.modified(&store)?,
                storage.modified(&hg.join("hgrc"))?,
            ],
            lengths: [
                storage.file_len(&store.join("00changelog.i"))?,
                storage.file_len(&store.join("obsstore"))?,
            ],
        })
    }

    /// The repository of that name, with its settings above those of the server; `None` if there is none, or it is not to
    /// be a database.
    ///
    /// # Errors
    /// The reason why it cannot be read, in words for the operator.
    pub(crate) fn history_source(
        &self,
        name: &str,
        usual: &History,
    ) -> Result<Option<HistorySource>, String> {
        let source = self.find_source(name, usual);
        source.map_err(|error| error.to_string())
    }

    fn find_source(&self, name: &str, usual: &History) -> Result<Option<HistorySource>, OpenError> {
        let Some(found) = self.named(name)? else {
            return Ok(None);
        };
        let config = RepositoryConfig::read(self, &found)?;
        if !(config.values).boolean(SECTION, "databases", usual.databases)? {
            return Ok(None);
        }
        let settings = settings(&config, usual)?;
        let opened = open(self, &found)?;
        recover(self, &found, &opened.repository);
        Ok(Some(HistorySource {
            repository: opened.repository.clone(),
            settings,
        }))
    }

    /// Returns whether a user may read the repository; false if there is none of that name.
    ///
    /// # Errors
    /// 500 if its rights cannot be read.
    pub(crate) fn may_read(&self, name: &str, user: &UserContext) -> Result<bool, Failure> {
        let Some(found) = self.named(name).map_err(Failure::internal)? else {
            return Ok(false);
        };
        let readable = listing::may_read(self, &found, user);
        readable.map_err(|error| Failure::internal(error.to_string()))
    }
}

fn settings(config: &RepositoryConfig, usual: &History) -> Result<HistorySettings, HgrcError> {
    let switch = |key, usual| config.values.boolean(SECTION, key, usual);
    let includes_drafts = match config.values.text(SECTION, "include").as_deref() {
        None => usual.includes_drafts,
        Some("draft") => true,
        Some("public") => false,
        Some(other) => {
            return Err(HgrcError::Value {
                section: SECTION.to_owned(),
                key: "include".to_owned(),
                expected: "public or draft",
                found: other.to_owned(),
            });
        }
    };
    Ok(HistorySettings {
        data: data(config, usual)?,
        includes_drafts,
        counts_lines: switch("line_counts", usual.counts_lines)?,
        lists_files: switch("files", usual.lists_files)?,
    })
}

/// Globs of data files.
fn data(config: &RepositoryConfig, usual: &History) -> Result<Vec<String>, HgrcError> {
    if config.values.get(SECTION, "data").is_none() {
        return Ok(usual.data.clone());
    }
    let globs = config.values.list(SECTION, "data").into_iter();
    let checked = globs.map(|glob| match String::from_utf8(glob) {
        Ok(glob) if is_data_glob(&glob) => Ok(glob),
        refused => Err(HgrcError::Value {
            section: SECTION.to_owned(),
            key: "data".to_owned(),
            expected: DATA_GLOBS,
            found: refused
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
        }),
    });
    checked.collect()
}
