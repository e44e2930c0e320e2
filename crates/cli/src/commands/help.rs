//! `help`: what commands there are, and what each of them takes.

use crate::commands::COMMANDS;
use crate::face::global::GLOBAL;
use crate::face::{Abort, Category, Command, Matches, Session, usage};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["help"],
    options: &[],
    arguments: 0..=1,
    synopsis: "[COMMAND]",
    summary: "show help for a command, or the list of commands",
    help: "With -v, the options that every command takes are listed too.\n\nEnds with 0.",
    category: Some(Category::Help),
    run,
};

/// What is listed if nobody asks for anything.
const BASIC: &[&str] = &[
    "add", "annotate", "clone", "commit", "diff", "forget", "init", "log", "remove", "status",
    "summary", "update",
];

/// Columns of a line of help.
const WIDTH: usize = 78;
/// Columns of a command's name in a list.
const NAME: usize = 13;

const CATEGORIES: &[(Category, &str)] = &[
    (Category::Creation, "Repository creation"),
    (Category::Committing, "Change creation"),
    (Category::Organization, "Change organization"),
    (Category::Contents, "File content management"),
    (Category::Navigation, "Change navigation"),
    (Category::WorkingDirectory, "Working directory management"),
    (Category::Maintenance, "Repository maintenance"),
    (Category::Help, "Help"),
];

fn run(session: &mut Session, matches: &Matches) -> Result<u8, Abort> {
    if let Some(name) = matches.arguments().first() {
        let command = find(name)?;
        return of_command(session, command);
    }
    session.write("Mercurial Distributed SCM\n\nlist of commands:\n")?;
    for (category, title) in CATEGORIES {
        let of = COMMANDS
            .iter()
            .filter(|command| command.category == Some(*category));
        let lines: String = of.map(|command| line(command)).collect();
        if !lines.is_empty() {
            session.write(format!("\n{title}:\n\n{lines}"))?;
        }
    }
    if session.verbosity.verbose {
        return global_options(session);
    }
    let program = session.program.clone();
    session.write(format!(
        "\n(use '{program} help -v' to show built-in aliases and global options)\n"
    ))?;
    Ok(0)
}

/// What a call without a command prints.
pub(crate) fn basic(session: &mut Session) -> Result<u8, Abort> {
    session.write("Mercurial Distributed SCM\n\nbasic commands:\n\n")?;
    let of = COMMANDS
        .iter()
        .filter(|command| BASIC.contains(&command.name()));
    let lines: String = of.map(|command| line(command)).collect();
    session.write(lines)?;
    if session.verbosity.verbose {
        return global_options(session);
    }
    let program = session.program.clone();
    session.write(format!(
        "\n(use '{program} help' for the full list of commands or '{program} -v' for details)\n"
    ))?;
    Ok(0)
}

fn line(command: &Command) -> String {
    format!(" {:NAME$} {}\n", command.name(), command.summary)
}

/// The command of a name, or of the beginning of one.
fn find(name: &[u8]) -> Result<&'static Command, Abort> {
    let name = String::from_utf8_lossy(name);
    let same = |command: &&&Command| command.names.contains(&&*name);
    let begins = |command: &&&Command| command.names.iter().any(|full| full.starts_with(&*name));
    if let Some(command) = COMMANDS.iter().find(same) {
        return Ok(command);
    }
    let found: Vec<&&Command> = COMMANDS.iter().filter(begins).collect();
    match found[..] {
        [command] => Ok(command),
        [] => Err(Abort::new(format!("no such help topic: {name}"))
            .hint(format!("try 'hg help --keyword {name}'"))),
        _ => Err(Abort::AmbiguousCommand {
            candidates: found
                .iter()
                .map(|command| command.name().to_owned())
                .collect(),
            name: name.into_owned(),
        }),
    }
}

/// Prints the help of one command.
pub(crate) fn of_command(session: &mut Session, command: &Command) -> Result<u8, Abort> {
    let mut out = format!("{}\n", usage::line(&session.program, command));
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
    session.write(out)?;
    if session.verbosity.verbose {
        return global_options(session);
    }
    session.write("\n(some details hidden, use --verbose to show complete help)\n")?;
    Ok(0)
}

fn global_options(session: &mut Session) -> Result<u8, Abort> {
    let table = usage::options(GLOBAL.iter());
    session.write(format!("\nglobal {}\n\n{table}", usage::heading(GLOBAL)))?;
    Ok(0)
}

/// A paragraph in lines of limited width.
fn wrapped(text: &str) -> String {
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
