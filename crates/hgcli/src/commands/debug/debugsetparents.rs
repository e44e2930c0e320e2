//! `debugsetparents`: moves the working copy to other parents, and nothing else.

use crate::arguments::Matches;
use crate::commands::local::change::DirstateChange;
use crate::context::{Command, Context};
use crate::ui::Abort;
use varve_repo::Node;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugsetparents"],
    options: &[],
    arguments: 1..=2,
    synopsis: "REV1 [REV2]",
    summary: "set the parents of the working directory (DANGEROUS)",
    help: "No file changes, and neither do the lists of added and removed files.\n\nEnds with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context { repo, ui, .. } = context;
    let mut parents = [Node::NULL; 2];
    for (parent, spec) in parents.iter_mut().zip(matches.arguments()) {
        let rev = repo.revision(ui, Some(spec))?;
        *parent = repo.view()?.changelog().node_or_null(rev);
    }
    let mut change = DirstateChange::begin(repo, ui)?;
    change.dirstate.set_parents(parents);
    change.end()?;
    Ok(0)
}
