//! All help as texts, for programs that show it elsewhere than in a terminal.

use super::topics::TOPICS;
use super::{BASIC, command_text};
use crate::commands::COMMANDS;
use crate::context::Command;

/// Basic commands that a call without arguments does not list.
const MORE_BASIC: &[&str] = &["abort", "continue"];

/// Help about one command or topic.
#[derive(Clone, Debug)]
pub struct HelpText {
    /// The word that asks for it.
    pub name: String,
    /// Its subject, in one line.
    pub title: String,
    /// All of it.
    pub text: String,
}

/// Help about all commands but those for developers and of extensions, and about all topics, sorted by name.
#[derive(Clone, Debug)]
pub struct HelpListing {
    /// Commands for beginners.
    pub basic_commands: Vec<HelpText>,
    /// All others.
    pub other_commands: Vec<HelpText>,
    /// Texts about no command.
    pub topics: Vec<HelpText>,
}

impl HelpListing {
    /// The help that is built in, with that of `additional` commands, which replace those of the same name.
    pub fn of_hg(additional: &[&'static Command]) -> HelpListing {
        let is_basic = |command: &&&Command| {
            let name = command.name();
            BASIC.contains(&name) || MORE_BASIC.contains(&name)
        };
        let is_replaced =
            |command: &&&Command| additional.iter().any(|it| it.name() == command.name());
        let own = COMMANDS.iter().filter(|command| !is_replaced(command));
        let listed = own.chain(additional).filter(|it| it.category.is_some());
        let (basic, others): (Vec<&&Command>, Vec<&&Command>) = listed.partition(is_basic);
        let topic = |topic: &super::Topic| HelpText {
            name: topic.names[0].to_owned(),
            title: topic.title.to_owned(),
            text: topic.shown(),
        };
        HelpListing {
            basic_commands: texts(&basic),
            other_commands: texts(&others),
            topics: TOPICS.iter().map(topic).collect(),
        }
    }
}

fn texts(commands: &[&&Command]) -> Vec<HelpText> {
    let mut texts: Vec<HelpText> = commands
        .iter()
        .map(|command| HelpText {
            name: command.name().to_owned(),
            title: command.summary.to_owned(),
            text: command_text("hg", command),
        })
        .collect();
    texts.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    texts
}
