//! `varve --help`: Varve's own commands in groups.

use crate::commands::ADDITIONAL;
use clap::Command;
use std::fmt::Write;

/// Names of Varve's own commands by subject. A test compares them with the commands that exist.
const GROUPS: &[(&str, &[&str])] = &[
    ("Serving", &["serve"]),
    (
        "Care of repositories and databases",
        &["clonebundle", "recompress", "verify"],
    ),
    ("Measuring", &["bench"]),
];

/// Columns of a command's name.
const NAME: usize = 12;

/// Lets `command` show its subcommands in groups, together with those that have options in the
/// form of `hg`.
pub(crate) fn with_groups(command: Command) -> Command {
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}Commands of hg, such as clone, \
         commit and log, work as well: 'varve help' lists them.\n\nOptions:\n{{options}}",
        groups(&command)
    );
    command.help_template(template)
}

fn groups(command: &Command) -> String {
    let mut out = String::new();
    for (title, names) in GROUPS {
        let _ = writeln!(out, "{title}:");
        for name in *names {
            let _ = writeln!(out, "  {name:NAME$} {}", summary(command, name));
        }
        out.push('\n');
    }
    out
}

/// The line about a command; one of `clap` comes before its namesake in the form of `hg`.
fn summary(command: &Command, name: &str) -> String {
    let about = command.find_subcommand(name).and_then(Command::get_about);
    if let Some(about) = about {
        return about.to_string();
    }
    let additional = ADDITIONAL.iter().find(|other| other.name() == name);
    let text = additional.map_or("", |command| command.summary);
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use std::collections::BTreeSet;

    #[test]
    fn each_own_command_is_in_one_group() {
        let command = crate::Arguments::command();
        let listed: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        let mut own: BTreeSet<&str> = ADDITIONAL.iter().map(|other| other.name()).collect();
        own.extend(command.get_subcommands().map(Command::get_name));
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), own);
        assert_eq!(listed.len(), own.len(), "no command is listed twice");
        assert!(
            listed
                .iter()
                .all(|name| !summary(&command, name).is_empty())
        );
    }
}
