//! `clone`: a repository out of another one; this file makes those out of one on this machine.

mod bundles;
mod remote;
mod to_ssh;

use crate::arguments::{Flag, INSECURE, Matches, REMOTECMD, SSH};
use crate::commands::exchange::exchanged::{BRANCH, REV};
use crate::commands::local::update;
use crate::context::{Category, Command};
use crate::context::{Context, disk};
use crate::remote::PeerAddress;
use crate::remote::peers;
use crate::ui::Abort;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_exchange::apply::{InstabilityChange, InstabilitySnapshot};
use varve_repo::{
    CloneCounts, DEFAULT_BRANCH, Evolution, LockKind, Node, RepoView, Repository, Rev, ViewFilter,
    WriteOptions,
};
use varve_workdir::{Dirstate, LocalChanges};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["clone"],
    options: &[
        Flag::flag(
            'U',
            "noupdate",
            "leave the working directory of the clone empty",
        ),
        Flag::value(
            'u',
            "updaterev",
            "REV",
            "what the working directory is updated to",
        ),
        REV,
        BRANCH,
        Flag::long_flag(
            "pull",
            "read and write every revision instead of sharing files",
        ),
        Flag::long_flag("stream", "copy the store's files as they are"),
        SSH,
        REMOTECMD,
        INSECURE,
    ],
    arguments: 1..=2,
    synopsis: "[OPTION]... SOURCE [DEST]",
    summary: "make a copy of an existing repository",
    help: "Makes a repository in DEST, by default in a directory of the same name as SOURCE. Store \
           files are shared by hard links until one of both repositories writes to them; where \
           some changesets must not come along, and with --pull, --rev or --branch, revisions are \
           copied one by one.\n\n\
           The working directory is updated to REV, else to the bookmark @, else to the newest \
           changeset of the branch default. SOURCE becomes the path `default`.\n\n\
           SOURCE is a directory of this machine or a URL of http, https or ssh, see 'hg help pull'. \
           DEST may be a URL of ssh if SOURCE is on this machine: then what SOURCE has that is not \
           secret is pushed to a new repository there.\n\n\
           Ends with 0.",
    category: Some(Category::Creation),
    run,
};

/// Hooks that Mercurial calls for a clone, and that are not called here.
const UNHEARD: &[&str] = &[
    "preoutgoing",
    "outgoing",
    "prelistkeys",
    "listkeys",
    "pretxnopen",
    "prechangegroup",
    "pretxnchangegroup",
    "pretxnclose-bookmark",
    "pretxnclose-phase",
    "pretxnclose",
    "txnclose-bookmark",
    "txnclose-phase",
    "txnclose",
    "changegroup",
    "incoming",
];

/// What is to be done.
struct ClonePlan {
    source: PathBuf,
    target: PathBuf,
    /// Changesets that were asked for; all if there are none.
    heads: Vec<Rev>,
    /// What the working copy becomes.
    update: Checkout,
    pull: bool,
    link: bool,
    publishing: bool,
}

enum Checkout {
    Nothing,
    To(Node),
    Default,
}

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    if matches.flag("noupdate") && matches.value("updaterev").is_some() {
        return Err(Abort::new("cannot specify both --noupdate and --updaterev"));
    }
    if let Some(typed) = matches.arguments().first() {
        let mut sources = peers::sources(context, typed)?;
        let source = sources.pop();
        let other = source.filter(|it| it.is_elsewhere() || it.is_bundle(context));
        if let Some(target) = matches.arguments().get(1).filter(|it| is_url(it)) {
            return to_url(context, matches, (other, target));
        }
        if let Some(source) = other {
            return remote::run(context, matches, source);
        }
    }
    let plan = plan(context, matches)?;
    context.repo.refuse_hooks("clone", UNHEARD)?;
    context.ui.guard.writes();
    let made_directory = !plan.target.exists();
    let outcome = clone(context, &plan);
    if outcome.is_err() {
        // An incomplete clone is useless.
        let _ = std::fs::remove_dir_all(plan.target.join(".hg"));
        if made_directory {
            let _ = std::fs::remove_dir(&plan.target);
        }
    }
    let target = outcome?;
    check_out(context, matches, (&plan.update, &plan.target), &target)?;
    Ok(0)
}

/// Makes the clone on another machine.
fn to_url(
    context: &mut Context,
    matches: &Matches,
    (other, target): (Option<PeerAddress>, &[u8]),
) -> Result<u8, Abort> {
    let other = other
        .map(|source| peers::connect(context, &source))
        .transpose()?;
    refuse_http(target)?;
    if other.is_some() {
        to_ssh::create(context, target)?;
        return Err(Abort::new("clone from remote to remote not supported"));
    }
    to_ssh::run(context, matches, target)?;
    Ok(0)
}

/// Whether something typed leads to another machine.
fn is_url(typed: &[u8]) -> bool {
    let schemes = [&b"ssh://"[..], b"http://", b"https://"];
    schemes.iter().any(|scheme| typed.starts_with(scheme))
}

/// No protocol makes repositories over HTTP.
pub(crate) fn refuse_http(target: &[u8]) -> Result<(), Abort> {
    match target.starts_with(b"http") && is_url(target) {
        true => Err(Abort::new("cannot create new http repository")),
        false => Ok(()),
    }
}

fn plan(context: &mut Context, matches: &Matches) -> Result<ClonePlan, Abort> {
    let [source, rest @ ..] = matches.arguments() else {
        return Err(Abort::new("no repository to clone"));
    };
    let typed_source = local_path(source)?;
    context.repo.switch_to(typed_source);
    let source = context.repo.root()?.to_owned();
    let target = match rest.first() {
        Some(target) => local_path(target)?.to_vec(),
        None => {
            let name = Path::new(OsStr::from_bytes(typed_source)).file_name();
            let name = name.unwrap_or_default().as_bytes().to_vec();
            if !name.is_empty() {
                context
                    .ui
                    .status([b"destination directory: ", &name[..], b"\n"].concat())?;
            }
            name
        }
    };
    let target_path = free_directory(context, &target)?;
    let publishing = context.is_publishing()?;
    let view = context.repo.view()?;
    let mut heads = Vec::new();
    for branch in matches.list("branch") {
        heads.extend(heads_of(&view, branch)?);
    }
    for rev in matches.list("rev") {
        heads.extend(context.repo.revision(&mut context.ui, Some(rev))?);
    }
    let first = match (matches.list("rev").first(), matches.list("branch").first()) {
        (Some(rev), _) => context.repo.revision(&mut context.ui, Some(rev))?,
        (None, Some(branch)) => heads_of(&view, branch)?.last().copied(),
        (None, None) => None,
    };
    let update = match (matches.value("updaterev"), first) {
        _ if matches.flag("noupdate") => Checkout::Nothing,
        (Some(rev), _) => match context.repo.revision(&mut context.ui, Some(rev))? {
            Some(rev) => Checkout::To(view.changelog().node(rev)),
            None => Checkout::Nothing,
        },
        (None, Some(rev)) => Checkout::To(view.changelog().node(rev)),
        (None, None) => Checkout::Default,
    };
    let pull = matches.flag("pull") || !heads.is_empty();
    Ok(ClonePlan {
        source,
        target: target_path,
        heads,
        update,
        pull,
        link: !matches.flag("stream"),
        publishing,
    })
}

/// A path of this machine.
fn local_path(typed: &[u8]) -> Result<&[u8], Abort> {
    if let Some(path) = typed.strip_prefix(b"file:") {
        return Ok(path.strip_prefix(b"//").unwrap_or(path));
    }
    if typed.starts_with(b"union:") {
        let typed = String::from_utf8_lossy(typed);
        return Err(Abort::new(format!("cannot clone from or to {typed}")));
    }
    Ok(typed)
}

fn free_directory(context: &Context, typed: &[u8]) -> Result<PathBuf, Abort> {
    if typed.is_empty() {
        return Err(Abort::new("empty destination path is not valid"));
    }
    let path = context.repo.cwd.join(Path::new(OsStr::from_bytes(typed)));
    let shown = String::from_utf8_lossy(typed);
    if path.is_dir() {
        let mut entries = std::fs::read_dir(&path).map_err(|e| Abort::file(&e, &path))?;
        if entries.next().is_some() {
            return Err(Abort::new(format!("destination '{shown}' is not empty")));
        }
    } else if path.exists() {
        return Err(Abort::new(format!("destination '{shown}' already exists")));
    }
    // Without dots, because it will stand in messages and in other repositories' paths.
    std::path::absolute(&path).map_err(|e| Abort::file(&e, &path))
}

fn heads_of(view: &RepoView, branch: &[u8]) -> Result<Vec<Rev>, Abort> {
    let branches = view.branchmap()?;
    let heads = branches.get(branch).map(|heads| heads.heads.clone());
    heads.ok_or_else(|| {
        let branch = String::from_utf8_lossy(branch);
        Abort::new(format!("unknown branch '{branch}'"))
    })
}

fn clone(context: &mut Context, plan: &ClonePlan) -> Result<Repository, Abort> {
    let source = context.repo.repository()?;
    let others = source.view_for(ViewFilter::Served)?;
    let bookmarks = others.bookmarks().clone();
    let target = if plan.pull || !source.can_clone_by_copying()? {
        pull(context, plan, &source, &others)?
    } else {
        let lock = context.repo.lock(&mut context.ui, LockKind::Store)?;
        let work = (context.ui.progress.as_ref(), &context.ui.stop);
        let how = (plan.link, !plan.publishing);
        source.clone_by_copying(&lock, &plan.target, how, work.0, work.1)?
    };
    let view = target.view_for(ViewFilter::Unfiltered)?;
    let known = |(_, node): &(Vec<u8>, Node)| view.changelog().rev(node).is_some();
    let bookmarks: BTreeMap<_, _> = bookmarks.into_iter().filter(known).collect();
    let mut lines = Vec::new();
    for (name, node) in &bookmarks {
        lines.extend_from_slice(&[&node.to_hex()[..], b" ", name, b"\n"].concat());
    }
    let hg = plan.target.join(".hg");
    let write = |name: &str, bytes: &[u8]| {
        let path = hg.join(name);
        std::fs::write(&path, bytes).map_err(|e| Abort::file(&e, path))
    };
    if !lines.is_empty() {
        write("bookmarks", &lines)?;
    }
    let source = plan.source.as_os_str().as_bytes();
    write("hgrc", &[b"[paths]\ndefault = ", source, b"\n"].concat())?;
    Ok(Repository::open(disk(), &plan.target)?)
}

fn pull(
    context: &mut Context,
    plan: &ClonePlan,
    source: &Repository,
    others: &Arc<RepoView>,
) -> Result<Repository, Abort> {
    let settings = context.config.storage_settings()?;
    let write = settings.write_options(source.requirements());
    let all = plan.heads.is_empty();
    let heads = if all {
        others.heads()
    } else {
        plan.heads.clone()
    };
    if let Some(secret) = heads.iter().find(|head| !others.is_visible(**head)) {
        let node = others.changelog().node(*secret).to_string();
        let message = format!(
            "filtered revision '{}' (not in 'served' subset)",
            &node[..12]
        );
        return Err(Abort::new(message));
    }
    let steps = [
        "adding changesets",
        "adding manifests",
        "adding file changes",
    ];
    if all && !heads.is_empty() {
        context.ui.status("requesting all changes\n")?;
    }
    for step in steps.iter().filter(|_| !heads.is_empty()) {
        context.ui.status(format!("{step}\n"))?;
    }
    let work = (context.ui.progress.as_ref(), &context.ui.stop);
    let (target, pulled) = source.clone_revisions(others, &plan.target, &heads, write, work)?;
    if !plan.publishing {
        take_drafts(others, &target)?;
    }
    let changes = take_markers(context, others, (&target, write))?;
    tell_pulled(context, &target, &pulled, &changes)?;
    Ok(target)
}

/// Where markers may go from one repository to the other, those of the source come along; gives
/// what is to be told of them.
fn take_markers(
    context: &mut Context,
    others: &RepoView,
    (target, write): (&Repository, WriteOptions),
) -> Result<Vec<(String, bool)>, Abort> {
    let of_source = Evolution::read(&context.config_of_repository()?).map_err(Abort::Setting)?;
    if !of_source.exchange || !context.config.new_exchanges_markers()? {
        return Ok(Vec::new());
    }
    let view = target.view_for(ViewFilter::Unfiltered)?;
    let nodes = view
        .changelog()
        .revs()
        .map(|rev| view.changelog().node(rev));
    let markers = others.relevant_markers(&nodes.collect::<Vec<_>>())?;
    if markers.is_empty() {
        return Ok(Vec::new());
    }
    let before = InstabilitySnapshot::of(target)?;
    let mut receiver = target.receive(target.try_lock(LockKind::Store)?, write, "clone")?;
    let count = receiver.markers(&markers)?;
    drop(receiver.finish()?);
    let mut changes = vec![(format!("{count} new obsolescence markers\n"), false)];
    for changed in before.changes_since(target)? {
        if let InstabilityChange::Unstable { .. } = changed {
            changes.push((changed.to_string(), true));
        }
    }
    Ok(changes)
}

/// The source does not publish: its drafts are drafts in the clone.
fn take_drafts(others: &RepoView, target: &Repository) -> Result<(), Abort> {
    let view = target.view_for(ViewFilter::Unfiltered)?;
    let mut text = String::new();
    for (phase, rev) in others.phases().roots() {
        let node = others.changelog().node(*rev);
        if view.changelog().rev(&node).is_some() {
            text += &format!("{} {node}\n", phase.number());
        }
    }
    let mut transaction = target.try_transaction("clone")?;
    transaction.replace(varve_repo::BaseDir::Store, b"phaseroots", text.into_bytes());
    Ok(transaction.finish()?)
}

fn tell_pulled(
    context: &mut Context,
    target: &Repository,
    pulled: &CloneCounts,
    changes: &[(String, bool)],
) -> Result<(), Abort> {
    let CloneCounts {
        changesets,
        revisions,
        files,
    } = pulled;
    if *changesets == 0 {
        return context.ui.status("no changes found\n");
    }
    let view = target.view_for(ViewFilter::Unfiltered)?;
    // A closed head counts as none, and an empty repository as one.
    let mut more = -1;
    for head in view.heads() {
        more += i64::from(!view.with_changeset(head, |changeset| changeset.closes_branch())?);
    }
    let heads = match more {
        0 => String::new(),
        more => format!(" ({more:+} heads)"),
    };
    context.ui.status(format!(
        "added {changesets} changesets with {revisions} changes to {files} files{heads}\n"
    ))?;
    for (line, is_warning) in changes {
        match is_warning {
            true => context.ui.warn(line)?,
            false => context.ui.status(line)?,
        }
    }
    let short = |rev: u32| view.changelog().node(Rev(rev)).to_string()[..12].to_owned();
    let last = *changesets as u32 - 1;
    let drafts = view
        .changelog()
        .revs()
        .filter(|rev| view.phases().of(*rev).number() > 0);
    let drafts = match drafts.count() {
        0 => String::new(),
        drafts => format!(" ({drafts} drafts)"),
    };
    let range = if last == 0 {
        short(0)
    } else {
        format!("{}:{}", short(0), short(last))
    };
    context
        .ui
        .status(format!("new changesets {range}{drafts}\n"))
}

/// Fills the clone's working copy.
fn check_out(
    context: &mut Context,
    matches: &Matches,
    (update, directory): (&Checkout, &Path),
    target: &Repository,
) -> Result<(), Abort> {
    let view = target.view_for(ViewFilter::Visible)?;
    let at = b"@".to_vec();
    let (rev, bookmark) = match update {
        Checkout::Nothing => return Ok(()),
        Checkout::To(node) => (view.changelog().rev(node), None),
        Checkout::Default => match view.bookmarks().get(&at) {
            Some(node) => (view.changelog().rev(node), Some(at)),
            None => {
                let branch = view.branchmap()?.get(DEFAULT_BRANCH).and_then(|b| b.tip());
                (branch.or(view.tip()), None)
            }
        },
    };
    let branch = match rev {
        Some(rev) => view.with_changeset(rev, |changeset| changeset.branch().into_owned())?,
        None => DEFAULT_BRANCH.to_vec(),
    };
    context.ui.status(match &bookmark {
        Some(name) => [b"updating to bookmark ", &name[..], b"\n"].concat(),
        None => [b"updating to branch ", &branch[..], b"\n"].concat(),
    })?;
    context.repo.move_hooks(directory);
    let parents = [view.changelog().node_or_null(rev), Node::NULL];
    let lock = target.try_lock(LockKind::WorkingCopy)?;
    context.repo.before_update(&mut context.ui, &parents)?;
    let mut dirstate = Dirstate::read(target)?;
    let updated = update::go_to(
        context,
        matches,
        (target, &view),
        &mut dirstate,
        rev,
        LocalChanges::Keep,
    )?;
    varve_workdir::set_branch(target, &branch)?;
    if let Some(name) = &bookmark {
        varve_workdir::set_active_bookmark(target, Some(name))?;
    }
    context.repo.after_update(&mut context.ui, &parents, 0)?;
    drop(lock);
    update::report(context, &updated).map(drop)
}
