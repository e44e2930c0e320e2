//! `outgoing`: changesets that another repository lacks.

use crate::arguments::{Flag, INSECURE, Matches, REMOTECMD, SSH, STYLE, TEMPLATE};
use crate::commands::exchange::exchanged;
use crate::context::{Category, Command, Config, Context, Repo};
use crate::remote::PeerAddress;
use crate::remote::outgoing::{self, print_nothing, typed_heads};
use crate::remote::peers;
use crate::render::diff::{GIT, STAT};
use crate::ui::{Abort, Ui};
use varve_exchange::apply::{BookmarkRelation, compare_bookmarks};
use varve_exchange::client::outgoing::Outgoing;
use varve_repo::Node;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["outgoing", "out"],
    options: &[
        Flag::flag('f', "force", "even if DEST has nothing to do with this"),
        exchanged::REV,
        exchanged::NEWEST_FIRST,
        Flag::flag('B', "bookmarks", "compare bookmarks instead of changesets"),
        exchanged::BRANCH,
        exchanged::PATCH,
        GIT,
        exchanged::LIMIT,
        exchanged::NO_MERGES,
        STAT,
        exchanged::GRAPH,
        STYLE,
        TEMPLATE,
        SSH,
        REMOTECMD,
        INSECURE,
        exchanged::SUBREPOS,
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[-M] [-p] [-n] [-f] [-r REV]... [DEST]...",
    summary: "show changesets not found in the destination",
    help: "Shows what push would send to DEST, a URL of http or https or a repository of this \
           machine, by default the path default-push or default: the changesets that are not \
           there, but for secret ones.\n\n\
           With --bookmarks, shows bookmarks that differ: those that are only here or have moved \
           here with their changeset, those that are only there without.\n\n\
           Ends with 0, or with 1 if there is nothing.",
    category: Some(Category::Exchange),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    exchanged::refuse_contradictions(repo, matches)?;
    let mut code = 1;
    for source in peers::destinations(repo, ui, config, matches.arguments())? {
        let found = match matches.flag("bookmarks") {
            true => bookmarks(repo, ui, config, &source)?,
            false => show(repo, ui, config, matches, &source)?,
        };
        ui.print_traffic()?;
        code = code.min(found);
    }
    Ok(code)
}

/// The bookmarks that are different in one destination; ends with 1 if none is.
fn bookmarks(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    source: &PeerAddress,
) -> Result<u8, Abort> {
    let mut remote = peers::connect(repo, ui, config, source)?;
    ui.status([b"comparing with ", &source.shown()[..], b"\n"].concat())?;
    ui.status("searching for changed bookmarks\n")?;
    let view = repo.view()?;
    let mut any = false;
    for compared in compare_bookmarks(&*view, &remote.bookmarks()?)? {
        let word = match compared.relation {
            BookmarkRelation::OnlyHere => "added",
            BookmarkRelation::OnlyThere => "deleted",
            BookmarkRelation::Ahead => "advanced",
            BookmarkRelation::Apart => "diverged",
            BookmarkRelation::Unknown => "changed",
            BookmarkRelation::Same | BookmarkRelation::Behind => continue,
        };
        any = true;
        let hex = ui.hex(&compared.here.unwrap_or(Node::NULL));
        let node = match compared.here {
            Some(_) => hex,
            None => " ".repeat(hex.len()),
        };
        let name = String::from_utf8_lossy(&compared.name).into_owned();
        let mut line = format!("   {name:<25} {node}");
        if ui.verbosity.verbose {
            line = format!("{line} {word}");
        }
        ui.write(line + "\n")?;
    }
    if !any {
        ui.status("no changed bookmarks found\n")?;
        return Ok(1);
    }
    Ok(0)
}

/// Shows the changesets that one destination lacks; ends with 1 if there are none.
fn show(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    source: &PeerAddress,
) -> Result<u8, Abort> {
    ui.status([b"comparing with ", &source.shown()[..], b"\n"].concat())?;
    let view = repo.view()?;
    let asked = (&matches.list("rev")[..], &matches.list("branch")[..]);
    let heads = typed_heads(repo, ui, &view, asked, source)?;
    let mut remote = peers::connect(repo, ui, config, source)?;
    if view.tip().is_none() {
        return print_nothing(ui, 0);
    }
    let force = matches.flag("force");
    let (repo, ui) = (repo, ui);
    let Outgoing {
        missing, secret, ..
    } = outgoing::find(repo, (ui, config), &mut remote, (heads.as_deref(), force))?;
    if missing.is_empty() {
        return print_nothing(ui, secret);
    }
    exchanged::print(repo, ui, config, matches, &view, missing)?;
    Ok(0)
}
