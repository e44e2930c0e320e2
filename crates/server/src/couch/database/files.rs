//! Which file holds which database.

use crate::directory::DATABASES;
use std::path::{Path, PathBuf};

/// Ends the name of every database's file.
const EXTENSION: &str = ".varve";

/// The file of a database, relative to the served directory. A slash cannot stand in a file name; all
/// other letters that a database's name may have can.
pub fn file_of(name: &str) -> PathBuf {
    let file = format!("{}{EXTENSION}", name.replace('/', "%2F"));
    Path::new(DATABASES).join(file)
}

/// The database that a file in the directory of databases holds; `None` if it is none.
pub fn name_of(file: &str) -> Option<String> {
    let name = file.strip_suffix(EXTENSION)?;
    let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let escaped = name.replace("%2F", "/");
    let mut bytes = escaped.bytes();
    let legal = bytes.all(|byte| legal(byte) || b"_$()+-/".contains(&byte));
    legal.then_some(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_from_their_files() {
        for name in ["a", "a/b/c", "_users", "x$()+-1"] {
            let file = file_of(name);
            assert_eq!(file.parent(), Some(Path::new(DATABASES)));
            let file = file.file_name().unwrap().to_str().unwrap();
            assert_eq!(name_of(file).as_deref(), Some(name));
        }
        for foreign in [
            "a",
            "A.varve",
            "a.varve.new",
            ".varve.compact",
            "a%2f.varve",
        ] {
            assert_eq!(name_of(foreign), None, "{foreign}");
        }
    }
}
