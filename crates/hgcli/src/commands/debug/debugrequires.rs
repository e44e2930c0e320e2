//! `debugrequires`: the requirements of the repository.

use crate::arguments::Matches;
use crate::context::{Command, Context};
use crate::ui::Abort;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugrequires"],
    options: &[],
    arguments: 0..=0,
    synopsis: "",
    summary: "print the current repo requirements",
    help: "One per line, sorted.\n\nEnds with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, _: &Matches) -> Result<u8, Abort> {
    let repository = context.repo.repository()?;
    for name in repository.requirements().iter() {
        context.ui.write(format!("{name}\n"))?;
    }
    Ok(0)
}
