//! Kinds of archives, their names, the endings of their files, and a file within one.

/// A file of an archive.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveEntry<'a> {
    /// Path with slashes.
    pub name: &'a [u8],
    /// Permissions, such as `0o644`.
    pub mode: u32,
    /// Whether it is a symbolic link, whose content is its target.
    pub is_link: bool,
    /// All bytes.
    pub content: &'a [u8],
}

/// The form of an archive file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchiveKind {
    /// A tar archive.
    Tar,
    /// A tar archive, compressed by bzip2.
    TarBzip2,
    /// A tar archive, compressed by gzip.
    TarGzip,
    /// A zip archive without compression.
    StoredZip,
    /// A zip archive.
    Zip,
}

impl ArchiveKind {
    /// The kind of this name.
    pub fn named(name: &[u8]) -> Option<ArchiveKind> {
        Some(match name {
            b"tar" => ArchiveKind::Tar,
            b"tbz2" => ArchiveKind::TarBzip2,
            b"tgz" => ArchiveKind::TarGzip,
            b"uzip" => ArchiveKind::StoredZip,
            b"zip" => ArchiveKind::Zip,
            _ => return None,
        })
    }

    /// Endings of file names, in lower case.
    pub fn endings(self) -> &'static [&'static [u8]] {
        match self {
            ArchiveKind::Tar => &[b".tar"],
            ArchiveKind::TarBzip2 => &[b".tbz2", b".tar.bz2"],
            ArchiveKind::TarGzip => &[b".tgz", b".tar.gz"],
            ArchiveKind::StoredZip => &[],
            ArchiveKind::Zip => &[b".zip"],
        }
    }

    /// The kind that a file name ends with.
    pub fn of_file(name: &[u8]) -> Option<ArchiveKind> {
        let kinds = [
            ArchiveKind::Tar,
            ArchiveKind::TarBzip2,
            ArchiveKind::TarGzip,
            ArchiveKind::Zip,
        ];
        let has = |kind: &ArchiveKind| kind.endings().iter().any(|ending| name.ends_with(ending));
        kinds.into_iter().find(has)
    }
}
