//! `debugcomplete`: names of commands and options, for shells that complete them.

use crate::arguments::global::GLOBAL;
use crate::arguments::{Flag, Matches};
use crate::context::{Command, CommandTable, Context};
use crate::ui::{Abort, Ui};
use std::collections::BTreeSet;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugcomplete"],
    options: &[Flag::flag(
        'o',
        "options",
        "show the options of the command",
    )],
    arguments: 0..=1,
    synopsis: "[-o] [CMD]",
    summary: "complete the names of commands",
    help: "Prints the commands that begin as typed, one per line; those for developers only if there are \
           no others. With -o, prints the options of one command, or those that all commands \
           take.\n\nEnds with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let typed = matches.arguments().first();
    let typed = typed.map_or("".into(), |typed| String::from_utf8_lossy(typed));
    if matches.flag("options") {
        let tables = match &*typed {
            "" => vec![GLOBAL],
            name => vec![GLOBAL, command(&context.commands, name)?.options],
        };
        return print_options(&mut context.ui, &tables);
    }
    let begun = |command: &&'static Command| {
        let mut names = command.names.iter();
        let name = names.find(|name| name.starts_with(&*typed)).copied();
        name.filter(|_| !context.commands.is_own(command.name()))
    };
    let (for_developers, mut names): (BTreeSet<&str>, BTreeSet<&str>) = context
        .commands
        .iter()
        .filter_map(|command| begun(&command))
        .fold(Default::default(), |(mut debug, mut others), name| {
            match name.starts_with("debug") {
                true => debug.insert(name),
                false => others.insert(name),
            };
            (debug, others)
        });
    if names.is_empty() {
        names = for_developers;
    }
    let names: Vec<&str> = names.into_iter().collect();
    context.ui.write(format!("{}\n", names.join("\n")))?;
    Ok(0)
}

/// The command of a name, or the one that begins so.
fn command(table: &CommandTable, typed: &str) -> Result<&'static Command, Abort> {
    let all: Vec<&'static Command> = table.iter().collect();
    if let Some(exact) = all.iter().find(|command| command.names.contains(&typed)) {
        return Ok(exact);
    }
    let mut candidates = BTreeSet::new();
    let mut found = None;
    for command in all {
        let mut names = command.names.iter();
        if let Some(name) = names.find(|name| name.starts_with(typed)) {
            candidates.insert((*name).to_owned());
            found = Some(command);
        }
    }
    match found {
        Some(command) if candidates.len() == 1 => Ok(command),
        Some(_) => Err(Abort::AmbiguousCommand {
            name: typed.to_owned(),
            candidates: candidates.into_iter().collect(),
        }),
        None => Err(Abort::UnknownCommand {
            name: typed.to_owned(),
            similar: None,
        }),
    }
}

fn print_options(ui: &mut Ui, tables: &[&'static [Flag]]) -> Result<u8, Abort> {
    let all = tables.iter().copied().flatten();
    for flag in all.filter(|flag| !flag.help.contains("(DEPRECATED)")) {
        if let Some(short) = flag.short {
            ui.write(format!("-{short}\n"))?;
        }
        ui.write(format!("--{}\n", flag.long))?;
    }
    Ok(0)
}
