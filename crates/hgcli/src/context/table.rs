//! The commands that a call may name.

use super::Command;
use std::collections::BTreeMap;

/// All commands of a program, sorted by name.
#[derive(Debug, Default)]
pub struct CommandTable {
    commands: Vec<&'static Command>,
    /// Names that Mercurial does not have, neither for these commands nor for others.
    own: Vec<&'static str>,
}

impl CommandTable {
    /// `commands`, where `additional` ones replace those of the same name. Each line of `mercurial`
    /// has the names of one of its commands.
    pub(crate) fn new(
        commands: &[&'static Command],
        additional: &[&'static Command],
        mercurial: &[&str],
    ) -> CommandTable {
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
            own: names.filter(|name| !is_known(name)).collect(),
        }
    }

    /// All commands, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &'static Command> {
        self.commands.iter().copied()
    }

    /// Whether a command has a name that Mercurial gives to none of its own.
    pub fn is_own(&self, name: &str) -> bool {
        self.own.contains(&name)
    }
}
