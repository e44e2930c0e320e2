//! Hooks of a clone on this machine: those of the source before and behind its copy, those of the user around
//! transactions of the new repository.

use crate::context::{Config, Repo};
use crate::hooks::{HookRunner, refused};
use crate::ui::{Abort, Ui};
use std::io::Write;
use varve_repo::Node;
use varve_repo::hooks::{HookArgs, Hooks};

/// Hooks of a source that are not called when revisions are taken out of it one by one.
const OF_SOURCE: &[&str] = &["preoutgoing", "outgoing", "prelistkeys", "listkeys"];

/// Hooks that Mercurial calls around its transaction of a copy, which is none here.
const OF_COPY: &[&str] = &["pretxnopen", "pretxnclose"];

/// Hooks that Mercurial calls for revisions that come into a new repository.
const OF_TRANSACTION: &[&str] = &[
    "pretxnopen",
    "prechangegroup",
    "pretxnchangegroup",
    "pretxnclose-bookmark",
    "pretxnclose-phase",
    "pretxnclose",
    "txnclose-bookmark",
    "txnclose-phase",
    "txnclose",
    "changegroup",
    "incoming",
];

/// Forgets the hooks of the repository around the current directory. True if the user's have to be called by a pull.
///
/// # Errors
/// There are hooks of the source.
pub(super) fn asks_for_pull(repo: &mut Repo, ui: &Ui, config: &Config) -> Result<bool, Abort> {
    repo.forget_repository_hooks(ui, config)?;
    repo.refuse_hooks("clone", OF_SOURCE)?;
    Ok(repo.refuse_hooks("clone", OF_TRANSACTION).is_err())
}

/// The hooks of the source of a copy, with those of the user.
pub(super) struct SourceHooks(HookRunner);

impl SourceHooks {
    /// Reads them, and keeps only the user's for the new repository.
    ///
    /// # Errors
    /// There are hooks that are not called for a copy, or `copies` is false and there are any for a transaction.
    pub(super) fn read(
        repo: &mut Repo,
        ui: &Ui,
        config: &Config,
        copies: bool,
    ) -> Result<SourceHooks, Abort> {
        let of_source = repo.hooks_of_location(ui, config)?;
        repo.forget_repository_hooks(ui, config)?;
        if copies {
            repo.refuse_hooks("clone", OF_COPY)?;
        } else {
            repo.refuse_hooks("clone", OF_SOURCE)?;
            repo.refuse_hooks("clone", OF_TRANSACTION)?;
        }
        Ok(SourceHooks(of_source))
    }

    /// Runs `preoutgoing`, which may refuse.
    ///
    /// # Errors
    /// It refuses.
    pub(super) fn before_copy(&self, ui: &mut Ui) -> Result<(), Abort> {
        ui.out.flush()?;
        let args = HookArgs::from([("source", b"clone".to_vec())]);
        let asked = self.0.run_now("preoutgoing", &args, false);
        asked.map_err(refused)
    }

    /// Runs `outgoing`.
    ///
    /// # Errors
    /// Output cannot be written.
    pub(super) fn after_copy(&self, ui: &mut Ui) -> Result<(), Abort> {
        ui.out.flush()?;
        let node = Node::NULL.to_hex().to_vec();
        let args = HookArgs::from([("source", b"clone".to_vec()), ("node", node)]);
        self.0.notify("outgoing", &args);
        Ok(())
    }
}
