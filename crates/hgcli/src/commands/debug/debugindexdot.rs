//! `debugindexdot`: the graph of a revlog in the language of Graphviz.

use super::revlogs::{CHANGELOG, MANIFEST, RevlogSelection};
use crate::arguments::Matches;
use crate::context::{Command, Context};
use crate::ui::Abort;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugindexdot"],
    options: &[CHANGELOG, MANIFEST],
    arguments: 0..=1,
    synopsis: "-c|-m|FILE",
    summary: "print the graph of a revlog for Graphviz",
    help: "An arrow leads from each parent to its child; -1 is the parent of those that have \
           none.\n\nEnds with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context { repo, ui, .. } = context;
    let selection = RevlogSelection::of_argument(repo, matches, &COMMAND)?;
    let revlog = selection.revlog()?;
    ui.write("digraph G {\n")?;
    for rev in revlog.revs() {
        let [first, second] = revlog.parents(rev);
        let number = first.map_or(-1, |rev| i64::from(rev.0));
        ui.write(format!("\t{number} -> {}\n", rev.0))?;
        if let Some(second) = second {
            ui.write(format!("\t{} -> {}\n", second.0, rev.0))?;
        }
    }
    ui.write("}\n")?;
    Ok(0)
}
