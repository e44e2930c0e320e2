//! The commands that a call may name.

use super::Command;
use std::collections::BTreeMap;

/// Commands that Mercurial has not, under one heading of the list of commands.
#[derive(Debug)]
pub struct CommandGroup {
    /// The heading.
    pub title: &'static str,
    /// Names of the commands, in their order.
    pub names: &'static [&'static str],
}

/// The program that calls this crate.
#[derive(Debug)]
pub struct Program {
    /// How it was called, `hg` or `varve`.
    pub name: &'static str,
    /// Commands besides those of this crate; one of the same name stands in for it.
    pub additional: &'static [&'static Command],
    /// The program's own commands as its list of commands shows them first; without any, help and messages are
    /// Mercurial's.
    pub groups: &'static [CommandGroup],
}

/// All commands of a program, sorted by name.
#[derive(Debug, Default)]
pub struct CommandTable {
    commands: Vec<&'static Command>,
    groups: &'static [CommandGroup],
    /// Names that Mercurial does not have, neither for these commands nor for others.
    own: Vec<&'static str>,
}

impl CommandTable {
    /// `commands`, where the program's additional ones replace those of the same name. Each line of
    /// `mercurial` has the names of one of its commands.
    pub(crate) fn new(
        commands: &[&'static Command],
        program: &Program,
        mercurial: &[&str],
    ) -> CommandTable {
        let additional = program.additional;
        let all = commands.iter().chain(additional);
        let by_name: BTreeMap<_, _> = all.map(|command| (command.name(), *command)).collect();
        let is_known = |name: &str| {
            mercurial
                .iter()
                .any(|names| names.split(' ').any(|n| n == name))
        };
        let names = additional.iter().map(|command| command.name());
        CommandTable {
            commands: by_name.into_values().collect(),
            groups: program.groups,
            own: names.filter(|name| !is_known(name)).collect(),
        }
    }

    /// The same with further commands, which Mercurial has too.
    pub(crate) fn with(&self, more: impl Iterator<Item = &'static Command>) -> CommandTable {
        let all = self.iter().chain(more);
        let by_name: BTreeMap<_, _> = all.map(|command| (command.name(), command)).collect();
        CommandTable {
            commands: by_name.into_values().collect(),
            groups: self.groups,
            own: self.own.clone(),
        }
    }

    /// All commands, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &'static Command> {
        self.commands.iter().copied()
    }

    /// The program's own commands by subject; none if help and messages are Mercurial's.
    pub fn groups(&self) -> &'static [CommandGroup] {
        self.groups
    }

    /// The command of this name.
    pub fn named(&self, name: &str) -> Option<&'static Command> {
        self.iter().find(|command| command.name() == name)
    }

    /// Whether a command has a name that Mercurial gives to none of its own.
    pub fn is_own(&self, name: &str) -> bool {
        self.own.contains(&name)
    }
}
