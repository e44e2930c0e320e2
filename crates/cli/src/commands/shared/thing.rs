//! Databases and repositories by the names of their logs.

use super::abort;
use std::fmt;
use varve_hgcli::ui::Abort;
use varve_server::couch::database::logs::{database_of, log_of};
use varve_server::couch::names::check_database_name;
use varve_server::hg::logs::{NAME_PREFIX, log_of_repository, repository_of};
use varve_shared::LogId;

/// A database or a repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StoredThing {
    /// Its name; that of a repository begins with [`NAME_PREFIX`].
    pub(super) name: String,
    pub(super) log: LogId,
}

impl fmt::Display for StoredThing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl StoredThing {
    /// The thing that a user means by a name.
    ///
    /// # Errors
    /// A name that neither can have.
    pub(super) fn named(name: &str) -> Result<StoredThing, Abort> {
        let log = match name.starts_with(NAME_PREFIX) {
            true => log_of_repository(name)
                .map_err(|_| Abort::new(format!("{name:?} is no name of a repository")))?,
            false => {
                check_database_name(name).map_err(|refused| Abort::new(refused.reason))?;
                log_of(name).map_err(abort)?
            }
        };
        let name = name.to_owned();
        Ok(StoredThing { name, log })
    }

    /// The thing of a log; `None` for logs that belong to neither.
    pub(super) fn of_log(log: &str) -> Option<StoredThing> {
        let name = repository_of(log).or_else(|| database_of(log))?;
        StoredThing::named(&name).ok()
    }

    /// The name of a repository below `repos/`; `None` for a database.
    pub(super) fn repository(&self) -> Option<&str> {
        self.name.strip_prefix(NAME_PREFIX)
    }

    /// For messages.
    pub(super) fn described(&self) -> String {
        match self.repository() {
            Some(name) => format!("repository {name:?}"),
            None => format!("database {:?}", self.name),
        }
    }
}
