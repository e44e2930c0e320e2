//! `push`: changesets to another repository.

mod after;
mod bookmarks;
mod checks;
mod here;
mod send;

use crate::arguments::{Flag, INSECURE, Matches, REMOTECMD, SSH};
use crate::commands::exchange::exchanged::{BRANCH, REV};
use crate::context::{Category, Command, Context, Repo};
use crate::remote::PeerAddress;
use crate::remote::outgoing::{self, asked_for, tell_nothing};
use crate::remote::peers;
use crate::ui::{Abort, Ui};
use std::collections::BTreeSet;
use std::sync::Arc;
use varve_exchange::client::outgoing::Outgoing;
use varve_exchange::client::peer::Remote;
use varve_exchange::client::push::{ExpectedRemote, PushPlan, RemotePhases};
use varve_repo::hooks::PushVars;
use varve_repo::{Node, RepoView, Rev, ViewFilter};

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
    let asked = PushOptions {
        fills: false,
        force: matches.flag("force"),
        new_branch: matches.flag("new-branch"),
        publish: matches.flag("publish"),
        bookmarks: bookmarks::named(&mut context.repo, matches)?,
        variables: matches
            .list("pushvars")
            .into_iter()
            .map(<[u8]>::to_vec)
            .collect(),
    };
    let mut code = 1;
    for source in peers::destinations(context, matches.arguments())? {
        let pushed = push(context, matches, &source, &asked)?;
        context.ui.print_traffic()?;
        match pushed {
            2 => return Ok(2),
            other => code = code.min(other),
        }
    }
    Ok(code)
}

/// A push on its way.
struct PushSession<'a> {
    asked: &'a PushOptions,
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
    context: &mut Context,
    matches: &Matches,
    source: &PeerAddress,
    asked: &PushOptions,
) -> Result<u8, Abort> {
    context
        .ui
        .status([b"pushing to ", &source.shown()[..], b"\n"].concat())?;
    let heads = heads(&mut context.repo, &mut context.ui, matches, source, asked)?;
    let mut remote = peers::connect(context, source)?;
    checks::refuse_to_publish(context, &mut remote, heads.as_deref(), asked.publish)?;
    send_all(context, &mut remote, (source, asked), heads)
}

/// Pushes all of these heads, or of this repository, with all bookmarks, to one that is new.
pub(crate) fn fill(
    context: &mut Context,
    target: &PeerAddress,
    heads: Option<Vec<Rev>>,
) -> Result<(), Abort> {
    let mut remote = peers::connect(context, target)?;
    let asked = PushOptions {
        fills: true,
        force: false,
        new_branch: false,
        publish: false,
        bookmarks: context.repo.view()?.bookmarks().keys().cloned().collect(),
        variables: Vec::new(),
    };
    send_all(context, &mut remote, (target, &asked), heads).map(drop)
}

fn send_all(
    context: &mut Context,
    remote: &mut Remote,
    (source, asked): (&PeerAddress, &PushOptions),
    heads: Option<Vec<Rev>>,
) -> Result<u8, Abort> {
    let view = context.repo.view()?;
    if view.tip().is_none() {
        return tell_nothing(&mut context.ui, 0);
    }
    let wanted = heads.clone().unwrap_or_else(|| view.heads());
    let (repo, ui) = (&mut context.repo, &mut context.ui);
    let outgoing = outgoing::find(repo, ui, remote, (&wanted, asked.force))?;
    let all = context
        .repo
        .repository()?
        .view_for(ViewFilter::Unfiltered)?;
    let common = match &heads {
        Some(heads) => after::common_below(&view, heads, &outgoing.common),
        None => outgoing.common.clone(),
    };
    let keys = remote.list_keys("phases")?;
    let mut pushing = PushSession {
        asked,
        source,
        phases: RemotePhases::read(&all, &keys, &common),
        view,
        all,
        heads,
        outgoing,
        common,
    };
    pushing.go(context, remote)
}

/// Heads that `--rev`, `--branch`, `--bookmark` and the configuration name; `None` if they name none.
fn heads(
    repo: &mut Repo,
    ui: &mut Ui,
    matches: &Matches,
    source: &PeerAddress,
    asked: &PushOptions,
) -> Result<Option<Vec<Rev>>, Abort> {
    let view = repo.view()?;
    let specs = matches.list("rev");
    let branches = matches.list("branch");
    let (repo, ui) = (repo, ui);
    let mut heads = asked_for(repo, ui, &view, (&specs, &branches), source)?;
    if !asked.bookmarks.is_empty() {
        let nodes = asked
            .bookmarks
            .iter()
            .filter_map(|name| view.bookmarks().get(name));
        let revs = nodes.filter_map(|node| view.changelog().rev(node));
        heads.get_or_insert_default().extend(revs);
    } else if heads.as_ref().is_some_and(Vec::is_empty) {
        return Err(Abort::new("specified revisions evaluate to an empty set")
            .hint("use different revision arguments"));
    }
    if let (None, Some(query)) = (&heads, &source.push_rev) {
        let revs = repo.revisions(ui, &[query])?;
        if revs.is_empty() {
            let words = "default push revset for path evaluates to an empty set";
            return Err(Abort::new(words));
        }
        heads = Some(revs);
    }
    Ok(heads)
}

impl PushSession<'_> {
    fn go(&mut self, context: &mut Context, remote: &mut Remote) -> Result<u8, Abort> {
        let markers = self.markers(context, remote)?;
        let moved = self.compare_bookmarks(&mut context.ui, remote)?;
        // Mercurial looks at them also when there is nothing to push.
        let variables = variables(&self.asked.variables)?;
        let mut updated_heads = Vec::new();
        if self.outgoing.missing.is_empty() {
            tell_nothing(&mut context.ui, self.outgoing.secret)?;
        } else if !self.asked.force {
            self.refuse_unstable()?;
            updated_heads = self.check_heads(&mut context.ui, remote, &moved)?;
        }
        if !self.asked.fills {
            self.refuse_secret_bookmarks(&moved)?;
        }
        let future = self.future();
        let publish = self.asked.publish;
        let missing = &self.outgoing.missing[..];
        let plan = PushPlan {
            view: &self.view,
            common: &self.outgoing.common,
            changesets: missing,
            expected: (!self.asked.force).then(|| ExpectedRemote {
                heads: &self.outgoing.found.remote_heads,
                updated_heads,
                phases: &self.phases,
            }),
            published: self.phases.outdated(&self.all, (&future, missing), publish),
            markers,
            bookmarks: moved.pushed.clone(),
            variables,
        };
        if let Some(secret) = self.secret_bookmark(&moved) {
            send::announce(&mut context.repo, &mut context.ui, &plan)?;
            let node = secret.after.unwrap_or(Node::NULL);
            return Err(Abort::new(format!("filtered revision '{node}'")));
        }
        let reply = match plan.is_empty() {
            true => Default::default(),
            false if self.source.is_elsewhere() => send::send(context, remote, self.source, &plan)?,
            false => here::store(context, remote, self.source, &plan)?,
        };
        bookmarks::report(&mut context.ui, &moved.pushed)?;
        let is_stored = reply.changegroup.is_some_and(|code| code != 0);
        let settled = match is_stored || self.outgoing.missing.is_empty() {
            true => future,
            false => self.common.clone(),
        };
        self.settle_phases(&mut context.repo, &mut context.ui, remote, &settled)?;
        context.repo.run_queued_hooks(&mut context.ui)?;
        Ok(match (moved.unknown, is_stored) {
            (true, _) => 2,
            (false, stored) => u8::from(!stored),
        })
    }

    /// Markers for the changesets of the other side after the push, if it takes any.
    fn markers(&self, context: &mut Context, remote: &mut Remote) -> Result<Vec<u8>, Abort> {
        let exchanges = context.config.exchanges_markers()?;
        if !exchanges || context.repo.repository()?.count_markers()? == 0 {
            return Ok(Vec::new());
        }
        if !takes_markers(remote)? {
            return Ok(Vec::new());
        }
        let changelog = self.view.changelog();
        let below = self.view.missing_ancestors(&self.future(), &[]);
        let nodes: Vec<Node> = below.into_iter().map(|rev| changelog.node(rev)).collect();
        Ok(self.all.relevant_markers(&nodes)?)
    }

    /// The newest changesets that both sides have once everything is sent.
    fn future(&self) -> Vec<Rev> {
        let all = self.common.iter().chain(&self.outgoing.missing);
        let all: BTreeSet<Rev> = all.copied().collect();
        let parents = |rev: &Rev| self.view.changelog().parents(*rev).into_iter().flatten();
        let followed: BTreeSet<Rev> = self.outgoing.missing.iter().flat_map(parents).collect();
        all.difference(&followed).copied().collect()
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
