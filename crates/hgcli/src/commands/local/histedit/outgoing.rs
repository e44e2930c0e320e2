//! `histedit --outgoing`: edits what another repository lacks.

use crate::arguments::Matches;
use crate::context::{Config, Repo};
use crate::remote::{PeerAddress, outgoing, peers};
use crate::ui::{Abort, Ui};
use varve_repo::Rev;

/// The first of the changesets that the destination lacks.
///
/// # Errors
/// It lacks none, or several that do not descend from each other.
pub(super) fn root(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
) -> Result<Rev, Abort> {
    let source = destination(repo, ui, config, matches)?;
    ui.status([b"comparing with ", &source.shown()[..], b"\n"].concat())?;
    let view = repo.view()?;
    let heads = outgoing::typed_heads(repo, ui, &view, (&[], &[]), &source)?;
    let mut remote = peers::connect(repo, ui, config, &source)?;
    let force = matches.flag("force");
    let found = outgoing::find(repo, (ui, config), &mut remote, (heads.as_deref(), force))?;
    ui.print_traffic()?;
    match view.roots(&found.missing)[..] {
        [] => Err(Abort::state("no outgoing ancestors")),
        [root] => Ok(root),
        _ => Err(Abort::state("there are ambiguous outgoing revisions")
            .hint("see 'hg help histedit' for more detail")),
    }
}

fn destination(
    repo: &Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
) -> Result<PeerAddress, Abort> {
    let typed = matches.arguments();
    let mut found = peers::destinations(repo, ui, config, typed)?;
    match (found.len(), typed.first()) {
        (1, _) => Ok(found.remove(0)),
        (count, None) => Err(Abort::new(format!(
            "default path points to {count} urls while histedit only supports one"
        ))),
        (count, Some(typed)) => Err(Abort::new(format!(
            "path points to {count} urls while histedit only supports one: {}",
            String::from_utf8_lossy(typed)
        ))),
    }
}
