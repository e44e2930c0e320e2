//! Clones that are made on another machine: an empty repository there, to which all is pushed.

use super::{heads_of, local_path};
use crate::arguments::Matches;
use crate::commands::exchange::push;
use crate::context::Session;
use crate::ui::Abort;

/// Clones a repository of this machine to a URL of ssh.
pub(super) fn run(session: &mut Session, matches: &Matches, target: &[u8]) -> Result<(), Abort> {
    let [source, ..] = matches.arguments() else {
        return Err(Abort::new("no repository to clone"));
    };
    session.go_to(local_path(source)?);
    session.root()?;
    let view = session.view()?;
    let mut heads = Vec::new();
    for branch in matches.list("branch") {
        heads.extend(heads_of(&view, branch)?);
    }
    let target = create(session, target)?;
    for rev in matches.list("rev") {
        heads.extend(session.revision(Some(rev))?);
    }
    let is_limited = !matches.list("branch").is_empty() || !matches.list("rev").is_empty();
    push::fill(session, &target, is_limited.then_some(heads))
}

/// Makes the empty repository.
pub(super) fn create(session: &mut Session, target: &[u8]) -> Result<crate::remote::Source, Abort> {
    let mut named = session.destinations(&[target.to_vec()])?;
    let target = named.pop();
    let target = target.ok_or_else(|| Abort::new("empty destination path is not valid"))?;
    session.create_over_ssh(&target)?;
    Ok(target)
}
