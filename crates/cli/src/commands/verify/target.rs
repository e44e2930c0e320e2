//! What a path given to `verify` names: a repository, a database, or a directory that Varve serves.

use super::database::Database;
use std::path::{Path, PathBuf};
use varve_base::storage::{Entry, EntryKind};
use varve_base::{DiskStorage, Storage};
use varve_hgcli::ui::Abort;
use varve_server::directory::{DATABASES, REPOSITORIES};

/// The directory that makes the one around it a repository.
const HG: &str = ".hg";
/// Ends the name of every database's file.
const EXTENSION: &str = ".varve";

/// What is verified.
pub(super) enum Target {
    /// A repository, by the path of the directory with `.hg`.
    Repository(PathBuf),
    /// A database, by its file.
    Database(Database),
    /// All databases and repositories of a served directory, sorted by path.
    Served(Vec<Target>),
}

impl Target {
    /// Tells apart by what is there; `None` if nothing is.
    pub(super) fn find(cwd: &Path, named: &str) -> Result<Option<Target>, Abort> {
        let storage = DiskStorage::new(cwd);
        let path = Path::new(named);
        match storage.kind(path)? {
            Some(EntryKind::Directory) => directory(&storage, path).map(Some),
            Some(_) => database(&storage, path).map(Some),
            None => {
                // The name of a database, as in DIR/databases/NAME.
                let file = PathBuf::from(format!("{named}{EXTENSION}"));
                match storage.kind(&file)? {
                    Some(EntryKind::File) => database(&storage, &file).map(Some),
                    _ => Ok(None),
                }
            }
        }
    }

    /// What messages call it.
    pub(super) fn path(&self) -> &Path {
        match self {
            Target::Repository(path) => path,
            Target::Database(database) => database.path(),
            Target::Served(_) => Path::new(""),
        }
    }
}

fn database(storage: &DiskStorage, path: &Path) -> Result<Target, Abort> {
    match Database::open(storage, path)? {
        Some(database) => Ok(Target::Database(database)),
        None => Err(Abort::new(format!("'{}' is no database", path.display())).hint(
            "expected the file of a database (NAME.varve), a repository, or a directory that Varve serves",
        )),
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
    let mut found = Vec::new();
    for entry in sorted(storage, &databases)? {
        if entry
            .name
            .as_encoded_bytes()
            .ends_with(EXTENSION.as_bytes())
        {
            found.push(database(storage, &databases.join(&entry.name))?);
        }
    }
    add_repositories(storage, repositories, &mut found)?;
    Ok(Target::Served(found))
}

/// Adds the repositories in and below a directory; what is inside one belongs to it.
fn add_repositories(
    storage: &DiskStorage,
    top: PathBuf,
    found: &mut Vec<Target>,
) -> Result<(), Abort> {
    let mut waiting = vec![top];
    while let Some(directory) = waiting.pop() {
        if is_directory(storage, &directory.join(HG))? {
            found.push(Target::Repository(directory));
            continue;
        }
        let entries = sorted(storage, &directory)?.into_iter().rev();
        let directories = entries.filter(|entry| entry.kind == EntryKind::Directory);
        waiting.extend(directories.map(|entry| directory.join(entry.name)));
    }
    Ok(())
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
