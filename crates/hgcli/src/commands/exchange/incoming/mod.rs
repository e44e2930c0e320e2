//! `incoming`: changesets that another repository has and this one lacks.

mod bookmarks;
mod fetch;

use crate::arguments::{Flag, INSECURE, Matches, REMOTECMD, SSH, STYLE, TEMPLATE};
use crate::commands::exchange::exchanged;
use crate::commands::exchange::pull::{compare, heads_of_branches};
use crate::context::{Category, Command, Config, Context, Repo};
use crate::remote::PeerAddress;
use crate::remote::peers;
use crate::render::diff::{GIT, STAT};
use crate::ui::{Abort, Ui};
use fetch::save;
use varve_exchange::client::peer::Remote;
use varve_exchange::client::pull::BundleRequest;
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

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    exchanged::refuse_contradictions(repo, matches)?;
    let typed = matches.arguments().first().map_or(&b"default"[..], |it| it);
    repo.root()?;
    let mut code = 1;
    for source in peers::sources(repo, ui, config, typed)? {
        let (mut remote, near) = match source.is_elsewhere() {
            true => (peers::connect(repo, ui, config, &source)?, None),
            false => {
                let (remote, repository) = peers::connect_local(repo, ui, config, &source)?;
                (remote, Some(repository))
            }
        };
        ui.status([b"comparing with ", &source.shown()[..], b"\n"].concat())?;
        let found = match matches.flag("bookmarks") {
            true => bookmarks::show(repo, ui, &mut remote, source.bookmarks)?,
            false => show(repo, ui, config, matches, &source, &mut remote, near)?,
        };
        ui.print_traffic()?;
        code = code.min(found);
    }
    Ok(code)
}

/// Shows the changesets of one source; ends with 1 if there are none. A source that is `near` is
/// opened itself, the changesets of others are read together with those here.
fn show(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    source: &PeerAddress,
    remote: &mut Remote,
    near: Option<Repository>,
) -> Result<u8, Abort> {
    let mut heads = heads_of_branches(repo, matches, source, remote)?;
    for name in matches.list("rev") {
        heads.push(remote.lookup(name)?);
    }
    let wanted = (!heads.is_empty()).then_some(&heads[..]);
    let common = compare(repo, (ui, config), remote, wanted, matches.flag("force"))?;
    if !common.incoming {
        ui.status("no changes found\n")?;
        return Ok(1);
    }
    let kept = matches.value("bundle").filter(|name| !name.is_empty());
    let request = BundleRequest {
        heads: wanted.map_or(common.remote_heads, <[Node]>::to_vec),
        common: common.common_heads,
        // Who takes the bundle in later gets drafts.
        without_phases: kept.is_some(),
        ..BundleRequest::default()
    };
    if let Some(name) = kept {
        save(repo, ui, remote, &request, name)?;
    }
    let other = match (near, kept) {
        (Some(repository), _) => repository,
        (None, Some(name)) => repo.overlay_bundle_file(name)?,
        (None, None) => {
            let bytes = remote.bundle(&request)?;
            repo.overlay_bundle(bytes)?
        }
    };
    repo.with_repository(other, |repo| print(repo, ui, config, matches, &request))
}

fn print(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    request: &BundleRequest,
) -> Result<u8, Abort> {
    let view = repo.repository()?.view_for(ViewFilter::Visible)?;
    let known = |nodes: &[Node]| -> Vec<Rev> {
        let revs = nodes.iter().map(|node| view.changelog().rev(node));
        revs.flatten().collect()
    };
    let missing = view.missing_ancestors(&known(&request.heads), &known(&request.common));
    exchanged::print(repo, ui, config, matches, &view, missing)?;
    Ok(0)
}
