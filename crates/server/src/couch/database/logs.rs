//! Names of databases' logs in a shared store.

use crate::couch::names::check_database_name;
use crate::runtime::LogKind;
use crate::runtime::log_names::{escape, unescape};
use varve_shared::{LogId, SharedError};

/// Path of a database's file in its log.
pub const FILE: &str = "database.varve";
/// Logs of databases have names that begin so.
const LOG_PREFIX: &str = "databases/db-";

/// Databases as things with logs.
pub(crate) const KIND: LogKind = LogKind {
    directory: "databases/",
    log_of,
    name_of: database_of,
    mark: FILE,
};

/// The log of a database with a legal name.
///
/// # Errors
/// [`SharedError::BadName`].
pub fn log_of(name: &str) -> Result<LogId, SharedError> {
    escape(LOG_PREFIX, name)
}

/// The database of a log, if it is that of one. Whatever lies in the store, the name is a legal one.
pub fn database_of(log: &str) -> Option<String> {
    unescape(LOG_PREFIX, log).filter(|name| check_database_name(name).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_and_logs_name_each_other() {
        for name in ["a", "_users", "x$()+-1/b/log", "log"] {
            let log = log_of(name).unwrap().to_string();
            assert_eq!(database_of(&log).as_deref(), Some(name), "{log}");
        }
        for foreign in ["x", "databases/x", "databases/db-a.zz", "databases/db-a."] {
            assert_eq!(database_of(foreign), None, "{foreign}");
        }
    }
}
