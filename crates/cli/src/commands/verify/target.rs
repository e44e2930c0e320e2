//! A path given to `verify` leads to a repository, to a database, or to a directory that Varve serves.

use super::database::Database;
use std::path::{Path, PathBuf};
use varve_base::storage::{Entry, EntryKind};
use varve_base::{DiskStorage, Storage};
use varve_hgcli::ui::Abort;
use varve_server::directory::{DATABASES, REPOSITORIES};

/// The directory that makes the one around it a repository.
const HG: &str = ".hg";
/// Ends the name of every database's file.
pub(super) const EXTENSION: &str = ".varve";

/// One argument of `verify`.
pub(super) enum Target {
    /// A repository, by the path of the directory with `.hg`.
    Repository(PathBuf),
    /// A database, by its file.
    Database(Database),
    /// Everything in a served directory.
    Served(Served),
}

/// The paths of all that a served directory keeps, sorted. None of it is opened yet, so that a file that cannot be opened
/// does not keep the others from being verified.
pub(super) struct Served {
    /// Files of databases.
    pub(super) databases: Vec<PathBuf>,
    /// Directories with `.hg`.
    pub(super) repositories: Vec<PathBuf>,
}

impl Target {
    /// Tells apart by what is there; `None` if nothing is.
    pub(super) fn find(cwd: &Path, named: &str) -> Result<Option<Target>, Abort> {
        let storage = DiskStorage::new(cwd);
        let path = Path::new(named);
        match storage.kind(path)? {
            Some(EntryKind::Directory) => directory(&storage, path).map(Some),
            Some(_) => Database::require(&storage, path)
                .map(Target::Database)
                .map(Some),
            None => {
                // The name of a database, as in DIR/databases/NAME.
                let file = PathBuf::from(format!("{named}{EXTENSION}"));
                match storage.kind(&file)? {
                    Some(EntryKind::File) => Database::require(&storage, &file)
                        .map(Target::Database)
                        .map(Some),
                    _ => Ok(None),
                }
            }
        }
    }
}

fn directory(storage: &DiskStorage, path: &Path) -> Result<Target, Abort> {
    if is_directory(storage, &path.join(HG))? {
        return Ok(Target::Repository(path.to_owned()));
    }
    let (databases, repositories) = (path.join(DATABASES), path.join(REPOSITORIES));
    if !is_directory(storage, &databases)? && !is_directory(storage, &repositories)? {
        let words = format!(
            "'{}' is neither a repository nor a directory that Varve serves",
            path.display()
        );
        return Err(Abort::new(words).hint(format!(
            "expected {HG} in it, or {DATABASES} or {REPOSITORIES}, or the file of a database (NAME{EXTENSION})"
        )));
    }
    Ok(Target::Served(Served {
        databases: database_files(storage, &databases)?,
        repositories: repositories_below(storage, repositories)?,
    }))
}

fn database_files(storage: &DiskStorage, directory: &Path) -> Result<Vec<PathBuf>, Abort> {
    let entries = sorted(storage, directory)?.into_iter();
    let is_database = |entry: &Entry| {
        let name = entry.name.as_encoded_bytes();
        name.ends_with(EXTENSION.as_bytes())
    };
    let files = entries.filter(is_database);
    Ok(files.map(|entry| directory.join(entry.name)).collect())
}

/// The repositories in and below a directory, also those inside others: they are served as well.
fn repositories_below(storage: &DiskStorage, top: PathBuf) -> Result<Vec<PathBuf>, Abort> {
    let (mut found, mut waiting) = (Vec::new(), vec![top]);
    while let Some(directory) = waiting.pop() {
        let entries = sorted(storage, &directory)?.into_iter().rev();
        for entry in entries.filter(|entry| entry.kind == EntryKind::Directory) {
            match entry.name == HG {
                true => found.push(directory.clone()),
                false => waiting.push(directory.join(entry.name)),
            }
        }
    }
    found.sort();
    Ok(found)
}

fn is_directory(storage: &DiskStorage, path: &Path) -> Result<bool, Abort> {
    Ok(storage.kind(path)? == Some(EntryKind::Directory))
}

/// The entries of a directory, by name; none if it is not there.
fn sorted(storage: &DiskStorage, path: &Path) -> Result<Vec<Entry>, Abort> {
    if !is_directory(storage, path)? {
        return Ok(Vec::new());
    }
    let mut entries = storage.list(path)?;
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}
