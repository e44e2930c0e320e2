//! `pull`: changesets of another repository.

use super::update;
use crate::face::{Abort, Category, Command, Flag, Matches, Session, Source};
use std::collections::BTreeMap;
use varve_exchange::ExchangeError;
use varve_exchange::bundle::{BundleLimits, open_bundle};
use varve_exchange::peer::{
    BookmarkMove, BundleRequest, Common, Remote, discover, pulled_bookmarks,
};
use varve_repo::{Audience, Locked, Node, ReceiveReport};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["pull"],
    options: &[
        Flag::flag('u', "update", "update the working folder, if anything came"),
        Flag::flag('f', "force", "even if the repositories are unrelated"),
        Flag::list(
            'r',
            "rev",
            "REV",
            "only this changeset and what it builds on",
        ),
        Flag::list(
            'B',
            "bookmark",
            "BOOKMARK",
            "this bookmark, and what it is on",
        ),
        Flag::list(
            'b',
            "branch",
            "BRANCH",
            "only this branch and what it builds on",
        ),
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[-u] [-f] [-r REV]... [SOURCE]...",
    summary: "pull changes from the specified source",
    help: "Brings the changesets of SOURCE that are not here yet, each source in one transaction: \
           all of it comes in, or nothing. Bookmarks there that are new, or have moved forward, \
           come along; one that both sides moved apart is kept with an @ and the source's name \
           behind its own.\n\n\
           SOURCE is a name of [paths], a path of this machine, a bundle, or a URL of http or https; without \
           it, the path `default`. A name and password may stand in the URL or in [auth]. The \
           server's certificate must be signed by a known authority, or by one in the file that \
           web.cacerts names.\n\n\
           Ends with 0; with 1 if --update leaves files with conflicts.",
    category: Some(Category::Exchange),
    run,
};

fn run(session: &mut Session, matches: &Matches) -> Result<u8, Abort> {
    let typed: Vec<Vec<u8>> = match matches.arguments() {
        [] => vec![b"default".to_vec()],
        some => some.to_vec(),
    };
    for typed in typed {
        for source in session.sources(&typed)? {
            let code = pull(session, matches, &source)?;
            if code != 0 {
                return Ok(code);
            }
        }
    }
    Ok(0)
}

/// What of the other side is wanted.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// Changesets; all if there are none.
    pub(super) heads: Vec<Node>,
    /// Bookmarks that are taken as they are.
    pub(super) bookmarks: Vec<Vec<u8>>,
}

fn pull(session: &mut Session, matches: &Matches, source: &Source) -> Result<u8, Abort> {
    session.status([b"pulling from ", &source.shown()[..], b"\n"].concat())?;
    let mut remote = session.connect(source)?;
    let wanted = wanted(matches, source, &mut remote)?;
    let force = matches.flag("force");
    let (report, bookmarks) = bring(session, source, (&mut remote, &wanted), force)?;
    take_bookmarks(session, source, (&bookmarks, &wanted.bookmarks), true)?;
    session.tell_arrived(&report)?;
    session.after_locks()?;
    if report.arrived.is_empty() {
        return Ok(0);
    }
    if matches.flag("update") {
        return update::to_newest(session, matches);
    }
    let more = report.arrived.iter().map(|arrived| arrived.heads).sum();
    session.advise_after_arrival(more)?;
    Ok(0)
}

/// Looks up what `--rev`, `--branch` and `--bookmark` name.
fn wanted(matches: &Matches, source: &Source, remote: &mut Remote) -> Result<Wanted, Abort> {
    let mut wanted = Wanted::default();
    let bookmarks = match matches.list("bookmark").is_empty() {
        true => BTreeMap::new(),
        false => remote.bookmarks()?,
    };
    for name in matches.list("bookmark") {
        let Some(node) = bookmarks.get(name) else {
            let name = String::from_utf8_lossy(name);
            return Err(Abort::new(format!("remote bookmark {name} not found!")));
        };
        wanted.heads.push(*node);
        wanted.bookmarks.push(name.to_vec());
    }
    wanted
        .heads
        .extend(heads_of_branches(matches, source, remote)?);
    for name in matches.list("rev") {
        wanted.heads.push(remote.lookup(name)?);
    }
    Ok(wanted)
}

/// Heads of the branches that are asked for; what stands behind `#` may also be another name.
pub(super) fn heads_of_branches(
    matches: &Matches,
    source: &Source,
    remote: &mut Remote,
) -> Result<Vec<Node>, Abort> {
    let typed = matches.list("branch");
    if typed.is_empty() && source.branch.is_none() {
        return Ok(Vec::new());
    }
    let branches = remote.branchmap()?;
    let mut heads = Vec::new();
    for name in typed {
        let Some(of_branch) = branches.get(name) else {
            let name = String::from_utf8_lossy(name);
            return Err(Abort::new(format!("unknown branch '{name}'")));
        };
        heads.extend_from_slice(of_branch);
    }
    if let Some(name) = &source.branch {
        match branches.get(name) {
            Some(of_branch) => heads.extend_from_slice(of_branch),
            None => heads.push(remote.lookup(name)?),
        }
    }
    Ok(heads)
}

/// Brings what is wanted and not there, and says what it is about; gives the bookmarks of the
/// other side too.
pub(super) fn bring(
    session: &mut Session,
    source: &Source,
    (remote, wanted): (&mut Remote, &Wanted),
    force: bool,
) -> Result<(ReceiveReport, BTreeMap<Vec<u8>, Node>), Abort> {
    let heads = (!wanted.heads.is_empty()).then_some(&wanted.heads[..]);
    let common = compare(session, remote, heads, force)?;
    let is_empty = session.repository()?.view()?.changelog().is_empty();
    if is_empty && heads.is_none() && common.incoming {
        session.status("requesting all changes\n")?;
    }
    if !common.incoming {
        session.status("no changes found\n")?;
    }
    let request = BundleRequest {
        common: common.heads,
        heads: heads.map_or(common.remote_heads, <[Node]>::to_vec),
        nothing_new: !common.incoming,
        streamed: false,
    };
    let report = match request.heads.iter().all(Node::is_null) {
        true => ReceiveReport::default(),
        false => apply(session, source, remote, &request)?,
    };
    Ok((report, common.bookmarks))
}

/// Finds out what both sides have; `heads` are those that are wanted, if not all are.
pub(super) fn compare(
    session: &mut Session,
    remote: &mut Remote,
    heads: Option<&[Node]>,
    force: bool,
) -> Result<Common, Abort> {
    let view = session.repository()?.view_for(Audience::Owner)?;
    let own = view.changelog().len();
    let all_known = heads.is_some_and(|heads| {
        heads
            .iter()
            .all(|node| view.changelog().rev(node).is_some())
    });
    if own > 0 && !all_known {
        session.status("searching for changes\n")?;
    }
    let common = discover(&view, remote, heads)?;
    let all_there = || {
        let nodes = view
            .heads()
            .into_iter()
            .map(|head| view.changelog().node(head));
        own > 0 && nodes.into_iter().all(|node| common.heads.contains(&node))
    };
    if common.incoming && session.verbosity.verbose && all_there() {
        session.write("all local changesets known remotely\n")?;
    }
    if common.is_unrelated(own) {
        if !force {
            return Err(ExchangeError::Unrelated.into());
        }
        session.warn("warning: repository is unrelated\n")?;
    }
    Ok(common)
}

/// Asks for a bundle and applies it.
pub(super) fn apply(
    session: &mut Session,
    source: &Source,
    remote: &mut Remote,
    request: &BundleRequest,
) -> Result<ReceiveReport, Abort> {
    if !remote.capabilities().has("bundle2") {
        return Err(Abort::new("the other side is too old to pull from")
            .hint("it makes no bundles of the second version"));
    }
    let lock = session.lock(Locked::Store)?;
    let bundle = open_bundle(remote.bundle(request)?, BundleLimits::default())?;
    let origin = ("pull", source.shown());
    let (report, _lock) = session.apply_bundle(lock, bundle, origin, Abort::from)?;
    session.forget_view();
    Ok(report)
}

/// Moves bookmarks as those of the other side have moved, those that are `wanted` in any case; if
/// it `tells`, it says which.
pub(super) fn take_bookmarks(
    session: &mut Session,
    source: &Source,
    (bookmarks, wanted): (&BTreeMap<Vec<u8>, Node>, &[Vec<u8>]),
    tells: bool,
) -> Result<(), Abort> {
    if bookmarks.is_empty() {
        return Ok(());
    }
    let lock = session.lock(Locked::Store)?;
    let repository = session.repository()?;
    let view = repository.view_for(Audience::Owner)?;
    let pulled = pulled_bookmarks(&view, bookmarks, wanted, source.name.as_deref());
    let mut after = view.bookmarks().clone();
    for bookmark in &pulled {
        let name = &bookmark.name[..];
        let mut stored = name;
        let line = match &bookmark.moves {
            BookmarkMove::Added => [b"adding remote bookmark ", name, b"\n"].concat(),
            BookmarkMove::Updated => [b"updating bookmark ", name, b"\n"].concat(),
            BookmarkMove::Imported => [b"importing bookmark ", name, b"\n"].concat(),
            BookmarkMove::Diverged(other) => {
                stored = other;
                [b"divergent bookmark ", name, b" stored as ", other, b"\n"].concat()
            }
        };
        match bookmark.moves {
            BookmarkMove::Diverged(_) if tells => session.warn(line)?,
            _ if tells => session.status(line)?,
            _ => {}
        }
        after.insert(stored.to_vec(), bookmark.node);
    }
    if after != *view.bookmarks() {
        let mut transaction = repository.transaction(lock, "bookmarks")?;
        transaction.set_bookmarks(&after)?;
        transaction.finish()?;
        session.forget_view();
    }
    Ok(())
}
