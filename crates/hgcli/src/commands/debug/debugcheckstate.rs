//! `debugcheckstate`: compares the dirstate with the manifests of the working copy's parents.

use crate::arguments::Matches;
use crate::commands::local::verify::check_dirstate;
use crate::context::{Command, Context};
use crate::ui::Abort;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugcheckstate"],
    options: &[],
    arguments: 0..=0,
    synopsis: "",
    summary: "check that the dirstate fits its parents",
    help: "As `verify` does at its end.\n\nEnds with 0; fails if an entry is wrong.",
    category: None,
    run,
};

fn run(context: &mut Context, _: &Matches) -> Result<u8, Abort> {
    match check_dirstate(&mut context.repo, &mut context.ui)? {
        0 => Ok(0),
        _ => Err(Abort::new(
            "dirstate inconsistent with current parent's manifest",
        )),
    }
}
