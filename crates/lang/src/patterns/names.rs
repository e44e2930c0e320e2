//! File names that users type, made relative to the root of the repository.

use super::PatternError;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Refuses paths that may lead out of a repository.
pub trait PathCheck {
    /// Checks a path from the root on.
    ///
    /// # Errors
    /// [`PatternError`] if the path leads out of the repository, or into another.
    fn check(&self, path: &[u8]) -> Result<(), PatternError>;
}

/// Checks nothing but the names; for changesets, whose files are not on the disk.
#[derive(Clone, Copy, Debug, Default)]
pub struct NameCheck;

impl PathCheck for NameCheck {
    fn check(&self, path: &[u8]) -> Result<(), PatternError> {
        check_components(path)
    }
}

/// Refuses paths through `.hg` or `..`.
///
/// # Errors
/// [`PatternError`] if the path leads out of the repository, or into another.
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

/// Removes `.`, `..` and double slashes. An empty result is `.`; a relative path that leads above
/// its beginning keeps its `..`.
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

/// The path from `root` to `name`, which is relative to `cwd`; empty for the root itself. `root`
/// and `cwd` are absolute.
///
/// # Errors
/// [`PatternError::NotUnderRoot`].
pub fn relative_to_root(root: &Path, cwd: &Path, name: &[u8]) -> Result<Vec<u8>, PatternError> {
    let directory = cwd.as_os_str().as_bytes();
    let whole = if name.starts_with(b"/") {
        normalise(name)
    } else {
        normalise(&[directory, b"/", name].concat())
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
