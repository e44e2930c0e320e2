//! `debugextensions`: which extensions are switched on.

use crate::arguments::{Matches, TEMPLATE};
use crate::commands::extensions_on;
use crate::context::{Command, Context};
use crate::render::Formatter;
use crate::ui::Abort;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugextensions"],
    options: &[TEMPLATE],
    arguments: 0..=0,
    synopsis: "",
    summary: "list the extensions that are switched on and part of this program",
    help: "Those of Mercurial whose commands are here; all of them are in the program.\n\nEnds with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context { ui, config, .. } = context;
    let verbose = ui.verbosity.verbose;
    let mut out = Formatter::new(ui, config, matches, "debugextensions")?;
    for name in extensions_on(config) {
        out.item(ui)?;
        out.field(ui, "name", name.as_bytes(), name.as_bytes())?;
        out.plain(ui, "\n")?;
        if verbose {
            out.plain(ui, "  bundled: yes\n")?;
        }
        out.data("bundled", true);
    }
    out.end(ui)?;
    Ok(0)
}
