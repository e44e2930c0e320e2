//! `pull`: changesets of another repository.

use crate::arguments::{Flag, INSECURE, Matches, REMOTECMD, SSH};
use crate::commands::exchange::exchanged::{BRANCH, REV};
use crate::commands::local::update;
use crate::context::{Category, Command, Config, Context, Repo};
use crate::remote::PeerAddress;
use crate::remote::discovery;
use crate::remote::incoming;
use crate::remote::incoming::{AppliedBundle, ApplyMode};
use crate::remote::outgoing::own_branch;
use crate::remote::peers;
use crate::ui::{Abort, Ui, environment};
use std::collections::BTreeMap;
use varve_exchange::ExchangeError;
use varve_exchange::apply::PullContext;
use varve_exchange::client::discovery::DiscoveryResult;
use varve_exchange::client::peer::Remote;
use varve_exchange::client::pull::BundleRequest;
use varve_exchange::format::bundle::open_bundle;
use varve_exchange::format::limits::BundleLimits;
use varve_repo::{Lock, LockKind, Node, RepoView, ViewFilter};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["pull"],
    options: &[
        Flag::flag(
            'u',
            "update",
            "update the working directory, if anything came",
        ),
        Flag::flag('f', "force", "even if the repositories are unrelated"),
        Flag::long_flag("confirm", "ask before what has come counts"),
        REV,
        Flag::list(
            'B',
            "bookmark",
            "BOOKMARK",
            "this bookmark, and what it is on",
        ),
        BRANCH,
        SSH,
        REMOTECMD,
        INSECURE,
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
           With --confirm, or pull.confirm, it asks when everything is here, and takes all back if the answer is no.\n\n\
           Ends with 0; with 1 if --update leaves files with conflicts.",
    category: Some(Category::Exchange),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let typed: Vec<Vec<u8>> = match matches.arguments() {
        [] => vec![b"default".to_vec()],
        some => some.to_vec(),
    };
    for typed in typed {
        for source in peers::sources(repo, ui, config, &typed)? {
            let code = pull(repo, ui, config, matches, &source)?;
            ui.print_traffic()?;
            if code != 0 {
                return Ok(code);
            }
        }
    }
    Ok(0)
}

/// Changesets and bookmarks of the other side to be pulled.
#[derive(Debug, Default)]
pub(crate) struct PullRequest {
    /// Changesets; all if there are none.
    pub(crate) heads: Vec<Node>,
    /// Bookmarks that are taken as they are.
    pub(crate) bookmarks: Vec<Vec<u8>>,
    /// All bookmarks of the other side, if they had to be asked for.
    pub(crate) known_bookmarks: Option<BTreeMap<Vec<u8>, Node>>,
    /// Whether it is for a new repository.
    pub(crate) is_clone: bool,
    /// The user has to accept the changes before they count.
    pub(crate) asks: bool,
}

fn pull(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    source: &PeerAddress,
) -> Result<u8, Abort> {
    if matches.flag("update") && config.boolean("commands", "update.requiredest", false)? {
        let message = "update destination required by configuration";
        return Err(Abort::input(message).hint("use hg pull followed by hg update DEST"));
    }
    ui.status([b"pulling from ", &source.shown()[..], b"\n"].concat())?;
    let mut remote = peers::connect(repo, ui, config, source)?;
    let mut wanted = wanted(repo, matches, source, &mut remote)?;
    let first = first_wanted(matches, &wanted);
    // Scripts are asked only where they ask for it.
    let is_configured = !environment::is_plain(None) && config.boolean("pull", "confirm", false)?;
    wanted.asks = matches.flag("confirm") || is_configured;
    let force = matches.flag("force");
    let arrival = bring(repo, ui, config, source, (&mut remote, &wanted), force)?;
    incoming::print_arrival(repo, ui, &arrival)?;
    let arrived = &arrival.report.changegroups[..];
    repo.run_queued_hooks(ui)?;
    if arrived.is_empty() {
        return Ok(0);
    }
    if matches.flag("update") {
        return match first {
            Some(node) => update::to(repo, ui, config, matches, node.to_string().into_bytes()),
            None => update::to_newest(repo, ui, config, matches),
        };
    }
    let more = arrived.iter().map(|arrived| arrived.heads).sum();
    incoming::advise_after_arrival(repo, ui, more)?;
    Ok(0)
}

/// Destination of an update: the first revision that is asked for, or else the first bookmark.
fn first_wanted(matches: &Matches, wanted: &PullRequest) -> Option<Node> {
    let revs = matches.list("rev").len();
    let first = match revs {
        0 if wanted.bookmarks.is_empty() => return None,
        0 => 0,
        // Behind those of bookmarks and branches.
        revs => wanted.heads.len() - revs,
    };
    wanted.heads.get(first).copied()
}

/// Looks up the names of `--rev`, `--branch` and `--bookmark`; the bookmark `.` is the active one here.
fn wanted(
    repo: &mut Repo,
    matches: &Matches,
    source: &PeerAddress,
    remote: &mut Remote,
) -> Result<PullRequest, Abort> {
    let mut wanted = PullRequest::default();
    let of_branches = heads_of_branches(repo, matches, source, remote)?;
    let names = matches.list("bookmark");
    if !names.is_empty() {
        wanted.known_bookmarks = Some(remote.bookmarks()?);
    }
    for typed in names {
        let name = match typed {
            b"." => &repo
                .active_bookmark()?
                .ok_or_else(|| Abort::input("no active bookmark"))?[..],
            typed => typed,
        };
        let known = wanted.known_bookmarks.iter();
        let node = known.flat_map(|known| known.get(name)).next().copied();
        let Some(node) = node else {
            let name = String::from_utf8_lossy(name);
            return Err(Abort::input(format!("remote bookmark {name} not found!")));
        };
        wanted.heads.push(node);
        wanted.bookmarks.push(name.to_vec());
    }
    let revs = matches.list("rev");
    if !revs.is_empty() || !of_branches.is_empty() {
        let (nodes, bookmarks) = remote.lookup_all(&revs)?;
        wanted.heads.extend(of_branches);
        wanted.heads.extend(nodes);
        wanted.known_bookmarks.get_or_insert(bookmarks);
    }
    Ok(wanted)
}

/// Heads of the branches that are asked for; the word behind `#` may also be another name.
pub(crate) fn heads_of_branches(
    repo: &mut Repo,
    matches: &Matches,
    source: &PeerAddress,
    remote: &mut Remote,
) -> Result<Vec<Node>, Abort> {
    let typed = matches.list("branch");
    if typed.is_empty() && source.branch.is_none() {
        return Ok(Vec::new());
    }
    let branches = remote.branchmap()?;
    let mut heads = Vec::new();
    for name in typed {
        let Some(of_branch) = branches.get(&own_branch(repo, name)?) else {
            let name = String::from_utf8_lossy(name);
            return Err(Abort::input(format!("unknown branch '{name}'")));
        };
        heads.extend_from_slice(of_branch);
    }
    if let Some(name) = &source.branch {
        match branches.get(&own_branch(repo, name)?) {
            Some(of_branch) => heads.extend_from_slice(of_branch),
            None => heads.push(remote.lookup(name)?),
        }
    }
    Ok(heads)
}

/// Brings the wanted changesets that are missing here, with bookmarks, and prints the steps.
pub(crate) fn bring(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    source: &PeerAddress,
    (remote, wanted): (&mut Remote, &PullRequest),
    force: bool,
) -> Result<AppliedBundle, Abort> {
    // As in Mercurial, another process that writes ends first, and what it has brought is not asked for again.
    let lock = repo.lock(ui, LockKind::Store)?;
    repo.refresh();
    let heads = (!wanted.heads.is_empty()).then_some(&wanted.heads[..]);
    let mut common = compare(repo, (ui, config), remote, heads, force)?;
    keep_hidden(
        &*repo.repository()?.view_for(ViewFilter::Unfiltered)?,
        &mut common,
    );
    let is_empty = repo.repository()?.view()?.changelog().is_empty();
    let shares_nothing = is_empty || common.is_unrelated(1);
    if shares_nothing && heads.is_none() && common.incoming {
        ui.status("requesting all changes\n")?;
    }
    if !common.incoming {
        ui.status("no changes found\n")?;
    }
    let mut request = BundleRequest {
        common: common.common_heads,
        heads: heads.map_or(common.remote_heads, <[Node]>::to_vec),
        nothing_new: !common.incoming,
        ..BundleRequest::default()
    };
    let mut pulled = PullContext {
        wanted: &wanted.bookmarks,
        path: source.name.as_deref(),
        exchange: source.bookmarks,
        ..PullContext::default()
    };
    match &wanted.known_bookmarks {
        Some(bookmarks) => pulled.bookmarks = bookmarks.clone(),
        None if remote.capabilities().bundle2("listkeys").is_some() => request.bookmarks = true,
        None => pulled.bookmarks = remote.bookmarks()?,
    }
    let way = match wanted {
        PullRequest { is_clone: true, .. } => ApplyMode::Clone(pulled),
        PullRequest { asks: true, .. } => ApplyMode::ConfirmedPull(pulled),
        _ => ApplyMode::Pull(pulled),
    };
    apply(repo, ui, config, source, (remote, lock), request, way)
}

/// Heads that are here already, though hidden, need not come again.
fn keep_hidden(all: &RepoView, found: &mut DiscoveryResult) {
    let DiscoveryResult {
        common_heads,
        remote_heads,
        incoming,
        ..
    } = found;
    let hidden = remote_heads.iter().filter(|head| {
        let is_here = !head.is_null() && all.changelog().rev(head).is_some();
        is_here && !common_heads.contains(head)
    });
    let hidden: Vec<Node> = hidden.copied().collect();
    if !hidden.is_empty() {
        common_heads.extend(hidden);
        let is_common = |head| common_heads.contains(head);
        *incoming &= !remote_heads.iter().all(is_common);
    }
}

/// Finds the common changesets; `heads` are the wanted ones of the other side, if not all are.
pub(crate) fn compare(
    repo: &mut Repo,
    (ui, config): (&mut Ui, &Config),
    remote: &mut Remote,
    heads: Option<&[Node]>,
    force: bool,
) -> Result<DiscoveryResult, Abort> {
    let view = repo.repository()?.view_for(ViewFilter::Visible)?;
    let own = view.changelog().len();
    let is_here = |node: &Node| {
        let rev = view.changelog().rev(node);
        node.is_null() || rev.is_some_and(|rev| view.is_visible(rev))
    };
    if let Some(heads) = heads.filter(|heads| heads.iter().all(is_here)) {
        // No request is needed.
        return Ok(DiscoveryResult {
            common_heads: heads.to_vec(),
            remote_heads: heads.to_vec(),
            ..DiscoveryResult::default()
        });
    }
    let discovery = discovery::begin(config, &view, remote, heads)?;
    if own > 0 {
        ui.status("searching for changes\n")?;
    }
    let common = discovery.finish(remote)?;
    if own > 0 {
        let is_empty = common.remote_heads.iter().all(Node::is_null);
        if !common.incoming && !is_empty {
            ui.debug("all remote heads known locally\n")?;
        }
    }
    let all_there = || {
        let nodes = view
            .heads()
            .into_iter()
            .map(|head| view.changelog().node(head));
        own > 0
            && nodes
                .into_iter()
                .all(|node| common.common_heads.contains(&node))
    };
    if common.incoming && ui.verbosity.verbose && all_there() {
        ui.write("all local changesets known remotely\n")?;
    }
    if common.is_unrelated(own) {
        if !force {
            return Err(ExchangeError::Unrelated.into());
        }
        ui.warn("warning: repository is unrelated\n")?;
    }
    Ok(common)
}

/// Asks for a bundle and applies it under the lock of the store.
pub(crate) fn apply(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    source: &PeerAddress,
    (remote, lock): (&mut Remote, Lock),
    mut request: BundleRequest,
    way: ApplyMode<'_>,
) -> Result<AppliedBundle, Abort> {
    if !remote.capabilities().has("bundle2") {
        return Err(Abort::input("the other side is too old to pull from")
            .hint("it makes no bundles of the second version"));
    }
    let exchanges = match way {
        ApplyMode::Clone(_) => config.new_exchanges_markers()?,
        _ => config.exchanges_markers()?,
    };
    // With the files of a store, all of its markers come, whether the server makes any or not.
    request.bookmark_keys = peers::sends_bookmarks_as_keys(config);
    request.markers = exchanges && (request.streamed || remote.has_markers());
    let bundle = open_bundle(remote.bundle(&request)?, BundleLimits::default())?;
    let origin = ("pull", source.hook_url(repo));
    let applied = incoming::apply(repo, ui, config, lock, bundle, origin, way)?;
    let (arrival, _lock) = match applied {
        Err(ExchangeError::RemoteAbort { message, hint }) => {
            ui.warn(format!("remote: abort: {message}\n"))?;
            let failed = Abort::input("pull failed on remote");
            return Err(hint.into_iter().fold(failed, Abort::hint));
        }
        applied => applied?,
    };
    repo.refresh();
    Ok(arrival)
}
