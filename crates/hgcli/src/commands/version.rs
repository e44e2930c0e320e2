//! `version`: which program this is.

use crate::arguments::{Category, Command, Matches, TEMPLATE};
use crate::context::Session;
use crate::render::Formatter;
use crate::render::formatter::Value;
use crate::ui::Abort;

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

fn run(session: &mut Session, matches: &Matches) -> Result<u8, Abort> {
    let quiet = session.verbosity.quiet;
    let mut out = Formatter::new(session, matches, "version")?;
    out.item(session)?;
    // Scripts look for a version of Mercurial in the first line.
    let line = format!("Mercurial Distributed SCM (version {MERCURIAL})\n");
    out.field(session, "ver", MERCURIAL, line)?;
    out.data("extensions", Value::List(Vec::new()));
    if !quiet {
        let own = env!("CARGO_PKG_VERSION");
        let line =
            format!("(Varve {own}, which keeps repositories as Mercurial {MERCURIAL} does)\n");
        out.plain(session, line)?;
    }
    out.end(session)?;
    Ok(0)
}
