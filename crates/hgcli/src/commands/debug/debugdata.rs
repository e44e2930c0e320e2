//! `debugdata`: the text of one revision of a revlog.

use crate::arguments::Matches;
use crate::commands::debug::revlogs::{self, CHANGELOG, MANIFEST, RevlogSelection};
use crate::context::{Command, Context};
use crate::ui::Abort;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugdata"],
    options: &[CHANGELOG, MANIFEST],
    arguments: 0..=2,
    synopsis: "-c|-m|FILE REV",
    summary: "print the text of a revision of a revlog",
    help: "The text is printed as it is stored, with the metadata that a file's history keeps in \
           front of its content.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let shared = matches.flag("changelog") || matches.flag("manifest");
    let (name, rev) = match (shared, matches.arguments()) {
        (true, [rev]) => (None, rev),
        (true, [_, _]) => {
            return Err(Abort::input(
                "cannot specify a revision with other arguments",
            ));
        }
        (false, [name, rev]) => (Some(name), rev),
        (false, [_]) => return Err(Abort::input("please specify a revision")),
        _ => return Err(COMMAND.usage_error("invalid arguments")),
    };
    let chosen = RevlogSelection::find(&mut context.repo, matches, name)?;
    let chosen = chosen.ok_or_else(|| match name {
        Some(_) => Abort::input("cannot give path to non-revlog"),
        None => revlogs::invalid_revision(rev),
    })?;
    let revlog = chosen.revlog()?;
    let text = revlog.text(revlogs::revision(revlog, rev)?)?;
    context.ui.write(text)?;
    Ok(0)
}
