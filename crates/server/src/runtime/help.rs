//! Help that the program hands to its server, for the pages of repositories.

/// A command or a topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HelpEntry {
    /// The word that asks for it.
    pub name: String,
    /// Its subject, in one line.
    pub title: String,
    /// All of it, as lines of text.
    pub text: String,
}

/// All that there is help about, each list sorted by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HelpIndex {
    /// Commands for beginners.
    pub basic_commands: Vec<HelpEntry>,
    /// Further commands.
    pub other_commands: Vec<HelpEntry>,
    /// Topics that are no commands.
    pub topics: Vec<HelpEntry>,
}

impl HelpIndex {
    /// The entry of this name: a topic rather than a command.
    pub fn entry(&self, name: &str) -> Option<&HelpEntry> {
        let lists = [&self.topics, &self.basic_commands, &self.other_commands];
        let mut entries = lists.into_iter().flatten();
        entries.find(|entry| entry.name == name)
    }
}
