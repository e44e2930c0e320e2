//! Writing what a [`CommitBatch`] gathered, so that a reader sees all of it or nothing, and an
//! interruption can be undone.

use crate::commit::CommitBatch;
use crate::fncache;
use crate::journal::Journal;
use crate::phases::Phase;
use crate::store_path::encode_folders;
use crate::{Node, RepoError, Rev};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use varve_base::Storage;
use varve_base::storage::replace;

const PHASEROOTS: &str = "phaseroots";

impl CommitBatch {
    /// Writes all changesets of the batch; returns the newest one, or [`Node::NULL`] for an empty
    /// batch in an empty repository.
    ///
    /// The order is files, manifests, phases, changelog, each synced before the next: what is not
    /// in the changelog is not there for any reader.
    ///
    /// # Errors
    /// What the storage answers. The journal then stays, and `hg recover` undoes what was written.
    pub fn finish(self) -> Result<Node, RepoError> {
        let newest = (self.changelog.len() as u32).checked_sub(1).map(Rev);
        let tip = self.changelog.node_or_null(newest);
        if !self.changelog.has_news() {
            return Ok(tip);
        }
        let shared = self.view.shared.clone();
        let (storage, store) = (shared.storage.as_ref(), shared.store());
        let new_names = self.new_names();
        let phaseroots = self.phaseroots();
        let mut journal = self.journal(&new_names, phaseroots.as_deref())?;
        journal.begin(storage, &store)?;
        if !new_names.is_empty() {
            write_fncache(storage, &store, &new_names)?;
        }
        let mut folders = BTreeSet::from([store.clone()]);
        for filelog in self.filelogs.into_values().chain([self.manifest]) {
            folders.extend(folders_up_to(&store, filelog.path()));
            filelog.write()?;
        }
        // A new name lasts only when its folder is synced, and that folder's name in turn.
        for folder in folders.iter().rev() {
            if storage.kind(folder)?.is_some() {
                storage.sync_folder(folder)?;
            }
        }
        if let Some(bytes) = phaseroots {
            replace(storage, &store.join(PHASEROOTS), &bytes)?;
        }
        self.changelog.write()?;
        storage.sync_folder(&store)?;
        journal.finish(storage, &store)?;
        drop(self.lock);
        Ok(tip)
    }

    /// Names that the list of files lacks, without encoding.
    fn new_names(&self) -> Vec<Vec<u8>> {
        let mut names = Vec::new();
        for (file, filelog) in self.filelogs.iter().filter(|(_, log)| log.has_news()) {
            let (index_len, data_len) = filelog.lengths_before();
            if index_len == 0 {
                names.push([b"data/", &file[..], b".i"].concat());
            }
            if data_len == 0 && filelog.will_be_split() {
                names.push([b"data/", &file[..], b".d"].concat());
            }
        }
        names
    }

    fn journal(
        &self,
        new_names: &[Vec<u8>],
        phaseroots: Option<&[u8]>,
    ) -> Result<Journal, RepoError> {
        let shared = &self.view.shared;
        let (storage, store) = (shared.storage.as_ref(), shared.store());
        let mut journal = Journal::default();
        let filelogs = self.filelogs.iter();
        let named = filelogs.map(|(file, log)| ([b"data/", &file[..]].concat(), log));
        let others = [
            (b"00manifest".to_vec(), &self.manifest),
            (b"00changelog".to_vec(), &self.changelog),
        ];
        for (name, revlog) in named.chain(others).filter(|(_, log)| log.has_news()) {
            let (index, data) = ([&name[..], b".i"].concat(), [&name[..], b".d"].concat());
            let (index_len, data_len) = revlog.lengths_before();
            if revlog.will_be_split() {
                journal.will_append(&data, data_len);
            }
            if revlog.will_replace_index() {
                journal.will_replace(storage, &store, &index, revlog.path())?;
            } else {
                journal.will_append(&index, index_len);
            }
        }
        let replaced = [
            (!new_names.is_empty()).then_some(fncache::FILE),
            phaseroots.map(|_| PHASEROOTS),
        ];
        for name in replaced.into_iter().flatten() {
            journal.will_replace(storage, &store, name.as_bytes(), &store.join(name))?;
        }
        Ok(journal)
    }

    /// The file of phases as it will be; `None` if it stays as it is.
    fn phaseroots(&self) -> Option<Vec<u8>> {
        let old = self.view.phases().roots().to_vec();
        let first = self.view.changelog().len();
        let new: Vec<_> = (first..self.changelog.len())
            .map(|rev| Rev(rev as u32))
            .filter(|rev| self.phase(*rev) > self.highest_above(*rev))
            .map(|rev| (self.phase(rev), rev))
            .collect();
        if new.is_empty() {
            return None;
        }
        let mut lines: Vec<_> = old.into_iter().chain(new).collect();
        lines.sort_unstable();
        let line = |(phase, rev): &(Phase, Rev)| {
            let node = self.changelog.node_or_null(Some(*rev));
            format!("{} {node}\n", phase.number())
        };
        Some(lines.iter().map(line).collect::<String>().into_bytes())
    }

    fn highest_above(&self, rev: Rev) -> Phase {
        let parents = self.changelog.parents(rev).into_iter().flatten();
        parents
            .map(|parent| self.phase(parent))
            .max()
            .unwrap_or_default()
    }
}

fn write_fncache(
    storage: &dyn Storage,
    store: &Path,
    new_names: &[Vec<u8>],
) -> Result<(), RepoError> {
    let mut names = fncache::read(storage, store)?;
    names.extend_from_slice(new_names);
    names.sort_unstable();
    names.dedup();
    let mut bytes = Vec::new();
    for name in &names {
        bytes.extend_from_slice(&encode_folders(name));
        bytes.push(b'\n');
    }
    Ok(replace(storage, &store.join(fncache::FILE), &bytes)?)
}

/// The folders that lead from the store to a file in it.
fn folders_up_to<'a>(store: &'a Path, file: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
    file.ancestors()
        .skip(1)
        .take_while(move |folder| folder.starts_with(store))
        .map(Path::to_owned)
}
