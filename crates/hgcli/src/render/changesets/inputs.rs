//! The parts of a call's repository that a printer of changesets needs.

use crate::context::{Config, Repo};
use crate::ui::Abort;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use varve_repo::{Node, RepoView, Rev};
use varve_revset::{PeerRepositories, WorkingCopySource};
use varve_workdir::filesets::FilesetContext;

/// State of the working copy that is shown with changesets.
pub(super) struct WorkingCopy {
    pub(super) parents: Vec<Rev>,
    /// The other side of a merge that waits for its conflicts to be resolved.
    pub(super) merged: Option<Node>,
    /// The bookmark that moves with the next commit.
    pub(super) active: Option<Vec<u8>>,
    /// The directory that paths are relative to.
    pub(super) cwd: PathBuf,
}

/// Parts of a call's repository that a printer needs; reading them costs little.
pub(crate) struct PrinterInputs {
    pub(super) view: Arc<RepoView>,
    pub(super) working_copy: WorkingCopy,
    pub(super) peers: Option<Arc<dyn PeerRepositories>>,
    pub(super) working_source: Option<Arc<dyn WorkingCopySource>>,
    /// See [`varve_revset::QueryContext::preferred`].
    pub(super) preferred: Option<Arc<BTreeSet<Rev>>>,
    pub(super) filesets: Arc<FilesetContext>,
    pub(super) config: Config,
}

impl PrinterInputs {
    /// Those of a repository.
    ///
    /// # Errors
    /// If there is no repository, or it cannot be read.
    pub(crate) fn of(repo: &mut Repo, config: &Config) -> Result<PrinterInputs, Abort> {
        let view = repo.view()?;
        Ok(PrinterInputs {
            preferred: repo.preferred(&view)?,
            view,
            working_copy: WorkingCopy {
                parents: repo.working_parents()?,
                merged: repo.merge_parent()?,
                active: repo.active_bookmark()?,
                cwd: repo.cwd.clone(),
            },
            peers: repo.peers.clone(),
            working_source: repo.working_source.clone(),
            filesets: repo.fileset_context()?,
            config: config.clone(),
        })
    }
}
