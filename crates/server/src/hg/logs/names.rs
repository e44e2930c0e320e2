//! Names of repositories in a shared store: `hg/` and what stands behind it in their URLs.

use crate::hg::find::is_plain;
use crate::runtime::LogKind;
use crate::runtime::log_names::{escape, unescape};
use varve_shared::{LogId, SharedError};

/// Names of repositories begin so, as paths of their URLs and as databases.
pub const NAME_PREFIX: &str = "hg/";
/// Logs of repositories have names that begin so.
const LOG_PREFIX: &str = "repositories/hg-";
/// A file that each repository has.
pub const MARK: &str = ".hg/requires";

/// Repositories as things with logs.
pub(super) const KIND: LogKind = LogKind {
    directory: "repositories/",
    log_of: log_of_repository,
    name_of: repository_of,
    mark: MARK,
};

/// The log of a repository.
///
/// # Errors
/// [`SharedError::BadName`].
pub fn log_of_repository(name: &str) -> Result<LogId, SharedError> {
    let path = name.strip_prefix(NAME_PREFIX).filter(|path| is_path(path));
    let path = path.ok_or_else(|| SharedError::BadName(name.to_owned()))?;
    escape(LOG_PREFIX, path)
}

/// The repository of a log, if it is that of one. Whatever lies in the store, the name can be one in a URL.
pub fn repository_of(log: &str) -> Option<String> {
    let path = unescape(LOG_PREFIX, log).filter(|path| is_path(path))?;
    Some(format!("{NAME_PREFIX}{path}"))
}

fn is_path(path: &str) -> bool {
    let mut segments = path.split('/');
    segments.all(|segment| !segment.is_empty() && is_plain(segment))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_and_logs_name_each_other() {
        for name in ["hg/a", "hg/Team/b-2.0", "hg/größer"] {
            let log = log_of_repository(name).unwrap().to_string();
            assert_eq!(repository_of(&log).as_deref(), Some(name), "{log}");
        }
        for refused in ["a", "hg/", "hg/.hg", "hg/a//b", "hg/a/../b", "hg/a\0"] {
            assert!(log_of_repository(refused).is_err(), "{refused}");
        }
        for foreign in [
            "databases/db-a",
            "repositories/hg-.2e.2e",
            "repositories/hg-.ff",
        ] {
            assert_eq!(repository_of(foreign), None, "{foreign}");
        }
    }
}
