//! Outgoing changesets of a command, and their messages.

use crate::context::{Config, Repo};
use crate::remote::{PeerAddress, discovery};
use crate::ui::{Abort, Ui};
use varve_exchange::client::outgoing::{Outgoing, PeerComparison};
use varve_exchange::client::peer::Remote;
use varve_repo::{RepoView, Rev};

/// Finds the changesets that a peer lacks, among `heads` and their ancestors, or all. As in Mercurial, extinct ones are
/// left out if heads are named: the names of others do not mean these.
pub(crate) fn find(
    repo: &mut Repo,
    (ui, config): (&mut Ui, &Config),
    remote: &mut Remote,
    (heads, force): (Option<&[Rev]>, bool),
) -> Result<Outgoing, Abort> {
    let view = repo.view()?;
    let discovery = discovery::begin(config, &view, remote, None)?;
    ui.status("searching for changes\n")?;
    let found = discovery.finish(remote)?;
    match found.comparison(&view) {
        Some(PeerComparison::RemoteHeadsKnown) => ui.debug("all remote heads known locally\n")?,
        Some(PeerComparison::LocalHeadsKnown) => {
            ui.note("all local changesets known remotely\n")?
        }
        Some(PeerComparison::Diverged) | None => {}
    }
    match found.check_related(&view) {
        Err(_) if force => ui.warn("warning: repository is unrelated\n")?,
        related => related?,
    }
    let Some(heads) = heads else {
        return Ok(Outgoing::select(&view, found, &view.heads()));
    };
    let mut outgoing = Outgoing::select(&view, found, heads);
    let extinct = view.extinct()?;
    outgoing.missing.retain(|rev| !extinct.contains(rev));
    Ok(outgoing)
}

/// The heads that `--rev`, `--branch` and the address of a destination name; `None` if they name nothing.
pub(crate) fn typed_heads(
    repo: &mut Repo,
    ui: &mut Ui,
    view: &RepoView,
    (specs, branches): (&[&[u8]], &[&[u8]]),
    source: &PeerAddress,
) -> Result<Option<Vec<Rev>>, Abort> {
    if specs.is_empty() && branches.is_empty() && source.branch.is_none() {
        return Ok(None);
    }
    let mut heads = repo.revisions(ui, specs)?;
    for typed in branches {
        let branch = &own_branch(repo, typed)?[..];
        let found = view.branchmap()?.get(branch);
        let unknown = || {
            let branch = String::from_utf8_lossy(typed);
            Abort::input(format!("unknown branch '{branch}'"))
        };
        heads.extend(&found.ok_or_else(unknown)?.heads);
    }
    if let Some(branch) = &source.branch {
        heads.extend(branch_heads(repo, ui, view, branch)?);
    }
    Ok(Some(heads))
}

/// The branch that is meant: `.` is that of the working copy.
pub(crate) fn own_branch(repo: &mut Repo, name: &[u8]) -> Result<Vec<u8>, Abort> {
    match name {
        b"." => repo.working_branch(),
        named => Ok(named.to_vec()),
    }
}

/// Resolves the fragment of an address, behind `#`: the heads of a branch, or a changeset.
pub(crate) fn branch_heads(
    repo: &mut Repo,
    ui: &mut Ui,
    view: &RepoView,
    name: &[u8],
) -> Result<Vec<Rev>, Abort> {
    if let Some(branch) = view.branchmap()?.get(&own_branch(repo, name)?) {
        return Ok(branch.heads.clone());
    }
    Ok(repo.revision(ui, Some(name))?.into_iter().collect())
}

/// Prints `no changes found`, with the number of secret changesets; returns the exit code.
pub(crate) fn print_nothing(ui: &mut Ui, secret: usize) -> Result<u8, Abort> {
    ui.status(match secret {
        0 => "no changes found\n".to_owned(),
        secret => format!("no changes found (ignored {secret} secret changesets)\n"),
    })?;
    Ok(1)
}
