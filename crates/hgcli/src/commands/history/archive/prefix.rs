//! The directory of the files in an archive.

use crate::ui::Abort;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};
use varve_archive::ArchiveKind;

/// The prefix with a slash at its end; without one, the name of the archive without its ending.
pub(super) fn tidied(
    typed: Option<Vec<u8>>,
    kind: ArchiveKind,
    archive: &[u8],
) -> Result<Vec<u8>, Abort> {
    let prefix = typed.unwrap_or_else(|| {
        let slash = archive.iter().rposition(|byte| *byte == b'/');
        let base = &archive[slash.map_or(0, |at| at + 1)..];
        let lower = base.to_ascii_lowercase();
        let endings = kind.endings().iter();
        let mut cut = endings.filter_map(|ending| lower.strip_suffix(*ending));
        base[..cut.next().map_or(base.len(), <[u8]>::len)].to_vec()
    });
    let mut out = Vec::new();
    for part in Path::new(OsStr::from_bytes(&prefix)).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if !out.is_empty() => drop(out.pop()),
            Component::Normal(name) => out.push(name.as_bytes()),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(Abort::new("archive prefix contains illegal components"));
            }
        }
    }
    let parts = out.iter().map(|part| [part, &b"/"[..]].concat());
    Ok(parts.collect::<Vec<_>>().concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_tidied() {
        let tidy = |typed: Option<&str>, name: &str| {
            let typed = typed.map(|typed| typed.as_bytes().to_vec());
            let prefix = tidied(typed, ArchiveKind::TarGzip, name.as_bytes());
            prefix.ok().map(|prefix| String::from_utf8(prefix).unwrap())
        };
        assert_eq!(tidy(None, "../x/A.TAR.gz").unwrap(), "A/");
        assert_eq!(tidy(None, "a.zip").unwrap(), "a.zip/");
        assert_eq!(tidy(Some("./a//b/../c/"), "x").unwrap(), "a/c/");
        assert_eq!(tidy(Some("."), "x").unwrap(), "");
        assert_eq!(
            (tidy(Some("/a"), "x"), tidy(Some("../a"), "x")),
            (None, None)
        );
    }
}
