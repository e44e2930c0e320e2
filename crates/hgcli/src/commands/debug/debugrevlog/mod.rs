//! `debugrevlog`: how a revlog is made up.

mod dump;
mod report;
mod statistics;

use crate::arguments::{Flag, Matches};
use crate::commands::debug::revlogs::{self, CHANGELOG, MANIFEST, RevlogSelection};
use crate::context::{Command, Context};
use crate::ui::Abort;
use statistics::Statistics;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugrevlog"],
    options: &[
        CHANGELOG,
        MANIFEST,
        Flag::flag('d', "dump", "print one line per revision instead"),
    ],
    arguments: 0..=1,
    synopsis: "-c|-m|FILE",
    summary: "print statistics about a revlog",
    help: "How many revisions are stored whole, as snapshots and as deltas, with which chunks, \
           and what sizes they have.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let chosen = RevlogSelection::of_argument(&mut context.repo, matches, &COMMAND)?;
    let revlog = chosen.revlog()?;
    if matches.flag("dump") {
        context.ui.write(dump::text(revlog))?;
        return Ok(0);
    }
    let sparse = revlogs::is_sparse(&mut context.repo)?;
    let statistics = Statistics::of(revlog, sparse)?;
    context.ui.write(report::text(revlog, &statistics))?;
    Ok(0)
}
