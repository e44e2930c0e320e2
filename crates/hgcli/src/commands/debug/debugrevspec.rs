//! `debugrevspec`: the answer to a query.

use crate::arguments::Matches;
use crate::context::{Command, Context};
use crate::ui::Abort;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugrevspec"],
    options: &[],
    arguments: 1..=1,
    synopsis: "REVSPEC",
    summary: "print the numbers of the changesets that a query means",
    help: "One per line, in the order of the query. The trees of the query are not printed.\n\n\
           Ends with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context { repo, ui, .. } = context;
    let specs: Vec<&[u8]> = matches.arguments().iter().map(Vec::as_slice).collect();
    for rev in repo.revisions_and_null(ui, &specs)? {
        let number = rev.map_or(-1, |rev| i64::from(rev.0));
        ui.write(format!("{number}\n"))?;
    }
    Ok(0)
}
