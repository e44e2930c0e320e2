//! Configuration of a repository.
//!
//! In a directory of repositories it is the repository's own `.hg/hgrc`. Files that it includes are not read, so that a
//! repository cannot name files of the server; such a repository is only read from, and its drafts stay drafts, because
//! the unread settings may restrict access. Hooks are run only if the file belongs to the user who runs the server:
//! they are programs. For a repository that is served alone, all of that user's configuration counts.

use crate::hg::find::ServedRepository;
use crate::hg::registry::ServedRepos;
use crate::hg::{OpenError, RepoRegistry};
use std::cell::Cell;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use varve_base::storage::read_if_there;
use varve_config::hgrc::{Files, Hgrc, HgrcError};
use varve_repo::Evolution;
use varve_repo::hooks::{ConfiguredHooks, HookCommand};

/// The configuration of one repository.
#[derive(Clone, Debug)]
pub(super) struct RepositoryConfig {
    pub(super) values: Hgrc,
    /// Whether the values are all there are: no other file is included.
    pub(super) is_whole: bool,
    /// Whether the file belongs to the user who runs the server.
    pub(super) is_trusted: bool,
    /// The values with those of untrusted files, whose hooks are known but not run.
    pub(super) with_untrusted: Option<Hgrc>,
}

impl RepositoryConfig {
    /// Reads it. A file that cannot be read is refused rather than passed over: it may keep drafts from being
    /// published.
    pub(super) fn read(
        repos: &RepoRegistry,
        found: &ServedRepository,
    ) -> Result<RepositoryConfig, OpenError> {
        if let ServedRepos::Lone(one) = repos.holds() {
            let config = (one.configuration)()?;
            return Ok(RepositoryConfig {
                values: config.values,
                is_whole: true,
                is_trusted: true,
                with_untrusted: config.with_untrusted,
            });
        }
        let path = found.directory.join(".hg/hgrc");
        let text = read_if_there(repos.storage().as_ref(), &path)?.unwrap_or_default();
        let config = RepositoryConfig::trusted(&path, &text)?;
        if let ServedRepos::InLog(_) = repos.holds() {
            return Ok(config);
        }
        let owner = std::fs::metadata(repos.path(&path)).map(|found| found.uid());
        Ok(RepositoryConfig {
            is_trusted: owner.is_ok_and(|owner| owner == rustix::process::geteuid().as_raw()),
            ..config
        })
    }

    /// The configuration that stands in a trusted file, such as one in a shared store: only its operator can put it there.
    ///
    /// # Errors
    /// A text that is no configuration.
    pub(super) fn trusted(path: &Path, text: &[u8]) -> Result<RepositoryConfig, OpenError> {
        let included = NothingIncluded::default();
        let mut values = Hgrc::default();
        values.add_text(&included, path, text)?;
        Ok(RepositoryConfig {
            values,
            is_whole: !included.asked.get(),
            is_trusted: true,
            with_untrusted: None,
        })
    }

    /// The hooks that there are, also those that are not run.
    pub(super) fn hooks(&self) -> Result<ConfiguredHooks, HgrcError> {
        ConfiguredHooks::read(self.with_untrusted.as_ref().unwrap_or(&self.values))
    }

    /// Whether the hook may be run.
    pub(super) fn trusts(&self, script: &HookCommand) -> bool {
        let mut known = self.values.section("hooks").iter();
        self.is_trusted
            && known.any(|item| (&item.key, &item.value) == (&script.name, &script.command))
    }

    /// Whether pulled or pushed changesets become public.
    pub(super) fn publishing(&self) -> Result<bool, OpenError> {
        // Another file may say that drafts stay drafts; publishing them could not be taken back.
        Ok(self.values.boolean("phases", "publish", self.is_whole)?)
    }

    /// Whether obsolescence markers are made and exchanged.
    pub(super) fn evolution(&self) -> Result<Evolution, OpenError> {
        Ok(Evolution::read(&self.values)?)
    }
}

#[derive(Default)]
struct NothingIncluded {
    /// Whether there was one to read.
    asked: Cell<bool>,
}

impl Files for NothingIncluded {
    fn read(&self, _path: &Path) -> io::Result<Vec<u8>> {
        self.asked.set(true);
        Err(io::ErrorKind::NotFound.into())
    }

    fn expand(&self, path: &[u8]) -> PathBuf {
        PathBuf::from(OsStr::from_bytes(path))
    }
}
