//! Our side of a merge where earlier merges are not committed yet.

use crate::tree::WorkingFile;
use crate::{Dirstate, Ignore, StatusLists, StatusRequest, Tree, WorkdirError, working_status};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use varve_base::Interrupt;
use varve_lang::patterns::Matcher;
use varve_repo::{FileKind, Repository};

/// The files of the working copy, of whose first parent `tree` has the files.
pub(super) fn working_tree<'a>(
    repository: &Repository,
    dirstate: &Dirstate,
    tree: &Tree<'a>,
    stop: &Interrupt,
) -> Result<Tree<'a>, WorkdirError> {
    let looked = working_status(&StatusRequest {
        repository,
        dirstate,
        matcher: &Matcher::everything(),
        ignore: &Ignore::default(),
        listing: StatusLists::default(),
        stop,
    })?;
    let status = looked.status;
    let mut changes: BTreeMap<Vec<u8>, WorkingFile> = BTreeMap::new();
    for path in status.modified.into_iter().chain(status.added) {
        let source = dirstate.copy_source(&path).unwrap_or(&path);
        let origin = tree.get(source)?;
        let origin = origin.map(|(node, _)| (source.to_vec(), node));
        let kind = kind(repository, &path)?;
        changes.insert(path, Some((kind, origin)));
    }
    let gone = status.removed.into_iter().chain(status.deleted);
    changes.extend(gone.map(|path| (path, None)));
    tree.with_changes(changes)
}

fn kind(repository: &Repository, path: &[u8]) -> Result<FileKind, WorkdirError> {
    /// Bit of a mode that lets the owner execute.
    const EXECUTABLE: u32 = 0o100;
    let path = repository.root().join(OsStr::from_bytes(path));
    let found = path
        .symlink_metadata()
        .map_err(WorkdirError::io("read", &path))?;
    Ok(match found.permissions().mode() & EXECUTABLE {
        _ if found.is_symlink() => FileKind::Symlink,
        0 => FileKind::Plain,
        _ => FileKind::Executable,
    })
}
