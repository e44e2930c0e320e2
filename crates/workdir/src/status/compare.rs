//! Files of the working copy against the content that the first parent has for them.

use super::{on_disk, threads};
use crate::WorkdirError;
use crate::dirstate::Stat;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use varve_base::Interrupt;
use varve_repo::{FileKind, FileText, Node, RepoError, RepoView};
use varve_revlog::hash;

/// A changeset's files.
pub(super) struct Baseline<'a> {
    root: &'a Path,
    view: &'a RepoView,
    manifest: &'a [u8],
}

impl<'a> Baseline<'a> {
    /// The files of the manifest `text`, and the working copy at `root`.
    pub(super) fn of_text(root: &'a Path, view: &'a RepoView, text: &'a [u8]) -> Baseline<'a> {
        Baseline {
            root,
            view,
            manifest: text,
        }
    }

    /// For each file whether it is as in the changeset.
    pub(super) fn compare_all(
        &self,
        files: &[(Vec<u8>, Stat)],
        stop: &Interrupt,
    ) -> Result<Vec<bool>, WorkdirError> {
        let next = AtomicUsize::new(0);
        let work = || -> Result<Vec<(usize, bool)>, WorkdirError> {
            let mut found = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some((path, seen)) = files.get(at) else {
                    return Ok(found);
                };
                stop.check()?;
                found.push((at, self.is_same(path, seen)?));
            }
        };
        let mut same = vec![false; files.len()];
        std::thread::scope(|scope| {
            let others = 1..threads().min(files.len());
            let others: Vec<_> = others.map(|_| scope.spawn(work)).collect();
            let mut found = work()?;
            for other in others {
                found.append(&mut super::walk::joined(other)??);
            }
            for (at, is_same) in found {
                same[at] = is_same;
            }
            Ok(same)
        })
    }

    pub(super) fn is_same(&self, path: &[u8], seen: &Stat) -> Result<bool, WorkdirError> {
        let entry = self.view.find_in_manifest(self.manifest, path)?;
        let Some(entry) = entry else {
            return Ok(false);
        };
        if entry.kind != kind_of(seen) {
            return Ok(false);
        }
        let Some(content) = self.content(path, entry.kind)? else {
            return Ok(false);
        };
        self.is_content(path, &entry.node, &content)
    }

    /// Compares without reconstructing the old text, where its node is enough: it is the hash of the
    /// text with the parents. Only text with metadata, or that begins like it, is read.
    fn is_content(&self, path: &[u8], node: &Node, content: &[u8]) -> Result<bool, WorkdirError> {
        let filelog = self.view.filelog(path)?;
        let rev = filelog.rev(node).ok_or_else(|| RepoError::MissingNode {
            what: "revision",
            node: *node,
            path: filelog.path().to_owned(),
        })?;
        // Metadata only ever makes a text longer.
        let stored = filelog.entry(rev).raw_len.map(u64::from);
        let now = content.len() as u64;
        if stored.is_some_and(|stored| stored < now) {
            return Ok(false);
        }
        if stored == Some(now) && !content.starts_with(b"\x01\n") {
            let parents = filelog.parents(rev);
            let [p1, p2] = parents.map(|parent| filelog.node_or_null(parent));
            return Ok(hash(&p1, &p2, content) == *node);
        }
        let text = filelog.text(rev)?;
        Ok(FileText::parse(&text).content == content)
    }

    /// The present content of a file or link; `None` if it no longer exists.
    fn content(&self, path: &[u8], kind: FileKind) -> Result<Option<Vec<u8>>, WorkdirError> {
        let file = path;
        let path = on_disk(self.root, path);
        let content = match kind {
            FileKind::Symlink => {
                std::fs::read_link(&path).map(|target| target.into_os_string().into_vec())
            }
            FileKind::Plain | FileKind::Executable => std::fs::read(&path),
        };
        match content {
            Ok(content) => match self.view.file_filters() {
                Some(filters) => {
                    let encoded = filters.encode(file, content);
                    encoded.map(Some).map_err(WorkdirError::Filter)
                }
                None => Ok(Some(content)),
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(WorkdirError::io("read", &path)(error)),
        }
    }
}

/// The kind of a file by its stat.
fn kind_of(seen: &Stat) -> FileKind {
    match seen.mode & 0o170_000 {
        0o120_000 => FileKind::Symlink,
        _ if seen.mode & 0o100 != 0 => FileKind::Executable,
        _ => FileKind::Plain,
    }
}
