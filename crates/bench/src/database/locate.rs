//! Finding the file of a database that a user names.

use crate::BenchError;
use std::path::{Path, PathBuf};
use varve_base::Storage;
use varve_base::storage::EntryKind;
use varve_btree::TreeFile;

/// Ends the name of every database's file.
const EXTENSION: &str = ".varve";
/// Directory of databases in a served one.
const DATABASES: &str = "databases";

/// The file of the database `named`: its path, with or without the ending, or its name if the current directory is a
/// served one.
///
/// # Errors
/// [`BenchError::Remote`] for a URL; [`BenchError::NoSource`]; [`BenchError::NotADatabase`].
pub fn locate(storage: &dyn Storage, named: &Path) -> Result<PathBuf, BenchError> {
    let text = named.to_string_lossy();
    if ["http://", "https://"]
        .iter()
        .any(|scheme| text.starts_with(scheme))
    {
        return Err(BenchError::Remote {
            url: text.into_owned(),
        });
    }
    let with_ending = format!("{text}{EXTENSION}");
    let candidates = [
        named.to_owned(),
        PathBuf::from(&with_ending),
        Path::new(DATABASES).join(&with_ending),
    ];
    for path in candidates {
        if storage.kind(&path)? == Some(EntryKind::File) {
            let kind = TreeFile::kind_of(storage, &path)?;
            return match kind.is_some_and(|(kind, _)| kind == varve_docdb::KIND) {
                true => Ok(path),
                false => Err(BenchError::NotADatabase { path }),
            };
        }
    }
    match storage.kind(named)? {
        Some(_) => Err(BenchError::NotADatabase {
            path: named.to_owned(),
        }),
        None => Err(BenchError::NoSource {
            path: named.to_owned(),
        }),
    }
}
