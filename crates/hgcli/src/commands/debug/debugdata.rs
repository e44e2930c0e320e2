//! `debugdata`: the text of one revision of a revlog.

use crate::arguments::{Command, Matches};
use crate::commands::debug::revlogs::{self, CHANGELOG, Chosen, MANIFEST};
use crate::context::Session;
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

fn run(session: &mut Session, matches: &Matches) -> Result<u8, Abort> {
    let shared = matches.flag("changelog") || matches.flag("manifest");
    let (name, rev) = match (shared, matches.arguments()) {
        (true, [rev]) => (None, rev),
        (true, [_, _]) => {
            return Err(Abort::new("cannot specify a revision with other arguments"));
        }
        (false, [name, rev]) => (Some(name), rev),
        (false, [_]) => return Err(Abort::new("please specify a revision")),
        _ => return Err(Abort::usage(&COMMAND, "invalid arguments")),
    };
    let chosen = Chosen::find(session, matches, name)?;
    let chosen = chosen.ok_or_else(|| match name {
        Some(_) => Abort::new("cannot give path to non-revlog"),
        None => revlogs::invalid_revision(rev),
    })?;
    let revlog = chosen.revlog()?;
    let text = revlog.text(revlogs::revision(revlog, rev)?)?;
    session.write(text)?;
    Ok(0)
}
