//! Applying a patch to a store of files.

mod file;
mod names;
#[cfg(test)]
mod tests;

use crate::error::PatchError;
use crate::file_patches::{FilePatches, FileStart, PatchEvent};
use crate::git::{FileMetadata, FileOperation};
use crate::target::{LineEnds, PatchTarget, TargetFile};
use file::PatchedFile;
use std::collections::HashMap;

/// How a patch is applied.
#[derive(Clone, Debug, Default)]
pub struct ApplyOptions {
    /// Directories to strip from the paths in the patch; that of git's form counts.
    pub strip: usize,
    /// Put before the paths, empty or with a slash at its end.
    pub prefix: Vec<u8>,
    /// Most lines of context that need not fit at each end of a hunk.
    pub fuzz: usize,
    /// Ends of lines.
    pub line_ends: LineEnds,
}

/// The result of a patch that was read to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApplyOutcome {
    /// Whether hunks were rejected.
    pub has_rejects: bool,
}

/// Applies all differences in `text`.
///
/// # Errors
/// A malformed patch, files that are not as they must be, and failures of the store. Files before the fault are
/// patched.
pub fn apply<T: PatchTarget>(
    text: &[u8],
    target: &mut T,
    options: &ApplyOptions,
) -> Result<ApplyOutcome, T::Error> {
    let mut applier = Applier {
        target,
        options,
        sources: HashMap::new(),
        file: None,
        has_rejects: false,
    };
    for event in FilePatches::new(text) {
        match event? {
            PatchEvent::Sources(paths) => applier.keep_sources(&paths)?,
            PatchEvent::File(start) => applier.begin(start)?,
            PatchEvent::Hunk(hunk) => {
                if let Some(file) = &mut applier.file {
                    file.apply(hunk, applier.target, options)?;
                }
            }
        }
    }
    applier.end_file()?;
    Ok(ApplyOutcome {
        has_rejects: applier.has_rejects,
    })
}

struct Applier<'a, 't, T> {
    target: &'t mut T,
    options: &'a ApplyOptions,
    /// Files that are copied or renamed, as they were before the patch.
    sources: HashMap<Vec<u8>, TargetFile>,
    file: Option<PatchedFile<'a>>,
    has_rejects: bool,
}

impl<'a, T: PatchTarget> Applier<'a, '_, T> {
    fn keep_sources(&mut self, paths: &[Vec<u8>]) -> Result<(), T::Error> {
        for path in paths {
            let path = names::strip_git(path, self.options)?;
            if let Some(file) = self.target.read(&path)? {
                self.sources.insert(path, file);
            }
        }
        Ok(())
    }

    fn begin(&mut self, start: FileStart<'a>) -> Result<(), T::Error> {
        self.end_file()?;
        let metadata = match start.metadata {
            Some(mut metadata) => {
                metadata.path = names::strip_git(&metadata.path, self.options)?;
                let source = metadata.source.take();
                let source = source.map(|source| names::strip_git(&source, self.options));
                metadata.source = source.transpose()?;
                metadata
            }
            None => names::guess(&start, self.target, self.options)?,
        };
        if let (FileOperation::Rename, Some(source)) = (metadata.operation, &metadata.source) {
            self.target.remove(source)?;
        }
        let Some(first) = start.first else {
            return self.change_whole(&metadata);
        };
        let source = metadata.source.as_ref();
        let before = match source {
            Some(source) => self.sources.get(source).cloned(),
            None => self.target.read(&metadata.path)?,
        };
        let exists = self.target.exists(&metadata.path)?;
        let mut file = PatchedFile::new(metadata, before, exists, self.options.line_ends);
        file.announce(self.target, false)?;
        file.apply(first, self.target, self.options)?;
        self.file = Some(file);
        Ok(())
    }

    /// A file without hunks: only its name, its mode or its being there changes.
    fn change_whole(&mut self, metadata: &FileMetadata) -> Result<(), T::Error> {
        let path = &metadata.path;
        if metadata.operation == FileOperation::Delete {
            return self.target.remove(path);
        }
        let mut content = None;
        let mut mode = metadata.mode;
        if let Some(source) = &metadata.source {
            let before = self.sources.get(source);
            let missing = || PatchError::NoSource(crate::error::shown(source));
            let before = before.ok_or_else(missing)?;
            mode = mode.or(Some(before.mode));
            content = Some(&before.content[..]);
        }
        if metadata.operation == FileOperation::Add && mode.is_some() {
            content = Some(b"");
        }
        if content.is_none() && mode.is_none() {
            return Ok(());
        }
        if metadata.operation.creates() && self.target.exists(path)? {
            return Err(PatchError::Exists(crate::error::shown(path)).into());
        }
        self.target
            .write(path, content, mode, metadata.source.as_deref())
    }

    fn end_file(&mut self) -> Result<(), T::Error> {
        if let Some(file) = self.file.take() {
            self.has_rejects |= file.end(self.target, self.options)?;
        }
        Ok(())
    }
}
