//! Writing the state of a merge, so that Mercurial's `resolve` can go on from it.

use super::state::{FileState, MergeState, Present};
use super::{NEWER_LIST, OLDER_LIST, directory, record};
use crate::dirstate::replace;
use crate::{MergeLabels, WorkdirError};
use sha1::{Digest, Sha1};
use std::path::PathBuf;
use varve_repo::{FileKind, Node, Repository};

/// The name under which a file's content before the merge is kept.
pub(super) fn key(path: Option<&[u8]>) -> String {
    let digest = path.map_or([0; Node::LEN], |path| Sha1::digest(path).into());
    Node(digest).to_string()
}

impl FileState {
    fn is_deleted(&self) -> bool {
        self.ours.is_none() || self.theirs.is_none()
    }

    /// The fields of a record; old programs get no revision.
    fn fields(&self, with_their_node: bool) -> Vec<u8> {
        let node = |side: &Option<Present>| side.as_ref().map_or(Node::NULL, |side| side.node);
        let name = |side: &Option<Present>| {
            let name = side.as_ref().map(|side| side.path.clone());
            name.unwrap_or_else(|| self.path.clone())
        };
        let flags: &[u8] = match self.kind {
            FileKind::Plain => b"",
            FileKind::Executable => b"x",
            FileKind::Symlink => b"l",
        };
        let mut fields = vec![
            self.path.clone(),
            if self.resolved { b"r" } else { b"u" }.to_vec(),
            key(self.ours.as_deref()).into_bytes(),
            self.ours.clone().unwrap_or_else(|| self.path.clone()),
            name(&self.base),
            node(&self.base).to_string().into_bytes(),
            name(&self.theirs),
        ];
        if with_their_node {
            fields.push(node(&self.theirs).to_string().into_bytes());
        }
        fields.push(flags.to_vec());
        fields.join(&0)
    }
}

impl MergeState {
    /// Saves a file's content from before the merge.
    pub(crate) fn keep(
        repository: &Repository,
        path: &[u8],
        content: &[u8],
    ) -> Result<(), WorkdirError> {
        let place = make_directory(repository)?.join(key(Some(path)));
        std::fs::write(&place, content).map_err(WorkdirError::io("write", &place))
    }

    /// A file's content from before the merge.
    pub(crate) fn kept(repository: &Repository, path: &[u8]) -> Result<Vec<u8>, WorkdirError> {
        let place = directory(repository).join(key(Some(path)));
        std::fs::read(&place).map_err(WorkdirError::io("read", &place))
    }

    /// Writes both lists.
    ///
    /// # Errors
    /// A failure of the file system.
    pub fn write(&self, repository: &Repository) -> Result<(), WorkdirError> {
        let place = make_directory(repository)?;
        let storage = repository.storage().as_ref();
        replace(storage, &place.join(OLDER_LIST), &self.old())?;
        replace(storage, &place.join(NEWER_LIST), &self.records())
    }

    /// The list for programs of before 2011.
    pub(super) fn old(&self) -> Vec<u8> {
        let mut out = format!("{}\n", self.local).into_bytes();
        for file in self.files().filter(|file| !file.is_deleted()) {
            out.extend(file.fields(false));
            out.push(b'\n');
        }
        out
    }

    fn records(&self) -> Vec<u8> {
        let mut out = Vec::new();
        record::push(b'L', self.local.to_string().as_bytes(), &mut out);
        record::push(b'O', self.other.to_string().as_bytes(), &mut out);
        for file in self.files() {
            let kind = if file.is_deleted() { b'C' } else { b'F' };
            record::push(kind, &file.fields(true), &mut out);
        }
        for (kind, content) in &self.of_paths {
            record::push(*kind, content, &mut out);
        }
        for (path, extras) in &self.extras {
            let mut fields = vec![&path[..]];
            fields.extend(
                extras
                    .iter()
                    .flat_map(|(key, value)| [&key[..], &value[..]]),
            );
            record::push(b'f', &fields.join(&0), &mut out);
        }
        if self.labels != MergeLabels::unnamed() {
            let labels = [
                &self.labels.ours[..],
                &self.labels.theirs,
                &self.labels.base,
            ];
            record::push(b'l', &labels.join(&0), &mut out);
        }
        out
    }
}

fn make_directory(repository: &Repository) -> Result<PathBuf, WorkdirError> {
    let directory = directory(repository);
    std::fs::create_dir_all(&directory).map_err(WorkdirError::io("make directory", &directory))?;
    Ok(directory)
}
