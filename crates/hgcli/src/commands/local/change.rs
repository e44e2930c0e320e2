//! Changing which files are tracked: the lock, the dirstate, and the rules of `add`.

use crate::context::{Config, Repo};
use crate::ui::{Abort, Ui};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use varve_lang::patterns::Matcher;
use varve_repo::{Lock, LockKind, Repository};
use varve_workdir::{
    Dirstate, EntryState, Status, StatusLists, StatusRequest, WorkingFiles, working_status,
};

/// Files from this size on are warned about, unless `ui.large-file-limit` says otherwise.
const LARGE: u64 = 10 << 20;

/// A change of the dirstate under the lock of the working copy.
pub(crate) struct DirstateChange {
    pub(crate) repository: Repository,
    pub(crate) dirstate: Dirstate,
    _lock: Lock,
}

impl DirstateChange {
    /// Takes the lock and reads the dirstate.
    pub(crate) fn begin(repo: &mut Repo, ui: &mut Ui) -> Result<DirstateChange, Abort> {
        let repository = repo.repository()?;
        let lock = repo.lock(ui, LockKind::WorkingCopy)?;
        let dirstate = Dirstate::read(&repository)?;
        Ok(DirstateChange {
            repository,
            dirstate,
            _lock: lock,
        })
    }

    /// Writes the changes.
    pub(crate) fn end(mut self) -> Result<(), Abort> {
        Ok(self.dirstate.write(&self.repository)?)
    }

    /// Where a file of the working copy lies.
    pub(crate) fn path(&self, file: &[u8]) -> PathBuf {
        self.repository.root().join(OsStr::from_bytes(file))
    }

    /// See [`WorkingFiles::exists`].
    pub(crate) fn exists(&self, file: &[u8]) -> bool {
        WorkingFiles::new(self.repository.root()).exists(file)
    }

    /// Returns whether a file or a link is there.
    pub(crate) fn has_file(&self, file: &[u8]) -> Result<bool, Abort> {
        Ok(WorkingFiles::new(self.repository.root()).has_file(file)?)
    }

    /// The files that match, with clean ones and, if they are wanted, those that are not tracked.
    pub(crate) fn status(
        &self,
        repo: &Repo,
        ui: &mut Ui,
        matcher: &Matcher,
        unknown: bool,
    ) -> Result<Status, Abort> {
        let ignore = match unknown {
            true => repo.ignore(ui)?,
            false => Default::default(),
        };
        let stop = ui.stop.clone();
        let request = StatusRequest {
            repository: &self.repository,
            dirstate: &self.dirstate,
            matcher,
            ignore: &ignore,
            listing: StatusLists {
                unknown,
                ignored: false,
                clean: true,
            },
            stop: &stop,
        };
        Ok(working_status(&request)?.status)
    }

    /// Ignored files that arguments name are meant all the same.
    pub(crate) fn unknown_or_named(&self, matcher: &Matcher, status: &Status) -> Vec<Vec<u8>> {
        let mut files = status.unknown.clone();
        let named = matcher.named().iter().filter(|path| {
            let metadata = self.path(path).symlink_metadata();
            let is_file = metadata.is_ok_and(|found| found.is_file() || found.is_symlink());
            is_file && matcher.matches(path) && self.dirstate.get(path).is_none()
        });
        files.extend(named.cloned());
        files.sort_unstable();
        files.dedup();
        files
    }

    /// Tracks files; says of those that cannot be why, and gives them.
    pub(crate) fn add(
        &mut self,
        repo: &Repo,
        ui: &mut Ui,
        config: &Config,
        files: &[Vec<u8>],
    ) -> Result<Vec<Vec<u8>>, Abort> {
        let mut rejected = Vec::new();
        let limit = config.bytes("ui", "large-file-limit")?.unwrap_or(LARGE);
        for file in files {
            warn_unportable(ui, config, file)?;
            let shown = repo.display_path(file)?;
            let warn = |ui: &mut Ui, words: &str| ui.warn([&shown[..], words.as_bytes()].concat());
            let Ok(metadata) = self.path(file).symlink_metadata() else {
                warn(ui, " does not exist!\n")?;
                rejected.push(file.clone());
                continue;
            };
            if limit != 0 && metadata.len() > limit {
                let size = 3 * metadata.len() / 1_000_000;
                warn(
                    ui,
                    &format!(": up to {size} MB of RAM may be required to manage this file\n"),
                )?;
                let line = [
                    b"(use 'hg revert ",
                    &shown[..],
                    b"' to cancel the pending addition)\n",
                ];
                ui.warn(line.concat())?;
            }
            if !(metadata.is_file() || metadata.is_symlink()) {
                warn(
                    ui,
                    " not added: only files and symlinks supported currently\n",
                )?;
                rejected.push(file.clone());
            } else if self.dirstate.is_tracked(file) {
                warn(ui, " already tracked!\n")?;
            } else {
                self.dirstate.check_clash(file)?;
                self.dirstate.add(file);
            }
        }
        Ok(rejected)
    }

    /// Whether the file is in a parent and still tracked.
    pub(crate) fn is_committed(&self, file: &[u8]) -> bool {
        let item = self.dirstate.get(file);
        item.is_some_and(|item| matches!(item.state(), EntryState::Normal | EntryState::Merged))
    }
}

/// Says that a name would make trouble on Windows; refuses one that no repository may have.
pub(crate) fn warn_unportable(ui: &mut Ui, config: &Config, file: &[u8]) -> Result<(), Abort> {
    if file.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
        let shown = quoted(&escaped(file));
        return Err(Abort::input(format!(
            "'\\n' and '\\r' disallowed in filenames: {shown}"
        )));
    }
    let mode = portability(config)?;
    let Some(reason) = varve_repo::unportable(file).filter(|_| mode != Portability::Ignore) else {
        return Ok(());
    };
    let message = format!("{reason}: {}", quoted(&String::from_utf8_lossy(file)));
    if mode == Portability::Abort {
        return Err(Abort::input(message));
    }
    ui.warn(format!("warning: {message}\n"))
}

/// Reaction to names that would make trouble elsewhere: `ui.portablefilenames`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Portability {
    /// Nothing.
    Ignore,
    /// A warning is printed for each.
    Warn,
    /// They are refused.
    Abort,
}

/// As configured.
pub(crate) fn portability(config: &Config) -> Result<Portability, Abort> {
    let setting = config.get("ui", "portablefilenames").unwrap_or(b"warn");
    match &setting.to_ascii_lowercase()[..] {
        b"ignore" | b"false" | b"0" | b"no" | b"off" | b"never" => Ok(Portability::Ignore),
        b"abort" => Ok(Portability::Abort),
        b"warn" | b"true" | b"1" | b"yes" | b"on" | b"always" => Ok(Portability::Warn),
        _ => Err(Abort::Definition(format!(
            "ui.portablefilenames value is invalid ('{}')",
            String::from_utf8_lossy(setting)
        ))),
    }
}

fn escaped(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

/// As a shell would need it.
fn quoted(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"@%_-+=:,./".contains(&byte);
    if !text.is_empty() && text.bytes().all(|byte| plain(byte) && byte != b':') {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_as_for_a_shell() {
        assert_eq!(quoted("x."), "x.");
        assert_eq!(quoted("b\\"), "'b\\'");
    }
}
