//! What another repository on this machine lacks.

use super::remote::{is_url, paths, without_password};
use super::{Abort, Session, disk};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use varve_repo::{Audience, Phase, RepoError, RepoView, Repository, Rev};

/// Another repository, as far as it shows itself to others.
pub(crate) struct Peer {
    /// Its address without what stands behind `#`, as it may be shown.
    pub(crate) url: Vec<u8>,
    /// What it shows.
    pub(crate) view: Arc<RepoView>,
    /// What stands behind `#` in its address: a branch or changeset.
    pub(crate) branch: Option<Vec<u8>>,
}

/// What a peer lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outgoing {
    /// Changesets that would be sent, oldest first.
    pub(crate) missing: Vec<Rev>,
    /// Secret changesets that stay here.
    pub(crate) secret: usize,
}

impl Peer {
    /// The repositories that `names` mean, each a name of the configuration or an address; where
    /// there are none, the one that `push` would mean.
    pub(crate) fn to_push(session: &mut Session, names: &[Vec<u8>]) -> Result<Vec<Peer>, Abort> {
        let known = paths(session)?;
        let urls_of = |name: &[u8]| -> Vec<Vec<u8>> {
            let named = known.iter().filter(|path| path.name == name);
            let push_url = |(option, url): &&(&str, Vec<u8>)| *option == "pushurl" && is_url(url);
            let chosen = named.map(|path| {
                let other = path.options.iter().find(push_url);
                other.map_or_else(|| path.url.clone(), |(_, url)| url.clone())
            });
            chosen.collect()
        };
        let mut urls = Vec::new();
        for name in names {
            match urls_of(name) {
                found if found.is_empty() => urls.push(name.clone()),
                found => urls.extend(found),
            }
        }
        if names.is_empty() {
            let usual = ["default-push", "default"].map(|name| urls_of(name.as_bytes()));
            urls.extend(
                usual
                    .into_iter()
                    .find(|urls| !urls.is_empty())
                    .unwrap_or_default(),
            );
        }
        if urls.is_empty() {
            return Err(Abort::Unconfigured {
                message: "default repository not configured!",
                hint: "see 'hg help config.paths'",
            });
        }
        urls.iter().map(|url| Peer::open(session, url)).collect()
    }

    fn open(session: &Session, url: &[u8]) -> Result<Peer, Abort> {
        let (url, branch) = match url.iter().position(|byte| *byte == b'#') {
            Some(at) => (&url[..at], Some(url[at + 1..].to_vec())),
            None => (url, None),
        };
        let shown = || String::from_utf8_lossy(url).into_owned();
        let path = match url.strip_prefix(b"file:") {
            Some(path) => path.strip_prefix(b"//").unwrap_or(path),
            None if is_url(url) || url.starts_with(b"bundle:") => {
                return Err(Abort::new(format!("cannot compare with {}", shown()))
                    .hint("only with repositories of this machine"));
            }
            None => url,
        };
        let folder = session.cwd.join(Path::new(OsStr::from_bytes(path)));
        let missing = || Abort::new(format!("repository {} does not exist", shown()));
        if path.is_empty() || !folder.exists() {
            return Err(missing());
        }
        let repository = Repository::open(disk(), &folder).map_err(|error| match error {
            RepoError::NotFound { .. } => Abort::new(format!("repository {} not found", shown())),
            other => other.into(),
        })?;
        Ok(Peer {
            url: without_password(url),
            view: repository.view_for(Audience::Others)?,
            branch: branch.filter(|branch| !branch.is_empty()),
        })
    }

    /// Finds out what of `heads`, and of what they build on, this peer lacks.
    pub(crate) fn outgoing(
        &self,
        session: &mut Session,
        heads: &[Rev],
        force: bool,
    ) -> Result<Outgoing, Abort> {
        let view = session.view()?;
        debug(session, "query 1; heads\n")?;
        session.status("searching for changes\n")?;
        let common = self.common(&view);
        let remote_heads = self.view.heads();
        let node = |rev: &Rev| self.view.changelog().node(*rev);
        let is_known = |rev: &Rev| view.changelog().rev(&node(rev)).is_some();
        let missing = missing_of(&view, heads, &common);
        if view.heads().iter().all(|head| common.contains(head)) {
            debug(session, "all local changesets known remotely\n")?;
        } else if !remote_heads.is_empty() && remote_heads.iter().all(is_known) {
            debug(session, "all remote heads known locally\n")?;
        }
        if common.is_empty() && !remote_heads.is_empty() {
            if !force {
                return Err(Abort::new("repository is unrelated"));
            }
            session.warn("warning: repository is unrelated\n")?;
        }
        let is_secret = |rev: &Rev| view.phases().of(*rev) == Phase::Secret;
        let (secret, missing): (Vec<Rev>, Vec<Rev>) = missing.into_iter().partition(is_secret);
        Ok(Outgoing {
            missing,
            secret: secret.len(),
        })
    }

    /// The newest changesets that both have: all others that both have are below these.
    fn common(&self, view: &RepoView) -> Vec<Rev> {
        let changelog = view.changelog();
        let mut below = vec![false; changelog.len()];
        let mut common = Vec::new();
        for rev in changelog.revs().rev() {
            if !below[rev.index()] {
                let there = self.view.changelog().rev(&changelog.node(rev));
                if !there.is_some_and(|there| self.view.is_visible(there)) {
                    continue;
                }
                common.push(rev);
            }
            for parent in changelog.parents(rev).into_iter().flatten() {
                below[parent.index()] = true;
            }
        }
        common
    }
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
    session: &mut Session,
    view: &RepoView,
    name: &[u8],
) -> Result<Vec<Rev>, Abort> {
    if let Some(branch) = view.branchmap()?.get(name) {
        return Ok(branch.heads.clone());
    }
    Ok(session.revision(Some(name))?.into_iter().collect())
}

/// `no changes found`, with what stayed here because it is secret.
pub(crate) fn tell_nothing(session: &mut Session, secret: usize) -> Result<u8, Abort> {
    session.status(match secret {
        0 => "no changes found\n".to_owned(),
        secret => format!("no changes found (ignored {secret} secret changesets)\n"),
    })?;
    Ok(1)
}

fn debug(session: &mut Session, words: &str) -> Result<(), Abort> {
    match session.verbosity.debug {
        true => session.write(words),
        false => Ok(()),
    }
}
