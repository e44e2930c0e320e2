//! Names of databases' logs in a shared store.

use crate::couch::names::check_database_name;
use crate::runtime::LogKind;
use std::fmt::Write;
use varve_shared::{LogId, SharedError};

/// Path of a database's file in its log.
pub const FILE: &str = "database.varve";
/// Logs of databases have names that begin so.
const LOG_PREFIX: &str = "databases/db-";

/// Databases as things with logs.
pub(crate) const KIND: LogKind = LogKind {
    log_of,
    name_of: database_of,
    mark: FILE,
};

/// The log of a database with a legal name. All letters but those that both names may have are escaped as `.` and two
/// digits.
///
/// # Errors
/// [`SharedError::BadName`].
pub fn log_of(name: &str) -> Result<LogId, SharedError> {
    let mut log = LOG_PREFIX.to_owned();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'_' | b'+' | b'-' => log.push(char::from(byte)),
            other => {
                // Writing to a text does not fail.
                let _ = write!(log, ".{other:02x}");
            }
        }
    }
    LogId::new(&log)
}

/// The database of a log, if it is that of one. Whatever lies in the store, the name is a legal one.
pub fn database_of(log: &str) -> Option<String> {
    let mut rest = log.strip_prefix(LOG_PREFIX)?;
    let mut name = String::new();
    while let Some((plain, escaped)) = rest.split_once('.') {
        name.push_str(plain);
        let digits = escaped.get(..2)?;
        name.push(char::from(u8::from_str_radix(digits, 16).ok()?));
        rest = &escaped[2..];
    }
    name.push_str(rest);
    check_database_name(&name).is_ok().then_some(name)
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
