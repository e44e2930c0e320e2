//! Help about the aliases of the configuration.

use super::wrapped;
use crate::commands::usage;
use crate::context::{Category, Command, CommandTable, Config};
use crate::dispatch::alias::{self, ResolvedCommand};
use crate::ui::Abort;

/// The names that `ALIAS:category` knows.
const CATEGORIES: &[(&str, Category)] = &[
    ("repo", Category::Creation),
    ("remote", Category::Exchange),
    ("committing", Category::Committing),
    ("management", Category::Organization),
    ("files", Category::Contents),
    ("navigation", Category::Navigation),
    ("workingdir", Category::WorkingDirectory),
    ("maintenance", Category::Maintenance),
    ("help", Category::Help),
];

/// An alias, or what it leads to.
pub(super) struct AliasHelp {
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

/// The value of `ALIAS:kind`.
fn described<'c>(config: &'c Config, name: &str, kind: &str) -> Option<&'c [u8]> {
    config.get("alias", &format!("{name}:{kind}"))
}

fn text_of(value: &[u8]) -> String {
    String::from_utf8_lossy(value).trim().to_owned()
}

impl AliasHelp {
    /// The alias with this whole name, if there is one.
    ///
    /// # Errors
    /// An alias that leads nowhere.
    pub(super) fn find(
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
    pub(super) fn beginning(&self, program: &str, name: &str) -> String {
        let call = format!("{program} {name} {}", self.synopsis);
        format!("{}\n\n{}\n", call.trim_end(), self.stands_for)
    }

    /// The other lines but for the last.
    pub(super) fn page(&self) -> String {
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

/// Names and first lines of the aliases that lists of commands have, those with a text of their own; with `category`
/// those of one, without it those that name none of them.
pub(super) fn listed(config: &Config, category: Option<Category>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for item in config.section("alias") {
        let name = String::from_utf8_lossy(&item.key);
        let Some(doc) = described(config, &name, "doc").filter(|_| !name.contains(':')) else {
            continue;
        };
        let named = described(config, &name, "category").map(text_of);
        let of = CATEGORIES
            .iter()
            .find(|(known, _)| Some(*known) == named.as_deref())
            .map(|(_, category)| *category);
        if of == category {
            let first = text_of(doc).lines().next().unwrap_or_default().to_owned();
            found.push((name.into_owned(), first));
        }
    }
    found
}
