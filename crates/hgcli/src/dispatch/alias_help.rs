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
    /// Where it was written.
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
        let is_named = |item: &&varve_config::hgrc::ConfigItem| item.key == name.as_bytes();
        let Some(item) = config.section("alias").iter().find(is_named) else {
            return Ok(None);
        };
        let own = |kind| described(config, name, kind).map(text_of);
        let source = item.source.to_string();
        if let Some(script) = item.value.strip_prefix(b"!") {
            return Ok(Some(AliasHelp {
                synopsis: own("help").unwrap_or_default(),
                stands_for: format!("shell alias for: {}", text_of(script)),
                text: own("doc").unwrap_or_else(|| "(no help text available)".to_owned()),
                source,
                command: None,
            }));
        }
        let command = match alias::resolve(name.as_bytes(), &[], config, commands)? {
            ResolvedCommand::Command(command, ..) => Some(command),
            ResolvedCommand::Shell { .. } => None,
        };
        let definition = text_of(&item.value);
        let first = definition
            .split_ascii_whitespace()
            .next()
            .unwrap_or_default();
        let next = match first == name {
            true => None,
            false => AliasHelp::find(config, commands, first)?,
        };
        let (synopsis, text) = match (next, command) {
            (Some(next), _) => (next.synopsis, next.text),
            (None, Some(command)) => (
                command.synopsis.to_owned(),
                format!("{}\n\n{}", command.summary, command.help),
            ),
            (None, None) => Default::default(),
        };
        Ok(Some(AliasHelp {
            synopsis: own("help").unwrap_or(synopsis),
            stands_for: format!("alias for: hg {definition}"),
            text: own("doc").unwrap_or(text),
            source,
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
