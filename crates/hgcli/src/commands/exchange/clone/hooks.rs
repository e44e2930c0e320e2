//! Hooks of a clone on this machine: those of the source before and behind its copy, those of the user around
//! transactions of the new repository.

use crate::context::{Config, Repo};
use crate::hooks::{HookRunner, refused};
use crate::remote::{PeerAddress, peers};
use crate::ui::{Abort, Ui};
use std::io::Write;
use varve_repo::Node;
use varve_repo::hooks::{HookArgs, Hooks};

/// Hooks of a source about revisions that are taken out of it, and its keys.
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

/// Forgets the hooks of the repository around the current directory. True if a pull has to call those of the source or
/// of the user.
///
/// # Errors
/// The source or its configuration cannot be read.
pub(super) fn asks_for_pull(
    repo: &mut Repo,
    ui: &Ui,
    config: &Config,
    (source, takes_revisions): (&PeerAddress, bool),
) -> Result<bool, Abort> {
    repo.forget_repository_hooks(ui, config)?;
    let Ok(root) = peers::root_of(repo, source) else {
        // The clone says so.
        return Ok(false);
    };
    let of_source = repo.hooks_of(&root, ui, config)?;
    let has_any =
        of_source.first_of(OF_SOURCE).is_some() || repo.hooks.first_of(OF_TRANSACTION).is_some();
    if !has_any || takes_revisions {
        return Ok(has_any);
    }
    let source = peers::open_local(repo, source)?.repository;
    Ok(!source.can_clone_by_copying()?)
}

/// The hooks of the source of a copy, with those of the user.
pub(super) struct SourceHooks(HookRunner);

impl SourceHooks {
    /// Reads them. If the clone `copies` files, no hook may wait for the transaction that this is in Mercurial.
    ///
    /// # Errors
    /// There is one.
    pub(super) fn read(
        repo: &Repo,
        ui: &Ui,
        config: &Config,
        copies: bool,
    ) -> Result<SourceHooks, Abort> {
        let of_source = repo.hooks_of_location(ui, config)?;
        if copies {
            repo.refuse_hooks("clone", OF_COPY)?;
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
