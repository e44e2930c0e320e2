//! `debugancestor`: the newest common ancestor of two changesets.

use crate::arguments::Matches;
use crate::context::{Command, Context};
use crate::ui::Abort;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugancestor"],
    options: &[],
    arguments: 0..=usize::MAX,
    synopsis: "[INDEX] REV1 REV2",
    summary: "print the common ancestor of two changesets",
    help: "If there are several, it is the one whose hash is the smallest. INDEX is not supported.\n\n\
           Ends with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context { repo, ui, .. } = context;
    let (one, other) = match matches.arguments() {
        [one, other] => (one, other),
        [_, _, _] => return Err(Abort::input("debugancestor INDEX is not supported")),
        _ => return Err(Abort::new("either two or three arguments required")),
    };
    let one = repo.revision(ui, Some(one))?;
    let other = repo.revision(ui, Some(other))?;
    let view = repo.view()?;
    let changelog = view.changelog();
    let heads = match (one, other) {
        (Some(one), Some(other)) => view.common_ancestor_heads(one, other),
        _ => Vec::new(),
    };
    let found = heads.into_iter().min_by_key(|rev| changelog.node(*rev));
    let number = found.map_or(-1, |rev| i64::from(rev.0));
    let node = changelog.node_or_null(found);
    let hex = node.to_hex();
    ui.write([format!("{number}:").as_bytes(), &hex, b"\n"].concat())?;
    Ok(0)
}
