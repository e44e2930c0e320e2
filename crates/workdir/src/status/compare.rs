//! Files of the working copy against the content that the first parent has for them.

use super::{on_disk, threads};
use crate::WorkdirError;
use crate::dirstate::Seen;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use varve_base::Interrupt;
use varve_repo::{
    Audience, FileKind, FileText, ManifestEntries, Node, RepoError, RepoView, Repository, Revlog,
};
use varve_revlog::{Rev, hash};

/// A changeset's files.
pub(super) struct Baseline {
    view: Arc<RepoView>,
    root: PathBuf,
    /// Name and text.
    manifest: (Node, Vec<u8>),
}

impl Baseline {
    /// The files of the changeset `node`; none for the null changeset.
    pub(super) fn of(repository: &Repository, node: Node) -> Result<Baseline, WorkdirError> {
        let view = repository.view_for(Audience::Everything)?;
        let manifest = match view.changelog().rev(&node) {
            Some(rev) => manifest_of(&view, rev)?,
            None => (Node::NULL, Vec::new()),
        };
        Ok(Baseline {
            view,
            root: repository.root().to_owned(),
            manifest,
        })
    }

    /// For each file whether it is as in the changeset.
    pub(super) fn compare_all(
        &self,
        files: &[(Vec<u8>, Seen)],
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

    fn is_same(&self, path: &[u8], seen: &Seen) -> Result<bool, WorkdirError> {
        let (node, text) = &self.manifest;
        let entry = ManifestEntries::find(text, path);
        let entry = entry.map_err(|(offset, reason)| RepoError::DamagedManifest {
            path: self.root.clone(),
            node: *node,
            offset,
            reason,
        })?;
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

    /// Compares without putting the old text together, where its node tells enough: it is the hash
    /// of the text with the parents. Only text with metadata, or that looks like it, is read.
    fn is_content(&self, path: &[u8], node: &Node, content: &[u8]) -> Result<bool, WorkdirError> {
        let filelog = self.view.filelog(path)?;
        let rev = existing(&filelog, "revision", node)?;
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

    /// What a file or link says now; `None` if it has gone meanwhile.
    fn content(&self, path: &[u8], kind: FileKind) -> Result<Option<Vec<u8>>, WorkdirError> {
        let path = on_disk(&self.root, path);
        let content = match kind {
            FileKind::Symlink => {
                std::fs::read_link(&path).map(|target| target.into_os_string().into_vec())
            }
            FileKind::Plain | FileKind::Executable => std::fs::read(&path),
        };
        match content {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(WorkdirError::io("read", &path)(error)),
        }
    }
}

/// Name and text of a changeset's manifest.
fn manifest_of(view: &RepoView, rev: Rev) -> Result<(Node, Vec<u8>), WorkdirError> {
    let node = view.with_changeset(rev, |changeset| changeset.manifest)?;
    if node.is_null() {
        return Ok((node, Vec::new()));
    }
    let manifest = view.manifest()?;
    let text = manifest.text(existing(manifest, "manifest", &node)?)?;
    Ok((node, text))
}

fn existing(revlog: &Revlog, what: &'static str, node: &Node) -> Result<Rev, RepoError> {
    revlog.rev(node).ok_or_else(|| RepoError::MissingNode {
        what,
        node: *node,
        path: revlog.path().to_owned(),
    })
}

/// The kind of file that the file system tells of.
fn kind_of(seen: &Seen) -> FileKind {
    match seen.mode & 0o170_000 {
        0o120_000 => FileKind::Symlink,
        _ if seen.mode & 0o100 != 0 => FileKind::Executable,
        _ => FileKind::Plain,
    }
}
