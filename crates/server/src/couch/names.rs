//! Names: which ones a database may have, and how they stand in URLs.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::Failure;
use crate::couch::database::files as databases;
use crate::couch::replication::REPLICATOR;
use crate::couch::users::USERS;
use crate::http::FailureKind;
use varve_docdb::LONGEST_SUFFIX;

/// Longest database name in bytes, as in CouchDB, whose slashes are directories.
const MAX_NAME: usize = 238;
/// Longest file name that file systems take.
const MAX_FILE: usize = 255;

/// Characters that are escaped in a URL.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Refuses a name that no database may have. Of the peer's own databases there are `_users`, `_replicator` and those
/// whose names end in `/_replicator`.
///
/// # Errors
/// 400 `illegal_database_name` or `database_name_too_long`.
pub fn check_database_name(name: &str) -> Result<(), Failure> {
    if !is_legal(name) {
        return Err(Failure::new(
            FailureKind::BadRequest,
            "illegal_database_name",
            format!(
                "Name: '{name}'. Only lowercase characters (a-z), digits (0-9), and any of the \
                 characters _, $, (, ), +, -, and / are allowed. Must begin with a letter."
            ),
        ));
    }
    let file = databases::file_of(name);
    let file = file.file_name().map_or(0, |file| file.len());
    if name.len() > MAX_NAME || file + LONGEST_SUFFIX > MAX_FILE {
        return Err(Failure::new(
            FailureKind::BadRequest,
            "database_name_too_long",
            format!("At least one path segment of `{name}` is too long."),
        ));
    }
    Ok(())
}

/// Whether a database of this name could exist.
pub fn is_legal(name: &str) -> bool {
    let letter = name.as_bytes().first().is_some_and(u8::is_ascii_lowercase);
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let all = name
        .bytes()
        .all(|byte| plain(byte) || b"_$()+-/".contains(&byte));
    letter && all || name == USERS || name == REPLICATOR
}

/// The name as one segment of a path.
pub fn escape(name: &str) -> String {
    utf8_percent_encode(name, ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_as_couchdb_does() {
        for name in [
            "a",
            "a/b",
            "x1_$()+-/",
            "_users",
            "_replicator",
            "a/_replicator",
        ] {
            assert!(check_database_name(name).is_ok(), "{name}");
        }
        for name in [
            "",
            "A",
            "1a",
            "_foo",
            "_users2",
            "_replicators",
            "A/_replicator",
            "_a/_replicator",
            "a b",
            "a.b",
            "é",
            "a%",
        ] {
            assert_eq!(
                check_database_name(name).unwrap_err().status(),
                400,
                "{name}"
            );
        }
        // Slashes are longer in the name of a file.
        for long in ["a".repeat(239), format!("a{}", "/b".repeat(61))] {
            let refused = check_database_name(&long).unwrap_err();
            assert_eq!(refused.error, "database_name_too_long");
        }
        for longest in ["a".repeat(238), format!("a{}", "/b".repeat(60))] {
            assert!(check_database_name(&longest).is_ok());
        }
    }

    #[test]
    fn urls_have_escaped_slashes() {
        assert_eq!(escape("_local/a b"), "_local%2Fa%20b");
    }
}
