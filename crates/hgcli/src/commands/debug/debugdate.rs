//! `debugdate`: how a date is understood.

use crate::arguments::Matches;
use crate::context::{Command, Context};
use crate::ui::Abort;
use crate::ui::clock::clock;
use varve_lang::date;
use varve_revset::RevsetError;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugdate"],
    options: &[],
    arguments: 1..=1,
    synopsis: "DATE",
    summary: "parse a date and print it",
    help: "First as seconds since 1970 and seconds west of UTC, then for people.\n\nEnds with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let typed = matches.arguments().first();
    let text = String::from_utf8_lossy(typed.map_or(&b""[..], Vec::as_slice)).into_owned();
    let date = date::parse(&text, &clock()).map_err(RevsetError::Date)?;
    let shown = date.default_format();
    let ui = &mut context.ui;
    ui.write(format!(
        "internal: {} {}\nstandard: {shown}\n",
        date.time, date.zone
    ))?;
    Ok(0)
}
