//! `debugcommands`: all commands with their options.

use crate::arguments::Matches;
use crate::context::{Command, Context};
use crate::ui::Abort;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugcommands"],
    options: &[],
    arguments: 0..=1,
    synopsis: "[COMMAND]",
    summary: "list all commands with their options",
    help: "One command per line.\n\nEnds with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, _: &Matches) -> Result<u8, Abort> {
    let table = context.commands.clone();
    for command in table.iter().filter(|command| !table.is_own(command.name())) {
        let options: Vec<&str> = command.options.iter().map(|flag| flag.long).collect();
        let line = format!("{}: {}\n", command.name(), options.join(", "));
        context.ui.write(line)?;
    }
    Ok(0)
}
