//! Clones that are made on another machine: an empty repository there, to which all is pushed.

use super::{heads_of, local_path};
use crate::arguments::Matches;
use crate::commands::exchange::push;
use crate::context::Context;
use crate::remote::peers;
use crate::ui::Abort;

/// Clones a repository of this machine to a URL of ssh.
pub(super) fn run(context: &mut Context, matches: &Matches, target: &[u8]) -> Result<(), Abort> {
    let [source, ..] = matches.arguments() else {
        return Err(Abort::new("no repository to clone"));
    };
    context.repo.switch_to(local_path(source)?);
    context.repo.root()?;
    let view = context.repo.view()?;
    let mut heads = Vec::new();
    for branch in matches.list("branch") {
        heads.extend(heads_of(&view, branch)?);
    }
    let target = create(context, target)?;
    for rev in matches.list("rev") {
        heads.extend(context.repo.revision(&mut context.ui, Some(rev))?);
    }
    let is_limited = !matches.list("branch").is_empty() || !matches.list("rev").is_empty();
    push::fill(context, &target, is_limited.then_some(heads))
}

/// Makes the empty repository.
pub(super) fn create(
    context: &mut Context,
    target: &[u8],
) -> Result<crate::remote::PeerAddress, Abort> {
    let mut named = peers::destinations(
        &context.repo,
        &mut context.ui,
        &context.config,
        &[target.to_vec()],
    )?;
    let target = named.pop();
    let target = target.ok_or_else(|| Abort::new("empty destination path is not valid"))?;
    peers::create_over_ssh(&mut context.ui, &context.config, &target)?;
    Ok(target)
}
