//! The file that a patch is for, where its names do not agree.

use super::ApplyOptions;
use crate::error::{PatchError, shown};
use crate::file_patches::{FileStart, Hunk};
use crate::git::{FileMetadata, FileOperation, NO_FILE};
use crate::target::PatchTarget;

/// A path as it is stripped: the part that went and the path that is left.
struct StrippedPath {
    base: Vec<u8>,
    path: Vec<u8>,
}

/// Strips `count` directories. Slashes that follow each other count as one.
fn strip(path: &[u8], count: usize, prefix: &[u8]) -> Result<StrippedPath, PatchError> {
    let mut at = 0;
    for left in (1..=count).rev() {
        let slash = path[at..].iter().position(|byte| *byte == b'/');
        let slash = slash.ok_or_else(|| PatchError::Strip {
            left,
            strip: count,
            path: shown(path),
        })?;
        at += slash + 1;
        while at + 1 < path.len() && path[at] == b'/' {
            at += 1;
        }
    }
    Ok(StrippedPath {
        base: path[..at].trim_ascii_start().to_vec(),
        path: [prefix, path[at..].trim_ascii_end()].concat(),
    })
}

/// Strips a path of git's metadata, which lack the first directory.
pub(super) fn strip_git(path: &[u8], options: &ApplyOptions) -> Result<Vec<u8>, PatchError> {
    let count = options.strip.saturating_sub(1);
    Ok(strip(path, count, &options.prefix)?.path)
}

/// First line and number of lines of both sides of the first hunk.
fn extents(start: &FileStart<'_>) -> [(usize, usize); 2] {
    match &start.first {
        Some(Hunk::Text(hunk)) => [&hunk.old, &hunk.new].map(|side| (side.start, side.len)),
        _ => [(1, 1); 2],
    }
}

/// Chooses the file of a patch without git's metadata.
pub(super) fn guess<T: PatchTarget>(
    start: &FileStart<'_>,
    target: &mut T,
    options: &ApplyOptions,
) -> Result<FileMetadata, T::Error> {
    let [old_extent, new_extent] = extents(start);
    let (no_old, no_new) = (start.old == NO_FILE, start.new == NO_FILE);
    let mut creates = no_old && old_extent == (0, 0);
    let removes = no_new && new_extent == (0, 0);
    let old = strip(&start.old, options.strip, &options.prefix)?;
    let has_old = !no_old && target.exists(&old.path)?;
    let new = strip(&start.new, options.strip, &options.prefix)?;
    let has_new = match old.path == new.path {
        true => has_old,
        false => !no_new && target.exists(&new.path)?,
    };
    let mut is_missing = !has_old && !has_new && !creates;
    // Some programs give a file to be made a name that begins with that of the new file, instead of /dev/null.
    let is_beside = directory(&old.path) == directory(&new.path);
    if is_missing && is_beside && old.path.starts_with(&new.path) && old_extent == (0, 0) {
        (creates, is_missing) = (true, false);
    }
    // The new side may be a backup, such as file.orig; then the file itself is meant.
    let is_backup = old.base == new.base && new.path.starts_with(&old.path);
    let of_both = if is_backup { &old.path } else { &new.path };
    let path = match (is_missing, has_old, has_new) {
        (false, true, true) => of_both,
        (false, true, false) => &old.path,
        _ if !no_new => of_both,
        _ if !no_old => &old.path,
        _ => return Err(PatchError::NoFile.into()),
    };
    let operation = match (creates, removes) {
        (true, _) => FileOperation::Add,
        (false, true) => FileOperation::Delete,
        (false, false) => FileOperation::Modify,
    };
    Ok(FileMetadata::new(path, operation))
}

fn directory(path: &[u8]) -> &[u8] {
    let slash = path.iter().rposition(|byte| *byte == b'/');
    &path[..slash.map_or(0, |at| at + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_stripped() {
        let path = |path: &str, count| {
            let stripped = strip(path.as_bytes(), count, b"in/");
            stripped.map(|stripped| shown(&stripped.path))
        };
        assert_eq!(path("a/b/c", 0).unwrap(), "in/a/b/c");
        assert_eq!(path("a/b/c", 1).unwrap(), "in/b/c");
        assert_eq!(path("a//b//c  ", 2).unwrap(), "in/c");
        let error = path("a/g", 3).unwrap_err().to_string();
        assert_eq!(error, "unable to strip away 2 of 3 dirs from a/g");
    }
}
