//! Surroundings of queries: other repositories, for `outgoing()` and `remote()`, and the working copy.

use crate::context::{Config, Repo, RepoParts, found_destination};
use crate::remote::{PeerAddress, discovery, outgoing, paths, peers};
use crate::ui::clock::clock;
use crate::ui::{Abort, Ui, Verbosity};
use std::sync::Arc;
use varve_exchange::client::outgoing::Outgoing;
use varve_repo::{Node, RepoView, Rev, uncommitted_changeset};
use varve_revset::{
    ChosenDestination, PeerError, PeerName, PeerRepositories, UncommittedFiles, WorkingCopySource,
};
use varve_workdir::{Dirstate, MergeState, merge_destination, rebase_destination};

/// Reaches other repositories with the settings of one call, and prints nothing but warnings.
#[derive(Debug)]
struct QuerySurroundings {
    near: RepoParts,
    config: Config,
}

/// Has the queries of a call ask other repositories and the working copy.
pub(crate) fn answer_queries(repo: &mut Repo, ui: &Ui, config: &Config) {
    let queried = Arc::new(QuerySurroundings {
        near: repo.parts(ui),
        config: config.clone(),
    });
    repo.peers = Some(queried.clone());
    repo.working_source = Some(queried);
}

impl QuerySurroundings {
    fn with_repo<T>(
        &self,
        ask: impl FnOnce(&mut Repo, &mut Ui, &Config) -> Result<T, Abort>,
    ) -> Result<T, PeerError> {
        let (mut repo, mut ui) = self.near.open(&self.config);
        ui.verbosity = Verbosity {
            quiet: true,
            ..Verbosity::default()
        };
        ask(&mut repo, &mut ui, &self.config).map_err(|abort| PeerError(Box::new(abort)))
    }
}

impl PeerRepositories for QuerySurroundings {
    fn outgoing(&self, view: &RepoView, destination: Option<&[u8]>) -> Result<Vec<Rev>, PeerError> {
        self.with_repo(|repo, ui, config| {
            let names: Vec<Vec<u8>> = destination.iter().map(|name| name.to_vec()).collect();
            let mut missing = Vec::new();
            for address in peers::destinations(repo, ui, config, &names)? {
                missing.extend(missing_there(repo, ui, config, view, &address)?);
            }
            Ok(missing)
        })
    }

    fn lookup(&self, source: &[u8], name: &[u8]) -> Result<Node, PeerError> {
        self.with_repo(|repo, ui, config| {
            let found = peers::sources(repo, ui, config, source)?;
            let address = found.into_iter().next();
            let address = address.ok_or_else(|| {
                let shown = String::from_utf8_lossy(source);
                Abort::new(format!("repository {shown} not found"))
            })?;
            let mut remote = peers::connect(repo, ui, config, &address)?;
            Ok(remote.lookup(name)?)
        })
    }

    fn names(&self) -> Result<Vec<PeerName>, PeerError> {
        self.with_repo(|repo, ui, config| {
            let paths = paths::paths(repo, ui, config)?.into_iter();
            let named = paths.map(|path| PeerName {
                name: path.name,
                url: path.url,
                options: path.options,
            });
            Ok(named.collect())
        })
    }

    fn working_branch(&self) -> Result<Vec<u8>, PeerError> {
        self.with_repo(|repo, _, _| repo.working_branch())
    }
}

impl WorkingCopySource for QuerySurroundings {
    fn changeset_text(&self) -> Result<Vec<u8>, PeerError> {
        self.with_repo(|repo, ui, config| {
            let status = repo.working_changes()?;
            let lists = [&status.modified, &status.added, &status.removed];
            let mut files: Vec<&[u8]> = lists.into_iter().flatten().map(Vec::as_slice).collect();
            files.sort_unstable();
            let date = config.working_date().unwrap_or(clock().date());
            let branch = repo.working_branch()?;
            Ok(uncommitted_changeset(
                &ui.username()?,
                (date.time, date.zone),
                &branch,
                &files,
            ))
        })
    }

    fn changed_files(&self) -> Result<UncommittedFiles, PeerError> {
        self.with_repo(|repo, _, _| {
            let status = repo.working_changes()?;
            let dirstate = Dirstate::read(&repo.repository()?)?;
            let copies = dirstate.copies();
            let tracked = dirstate.iter().filter(|(_, item)| item.is_tracked());
            Ok(UncommittedFiles {
                copies: copies
                    .map(|(name, source)| (name.to_vec(), source.to_vec()))
                    .collect(),
                modified: status.modified,
                added: status.added,
                removed: status.removed,
                deleted: status.deleted,
                tracked: tracked.map(|(path, _)| path.to_vec()).collect(),
            })
        })
    }

    fn active_bookmark(&self) -> Result<Option<Vec<u8>>, PeerError> {
        self.with_repo(|repo, _, _| repo.active_bookmark())
    }

    fn conflict_sides(&self) -> Result<Option<[Node; 2]>, PeerError> {
        self.with_repo(|repo, _, _| {
            let state = MergeState::read(&repo.repository()?)?;
            Ok(state.map(|state| [state.local, state.other]))
        })
    }

    fn destination(
        &self,
        of: ChosenDestination,
        sources: Option<&[Rev]>,
    ) -> Result<Rev, PeerError> {
        self.with_repo(|repo, _, _| {
            let (repository, view) = (repo.repository()?, repo.view()?);
            let dirstate = Dirstate::read(&repository)?;
            let find = match of {
                ChosenDestination::Merge => merge_destination,
                ChosenDestination::Rebase => rebase_destination,
            };
            found_destination(of, find(&repository, &view, &dirstate, sources)?)
        })
    }
}

/// Changesets that a push to one repository would send.
fn missing_there(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    view: &RepoView,
    address: &PeerAddress,
) -> Result<Vec<Rev>, Abort> {
    let heads = outgoing::typed_heads(repo, ui, view, (&[], &[]), address)?;
    let heads = heads.unwrap_or_else(|| view.heads());
    let mut remote = peers::connect(repo, ui, config, address)?;
    if view.tip().is_none() {
        return Ok(Vec::new());
    }
    let found = discovery::begin(config, view, &mut remote, None)?.finish(&mut remote)?;
    found.check_related(view)?;
    Ok(Outgoing::select(view, found, &heads).missing)
}
