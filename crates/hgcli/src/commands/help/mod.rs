//! `help`: the list of commands, and the options of each.

pub(crate) mod aliases;
pub(crate) mod listing;
mod topics;

use crate::arguments::global::GLOBAL;
use crate::arguments::{Flag, Matches};
use crate::commands::{OF_MERCURIAL, usage};
use crate::context::{Category, Command, CommandTable, Config, Context};
use crate::ui::{Abort, Ui};
use std::fmt::Write;
use topics::{TOPICS, Topic};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["help"],
    options: &[
        Flag::flag('c', "command", "help for commands only"),
        Flag::flag('e', "extension", "help for extensions only; there are none"),
        Flag::flag('k', "keyword", "commands and topics that mention a word"),
    ],
    arguments: 0..=1,
    synopsis: "[-eck] [TOPIC]",
    summary: "show help for a command or a topic, or a list of both",
    help: "TOPIC.SECTION shows one section of a topic. With -v, the options that every command takes \
           are listed too.\n\nEnds with 0.",
    category: Some(Category::Help),
    run,
};

/// The commands that a call without arguments lists.
const BASIC: &[&str] = &[
    "add", "annotate", "clone", "commit", "diff", "export", "forget", "init", "log", "merge",
    "pull", "push", "remove", "serve", "status", "summary", "update",
];

/// Columns of a line of help.
const WIDTH: usize = 78;
/// Columns of a command's name in a list.
const NAME: usize = 13;

const CATEGORIES: &[(Category, &str)] = &[
    (Category::Creation, "Repository creation"),
    (Category::Exchange, "Remote repository management"),
    (Category::Committing, "Change creation"),
    (Category::Organization, "Change organization"),
    (Category::Contents, "File content management"),
    (Category::Navigation, "Change navigation"),
    (Category::WorkingDirectory, "Working directory management"),
    (Category::Maintenance, "Repository maintenance"),
    (Category::Help, "Help"),
];

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let (commands, program) = (&context.commands, &context.program);
    if let Some(name) = matches.arguments().first() {
        let name = String::from_utf8_lossy(name).into_owned();
        let ui = &mut context.ui;
        return of_name(ui, commands, program, matches, &name);
    }
    list(&mut context.ui, &context.config, commands, program)
}

/// Prints the list of commands and topics.
fn list(ui: &mut Ui, config: &Config, commands: &CommandTable, program: &str) -> Result<u8, Abort> {
    let beginning = match commands.groups().is_empty() {
        true => "Mercurial Distributed SCM\n\nlist of commands:\n".to_owned(),
        false => own_commands(commands),
    };
    ui.write(beginning)?;
    let grouped = |name| {
        commands
            .groups()
            .iter()
            .any(|group| group.names.contains(&name))
    };
    for (category, title) in CATEGORIES {
        let of = commands
            .iter()
            .filter(|command| command.category == Some(*category) && !grouped(command.name()));
        let mut rows: Vec<(String, String)> = of
            .map(|command| (command.name().to_owned(), command.summary.to_owned()))
            .collect();
        let aliases = aliases::listed(config, Some(*category));
        if !aliases.is_empty() {
            rows.extend(aliases);
            rows.sort();
        }
        print_group(ui, title, &rows)?;
    }
    print_group(ui, "Uncategorized commands", &aliases::listed(config, None))?;
    ui.write("\nadditional help topics:\n\n")?;
    let lines = TOPICS.iter().map(|topic| row(topic.names[0], topic.title));
    ui.write(lines.collect::<String>())?;
    if ui.verbosity.verbose {
        return global_options(ui);
    }
    if !commands.groups().is_empty() {
        ui.write(format!(
            "\n'{program} help COMMAND' and '{program} COMMAND --help' show what a command does and takes.\n"
        ))?;
    }
    ui.write(format!(
        "\n(use '{program} help -v' to show built-in aliases and global options)\n"
    ))?;
    Ok(0)
}

fn print_group(ui: &mut Ui, title: &str, rows: &[(String, String)]) -> Result<(), Abort> {
    if rows.is_empty() {
        return Ok(());
    }
    let rows = rows.iter().map(|(name, words)| row(name, words));
    ui.write(format!("\n{title}:\n\n{}", rows.collect::<String>()))
}

/// The beginning of the list of commands: those that Mercurial has not.
fn own_commands(commands: &CommandTable) -> String {
    let mut out = "Varve keeps Mercurial repositories and CouchDB databases, and serves both from one directory\n\n\
                   usage: varve COMMAND [OPTION]... [ARGUMENT]...\n"
        .to_owned();
    for group in commands.groups() {
        let of = group.names.iter().filter_map(|name| commands.named(name));
        let lines: String = of.map(line).collect();
        let _ = write!(out, "\n{}:\n\n{lines}", group.title);
    }
    out += "\nThe other commands are those of hg, with its options, output and files:\n";
    out
}

/// Prints the help for a call without a command.
pub(crate) fn basic(
    ui: &mut Ui,
    config: &Config,
    commands: &CommandTable,
    program: &str,
) -> Result<u8, Abort> {
    if !commands.groups().is_empty() {
        return list(ui, config, commands, program);
    }
    ui.write("Mercurial Distributed SCM\n\nbasic commands:\n\n")?;
    let of = commands
        .iter()
        .filter(|command| BASIC.contains(&command.name()));
    let lines: String = of.map(line).collect();
    ui.write(lines)?;
    if ui.verbosity.verbose {
        return global_options(ui);
    }
    ui.write(format!(
        "\n(use '{program} help' for the full list of commands or '{program} -v' for details)\n"
    ))?;
    Ok(0)
}

fn line(command: &Command) -> String {
    row(command.name(), command.summary)
}

fn row(name: &str, words: &str) -> String {
    format!(" {name:NAME$} {words}\n")
}

fn unknown(commands: &CommandTable, program: &str, name: &str) -> Abort {
    let mut lines = OF_MERCURIAL.iter();
    let is_of_mercurial = lines.any(|names| names.split(' ').any(|other| other == name));
    if is_of_mercurial && !commands.groups().is_empty() {
        return Abort::AbsentCommand {
            name: name.to_owned(),
        };
    }
    Abort::input(format!("no such help topic: {name}"))
        .hint(format!("try '{program} help --keyword {name}'"))
}

/// Help about a name: a topic first, then a command.
fn of_name(
    ui: &mut Ui,
    commands: &CommandTable,
    program: &str,
    matches: &Matches,
    name: &str,
) -> Result<u8, Abort> {
    if matches.flag("keyword") {
        return of_keyword(ui, commands, name);
    }
    if matches.flag("extension") && !matches.flag("command") {
        return Err(unknown(commands, program, name));
    }
    let (whole, section) = match name.split_once('.') {
        Some((whole, section)) => (whole, Some(section)),
        None => (name, None),
    };
    let topic = Topic::find(whole).filter(|_| !matches.flag("command"));
    let same = |command: &&Command| command.names.contains(&whole);
    let command = commands.iter().find(same);
    if let Some(section) = section {
        if topic.is_none() && command.is_none() {
            return Err(unknown(commands, program, name));
        }
        let missing = || Abort::input(format!("help section not found: {name}"));
        let text = topic.and_then(|topic| topic.section(section));
        ui.write(text.ok_or_else(missing)?)?;
        return Ok(0);
    }
    if let Some(topic) = topic {
        ui.write(topic.shown())?;
        return Ok(0);
    }
    if let Some(command) = command {
        return of_command(ui, program, command);
    }
    let begins = |command: &&Command| command.names.iter().any(|full| full.starts_with(name));
    let found: Vec<&Command> = commands.iter().filter(begins).collect();
    match found[..] {
        [] => Err(unknown(commands, program, name)),
        [command] => of_command(ui, program, command),
        _ => {
            ui.write("list of commands:\n\n")?;
            ui.write(found.into_iter().map(line).collect::<String>())?;
            Ok(0)
        }
    }
}

/// Topics and commands that mention a word.
fn of_keyword(ui: &mut Ui, commands: &CommandTable, word: &str) -> Result<u8, Abort> {
    let word = word.to_lowercase();
    let topics = TOPICS.iter().filter(|topic| topic.mentions(&word));
    let topics: Vec<(&str, &str)> = topics.map(|topic| (topic.names[0], topic.title)).collect();
    let has = |text: &str| text.to_lowercase().contains(&word);
    let commands = commands.iter().filter(|command| {
        has(command.summary) || has(command.help) || command.names.iter().any(|name| has(name))
    });
    let commands: Vec<(&str, &str)> = commands
        .filter(|command| command.category.is_some())
        .map(|command| (command.name(), command.summary))
        .collect();
    let mut out = Vec::new();
    for (title, rows) in [("Topics", topics), ("Commands", commands)] {
        let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let rows: String = rows
            .iter()
            .map(|(name, words)| format!(" {name:width$} {words}\n"))
            .collect();
        if !rows.is_empty() {
            out.push(format!("{title}:\n\n{rows}"));
        }
    }
    if out.is_empty() {
        return Err(Abort::input("no matches").hint("try 'hg help' for a list of topics"));
    }
    ui.write(out.join("\n"))?;
    Ok(0)
}

/// True of a name whose help is a topic, before that of any command or alias of the name.
pub(crate) fn is_topic(name: &str) -> bool {
    Topic::find(name).is_some()
}

/// Prints the help of one command.
pub(crate) fn of_command(ui: &mut Ui, program: &str, command: &Command) -> Result<u8, Abort> {
    ui.write(command_text(program, command))?;
    details(ui)
}

/// The help of one command, without the options that every command takes.
fn command_text(program: &str, command: &Command) -> String {
    let mut out = format!("{}\n", usage::line(program, command));
    if command.names.len() > 1 {
        out += &format!("\naliases: {}\n", command.names[1..].join(", "));
    }
    out += &format!("\n{}\n", command.summary);
    for paragraph in command.help.split("\n\n").filter(|text| !text.is_empty()) {
        out += &format!("\n{}\n", wrapped(paragraph));
    }
    let listed = command.options.iter().filter(|flag| usage::is_listed(flag));
    let table = usage::options(listed);
    if !table.is_empty() {
        out += &format!("\n{}\n\n{table}", usage::heading(command.options));
    }
    out
}

/// The end of a page: the options of every command, or that they are left out.
pub(crate) fn details(ui: &mut Ui) -> Result<u8, Abort> {
    if ui.verbosity.verbose {
        return global_options(ui);
    }
    ui.write("\n(some details hidden, use --verbose to show complete help)\n")?;
    Ok(0)
}

fn global_options(ui: &mut Ui) -> Result<u8, Abort> {
    let table = usage::options(GLOBAL.iter());
    ui.write(format!("\nglobal {}\n\n{table}", usage::heading(GLOBAL)))?;
    Ok(0)
}

/// A paragraph in lines of limited width.
pub(crate) fn wrapped(text: &str) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        if column > 0 && column + 1 + word.len() > WIDTH {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += word.len();
    }
    out
}
