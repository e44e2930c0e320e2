//! Names as people write them, made relative to the root of the repository.

use super::PatternError;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Looks at what a path leads through.
pub trait Audit {
    /// Refuses paths that lead out of the repository, or into another.
    ///
    /// # Errors
    /// What is wrong with the path.
    fn check(&self, path: &[u8]) -> Result<(), PatternError>;
}

/// Looks at nothing but the names: for revisions, whose files are not on the disk.
#[derive(Clone, Copy, Debug, Default)]
pub struct NamesOnly;

impl Audit for NamesOnly {
    fn check(&self, path: &[u8]) -> Result<(), PatternError> {
        check_components(path)
    }
}

/// Refuses names that belong to a repository's own folder.
///
/// # Errors
/// What is wrong with the path.
pub fn check_components(path: &[u8]) -> Result<(), PatternError> {
    let shown = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
    let own = |part: &[u8]| part.eq_ignore_ascii_case(b".hg") || part.eq_ignore_ascii_case(b".hg.");
    let mut start = 0;
    for (at, part) in path.split(|byte| *byte == b'/').enumerate() {
        if part == b".." || (at == 0 && (own(part) || part.is_empty() && path.len() > 1)) {
            return Err(PatternError::IllegalComponent(shown(path)));
        }
        if own(part) {
            return Err(PatternError::NestedRepository {
                path: shown(path),
                nested: shown(&path[..start - 1]),
            });
        }
        start += part.len() + 1;
    }
    Ok(())
}

/// Takes out `.`, `..` and double slashes. What is left of nothing is `.`; what leads out of the
/// beginning keeps its `..`.
pub fn normalise(path: &[u8]) -> Vec<u8> {
    let absolute = path.first() == Some(&b'/');
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." if parts.last().is_some_and(|last| *last != b"..") => {
                parts.pop();
            }
            b".." if absolute => {}
            part => parts.push(part),
        }
    }
    let mut joined = parts.join(&b'/');
    if absolute {
        joined.insert(0, b'/');
    } else if joined.is_empty() {
        joined.push(b'.');
    }
    joined
}

/// The path of `name`, which is meant from `cwd`, from `root` on; empty for the root itself. Both
/// folders are absolute.
///
/// # Errors
/// [`PatternError::NotUnderRoot`].
pub fn relative_to_root(root: &Path, cwd: &Path, name: &[u8]) -> Result<Vec<u8>, PatternError> {
    let folder = cwd.as_os_str().as_bytes();
    let whole = if name.starts_with(b"/") {
        normalise(name)
    } else {
        normalise(&[folder, b"/", name].concat())
    };
    let top = normalise(root.as_os_str().as_bytes());
    let inside = match whole.strip_prefix(&top[..]) {
        Some([]) => Some(&b""[..]),
        Some(rest) if top == b"/" => Some(rest),
        Some([b'/', rest @ ..]) => Some(rest),
        _ => None,
    };
    let inside = inside.map(<[u8]>::to_vec);
    inside.ok_or_else(|| PatternError::NotUnderRoot {
        name: String::from_utf8_lossy(name).into_owned(),
        root: root.to_owned(),
    })
}
