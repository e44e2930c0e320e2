//! The working copy as the target of a patch.

use super::PatchObserver;
use crate::tree::Tree;
use crate::{
    Dirstate, EntryState, Rename, RenameCandidate, WorkdirError, WorkingFiles, detect_renames,
};
use std::collections::BTreeSet;
use std::fs::Metadata;
use varve_patch::{PatchError, PatchMode, PatchNotice, PatchTarget, TargetFile};
use varve_repo::{CommitBatch, FileKind, RepoView, Repository};

/// Files that a patch has touched in the working copy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PatchedFiles {
    /// All of them.
    pub files: BTreeSet<Vec<u8>>,
    /// The reason why the patch was not applied as a whole.
    pub fault: Option<PatchError>,
    /// Files that are tracked from now on, without copies.
    pub added: Vec<Vec<u8>>,
    /// Files that went away without the patch removing them.
    pub missing: Vec<Vec<u8>>,
    /// Renames that were found by similarity.
    pub renames: Vec<Rename>,
    /// Sources of copies that are not committed yet, each with the copy, which is recorded as a new file.
    pub uncommitted_sources: Vec<(Vec<u8>, Vec<u8>)>,
    /// Files that were removed and are not tracked.
    pub untracked: Vec<Vec<u8>>,
}

/// Writes patched files into the working copy.
pub(super) struct WorkingTarget<'a> {
    dirstate: &'a Dirstate,
    files: WorkingFiles,
    observer: PatchObserver<'a>,
    changed: BTreeSet<Vec<u8>>,
    removed: BTreeSet<Vec<u8>>,
    copies: Vec<(Vec<u8>, Vec<u8>)>,
}

impl<'a> WorkingTarget<'a> {
    pub(super) fn new(
        repository: &Repository,
        dirstate: &'a Dirstate,
        observer: PatchObserver<'a>,
    ) -> Self {
        WorkingTarget {
            dirstate,
            files: WorkingFiles::new(repository.root()),
            observer,
            changed: BTreeSet::new(),
            removed: BTreeSet::new(),
            copies: Vec::new(),
        }
    }

    /// The files that were written or removed.
    pub(super) fn into_changed(self) -> BTreeSet<Vec<u8>> {
        self.changed
    }

    pub(super) fn into_changes(self) -> WorkingChanges {
        WorkingChanges {
            files: self.files,
            changed: self.changed,
            removed: self.removed,
            copies: self.copies,
        }
    }

    /// Refuses a file that is there and not tracked.
    fn check_tracked(&self, path: &[u8]) -> Result<(), WorkdirError> {
        if !self.dirstate.is_tracked(path) && self.files.look(path)?.is_some() {
            return Err(PatchError::NotTracked(crate::files::shown(path)).into());
        }
        Ok(())
    }

    fn look(&self, path: &[u8]) -> Result<Option<Metadata>, WorkdirError> {
        self.files.audit(path)?;
        let found = self.files.look(path)?;
        let shown = || self.files.path(path);
        match &found {
            Some(found) if found.is_dir() => Err(WorkdirError::IsADirectory { path: shown() }),
            None if self.is_below_file(path)? => Err(WorkdirError::NotADirectory { path: shown() }),
            _ => Ok(found),
        }
    }

    /// Whether a file has the name of a directory that leads to the path.
    fn is_below_file(&self, path: &[u8]) -> Result<bool, WorkdirError> {
        for directory in crate::files::directories_above(path) {
            if self
                .files
                .look(directory)?
                .is_some_and(|found| !found.is_dir())
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

pub(super) fn mode_of(kind: FileKind) -> PatchMode {
    PatchMode {
        is_link: kind == FileKind::Symlink,
        is_executable: kind == FileKind::Executable,
    }
}

pub(super) fn kind_of(mode: PatchMode) -> FileKind {
    match mode {
        PatchMode { is_link: true, .. } => FileKind::Symlink,
        PatchMode {
            is_executable: true,
            ..
        } => FileKind::Executable,
        PatchMode { .. } => FileKind::Plain,
    }
}

impl PatchTarget for WorkingTarget<'_> {
    type Error = WorkdirError;

    fn read(&mut self, path: &[u8]) -> Result<Option<TargetFile>, WorkdirError> {
        if self.look(path)?.is_none() {
            return Ok(None);
        }
        let (content, kind) = self.files.read(path)?;
        let mode = mode_of(kind);
        Ok(Some(TargetFile { content, mode }))
    }

    fn exists(&mut self, path: &[u8]) -> Result<bool, WorkdirError> {
        Ok(self.files.look(path)?.is_some())
    }

    fn write(
        &mut self,
        path: &[u8],
        content: Option<&[u8]>,
        mode: Option<PatchMode>,
        copied_from: Option<&[u8]>,
    ) -> Result<(), WorkdirError> {
        self.look(path)?;
        self.check_tracked(path)?;
        let kind = mode.map(kind_of);
        match (content, kind) {
            (Some(content), kind) => {
                self.files.make_directories(path)?;
                self.files.write(path, content, kind.unwrap_or_default())?;
            }
            (None, Some(FileKind::Symlink)) => {
                let (content, _) = self.files.read(path)?;
                self.files.write(path, &content, FileKind::Symlink)?;
            }
            (None, Some(kind)) => match self.files.read(path)? {
                (target, FileKind::Symlink) => {
                    self.files.write(path, &target, kind)?;
                }
                _ => self.files.set_kind(path, kind)?,
            },
            (None, None) => {}
        }
        if let Some(source) = copied_from {
            self.copies.push((source.to_vec(), path.to_vec()));
        }
        self.changed.insert(path.to_vec());
        Ok(())
    }

    fn remove(&mut self, path: &[u8]) -> Result<(), WorkdirError> {
        self.files.audit(path)?;
        self.check_tracked(path)?;
        self.files.remove(path)?;
        self.removed.insert(path.to_vec());
        self.changed.insert(path.to_vec());
        Ok(())
    }

    fn keep_rejects(&mut self, path: &[u8], text: &[u8]) -> Result<(), WorkdirError> {
        keep_rejects(&self.files, path, text)
    }

    fn notice(&mut self, notice: &PatchNotice<'_>) -> Result<(), WorkdirError> {
        (self.observer)(notice);
        Ok(())
    }
}

/// Writes the rejected hunks of a file beside it.
pub(super) fn keep_rejects(
    files: &WorkingFiles,
    path: &[u8],
    text: &[u8],
) -> Result<(), WorkdirError> {
    let path = [path, b".rej"].concat();
    files.audit(&path)?;
    files.make_directories(&path)?;
    files.write(&path, text, FileKind::Plain)?;
    Ok(())
}

/// Changes of the working copy that the dirstate does not have yet.
pub(super) struct WorkingChanges {
    files: WorkingFiles,
    changed: BTreeSet<Vec<u8>>,
    removed: BTreeSet<Vec<u8>>,
    copies: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Files that may be renames of each other.
#[derive(Default)]
struct RenameSides {
    came: Vec<Vec<u8>>,
    went: Vec<Vec<u8>>,
}

impl WorkingChanges {
    /// Tracks what came, and no longer what went. With a similarity above 0 renames are looked for; `tree` has the
    /// files of the first parent.
    pub(super) fn note(
        &self,
        dirstate: &mut Dirstate,
        tree: &Tree<'_>,
        store: (Option<&CommitBatch>, &RepoView),
        similarity: f64,
    ) -> Result<PatchedFiles, WorkdirError> {
        let mut out = PatchedFiles {
            files: self.changed.clone(),
            ..PatchedFiles::default()
        };
        self.note_copies(dirstate, &mut out);
        for path in &self.removed {
            match dirstate.is_tracked(path) {
                true => dirstate.remove(path),
                false => out.untracked.push(path.clone()),
            }
        }
        let sides = self.compare(dirstate, &mut out)?;
        if similarity > 0.0 {
            out.renames = self.find_renames(&sides, tree, store, similarity)?;
        }
        out.added.iter().for_each(|path| dirstate.add(path));
        out.missing.iter().for_each(|path| dirstate.remove(path));
        for rename in &out.renames {
            dirstate.copy(&rename.to, Some(&rename.from));
        }
        Ok(out)
    }

    fn note_copies(&self, dirstate: &mut Dirstate, out: &mut PatchedFiles) {
        for (source, path) in &self.copies {
            let source = dirstate.copy_source(source).unwrap_or(source).to_vec();
            let entry = dirstate.get(&source);
            let is_new = entry.is_some_and(|entry| entry.state() == EntryState::Added);
            dirstate.add(path);
            if is_new {
                out.uncommitted_sources.push((source, path.clone()));
            } else if source != *path {
                dirstate.copy(path, Some(&source));
            }
        }
    }

    /// Compares the changed files with the dirstate.
    fn compare(
        &self,
        dirstate: &mut Dirstate,
        out: &mut PatchedFiles,
    ) -> Result<RenameSides, WorkdirError> {
        let mut sides = RenameSides::default();
        for path in &self.changed {
            // A new file that was removed again has left nothing.
            if self.removed.contains(path) && dirstate.get(path).is_none() {
                continue;
            }
            let exists = self.files.stat(path)?.is_some();
            match (exists, dirstate.is_tracked(path)) {
                (true, false) => {
                    dirstate.check_clash(path)?;
                    out.added.push(path.clone());
                    sides.came.push(path.clone());
                }
                (true, true) => {
                    dirstate.set_possibly_dirty(path);
                    let entry = dirstate.get(path);
                    if entry.is_some_and(|entry| entry.state() == EntryState::Added) {
                        sides.came.push(path.clone());
                    }
                }
                (false, is_tracked) => {
                    if is_tracked {
                        out.missing.push(path.clone());
                    }
                    sides.went.push(path.clone());
                }
            }
        }
        Ok(sides)
    }

    fn find_renames(
        &self,
        sides: &RenameSides,
        tree: &Tree<'_>,
        (batch, view): (Option<&CommitBatch>, &RepoView),
        similarity: f64,
    ) -> Result<Vec<Rename>, WorkdirError> {
        let went = candidates(&sides.went, |path| {
            let Some((node, _)) = tree.get(path)? else {
                return Ok(None);
            };
            Ok(Some(match batch {
                Some(batch) => batch.file_content(path, &node)?,
                None => view.file_content(path, &node)?,
            }))
        })?;
        let came = candidates(&sides.came, |path| Ok(Some(self.files.read(path)?.0)))?;
        Ok(detect_renames(&went, &came, similarity))
    }
}

fn candidates(
    paths: &[Vec<u8>],
    content: impl Fn(&[u8]) -> Result<Option<Vec<u8>>, WorkdirError>,
) -> Result<Vec<RenameCandidate>, WorkdirError> {
    let mut out = Vec::new();
    for path in paths {
        if let Some(content) = content(path)? {
            let path = path.clone();
            out.push(RenameCandidate { path, content });
        }
    }
    Ok(out)
}
