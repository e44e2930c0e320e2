//! The journal by which an interrupted transaction is undone, in Mercurial's form: `hg recover`
//! undoes half-done work of Varve, and the other way round.
//!
//! ```text
//! store/journal               name \0 length \n           the file had this length; 0: it was not there
//! store/journal.backupfiles   2 \n                        version
//!                             place \0 name \0 backup \0 cache \n
//!                                 place: empty for the store, "plain" for .hg
//!                                 name: the file will be replaced; empty: backup is a temporary file
//!                                 backup: its copy; empty: the file was not there
//!                                 cache: 1 if the file may be lost without harm
//! journal.desc                number of changesets \n description of the transaction \n
//! ```
//! Names in the store are without encoding. After success the files become `undo…`.

use crate::format::RepoError;
use crate::format::context::RepoContext;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Below the store. It exists while a transaction is under way or was interrupted.
pub(crate) const JOURNAL: &str = "journal";
/// Below the store.
pub(crate) const BACKUPS: &str = "journal.backupfiles";
/// Below `.hg`.
pub(crate) const DESCRIPTION: &str = "journal.desc";
/// First line of the list of backups.
const BACKUPS_VERSION: &[u8] = b"2";

/// The directory that a name in the journal is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BaseDir {
    /// `.hg/store`
    Store,
    /// The repository's `.hg` directory.
    Hg,
}

impl BaseDir {
    fn label(self) -> &'static [u8] {
        match self {
            BaseDir::Store => b"",
            BaseDir::Hg => b"plain",
        }
    }

    /// Path of the file with this name; `None` if the name leads out of the directory.
    pub(crate) fn path(self, context: &RepoContext, name: &[u8]) -> Option<PathBuf> {
        let relative = match self {
            BaseDir::Store => context.layout.path(name),
            BaseDir::Hg => PathBuf::from(OsStr::from_bytes(name)),
        };
        let stays_inside = |part: Component<'_>| matches!(part, Component::Normal(_));
        if name.is_empty() || !relative.components().all(stays_inside) {
            return None;
        }
        Some(match self {
            BaseDir::Store => context.store().join(relative),
            BaseDir::Hg => context.hg().join(relative),
        })
    }
}

/// A file that the transaction replaces, with its backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Backup {
    pub place: BaseDir,
    /// Empty if `backup` is a temporary file.
    pub name: Vec<u8>,
    /// Empty if the file was not there.
    pub backup: Vec<u8>,
    pub is_cache: bool,
}

/// A file that the transaction appends to, with its length before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Length {
    pub name: Vec<u8>,
    pub len: u64,
}

/// `backups` as the file says them.
pub(crate) fn encode_backups(backups: &[Backup]) -> Vec<u8> {
    [BACKUPS_VERSION, b"\n", &encode_backup_lines(backups)].concat()
}

/// Further lines of the file.
pub(crate) fn encode_backup_lines(backups: &[Backup]) -> Vec<u8> {
    let mut out = Vec::new();
    for Backup {
        place,
        name,
        backup,
        is_cache,
    } in backups
    {
        let cache: &[u8] = if *is_cache { b"1" } else { b"0" };
        out.extend_from_slice(&[place.label(), name, backup, cache].join(&b'\0'));
        out.push(b'\n');
    }
    out
}

/// Reads the list of backups; `Err` is the number of a line that is none. A last line that is not
/// ended was being written, for a file that had not been touched yet.
pub(crate) fn decode_backups(bytes: &[u8]) -> Result<Vec<Backup>, usize> {
    let mut lines = ended_lines(bytes).enumerate();
    match lines.next() {
        None => return Ok(Vec::new()),
        Some((_, BACKUPS_VERSION)) => {}
        Some(_) => return Err(1),
    }
    let parse = |line: &[u8]| {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        let [place, name, backup, cache] = fields[..] else {
            return None;
        };
        let place = match place {
            b"" => BaseDir::Store,
            b"plain" => BaseDir::Hg,
            _ => return None,
        };
        Some(Backup {
            place,
            name: name.to_vec(),
            backup: backup.to_vec(),
            is_cache: cache != b"0",
        })
    };
    lines.map(|(at, line)| parse(line).ok_or(at + 1)).collect()
}

/// `lengths` as the file says them.
pub(crate) fn encode_lengths(lengths: &[Length]) -> Vec<u8> {
    let mut out = Vec::new();
    for Length { name, len } in lengths {
        out.extend_from_slice(name);
        out.extend_from_slice(format!("\0{len}\n").as_bytes());
    }
    out
}

/// Reads the list of lengths, as [`decode_backups`].
pub(crate) fn decode_lengths(bytes: &[u8]) -> Result<Vec<Length>, usize> {
    let parse = |line: &[u8]| {
        let zero = line.iter().rposition(|byte| *byte == 0)?;
        let digits = std::str::from_utf8(&line[zero + 1..]).ok()?;
        Some(Length {
            name: line[..zero].to_vec(),
            len: digits.parse().ok()?,
        })
    };
    ended_lines(bytes)
        .enumerate()
        .map(|(at, line)| parse(line).ok_or(at + 1))
        .collect()
}

fn ended_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .filter_map(|line| line.strip_suffix(b"\n"))
}

/// Name of the backup of `name` while the transaction runs (`journal`) or after it (`undo`): in
/// the same directory.
pub(crate) fn backup_name(stage: &str, name: &[u8]) -> Vec<u8> {
    let file = name
        .iter()
        .rposition(|byte| *byte == b'/')
        .map_or(0, |at| at + 1);
    let (directory, file) = name.split_at(file);
    [directory, stage.as_bytes(), b".backup.", file, b".bck"].concat()
}

/// Removes a file that may be missing.
pub(crate) fn remove_if_exists(context: &RepoContext, path: &Path) -> Result<(), RepoError> {
    match context.storage.remove(path) {
        Err(error) if !error.is_not_found() => Err(error.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As `hg` 7.2 wrote them while it committed.
    const LENGTHS: &[u8] = b"data/A/big.i.i\x00100065\ndata/A/big.i.d\x000\n00changelog.i\x0064\n";
    const BACKED_UP: &[u8] = b"2\n\0data/A/big.i.i\0data/A/journal.backup.big.i.i.bck\x000\n\
        \0\0data-s/A/big.i.i\x000\nplain\0dirstate\0journal.backup.dirstate.bck\x000\n\
        \0phaseroots\0\x000\n";

    #[test]
    fn journals_of_hg_decode_and_encode_back() {
        let lengths = decode_lengths(LENGTHS).unwrap();
        assert_eq!(lengths[0].len, 100_065);
        assert_eq!(encode_lengths(&lengths), LENGTHS);
        let backups = decode_backups(BACKED_UP).unwrap();
        assert_eq!(backups[0].backup, backup_name("journal", &backups[0].name));
        assert_eq!(backups[1].name, b"");
        assert_eq!(backups[2].place, BaseDir::Hg);
        assert_eq!(encode_backups(&backups), BACKED_UP);
    }

    #[test]
    fn torn_ends_are_passed_over_and_damage_is_named() {
        let torn = &LENGTHS[..LENGTHS.len() - 2];
        assert_eq!(decode_lengths(torn).unwrap().len(), 2);
        let torn = &BACKED_UP[..BACKED_UP.len() - 2];
        assert_eq!(decode_backups(torn).unwrap().len(), 3);
        assert_eq!(decode_lengths(b"a\x001\nb\n"), Err(2));
        assert_eq!(decode_backups(b"1\n"), Err(1));
        assert_eq!(decode_backups(b"2\nelsewhere\0a\0b\x000\n"), Err(2));
        assert_eq!(decode_backups(b""), Ok(Vec::new()));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(0_u8..60, 0..200)) {
            crate::fuzzing::journal(&bytes);
        }
    }
}
