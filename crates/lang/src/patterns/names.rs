//! File names that users type, made relative to the root of the repository.

use super::PatternError;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
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

/// Refuses paths through `..`, `.hg`, or a name that some file system takes for `.hg`.
///
/// # Errors
/// [`PatternError`] if the path leads out of the repository, or into another.
pub fn check_components(path: &[u8]) -> Result<(), PatternError> {
    let shown = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
    let mut start = 0;
    for (at, part) in path.split(|byte| *byte == b'/').enumerate() {
        let own = means_repository(part);
        let is_illegal = part == b".." || is_short_name(part);
        if is_illegal || (at == 0 && (own || part.is_empty() && path.len() > 1)) {
            return Err(PatternError::IllegalComponent(shown(path)));
        }
        if own {
            return Err(PatternError::NestedMetadata {
                path: shown(path),
                nested: shown(&path[..start - 1]),
            });
        }
        start += part.len() + 1;
    }
    Ok(())
}

/// Whether a file system that ignores case, a dot at the end or some characters takes a name for `.hg`.
fn means_repository(part: &[u8]) -> bool {
    let is_own =
        |part: &[u8]| part.eq_ignore_ascii_case(b".hg") || part.eq_ignore_ascii_case(b".hg.");
    is_own(part) || (!part.is_ascii() && is_own(&without_ignorable(part)))
}

/// A name without the characters that HFS+ ignores: U+200C to U+200F, U+202A to U+202E, U+206A to U+206F and U+FEFF.
fn without_ignorable(part: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(part.len());
    let mut rest = part;
    while let [first, behind @ ..] = rest {
        rest = match rest {
            [0xe2, 0x80, 0x8c..=0x8f | 0xaa..=0xae, behind @ ..]
            | [0xe2, 0x81, 0xaa..=0xaf, behind @ ..]
            | [0xef, 0xbb, 0xbf, behind @ ..] => behind,
            _ => {
                kept.push(*first);
                behind
            }
        };
    }
    kept
}

/// Whether a name is one that Windows may have for `.hg` in eight letters: `HG~1`, or `HG8B6C~1` where others were taken.
fn is_short_name(part: &[u8]) -> bool {
    let tilde = part.iter().position(|byte| *byte == b'~');
    let Some((name, number)) = tilde.map(|at| (&part[..at], &part[at + 1..])) else {
        return false;
    };
    let is_number = !number.is_empty() && number.iter().all(u8::is_ascii_digit);
    is_number && (name.eq_ignore_ascii_case(b"hg") || name.eq_ignore_ascii_case(b"hg8b6c"))
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
    let inside = inside.or_else(|| inside_by_links(root, &whole));
    inside.ok_or_else(|| PatternError::NotUnderRoot {
        name: String::from_utf8_lossy(name).into_owned(),
        root: root.to_owned(),
    })
}

/// The path from `root` on, if a directory above `whole` is `root` by another name, as where a symbolic
/// link leads to it; of several the lowest.
fn inside_by_links(root: &Path, whole: &[u8]) -> Option<Vec<u8>> {
    let identity = |path: &Path| {
        let found = std::fs::metadata(path).ok()?;
        Some((found.dev(), found.ino()))
    };
    let wanted = identity(root)?;
    let whole = Path::new(OsStr::from_bytes(whole));
    let mut above = whole.ancestors();
    let same = above.find(|path| identity(path) == Some(wanted))?;
    let inside = whole.strip_prefix(same).ok()?;
    Some(inside.as_os_str().as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `hg` 7.2.4 refuses them.
    #[test]
    fn names_that_some_system_takes_for_the_repository_are_refused() {
        let refused =
            |path: &str| check_components(path.as_bytes()).map_err(|error| error.to_string());
        for path in [
            ".h\u{200c}g/hgrc",
            "\u{feff}.HG\u{206f}/hgrc",
            ".\u{202e}hg./x",
            "HG~1/hgrc",
            "hg8b6c~12",
            "a/HG~1/hgrc",
        ] {
            let told = format!("path contains illegal component: {path}");
            assert_eq!(refused(path), Err(told));
        }
        let told = "path 'a/.h\u{200c}g/hgrc' is inside nested repo 'a'";
        assert_eq!(refused("a/.h\u{200c}g/hgrc"), Err(told.to_owned()));
        for path in [
            "HG~",
            "HG~1a",
            "hgx~1",
            "~1",
            "h\u{200c}g",
            ".hg\u{2010}",
            "a~1/HG~x",
        ] {
            assert_eq!(refused(path), Ok(()), "{path}");
        }
    }
}
