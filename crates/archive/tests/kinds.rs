//! Names of kinds, and the endings of their files.

use super::{OwnedEntry, write};
use flate2::read::GzDecoder;
use std::io::Read;
use varve_archive::ArchiveKind;

const KINDS: [(ArchiveKind, &str); 5] = [
    (ArchiveKind::Tar, "tar"),
    (ArchiveKind::TarBzip2, "tbz2"),
    (ArchiveKind::TarGzip, "tgz"),
    (ArchiveKind::StoredZip, "uzip"),
    (ArchiveKind::Zip, "zip"),
];

#[test]
fn each_kind_has_a_name_and_is_found_by_its_endings() {
    for (kind, name) in KINDS {
        assert_eq!(ArchiveKind::named(name.as_bytes()), Some(kind));
        for ending in kind.endings() {
            let file = [b"dir.zip.d/name", *ending].concat();
            assert_eq!(ArchiveKind::of_file(&file), Some(kind), "{name}");
            let longer = [&file[..], b"x"].concat();
            assert_eq!(ArchiveKind::of_file(&longer), None, "{name}");
        }
    }
    for other in ["", "TAR", "tar.gz", "files", "zip "] {
        assert_eq!(ArchiveKind::named(other.as_bytes()), None, "{other}");
    }
    for other in ["", "tar", "name.uzip", "name.gz", ".tar/x"] {
        assert_eq!(ArchiveKind::of_file(other.as_bytes()), None, "{other}");
    }
}

#[test]
fn gzip_files_hold_their_name_and_time() {
    let entries = [OwnedEntry::file("f", "x")];
    for (name, kept) in [
        ("a.tgz", Some("a.tgz")),
        ("a.tar.gz", Some("a.tar")),
        ("", None),
    ] {
        let bytes = write(ArchiveKind::TarGzip, 77, name, &entries);
        let mut decoder = GzDecoder::new(&bytes[..]);
        let mut tar = Vec::new();
        decoder.read_to_end(&mut tar).unwrap();
        let header = decoder.header().unwrap();
        assert_eq!(header.filename(), kept.map(str::as_bytes));
        assert_eq!(header.mtime(), 77);
        assert_eq!(tar, write(ArchiveKind::Tar, 77, "", &entries));
    }
}
