//! The help of `hg` for the pages of repositories.

use crate::commands::ADDITIONAL;
use varve_hgcli::{HelpListing, HelpText};
use varve_server::{HelpEntry, HelpIndex};

/// All help that is built in.
pub(super) fn index() -> HelpIndex {
    let listing = HelpListing::of_hg(ADDITIONAL);
    HelpIndex {
        basic_commands: entries(listing.basic_commands),
        other_commands: entries(listing.other_commands),
        topics: entries(listing.topics),
    }
}

fn entries(texts: Vec<HelpText>) -> Vec<HelpEntry> {
    let entry = |text: HelpText| HelpEntry {
        name: text.name,
        title: text.title,
        text: text.text,
    };
    texts.into_iter().map(entry).collect()
}
