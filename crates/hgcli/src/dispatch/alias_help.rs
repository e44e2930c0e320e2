//! Help about the aliases of the configuration.

use super::alias::{self, ResolvedCommand};
use crate::commands::help::aliases::{described, text_of};
use crate::commands::help::{self, wrapped};
use crate::commands::usage;
use crate::context::{Command, CommandTable, Config};
use crate::ui::{Abort, Ui};

/// An alias, or what it leads to.
struct AliasHelp {
    /// The words behind its name in a call.
    synopsis: String,
    /// `alias for: …`.
    stands_for: String,
    /// The text about it, in paragraphs.
    text: String,
    /// File and line that define it.
    source: String,
    /// The command that it ends at; none for a line of the shell.
    command: Option<&'static Command>,
}

impl AliasHelp {
    /// The alias with this whole name, if there is one.
    ///
    /// # Errors
    /// An alias that leads nowhere.
    fn find(
        config: &Config,
        commands: &CommandTable,
        name: &str,
    ) -> Result<Option<AliasHelp>, Abort> {
        let aliases = config.section("alias");
        let Some(item) = aliases.iter().find(|item| item.key == name.as_bytes()) else {
            return Ok(None);
        };
        let command = match alias::resolve(name.as_bytes(), &[], config, commands)? {
            ResolvedCommand::Command(command, ..) => Some(command),
            ResolvedCommand::Shell { .. } => None,
        };
        let (synopsis, text) = described_along(config, name);
        let of_command = |command: &Command| format!("{}\n\n{}", command.summary, command.help);
        let nothing = || "(no help text available)".to_owned();
        let stands_for = match item.value.strip_prefix(b"!") {
            Some(script) => format!("shell alias for: {}", text_of(script)),
            None => format!("alias for: hg {}", text_of(&item.value)),
        };
        Ok(Some(AliasHelp {
            synopsis: synopsis
                .or(command.map(|command| command.synopsis.to_owned()))
                .unwrap_or_default(),
            stands_for,
            text: text.or(command.map(of_command)).unwrap_or_else(nothing),
            source: item.source.to_string(),
            command,
        }))
    }

    /// The first lines, which are all that `--quiet` leaves.
    fn beginning(&self, program: &str, name: &str) -> String {
        let call = format!("{program} {name} {}", self.synopsis);
        format!("{}\n\n{}\n", call.trim_end(), self.stands_for)
    }

    /// The other lines but for the last.
    fn page(&self) -> String {
        let mut out = String::new();
        for paragraph in self.text.split("\n\n").filter(|text| !text.is_empty()) {
            out += &format!("\n{}\n", wrapped(paragraph));
        }
        out += &format!("\ndefined by: {}\n", self.source);
        let options = self.command.map_or(&[][..], |command| command.options);
        let table = usage::options(options.iter().filter(|flag| usage::is_listed(flag)));
        if !table.is_empty() {
            out += &format!("\n{}\n\n{table}", usage::heading(options));
        }
        out
    }
}

/// The words behind the name of an alias and the text about it, of the first that has them among itself and those
/// that it leads to, each of which was defined before the one that names it.
fn described_along(config: &Config, name: &str) -> (Option<String>, Option<String>) {
    let (mut synopsis, mut text) = (None, None);
    let (mut aliases, mut name) = (config.section("alias"), name.to_owned());
    while let Some(at) = aliases.iter().position(|item| item.key == name.as_bytes()) {
        synopsis = synopsis.or_else(|| described(config, &name, "help").map(text_of));
        text = text.or_else(|| described(config, &name, "doc").map(text_of));
        let words = text_of(&aliases[at].value);
        let first = words.split_ascii_whitespace().next();
        (aliases, name) = (&aliases[..at], first.unwrap_or_default().to_owned());
    }
    (synopsis, text)
}

/// Prints the help of an alias; false if there is none of this name.
pub(super) fn print(
    ui: &mut Ui,
    config: &Config,
    (commands, program): (&CommandTable, &str),
    name: &str,
) -> Result<bool, Abort> {
    let found = match AliasHelp::find(config, commands, name) {
        // Where an alias leads nowhere, that is all there is to say about it.
        Err(Abort::Definition(words)) => {
            ui.write(words + "\n")?;
            return Ok(true);
        }
        found => found?,
    };
    let Some(found) = found else {
        return Ok(false);
    };
    ui.write(found.beginning(program, name))?;
    if !ui.verbosity.quiet {
        ui.write(found.page())?;
        help::details(ui)?;
    }
    Ok(true)
}
