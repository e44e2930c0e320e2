//! `incoming`: what another repository has and this one lacks.

mod bookmarks;
mod fetch;

use crate::arguments::{
    Category, Command, Flag, INSECURE, Matches, REMOTECMD, SSH, STYLE, TEMPLATE,
};
use crate::commands::exchange::exchanged;
use crate::commands::exchange::pull::{compare, heads_of_branches};
use crate::context::Session;
use crate::remote::Source;
use crate::remote::outgoing::missing_of;
use crate::render::diff::{GIT, STAT};
use crate::ui::Abort;
use fetch::save;
use varve_exchange::client::peer::{BundleRequest, Remote};
use varve_repo::{Node, Repository, Rev, ViewFilter};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["incoming", "in"],
    options: &[
        Flag::flag('f', "force", "even if SOURCE has nothing to do with this"),
        exchanged::NEWEST_FIRST,
        Flag::long_value("bundle", "FILE", "keep what is fetched in this bundle"),
        exchanged::REV,
        Flag::flag('B', "bookmarks", "compare bookmarks"),
        exchanged::BRANCH,
        exchanged::PATCH,
        GIT,
        exchanged::LIMIT,
        exchanged::NO_MERGES,
        STAT,
        exchanged::GRAPH,
        STYLE,
        TEMPLATE,
        exchanged::SUBREPOS,
        SSH,
        REMOTECMD,
        INSECURE,
    ],
    arguments: 0..=1,
    synopsis: "[-p] [-n] [-M] [-f] [-r REV]... [--bundle FILE] [SOURCE]",
    summary: "show new changesets found in the source",
    help: "Shows what pull would bring from SOURCE, by default the path `default`: the changesets \
           that are not here yet. SOURCE may be a bundle, a repository of this machine, or a URL; \
           see 'hg help pull'. What a URL leads to is fetched once, and with --bundle kept: \
           'hg unbundle' takes it in later.\n\n\
           With --bookmarks, shows the bookmarks that are new there or have moved.\n\n\
           Ends with 0, or with 1 if there is nothing.",
    category: Some(Category::Exchange),
    run,
};

fn run(session: &mut Session, matches: &Matches) -> Result<u8, Abort> {
    exchanged::refuse_contradictions(session, matches)?;
    let typed = matches.arguments().first().map_or(&b"default"[..], |it| it);
    session.root()?;
    let mut code = 1;
    for source in session.sources(typed)? {
        let (mut remote, near) = match source.is_elsewhere() {
            true => (session.connect(&source)?, None),
            false => {
                let (remote, repository) = session.connect_neighbour(&source)?;
                (remote, Some(repository))
            }
        };
        session.status([b"comparing with ", &source.shown()[..], b"\n"].concat())?;
        let found = match matches.flag("bookmarks") {
            true => bookmarks::show(session, &mut remote)?,
            false => show(session, matches, &source, &mut remote, near)?,
        };
        session.tell_traffic()?;
        code = code.min(found);
    }
    Ok(code)
}

/// Shows what one source has; ends with 1 if that is nothing. One that is `near` is looked at as it
/// is, what comes from others together with what is here.
fn show(
    session: &mut Session,
    matches: &Matches,
    source: &Source,
    remote: &mut Remote,
    near: Option<Repository>,
) -> Result<u8, Abort> {
    let mut heads = heads_of_branches(matches, source, remote)?;
    for name in matches.list("rev") {
        heads.push(remote.lookup(name)?);
    }
    let wanted = (!heads.is_empty()).then_some(&heads[..]);
    let common = compare(session, remote, wanted, matches.flag("force"))?;
    if !common.incoming {
        session.status("no changes found\n")?;
        return Ok(1);
    }
    let request = BundleRequest {
        heads: wanted.map_or(common.remote_heads, <[Node]>::to_vec),
        common: common.heads,
        ..BundleRequest::default()
    };
    let kept = matches.value("bundle").filter(|name| !name.is_empty());
    if let Some(name) = kept {
        save(session, remote, &request, name)?;
    }
    let other = match (near, kept) {
        (Some(repository), _) => repository,
        (None, Some(name)) => session.bundle_here(name)?,
        (None, None) => {
            let bytes = remote.bundle(&request)?;
            session.look_through(bytes)?
        }
    };
    session.looking_at(other, |session| print(session, matches, &request))
}

fn print(session: &mut Session, matches: &Matches, request: &BundleRequest) -> Result<u8, Abort> {
    let view = session.repository()?.view_for(ViewFilter::Visible)?;
    let known = |nodes: &[Node]| -> Vec<Rev> {
        let revs = nodes.iter().map(|node| view.changelog().rev(node));
        revs.flatten().collect()
    };
    let missing = missing_of(&view, &known(&request.heads), &known(&request.common));
    exchanged::print(session, matches, &view, missing)?;
    Ok(0)
}
