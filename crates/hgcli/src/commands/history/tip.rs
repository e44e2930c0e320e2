//! `tip`: the newest changeset.

use crate::arguments::{Category, Command, Matches, STYLE, TEMPLATE};
use crate::context::Session;
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

fn run(session: &mut Session, matches: &Matches) -> Result<u8, Abort> {
    session.tell_of_markers()?;
    let tip = session.view()?.tip();
    changesets::show(session, matches, &[tip])?;
    Ok(0)
}
