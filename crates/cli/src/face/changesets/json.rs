//! Changesets as JSON.

use super::{NULL_TEXT, Names, phase_name};
use crate::face::formatter::Value;
use crate::face::{Abort, Formatter, Matches, Session};
use varve_repo::{Changeset, Node, Rev};

/// Prints changesets as JSON; `None` is the null revision.
pub(crate) fn json(
    session: &mut Session,
    matches: &Matches,
    revs: &[Option<Rev>],
) -> Result<(), Abort> {
    if session.verbosity.debug {
        return Err(Abort::new("-T json does not support --debug"));
    }
    let view = session.view()?;
    let names = Names::read(&view)?;
    let changelog = view.changelog();
    let (quiet, verbose) = (session.verbosity.quiet, session.verbosity.verbose);
    let mut out = Formatter::new(session, matches, "log")?;
    for rev in revs.iter().copied() {
        out.item(session)?;
        out.data("rev", rev.map_or(-1, |rev| i64::from(rev.0)));
        out.data("node", changelog.node_or_null(rev));
        if quiet {
            continue;
        }
        let mut tell = |changeset: Changeset<'_>| {
            out.data("branch", changeset.branch().into_owned());
            out.data("user", changeset.user);
            out.data("date", Value::Date(changeset.time, changeset.zone));
            out.data("desc", changeset.description);
            if verbose {
                out.data("files", changeset.files().collect::<Vec<_>>());
            }
        };
        match rev {
            Some(rev) => view.with_changeset(rev, tell)?,
            None => tell(Changeset::parse(NULL_TEXT).map_err(Abort::new)?),
        }
        let phase = rev.map(|rev| view.phases().of(rev));
        out.data("phase", phase_name(phase.unwrap_or_default()));
        out.data("bookmarks", names.bookmarks(rev).to_vec());
        out.data("tags", names.tags(rev).to_vec());
        let [first, second] = rev.map_or([None; 2], |rev| changelog.parents(rev));
        let parents = std::iter::once(first).chain(second.map(Some));
        let parents = parents.map(|parent| changelog.node_or_null(parent));
        out.data("parents", parents.collect::<Vec<Node>>());
    }
    out.end(session)
}
