//! Undoing the last transaction after it has ended, by the files that it left under the name `undo`.
//!
//! They become the journal of an interrupted transaction in one step, and that is undone: what interrupts a rollback
//! leaves what `recover` of either program completes.

use crate::format::RepoError;
use crate::format::context::RepoContext;
use crate::format::journal::{self, BACKUPS, Backup, BaseDir, JOURNAL, Length, remove_if_exists};
use crate::format::lock::Lock;
use crate::read::{Repository, ViewFilter};
use crate::write::recover::roll_back;
use crate::write::transaction::{UNDO, undo_backups};
use varve_base::storage::{read_if_there, replace};
use varve_revlog::{ENTRY_LEN, Revlog};

/// Index of the changelog, in the store.
const CHANGELOG: &[u8] = b"00changelog.i";
/// Files of `.hg` that describe the working copy.
const WORKING_COPY: &[&[u8]] = &[b"dirstate", b"branch"];

/// The last transaction, as its undo files describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastTransaction {
    /// Its name, such as `commit`; `None` if nothing tells it.
    pub name: Option<Vec<u8>>,
    /// Further words about it: the source of a pull.
    pub detail: Option<Vec<u8>>,
    /// How many changesets there were before it.
    pub changesets: usize,
}

struct UndoFiles {
    lengths: Vec<Length>,
    backups: Vec<Backup>,
}

impl UndoFiles {
    fn read(context: &RepoContext) -> Result<Option<UndoFiles>, RepoError> {
        let (storage, path) = (context.storage.as_ref(), context.store().join(UNDO));
        let Some(bytes) = read_if_there(storage, &path)? else {
            return Ok(None);
        };
        let damaged = |path, line| RepoError::DamagedLine {
            path,
            line,
            reason: "not a line of a journal",
        };
        let lengths = journal::decode_lengths(&bytes).map_err(|line| damaged(path, line))?;
        let path = undo_backups(&context.store());
        let bytes = read_if_there(storage, &path)?.unwrap_or_default();
        let backups = journal::decode_backups(&bytes).map_err(|line| damaged(path, line))?;
        Ok(Some(UndoFiles { lengths, backups }))
    }
}

impl Repository {
    /// The transaction that [`Repository::roll_back_last`] would undo; `None` if nothing is known of one. The caller
    /// holds the lock of the store.
    ///
    /// # Errors
    /// Damaged undo files; damage of the changelog.
    pub fn last_transaction(&self) -> Result<Option<LastTransaction>, RepoError> {
        let context = self.context();
        let Some(undo) = UndoFiles::read(context)? else {
            return Ok(None);
        };
        let path = context.hg().join("undo.desc");
        let text = read_if_there(context.storage.as_ref(), &path)?;
        let described = text.as_deref().and_then(parse_description);
        let view = self.view_for(ViewFilter::Unfiltered)?;
        let is_index = |length: &&Length| length.name == CHANGELOG;
        let is_replaced = |backup: &Backup| backup.name == CHANGELOG;
        let changesets = match (undo.lengths.iter().find(is_index), &described) {
            (Some(length), _) => entries_within(view.changelog(), length.len),
            // A replaced index has another form, and nothing but the description tells how long it was.
            (None, Some((count, ..))) if undo.backups.iter().any(is_replaced) => *count,
            (None, _) => view.changelog().len(),
        };
        let (name, detail) = match described {
            Some((_, name, detail)) => (Some(name), detail),
            None => (None, None),
        };
        Ok(Some(LastTransaction {
            name,
            detail,
            changesets,
        }))
    }

    /// Undoes the last transaction; `false` if nothing is known of one. With `working_copy`, dirstate and branch go back
    /// too, if the transaction kept them; the caller holds both locks then.
    ///
    /// # Errors
    /// [`RepoError::AbandonedTransaction`] if a later one was interrupted; damaged undo files, before anything is changed.
    pub fn roll_back_last(&self, _lock: &Lock, working_copy: bool) -> Result<bool, RepoError> {
        if self.has_journal()? {
            return Err(RepoError::AbandonedTransaction);
        }
        let context = self.context();
        let (storage, store) = (context.storage.as_ref(), context.store());
        let Some(undo) = UndoFiles::read(context)? else {
            return Ok(false);
        };
        let stays = |backup: &Backup| {
            let is_of_working_copy = WORKING_COPY.contains(&&backup.name[..]);
            !working_copy && backup.place == BaseDir::Hg && is_of_working_copy
        };
        let (left, restored): (Vec<_>, Vec<_>) = undo.backups.into_iter().partition(stays);
        replace(
            storage,
            &store.join(BACKUPS),
            &journal::encode_backups(&restored),
        )?;
        storage.rename(&store.join(UNDO), &store.join(JOURNAL))?;
        storage.sync_directory(&store)?;
        roll_back(context)?;
        for backup in &left {
            if let Some(path) = backup.place.path(context, &backup.backup) {
                remove_if_exists(context, &path)?;
            }
        }
        remove_if_exists(context, &undo_backups(&store))?;
        Ok(true)
    }
}

/// Number of changesets, name and further words.
fn parse_description(text: &[u8]) -> Option<(usize, Vec<u8>, Option<Vec<u8>>)> {
    let mut lines = text.split(|byte| *byte == b'\n');
    let count = std::str::from_utf8(lines.next()?).ok()?.parse().ok()?;
    let name = lines.next()?.to_vec();
    let detail = lines.next().filter(|line| !line.is_empty());
    Some((count, name, detail.map(<[u8]>::to_vec)))
}

/// How many entries begin within the first `len` bytes of the index file.
fn entries_within(log: &Revlog, len: u64) -> usize {
    let begin = |at: usize| {
        let rev = varve_revlog::Rev(at as u32);
        let chunks = if log.header().inline {
            log.entry(rev).offset
        } else {
            0
        };
        (at * ENTRY_LEN) as u64 + chunks
    };
    // The beginnings grow from entry to entry.
    let (mut low, mut high) = (0, log.len());
    while low < high {
        let middle = low.midpoint(high);
        match begin(middle) < len {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_have_two_or_three_lines() {
        let parse = |text: &str| parse_description(text.as_bytes());
        assert_eq!(parse("2\ncommit\n"), Some((2, b"commit".to_vec(), None)));
        let pull = Some((0, b"pull".to_vec(), Some(b"file:///x".to_vec())));
        assert_eq!(parse("0\npull\nfile:///x\n"), pull);
        for damaged in ["", "2", "x\ncommit\n", "-1\ncommit\n"] {
            assert_eq!(parse(damaged), None, "{damaged:?}");
        }
    }
}
