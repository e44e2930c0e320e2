//! What another repository lacks.

use crate::context::Context;
use crate::remote::PeerAddress;
use crate::ui::Abort;
use std::collections::HashSet;
use varve_exchange::ExchangeError;
use varve_exchange::client::discovery::{Discovery, DiscoveryResult};
use varve_exchange::client::peer::Remote;
use varve_repo::{Node, Phase, RepoView, Rev};

/// What a peer lacks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outgoing {
    /// Changesets that would be sent, oldest first.
    pub(crate) missing: Vec<Rev>,
    /// Secret changesets that stay here.
    pub(crate) secret: usize,
    /// The newest changesets that both have.
    pub(crate) common: Vec<Rev>,
    /// What was found out about the peer.
    pub(crate) found: DiscoveryResult,
}

impl Outgoing {
    /// Finds out what of `heads`, and of what they build on, a peer lacks.
    pub(crate) fn find(
        context: &mut Context,
        remote: &mut Remote,
        heads: &[Rev],
        force: bool,
    ) -> Result<Outgoing, Abort> {
        let view = context.repo.view()?;
        let discovery = Discovery::begin(&view, remote, None)?;
        context.ui.status("searching for changes\n")?;
        let found = discovery.finish(remote)?;
        let changelog = view.changelog();
        let common: Vec<Rev> = found
            .common_heads
            .iter()
            .filter_map(|node| changelog.rev(node))
            .collect();
        if !found.remote_heads.iter().all(Node::is_null) {
            if !found.incoming {
                context.ui.debug("all remote heads known locally\n")?;
            } else if view.heads().iter().all(|head| common.contains(head)) {
                context.ui.note("all local changesets known remotely\n")?;
            }
        }
        if found.is_unrelated(changelog.len()) {
            if !force {
                return Err(ExchangeError::Unrelated.into());
            }
            context.ui.warn("warning: repository is unrelated\n")?;
        }
        let is_secret = |rev: &Rev| view.phases().of(*rev) == Phase::Secret;
        let mut missing = missing_of(&view, heads, &common);
        missing.retain(|rev| !is_secret(rev));
        // As in Mercurial, those count as well that the other side has all the same.
        let secret = match view.phases().any_secret() {
            true => missing_of(&view, heads, &[])
                .into_iter()
                .filter(is_secret)
                .count(),
            false => 0,
        };
        Ok(Outgoing {
            missing,
            secret,
            common,
            found,
        })
    }
}

/// What `--rev`, `--branch` and the address of a destination name; `None` if they name nothing.
pub(crate) fn asked_for(
    context: &mut Context,
    view: &RepoView,
    (specs, branches): (&[&[u8]], &[&[u8]]),
    source: &PeerAddress,
) -> Result<Option<Vec<Rev>>, Abort> {
    if specs.is_empty() && branches.is_empty() && source.branch.is_none() {
        return Ok(None);
    }
    let mut heads = context.repo.revisions(&mut context.ui, specs)?;
    for branch in branches {
        let found = view.branchmap()?.get(*branch);
        let unknown = || {
            let branch = String::from_utf8_lossy(branch);
            Abort::new(format!("unknown branch '{branch}'"))
        };
        heads.extend(&found.ok_or_else(unknown)?.heads);
    }
    if let Some(branch) = &source.branch {
        heads.extend(branch_heads(context, view, branch)?);
    }
    Ok(Some(heads))
}

/// The ancestors of `heads` that are no ancestors of `common`, oldest first.
pub(crate) fn missing_of(view: &RepoView, heads: &[Rev], common: &[Rev]) -> Vec<Rev> {
    let changelog = view.changelog();
    let mut wanted = vec![false; changelog.len()];
    let mut had = vec![false; changelog.len()];
    for rev in heads {
        wanted[rev.index()] = true;
    }
    for rev in common {
        had[rev.index()] = true;
    }
    let mut missing = Vec::new();
    for rev in changelog.revs().rev() {
        let (is_wanted, is_had) = (wanted[rev.index()], had[rev.index()]);
        for parent in changelog.parents(rev).into_iter().flatten() {
            wanted[parent.index()] |= is_wanted;
            had[parent.index()] |= is_had;
        }
        if is_wanted && !is_had {
            missing.push(rev);
        }
    }
    missing.reverse();
    missing
}

/// Of `revs`, which are oldest first, those that build on one of `roots`, or are one.
pub(crate) fn descendants_among(view: &RepoView, revs: &[Rev], roots: &[Rev]) -> Vec<Rev> {
    let mut chosen: HashSet<Rev> = roots.iter().copied().collect();
    let mut found = Vec::new();
    for rev in revs {
        let mut parents = view.changelog().parents(*rev).into_iter().flatten();
        if chosen.contains(rev) || parents.any(|parent| chosen.contains(&parent)) {
            chosen.insert(*rev);
            found.push(*rev);
        }
    }
    found
}

/// What stands behind `#` in an address: the heads of a branch, or a changeset.
pub(crate) fn branch_heads(
    context: &mut Context,
    view: &RepoView,
    name: &[u8],
) -> Result<Vec<Rev>, Abort> {
    if let Some(branch) = view.branchmap()?.get(name) {
        return Ok(branch.heads.clone());
    }
    Ok(context
        .repo
        .revision(&mut context.ui, Some(name))?
        .into_iter()
        .collect())
}

/// `no changes found`, with what stayed here because it is secret.
pub(crate) fn tell_nothing(context: &mut Context, secret: usize) -> Result<u8, Abort> {
    context.ui.status(match secret {
        0 => "no changes found\n".to_owned(),
        secret => format!("no changes found (ignored {secret} secret changesets)\n"),
    })?;
    Ok(1)
}
