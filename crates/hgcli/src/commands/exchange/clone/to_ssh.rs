//! Clones that are made on another machine: an empty repository there, to which all is pushed.

use super::{heads_of, local_path};
use crate::arguments::Matches;
use crate::commands::exchange::push;
use crate::context::{Config, Repo};
use crate::remote::peers;
use crate::ui::{Abort, Ui};

/// Clones a repository of this machine to a URL of ssh.
pub(super) fn run(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    target: &[u8],
) -> Result<(), Abort> {
    let [source, ..] = matches.arguments() else {
        return Err(Abort::input("no repository to clone"));
    };
    repo.switch_to(local_path(source)?);
    repo.root()?;
    let view = repo.view()?;
    let mut heads = Vec::new();
    for branch in matches.list("branch") {
        heads.extend(heads_of(&view, branch)?);
    }
    let target = create(repo, ui, config, target)?;
    for rev in matches.list("rev") {
        heads.extend(repo.revision(ui, Some(rev))?);
    }
    let is_limited = !matches.list("branch").is_empty() || !matches.list("rev").is_empty();
    push::fill(repo, ui, config, &target, is_limited.then_some(heads))
}

/// Makes the empty repository.
pub(super) fn create(
    repo: &Repo,
    ui: &mut Ui,
    config: &Config,
    target: &[u8],
) -> Result<crate::remote::PeerAddress, Abort> {
    let mut named = peers::destinations(repo, ui, config, &[target.to_vec()])?;
    let target = named.pop();
    let target = target.ok_or_else(|| Abort::input("empty destination path is not valid"))?;
    peers::create_over_ssh(ui, config, &target)?;
    Ok(target)
}
