//! `tip`: the newest changeset.

use super::log;
use crate::arguments::{Flag, Matches, STYLE, TEMPLATE};
use crate::context::{Category, Command, Context};
use crate::render::changesets::{Printer, ShownFiles};
use crate::render::diff::GIT;
use crate::ui::Abort;
use varve_lang::patterns::Matcher;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["tip"],
    options: &[
        Flag::flag('p', "patch", "show the changes of files"),
        GIT,
        STYLE,
        TEMPLATE,
    ],
    arguments: 0..=0,
    synopsis: "[-p] [-g]",
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
    let style = log::style(
        repo,
        ui,
        config,
        matches,
        ShownFiles::Matching(Box::new(Matcher::everything())),
    )?;
    Printer::new(repo, ui, config, style)?.print_all(repo, ui, config, matches, &[tip])?;
    Ok(0)
}
