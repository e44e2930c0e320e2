//! Bytes of archives that `hg archive` of Mercurial 7.2.4 wrote (with `ui.archivemeta=no`).

use super::{OwnedEntry, write};
use std::io::Read;
use varve_archive::ArchiveKind;

/// All entries are in this directory.
const PREFIX: &str = "pre/";
const TIME: i64 = 1_000_000_003;

const FILES_TGZ: &[u8] = include_bytes!("golden/files.tgz");
const FILES_TBZ2: &[u8] = include_bytes!("golden/files.tbz2");
const FILES_ZIP: &[u8] = include_bytes!("golden/files.zip");
const FILES_UZIP: &[u8] = include_bytes!("golden/files.uzip");
/// Names and a link's target that are not UTF-8, at a time before 1970.
const NAMES_TBZ2: &[u8] = include_bytes!("golden/names.tbz2");
/// At a time that is before all of zip's.
const EARLY_UZIP: &[u8] = include_bytes!("golden/early.uzip");

fn in_directory(mut entries: Vec<OwnedEntry>) -> Vec<OwnedEntry> {
    for entry in &mut entries {
        entry.name.splice(0..0, PREFIX.bytes());
    }
    entries
}

fn files() -> Vec<OwnedEntry> {
    let lines: Vec<String> = (0..2000)
        .map(|i: u32| format!("{}\n", i * i % 97))
        .collect();
    let big = OwnedEntry {
        mode: 0o755,
        ..OwnedEntry::file("big", lines.concat())
    };
    let deep = |len: usize| format!("{}/{}", "p".repeat(60), "f".repeat(len));
    in_directory(vec![
        big,
        OwnedEntry::file("d/a", "hello\n"),
        OwnedEntry::file("empty", ""),
        OwnedEntry::link("l", "d/a"),
        OwnedEntry::file(format!("{}0", "n".repeat(49)), "49\n"),
        OwnedEntry::file(deep(34), "100 with prefix\n"),
        OwnedEntry::file(deep(35), "101\n"),
        OwnedEntry::file("é", "e\n"),
    ])
}

fn names() -> Vec<OwnedEntry> {
    in_directory(vec![
        OwnedEntry::file(&b"bad\xff\xe2\x82x"[..], "b\n"),
        OwnedEntry::link("latin", &b"\xe9"[..]),
        OwnedEntry::link("long", "t".repeat(101)),
        OwnedEntry::file("€", "e\n"),
    ])
}

fn unpacked(mut reader: impl Read) -> Vec<u8> {
    let mut out = Vec::new();
    reader.read_to_end(&mut out).unwrap();
    out
}

/// Names the first byte that differs, instead of printing both archives.
fn assert_same(written: &[u8], recorded: &[u8]) {
    let differs = written.iter().zip(recorded).position(|(a, b)| a != b);
    assert_eq!(differs, None, "the first byte that differs");
    assert_eq!(written.len(), recorded.len());
}

#[test]
fn tar_archives_are_those_of_mercurial() {
    let recorded = unpacked(flate2::read::GzDecoder::new(FILES_TGZ));
    assert_same(&write(ArchiveKind::Tar, TIME, "", &files()), &recorded);
}

#[test]
fn compressed_tar_archives_are_those_of_mercurial() {
    let tgz = write(ArchiveKind::TarGzip, TIME, "files.tgz", &files());
    assert_same(&tgz, FILES_TGZ);
    let tbz2 = write(ArchiveKind::TarBzip2, TIME, "files.tbz2", &files());
    assert_same(&tbz2, FILES_TBZ2);
}

#[test]
fn zip_archives_are_those_of_mercurial() {
    assert_same(&write(ArchiveKind::Zip, TIME, "", &files()), FILES_ZIP);
    assert_same(
        &write(ArchiveKind::StoredZip, TIME, "", &files()),
        FILES_UZIP,
    );
}

#[test]
fn names_beyond_utf8_and_early_times_are_those_of_mercurial() {
    let tar = write(ArchiveKind::Tar, -5, "", &names());
    assert_same(&tar, &unpacked(bzip2::read::BzDecoder::new(NAMES_TBZ2)));
    let last = names().split_off(3);
    assert_same(&write(ArchiveKind::StoredZip, -5, "", &last), EARLY_UZIP);
}
