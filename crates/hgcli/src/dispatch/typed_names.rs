//! Typed names of changesets in the encoding of the repository.

use crate::arguments::Matches;
use crate::context::Command;
use crate::ui::{Abort, Ui};

/// Options whose values name changesets.
const NAMES: &[&str] = &[
    "base",
    "bookmark",
    "branch",
    "change",
    "dest",
    "from",
    "keyword",
    "only-branch",
    "prune",
    "rev",
    "source",
    "to",
];

/// Commands whose arguments are changesets.
const OF_CHANGESETS: &[&str] = &[
    "debugrevspec",
    "export",
    "graft",
    "heads",
    "merge",
    "phase",
    "strip",
    "update",
];

/// Names that are typed in another encoding than UTF-8 as the repository holds them.
pub(super) fn decode_names(ui: &Ui, command: &Command, matches: &mut Matches) -> Result<(), Abort> {
    if ui.encoding.is_utf8() {
        return Ok(());
    }
    let named = OF_CHANGESETS.contains(&command.name());
    matches.change_values(NAMES, named, |typed| ui.decode(typed))
}
