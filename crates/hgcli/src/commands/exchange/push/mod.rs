//! `push`: changesets to another repository.

mod bookmarks;
mod checks;
mod here;
mod send;

use crate::arguments::{Flag, INSECURE, Matches, REMOTECMD, SSH};
use crate::commands::exchange::exchanged::{BRANCH, REV};
use crate::context::{Category, Command, Config, Context, Repo};
use crate::remote::PeerAddress;
use crate::remote::outgoing::{self, print_nothing, typed_heads};
use crate::remote::peers;
use crate::ui::{Abort, Ui};
use std::collections::BTreeSet;
use std::sync::Arc;
use varve_exchange::client::outgoing::Outgoing;
use varve_exchange::client::peer::Remote;
use varve_exchange::client::push::{
    ExpectedRemote, PushPlan, RemotePhases, SettledPhases, common_after, common_below,
};
use varve_repo::hooks::PushVars;
use varve_repo::{LockKind, Node, RepoView, Rev, ViewFilter};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["push"],
    options: &[
        Flag::flag('f', "force", "whatever it does to the heads of DEST"),
        REV,
        Flag::list(
            'B',
            "bookmark",
            "BOOKMARK",
            "this bookmark, and what it is on; . is the active one",
        ),
        Flag::long_flag("all-bookmarks", "all bookmarks of this repository"),
        BRANCH,
        Flag::long_flag("new-branch", "DEST may get branches that it has not"),
        Flag::long_list(
            "pushvars",
            "NAME=VALUE",
            "hooks there find it as HG_USERVAR_NAME, if DEST lets them",
        ),
        Flag::long_flag("publish", "let what is pushed become public"),
        SSH,
        REMOTECMD,
        INSECURE,
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[-f] [-r REV]... [--new-branch] [DEST]...",
    summary: "push changes to the specified destination",
    help: "Sends the changesets that DEST lacks, but for secret ones, all of them in one \
           transaction there. They become public on both sides, unless DEST does not publish. \
           Bookmarks that both sides have and that have moved forward here move there too; others \
           have to be named with --bookmark, which also removes one there that is not here.\n\n\
           DEST is a name of [paths], a path of this machine, or a URL of http or https; without \
           it, the path default-push or default.\n\n\
           A push that would give a branch of DEST more heads than it has is refused, unless they \
           have bookmarks that move along; so is one with a new branch, unless with --new-branch. \
           With --force nothing of this is looked at.\n\n\
           Ends with 0; with 1 if there were no changesets to push; with 2 if a bookmark was \
           named that is on neither side.",
    category: Some(Category::Exchange),
    run,
};

/// Bytes of a parameter of a part, in which a variable is sent.
const LONGEST: usize = 255;

/// Options of the command line, for each destination.
struct PushOptions {
    force: bool,
    /// Whether all of this repository goes to a new one.
    fills: bool,
    new_branch: bool,
    publish: bool,
    /// Bookmarks that are pushed in any case.
    bookmarks: BTreeSet<Vec<u8>>,
    /// Variables for hooks of the other side, as typed.
    variables: Vec<Vec<u8>>,
}

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let options = PushOptions {
        fills: false,
        force: matches.flag("force"),
        new_branch: matches.flag("new-branch"),
        publish: matches.flag("publish"),
        bookmarks: bookmarks::named(repo, matches)?,
        variables: matches
            .list("pushvars")
            .into_iter()
            .map(<[u8]>::to_vec)
            .collect(),
    };
    let mut code = 1;
    for source in peers::destinations(repo, ui, config, matches.arguments())? {
        let pushed = push(repo, ui, config, matches, &source, &options)?;
        ui.print_traffic()?;
        match pushed {
            2 => return Ok(2),
            other => code = code.min(other),
        }
    }
    Ok(code)
}

/// A push to one destination.
struct PushSession<'a> {
    options: &'a PushOptions,
    source: &'a PeerAddress,
    /// This repository as its owner sees it.
    view: Arc<RepoView>,
    /// The same with all that is hidden.
    all: Arc<RepoView>,
    /// Changesets that were asked for; `None` for all.
    heads: Option<Vec<Rev>>,
    outgoing: Outgoing,
    /// Heads of the common history below the pushed changesets.
    common: Vec<Rev>,
    phases: RemotePhases,
}

fn push(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    source: &PeerAddress,
    options: &PushOptions,
) -> Result<u8, Abort> {
    ui.status([b"pushing to ", &source.shown()[..], b"\n"].concat())?;
    let heads = heads(repo, ui, matches, source, options)?;
    let mut remote = peers::connect(repo, ui, config, source)?;
    if !options.publish {
        checks::check_publishing((repo, ui, config), &mut remote, heads.as_deref())?;
    }
    send_all(repo, ui, config, &mut remote, (source, options), heads)
}

/// Pushes all of these heads, or of this repository, with all bookmarks, to one that is new.
pub(crate) fn fill(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    target: &PeerAddress,
    heads: Option<Vec<Rev>>,
) -> Result<(), Abort> {
    let mut remote = peers::connect(repo, ui, config, target)?;
    let options = PushOptions {
        fills: true,
        force: false,
        new_branch: false,
        publish: false,
        bookmarks: repo.view()?.bookmarks().keys().cloned().collect(),
        variables: Vec::new(),
    };
    send_all(repo, ui, config, &mut remote, (target, &options), heads).map(drop)
}

fn send_all(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    remote: &mut Remote,
    (source, options): (&PeerAddress, &PushOptions),
    heads: Option<Vec<Rev>>,
) -> Result<u8, Abort> {
    let view = repo.view()?;
    if view.tip().is_none() {
        return print_nothing(ui, 0);
    }
    let wanted = (heads.as_deref(), options.force);
    let outgoing = outgoing::find(repo, (ui, config), remote, wanted)?;
    let all = repo.repository()?.view_for(ViewFilter::Unfiltered)?;
    let common = match &heads {
        Some(heads) => common_below(&view, heads, &outgoing.common),
        None => outgoing.common.clone(),
    };
    let keys = remote.list_keys("phases")?;
    let session = PushSession {
        options,
        source,
        phases: RemotePhases::read(&all, &keys, &common),
        view,
        all,
        heads,
        outgoing,
        common,
    };
    session.send(repo, ui, config, remote)
}

/// Heads that `--rev`, `--branch`, `--bookmark` and the configuration name; `None` if they name none.
fn heads(
    repo: &mut Repo,
    ui: &mut Ui,
    matches: &Matches,
    source: &PeerAddress,
    options: &PushOptions,
) -> Result<Option<Vec<Rev>>, Abort> {
    let view = repo.view()?;
    let specs = matches.list("rev");
    let branches = matches.list("branch");
    let mut heads = typed_heads(repo, ui, &view, (&specs, &branches), source)?;
    if !options.bookmarks.is_empty() {
        let nodes = options
            .bookmarks
            .iter()
            .filter_map(|name| view.bookmarks().get(name));
        let revs = nodes.filter_map(|node| view.changelog().rev(node));
        heads.get_or_insert_default().extend(revs);
    } else if heads.as_ref().is_some_and(Vec::is_empty) {
        return Err(Abort::input("specified revisions evaluate to an empty set")
            .hint("use different revision arguments"));
    }
    if let (None, Some(query)) = (&heads, &source.push_rev) {
        let revs = repo.revisions(ui, &[query])?;
        if revs.is_empty() {
            let words = "default push revset for path evaluates to an empty set";
            return Err(Abort::input(words));
        }
        heads = Some(revs);
    }
    Ok(heads)
}

impl PushSession<'_> {
    /// Checks, sends and reports. Returns the exit code.
    fn send(
        &self,
        repo: &mut Repo,
        ui: &mut Ui,
        config: &Config,
        remote: &mut Remote,
    ) -> Result<u8, Abort> {
        let exchanges_markers = config.exchanges_markers()?;
        let markers = match exchanges_markers {
            true => self.markers(repo, remote)?,
            false => Vec::new(),
        };
        let bookmarks = bookmarks::plan(self, ui, remote)?;
        // Mercurial looks at them also when there is nothing to push.
        let variables = variables(&self.options.variables)?;
        let mut updated_heads = Vec::new();
        if self.outgoing.missing.is_empty() {
            print_nothing(ui, self.outgoing.secret)?;
        } else if !self.options.force {
            self.checks().refuse_unstable()?;
            updated_heads = self.check_heads(ui, remote, &bookmarks.accepted_heads)?;
        }
        if !self.options.fills {
            bookmarks.refuse_secret(&self.all)?;
        }
        let missing = &self.outgoing.missing[..];
        let after = common_after(&self.view, &self.common, missing);
        let publish = self.options.publish;
        let plan = PushPlan {
            view: &self.view,
            common: &self.outgoing.common,
            changesets: missing,
            expected: (!self.options.force).then(|| ExpectedRemote {
                heads: &self.outgoing.found.remote_heads,
                updated_heads,
                phases: &self.phases,
            }),
            published: self.phases.outdated(&self.all, (&after, missing), publish),
            markers,
            bookmarks: bookmarks.pushed.clone(),
            bookmark_form: bookmarks::form(config),
            variables,
        };
        if let Some(secret) = bookmarks.secret(&self.all) {
            send::announce(repo, ui, &plan)?;
            let node = secret.after.unwrap_or(Node::NULL);
            return Err(Abort::new(format!("filtered revision '{node}'")));
        }
        let reply = match plan.is_empty() {
            true => Default::default(),
            false if self.source.is_elsewhere() => {
                send::send(repo, ui, config, remote, self.source, &plan)?
            }
            false => here::store(repo, ui, config, remote, self.source, &plan)?,
        };
        bookmarks::report(ui, &bookmarks.pushed)?;
        let is_stored = reply.changegroup.is_some_and(|code| code != 0);
        let common = match is_stored || missing.is_empty() {
            true => &after,
            false => &self.common,
        };
        self.settle_phases(repo, ui, remote, common)?;
        repo.run_queued_hooks(ui)?;
        let some_stay = !bookmarks.unknown.is_empty() || !bookmarks.divergent.is_empty();
        Ok(match some_stay {
            true => 2,
            false => u8::from(!is_stored),
        })
    }

    /// Markers for the changesets of the other side after the push, if it takes any.
    fn markers(&self, repo: &mut Repo, remote: &mut Remote) -> Result<Vec<u8>, Abort> {
        if repo.repository()?.count_markers()? == 0 || !takes_markers(remote)? {
            return Ok(Vec::new());
        }
        let after = common_after(&self.view, &self.common, &self.outgoing.missing);
        let below = self.view.missing_ancestors(&after, &[]).into_iter();
        let nodes: Vec<Node> = below.map(|rev| self.view.changelog().node(rev)).collect();
        Ok(self.all.relevant_markers(&nodes)?)
    }

    /// Lowers the phases here to those of the other side; `common` are the newest changesets that both sides have.
    fn settle_phases(
        &self,
        repo: &mut Repo,
        ui: &mut Ui,
        remote: &mut Remote,
        common: &[Rev],
    ) -> Result<(), Abort> {
        let keys = remote.list_keys("phases")?;
        let phases = SettledPhases::new(&self.all, &keys, common);
        // Mercurial opens a transaction in any case, which hooks notice.
        if !phases.lowers && repo.hooks.is_empty() {
            return Ok(());
        }
        let lock = repo.lock(ui, LockKind::Store)?;
        phases.store(&repo.repository()?, lock, self.source.hook_url(repo))?;
        repo.refresh();
        Ok(())
    }
}

/// Variables for hooks, from `NAME=VALUE`; of several with a name the last.
fn variables(typed: &[Vec<u8>]) -> Result<PushVars, Abort> {
    let mut given = PushVars::new();
    for typed in typed {
        let mut halves = typed.splitn(2, |byte| *byte == b'=');
        let (Some(name), Some(value)) = (halves.next(), halves.next()) else {
            let typed = String::from_utf8_lossy(typed);
            return Err(Abort::new(format!(
                "unable to parse variable '{typed}', should follow 'KEY=VALUE' or 'KEY=' format"
            )));
        };
        if name.len().max(value.len()) > LONGEST {
            let name = String::from_utf8_lossy(name);
            let words = format!("the variable '{name}' is too long for a bundle");
            return Err(
                Abort::new(words).hint(format!("name and value have at most {LONGEST} bytes each"))
            );
        }
        match given.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value.to_vec(),
            None => given.push((name.to_vec(), value.to_vec())),
        }
    }
    Ok(given)
}

fn takes_markers(remote: &mut Remote) -> Result<bool, Abort> {
    let spaces = remote.list_keys("namespaces")?;
    Ok(remote.has_markers() && spaces.contains_key(&b"obsolete"[..]))
}
