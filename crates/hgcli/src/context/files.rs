//! Which files a command works on, and how their names are shown.

use crate::arguments::Matches;
use crate::context::Repo;
use crate::ui::{Abort, Ui, environment};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use varve_config::hgrc;
use varve_lang::patterns::Matcher;
use varve_repo::{RepoView, StoredFile};
use varve_workdir::filesets::FilesetTarget;
use varve_workdir::{Dirstate, Ignore, IgnoreFiles, PathAuditor};

impl Repo {
    /// Matches `patterns`, `-I` and `-X` in the working copy: names must not lead out of it.
    pub fn working_matcher(
        &mut self,
        matches: &Matches,
        patterns: &[Vec<u8>],
    ) -> Result<Matcher, Abort> {
        let auditor = PathAuditor::new(self.root()?);
        let patterns = patterns.iter().filter(|pattern| !pattern.is_empty());
        let patterns: Vec<Vec<u8>> = patterns.cloned().collect();
        self.matcher_with(matches, &patterns, &auditor, FilesetTarget::Working)
    }

    /// The revisions of a working copy's file in its parents.
    pub(crate) fn origins_of_working_file(
        &mut self,
        view: &RepoView,
        path: &[u8],
    ) -> Result<Vec<StoredFile>, Abort> {
        let dirstate = Dirstate::read(&self.repository()?)?;
        let source = dirstate.copy_source(path).unwrap_or(path);
        let mut origins = Vec::new();
        for (changeset, path) in self.working_parents()?.into_iter().zip([source, path]) {
            let text = view.manifest_text(Some(changeset))?;
            let entry = view.find_in_manifest(&text, path)?;
            origins.extend(entry.map(|entry| StoredFile {
                changeset,
                path: path.to_vec(),
                node: entry.node,
            }));
        }
        Ok(origins)
    }

    /// Patterns of ignored files; says which files with patterns were skipped.
    pub fn ignore(&self, ui: &mut Ui) -> Result<Ignore, Abort> {
        let root = self.root()?.to_owned();
        let files = self.ignore_files()?;
        let read = IgnoreFiles::read(&root, &files)?;
        for line in read.warnings {
            ui.warn(format!("{line}\n"))?;
        }
        Ok(read.ignore)
    }

    /// Files with patterns besides `.hgignore`, as configured.
    pub fn ignore_files(&self) -> Result<Vec<PathBuf>, Abort> {
        let root = self.root()?;
        let items = self.config.section("ui").iter();
        let files = items.filter(|item| item.key == b"ignore" || item.key.starts_with(b"ignore."));
        Ok(files
            .map(|item| root.join(hgrc::Files::expand(&environment::Environment, &item.value)))
            .collect())
    }

    /// Whether paths are shown from the current directory: `ui.relative-paths`, or where that is
    /// `legacy`, as it is by default, the habit of the command.
    pub fn uses_relative_paths(&self, always: bool) -> Result<bool, Abort> {
        let setting = self.config.get("ui", "relative-paths");
        match setting {
            None | Some(b"legacy") => Ok(always),
            Some(_) => Ok(self.config.boolean("ui", "relative-paths", always)?),
        }
    }

    /// Says of each file or directory that arguments name and that is not there, that it is not;
    /// gives their paths.
    pub fn warn_of_missing_files(
        &self,
        ui: &mut Ui,
        matcher: &Matcher,
        dirstate: &Dirstate,
    ) -> Result<Vec<Vec<u8>>, Abort> {
        self.warn_of_unknown_files(ui, matcher, &|path| is_known(dirstate, path))
    }

    /// The same, where another test tells which names mean something though no file is there.
    pub(crate) fn warn_of_unknown_files(
        &self,
        ui: &mut Ui,
        matcher: &Matcher,
        is_known: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Vec<Vec<u8>>, Abort> {
        let root = self.root()?.to_owned();
        let mut missing = Vec::new();
        for path in matcher.named().iter().filter(|path| !path.is_empty()) {
            let metadata = root.join(OsStr::from_bytes(path)).symlink_metadata();
            let reason = match metadata {
                Ok(metadata) => unsupported(metadata.file_type()).map(str::to_owned),
                Err(_) if is_known(path) => None,
                Err(error) => Some(crate::ui::abort::system_words(&error)),
            };
            if let Some(reason) = reason {
                let line = [
                    &self.display_path(path)?[..],
                    b": ",
                    reason.as_bytes(),
                    b"\n",
                ]
                .concat();
                ui.warn(line)?;
                missing.push(path.clone());
            }
        }
        Ok(missing)
    }
}

/// Whether the dirstate has a file of this name or in a directory of this name.
pub(crate) fn is_known(dirstate: &Dirstate, path: &[u8]) -> bool {
    dirstate.get(path).is_some() || dirstate.below(path).next().is_some()
}

fn unsupported(kind: std::fs::FileType) -> Option<&'static str> {
    if kind.is_fifo() {
        Some("unsupported file type (type is fifo)")
    } else if kind.is_socket() {
        Some("unsupported file type (type is socket)")
    } else if kind.is_block_device() {
        Some("unsupported file type (type is block device)")
    } else if kind.is_char_device() {
        Some("unsupported file type (type is character device)")
    } else {
        None
    }
}
