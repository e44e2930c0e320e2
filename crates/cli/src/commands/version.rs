//! `version`: which program this is.

use crate::face::{Abort, Category, Command, Matches, Session, TEMPLATE};

/// The Mercurial whose commands, messages and files this program has.
pub(crate) const MERCURIAL: &str = "7.2.4";

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["version"],
    options: &[TEMPLATE],
    arguments: 0..=0,
    synopsis: "",
    summary: "output version and copyright information",
    help: "",
    category: Some(Category::Help),
    run,
};

fn run(session: &mut Session, _: &Matches) -> Result<u8, Abort> {
    // Scripts look for a version of Mercurial in the first line.
    session.write(format!("Mercurial Distributed SCM (version {MERCURIAL})\n"))?;
    session.status(format!(
        "(Varve {}, which keeps repositories as Mercurial {MERCURIAL} does)\n",
        env!("CARGO_PKG_VERSION")
    ))?;
    Ok(0)
}
