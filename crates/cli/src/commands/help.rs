//! `help`: what commands there are, and what each of them takes.

use crate::commands::COMMANDS;
use crate::face::{Abort, Category, Command, Matches, Session, usage};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["help"],
    options: &[],
    arguments: 0..=1,
    synopsis: "[COMMAND]",
    summary: "show help for a command, or the list of commands",
    help: "",
    category: Some(Category::Help),
    run,
};

fn run(session: &mut Session, matches: &Matches) -> Result<u8, Abort> {
    if let Some(name) = matches.arguments().first() {
        let named = |command: &&&Command| command.names.iter().any(|n| n.as_bytes() == name);
        let command = COMMANDS.iter().find(named);
        let command = command.ok_or_else(|| {
            let name = String::from_utf8_lossy(name);
            Abort::new(format!("no such help topic: {name}"))
                .hint(format!("try 'hg help --keyword {name}'"))
        })?;
        return of_command(session, command);
    }
    session.write("Mercurial Distributed SCM\n\nlist of commands:\n\n")?;
    for command in COMMANDS {
        session.write(format!(" {:13} {}\n", command.name(), command.summary))?;
    }
    Ok(0)
}

/// Prints the help of one command.
pub(crate) fn of_command(session: &mut Session, command: &Command) -> Result<u8, Abort> {
    let text = usage::short(&session.program, command);
    session.write(text)?;
    Ok(0)
}
