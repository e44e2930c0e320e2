//! `debugsuccessorssets`: what stands in the place of changesets.

use crate::arguments::{Flag, Matches};
use crate::context::{Command, Context};
use crate::ui::{Abort, short_hex};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugsuccessorssets"],
    options: &[Flag::long_flag(
        "closest",
        "only as far as the first visible successors",
    )],
    arguments: 0..=usize::MAX,
    synopsis: "[REV]",
    summary: "list the successors of changesets",
    help: "Below each changeset stands a line for each alternative: the changesets that have taken \
           its place together. There is none if it was dropped.\n\nEnds with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context { repo, ui, .. } = context;
    let specs: Vec<&[u8]> = matches.arguments().iter().map(Vec::as_slice).collect();
    let view = repo.view()?;
    for rev in repo.revisions(ui, &specs)? {
        let node = view.changelog().node(rev);
        ui.write(format!("{}\n", short_hex(&node)))?;
        for set in view.successor_sets(&node, matches.flag("closest"))? {
            let shown: Vec<String> = set.iter().map(short_hex).collect();
            let line = match shown.is_empty() {
                true => String::new(),
                false => format!("    {}", shown.join(" ")),
            };
            ui.write(line + "\n")?;
        }
    }
    Ok(0)
}
