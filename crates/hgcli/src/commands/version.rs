//! `version`: which program this is.

use crate::arguments::{Matches, TEMPLATE};
use crate::context::{Category, Command, Context};
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

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let quiet = context.ui.verbosity.quiet;
    let mut out = Formatter::new(&mut context.ui, &context.config, matches, "version")?;
    out.item(&mut context.ui)?;
    let own = env!("CARGO_PKG_VERSION");
    // Scripts that call `hg` look for a version of Mercurial in the first line.
    let (line, rest) = match context.commands.groups().is_empty() {
        true => (
            format!("Mercurial Distributed SCM (version {MERCURIAL})\n"),
            format!("(Varve {own}, which keeps repositories as Mercurial {MERCURIAL} does)\n"),
        ),
        false => (
            format!("varve {own}\n"),
            format!("(keeps repositories as Mercurial {MERCURIAL} does)\n"),
        ),
    };
    out.field(&mut context.ui, "ver", MERCURIAL, line)?;
    out.data("extensions", Value::List(Vec::new()));
    if !quiet {
        out.plain(&mut context.ui, rest)?;
    }
    out.end(&mut context.ui)?;
    Ok(0)
}
