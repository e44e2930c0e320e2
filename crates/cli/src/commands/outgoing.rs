//! `outgoing`: what another repository lacks.

use super::log;
use crate::face::changesets::{Look, Printer};
use crate::face::diff::{GIT, STAT};
use crate::face::outgoing::{Outgoing, Peer, branch_heads, tell_nothing};
use crate::face::{Abort, Category, Command, Flag, Matches, STYLE, Session, TEMPLATE};
use varve_repo::patterns::Matcher;
use varve_repo::{RepoView, Rev};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["outgoing", "out"],
    options: &[
        Flag::flag('f', "force", "even if DEST has nothing to do with this"),
        Flag::list(
            'r',
            "rev",
            "REV",
            "only this changeset and what it builds on",
        ),
        Flag::flag('n', "newest-first", "from the newest to the oldest"),
        Flag::flag('B', "bookmarks", "not there yet"),
        Flag::list(
            'b',
            "branch",
            "BRANCH",
            "only this branch and what it builds on",
        ),
        Flag::flag('p', "patch", "show the changes of files"),
        GIT,
        Flag::value('l', "limit", "NUM", "no more changesets than this"),
        Flag::flag('M', "no-merges", "no merges"),
        STAT,
        Flag::flag('G', "graph", "draw how changesets descend from each other"),
        STYLE,
        TEMPLATE,
        Flag::value('e', "ssh", "CMD", "how servers are reached; none is"),
        Flag::long_value("remotecmd", "CMD", "what servers run; none is reached"),
        Flag::long_flag("insecure", "whom to trust as a server; none is reached"),
        Flag::flag(
            'S',
            "subrepos",
            "with subrepositories, of which there may be none",
        ),
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[-M] [-p] [-n] [-f] [-r REV]... [DEST]...",
    summary: "show changesets not found in the destination",
    help: "Shows what push would send to DEST, a repository of this machine, by default the path \
           default-push or default: the changesets that are not there, but for secret ones.\n\n\
           Ends with 0, or with 1 if there is nothing.",
    category: Some(Category::Exchange),
    run,
};

fn run(session: &mut Session, matches: &Matches) -> Result<u8, Abort> {
    session.refuse_subrepositories(matches)?;
    if matches.flag("graph") && matches.flag("newest-first") {
        let words = "-G/--graph option is incompatible with --newest-first";
        return Err(Abort::new(words));
    }
    if matches.flag("bookmarks") {
        return Err(Abort::new("outgoing cannot compare bookmarks yet"));
    }
    let mut code = 1;
    for peer in Peer::to_push(session, matches.arguments())? {
        session.status([b"comparing with ", &peer.url[..], b"\n"].concat())?;
        code = code.min(show(session, matches, &peer)?);
    }
    Ok(code)
}

/// What one peer lacks; ends with 1 if that is nothing.
fn show(session: &mut Session, matches: &Matches, peer: &Peer) -> Result<u8, Abort> {
    let view = session.view()?;
    let heads = heads(session, matches, peer, &view)?;
    if view.tip().is_none() {
        return tell_nothing(session, 0);
    }
    let Outgoing { missing, secret } = peer.outgoing(session, &heads, matches.flag("force"))?;
    if missing.is_empty() {
        return tell_nothing(session, secret);
    }
    let limit = log::limit(matches)?;
    let graph = matches.flag("graph");
    let mut revs: Vec<Option<Rev>> = missing.into_iter().map(Some).collect();
    if graph || matches.flag("newest-first") {
        revs.reverse();
    }
    if matches.flag("no-merges") && !graph {
        let is_merge = |rev: Rev| view.changelog().parents(rev).iter().all(Option::is_some);
        revs.retain(|rev| !rev.is_some_and(is_merge));
    }
    revs.truncate(limit);
    let style = log::style(session, matches, Some(Matcher::everything()))?;
    let printer = Printer::new(session, style)?;
    if graph {
        let look = Look::new(session)?.of_shown_parents();
        printer.print_graph(session, &look, &revs)?;
    } else {
        printer.print_all(session, matches, &revs)?;
    }
    Ok(0)
}

fn heads(
    session: &mut Session,
    matches: &Matches,
    peer: &Peer,
    view: &RepoView,
) -> Result<Vec<Rev>, Abort> {
    let (specs, branches) = (matches.list("rev"), matches.list("branch"));
    if specs.is_empty() && branches.is_empty() && peer.branch.is_none() {
        return Ok(view.heads());
    }
    let mut heads = session.revisions(&specs)?;
    for branch in branches {
        let found = view
            .branchmap()?
            .get(branch)
            .map(|found| found.heads.clone());
        let unknown = || {
            let branch = String::from_utf8_lossy(branch);
            Abort::new(format!("unknown branch '{branch}'"))
        };
        heads.extend(found.ok_or_else(unknown)?);
    }
    if let Some(branch) = &peer.branch {
        heads.extend(branch_heads(session, view, branch)?);
    }
    Ok(heads)
}
