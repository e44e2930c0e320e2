//! `debugnamecomplete`: names that begin as typed, for shells that complete them.

use crate::arguments::Matches;
use crate::context::{Command, Context};
use crate::ui::Abort;
use std::collections::BTreeSet;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugnamecomplete"],
    options: &[],
    arguments: 0..=usize::MAX,
    synopsis: "NAME...",
    summary: "complete names of tags, open branches and bookmarks",
    help: "Prints all names that begin with one of the arguments, one per line.\n\nEnds with 0.",
    category: None,
    run,
};

/// The same by its older name.
pub(crate) const LABELS: Command = Command {
    names: &["debuglabelcomplete"],
    ..COMMAND
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let view = context.repo.view()?;
    let mut names: BTreeSet<Vec<u8>> = view.tags()?.into_keys().collect();
    names.insert(b"tip".to_vec());
    names.extend(view.bookmarks().keys().cloned());
    let branches = view.branchmap()?.iter();
    let open = branches.filter(|(_, branch)| branch.heads.len() > branch.closed.len());
    names.extend(open.map(|(name, _)| name.clone()));
    let typed = matches.arguments();
    names.retain(|name| typed.is_empty() || typed.iter().any(|typed| name.starts_with(typed)));
    let names: Vec<Vec<u8>> = names.into_iter().collect();
    context
        .ui
        .write([&names.join(&b'\n')[..], b"\n"].concat())?;
    Ok(0)
}
