//! A command: its names, its options, its help, and the function that runs it.

use crate::arguments::{Flag, Matches};
use crate::context::Context;
use crate::ui::Abort;
use std::ops::RangeInclusive;

/// One command. Each file in `commands/` has one as `COMMAND`; `commands/mod.rs` lists them.
pub struct Command {
    /// The name, then other names for the same.
    pub names: &'static [&'static str],
    /// Options besides the global ones.
    pub options: &'static [Flag],
    /// How many arguments it takes that are not options.
    pub arguments: RangeInclusive<usize>,
    /// Rest of the usage line behind the name, such as `[OPTION]... [FILE]...`.
    pub synopsis: &'static str,
    /// Description, one line of lower case without a full stop.
    pub summary: &'static str,
    /// Paragraphs of further help; may be empty.
    pub help: &'static str,
    /// The heading under which help lists it; `None` for one that is not listed.
    pub category: Option<Category>,
    /// Does it, and says with which code the program ends.
    pub run: fn(&mut Context, &Matches) -> Result<u8, Abort>,
}

/// Headings of the list of commands, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// Making repositories.
    Creation,
    /// Changesets that come from others or go to them.
    Exchange,
    /// Commits.
    Committing,
    /// Branches, tags, bookmarks, phases.
    Organization,
    /// Present and past content of files.
    Contents,
    /// Moving through history.
    Navigation,
    /// The working copy.
    WorkingDirectory,
    /// Care of stores.
    Maintenance,
    /// Help and configuration.
    Help,
}

impl std::fmt::Debug for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Command {
    /// The name that help and messages use.
    pub fn name(&self) -> &'static str {
        self.names[0]
    }

    /// The error for a call with wrong arguments.
    pub fn usage_error(&self, message: impl Into<String>) -> Abort {
        Abort::Usage {
            command: self.name(),
            name: self.name().to_owned(),
            message: message.into(),
        }
    }
}
