//! `tip`: the newest changeset.

use crate::arguments::{Matches, STYLE, TEMPLATE};
use crate::context::{Category, Command, Context};
use crate::render::changesets;
use crate::ui::Abort;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["tip"],
    options: &[STYLE, TEMPLATE],
    arguments: 0..=0,
    synopsis: "",
    summary: "show the changeset that was added last",
    help: "The changeset that was added last is not always the one that was made last.\n\n\
           Ends with 0.",
    category: Some(Category::Navigation),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    repo.warn_of_disabled_markers(ui)?;
    let tip = repo.view()?.tip();
    changesets::show(repo, ui, config, matches, &[tip])?;
    Ok(0)
}
