//! The files that come, one filelog after the other.

use super::{MOST_GATHERED, NewRevision, Receiver, spill};
use crate::RepoError;
use crate::repository::Shared;
use crate::transaction::Transaction;
use std::collections::HashSet;
use varve_revlog::{Appender, Content};

/// What is known of the files that come.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// Those that the journal does not know yet.
    waiting: Vec<Vec<u8>>,
    /// All that have been named.
    named: HashSet<Vec<u8>>,
    /// The filelog that is being received.
    open: Option<OpenFile>,
    /// What the list of the store's files lacks.
    pub(super) new_names: Vec<Vec<u8>>,
}

#[derive(Debug)]
struct OpenFile {
    path: Vec<u8>,
    log: Appender,
}

impl Files {
    /// Changesets name the files that come behind them: the journal learns of all at once.
    pub(super) fn will_come<'f>(&mut self, files: impl Iterator<Item = &'f [u8]>) {
        for file in files {
            if !self.named.contains(file) {
                self.named.insert(file.to_vec());
                self.waiting.push(file.to_vec());
            }
        }
    }

    /// Tells the journal of all files that were named.
    fn announce(
        &mut self,
        shared: &Shared,
        transaction: &mut Transaction,
    ) -> Result<(), RepoError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        for file in self.waiting.drain(..) {
            let index = shared.filelog_path(&file);
            let data = shared.filelog_data_path(&file);
            let names = [&b".i"[..], b".d"].map(|end| [b"data/", &file[..], end].concat());
            for (path, name) in [index, data].iter().zip(names) {
                let len = shared.storage.file_len(path)?.unwrap_or(0);
                transaction.will_append(name, len);
            }
        }
        transaction.write_on()
    }
}

impl Receiver {
    /// Revisions of the file `path` follow.
    ///
    /// # Errors
    /// What is damaged; what the storage answers.
    pub fn begin_file(&mut self, path: &[u8]) -> Result<(), RepoError> {
        self.end_file()?;
        self.check_path(path)?;
        self.files.will_come(std::iter::once(path));
        let shared = self.view.shared.clone();
        self.files.announce(&shared, &mut self.transaction)?;
        let state = std::mem::take(&mut self.state);
        let (storage, index) = (&shared.storage, shared.filelog_path(path));
        let log = Appender::open_with(storage, &index, Content::File, self.options, state)?;
        let log = log.with_data(shared.filelog_data_path(path));
        self.current.files += 1;
        self.files.open = Some(OpenFile {
            path: path.to_vec(),
            log,
        });
        Ok(())
    }

    /// No path of a file leads out of the store or breaks its list.
    fn check_path(&self, path: &[u8]) -> Result<(), RepoError> {
        let mut parts = path.split(|byte| *byte == b'/');
        let is_odd = parts.any(|part| part.is_empty() || part == b"." || part == b"..");
        if is_odd || path.contains(&b'\n') || path.contains(&0) {
            return Err(RepoError::Commit {
                path: self.view.root().to_owned(),
                reason: format!("{:?} is no name of a file", String::from_utf8_lossy(path)),
            });
        }
        Ok(())
    }

    /// Stores a revision of the file.
    ///
    /// # Errors
    /// What is not as it says it is.
    pub fn file_revision(&mut self, new: &NewRevision<'_>) -> Result<(), RepoError> {
        let received = new.linked(self.link(new)?);
        let Some(file) = &mut self.files.open else {
            return Ok(());
        };
        let added = file.log.add_received(&received, &mut self.text)?;
        self.current.changes += usize::from(added.is_some());
        if file.log.gathered_bytes() > MOST_GATHERED {
            spill(&mut file.log)?;
        }
        Ok(())
    }

    /// Writes the file's revisions.
    ///
    /// # Errors
    /// What the storage answers.
    pub fn end_file(&mut self) -> Result<(), RepoError> {
        let Some(OpenFile { path, log }) = self.files.open.take() else {
            return Ok(());
        };
        let index = [b"data/", &path[..], b".i"].concat();
        if log.will_replace_index() {
            self.transaction.will_replace(&index);
            self.transaction.write_on()?;
        }
        let (written, state) = log.write_unsynced()?;
        self.state = state;
        if written.split {
            let data = [b"data/", &path[..], b".d"].concat();
            self.files.new_names.push(data);
        }
        if written.created {
            self.files.new_names.push(index);
        }
        Ok(())
    }
}
