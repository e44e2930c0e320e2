//! `clone`: a repository out of another one; this file makes those out of one on this machine.

mod bundles;
mod hooks;
mod remote;
mod to_ssh;

use crate::arguments::{Flag, INSECURE, Matches, REMOTECMD, SSH};
use crate::commands::exchange::exchanged::{BRANCH, REV};
use crate::commands::local::init::{requirements_around_store, requirements_of_new};
use crate::commands::local::update;
use crate::context::{Category, Command, Config, Context, Repo, disk};
use crate::remote::PeerAddress;
use crate::remote::outgoing;
use crate::remote::peers;
use crate::ui::{Abort, Ui, short_hex};
use hooks::SourceHooks;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_exchange::client::local_clone::{CloneSummary, CopiedMarkers, copy_markers};
use varve_repo::{
    CloneCounts, DEFAULT_BRANCH, Evolution, LockKind, Node, OpenOptions, RepoView, Repository, Rev,
    ViewFilter,
};
use varve_workdir::{Destination, DestinationBookmark, Dirstate, LocalChanges};

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
        Flag::long_flag("uncompressed", "the same as --stream (DEPRECATED)"),
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
           Ends with 0; with 1 if subrepositories were left out.",
    category: Some(Category::Creation),
    run,
};

/// Refuses the setting with which Mercurial's extension makes shares of a common store instead of clones.
fn refuse_pools(config: &Config) -> Result<(), Abort> {
    let extension = config.get("extensions", "share");
    let is_on = extension.is_some_and(|value| !value.starts_with(b"!"));
    match config.get("share", "pool") {
        Some(pool) if is_on && !pool.is_empty() => {
            Err(Abort::new("share.pool is not supported").hint("clone once, and use 'hg share'"))
        }
        _ => Ok(()),
    }
}

/// A clone of a repository of this machine.
struct ClonePlan {
    /// The source for the configuration of the clone, with the branch behind `#`.
    address: Vec<u8>,
    target: PathBuf,
    /// Requested changesets; `None` for all.
    heads: Option<Vec<Rev>>,
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
    let Context {
        repo, ui, config, ..
    } = context;
    if matches.flag("noupdate") && matches.value("updaterev").is_some() {
        return Err(Abort::input(
            "cannot specify both --noupdate and --updaterev",
        ));
    }
    refuse_pools(config)?;
    if let Some(typed) = matches.arguments().first() {
        let mut sources = peers::sources(repo, ui, config, typed)?;
        let mut source = sources.pop();
        let other = source.take_if(|it| it.is_elsewhere() || it.is_bundle(repo));
        if let Some(target) = matches.arguments().get(1).filter(|it| is_url(it)) {
            return to_url(repo, ui, config, matches, (other, target));
        }
        if let Some(source) = other {
            return remote::run(repo, ui, config, matches, source);
        }
        if let Some(source) = source {
            let asked = (&source, takes_revisions(matches, &source));
            if hooks::asks_for_pull(repo, ui, config, asked)? {
                return remote::run(repo, ui, config, matches, source);
            }
        }
    }
    let plan = plan(repo, ui, config, matches)?;
    let copies = !plan.pull && repo.repository()?.can_clone_by_copying()?;
    let source_hooks = SourceHooks::read(repo, ui, config, copies)?;
    ui.guard.writes();
    ui.guard.clone.begin(&plan.target);
    let outcome = clone(repo, ui, config, &plan, copies.then_some(&source_hooks));
    let target = keep_or_remove(ui, outcome)?;
    check_out(
        repo,
        ui,
        config,
        matches,
        (&plan.update, &plan.target),
        &target,
    )
}

/// Makes the clone on another machine.
fn to_url(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    (other, target): (Option<PeerAddress>, &[u8]),
) -> Result<u8, Abort> {
    let other = other
        .map(|source| peers::connect(repo, ui, config, &source))
        .transpose()?;
    refuse_http(target)?;
    if other.is_some() {
        to_ssh::create(repo, ui, config, target)?;
        return Err(Abort::input("clone from remote to remote not supported"));
    }
    to_ssh::run(repo, ui, config, matches, target)?;
    Ok(0)
}

/// True if revisions are taken out of a repository of this machine one by one, because the call says so.
fn takes_revisions(matches: &Matches, source: &PeerAddress) -> bool {
    let names_some = |name: &str| !matches.list(name).is_empty();
    matches.flag("pull") || names_some("rev") || names_some("branch") || source.branch.is_some()
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

fn plan(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
) -> Result<ClonePlan, Abort> {
    let [source, rest @ ..] = matches.arguments() else {
        return Err(Abort::input("no repository to clone"));
    };
    let (typed_source, fragment) = split_fragment(local_path(source)?);
    repo.switch_to(typed_source);
    let source = repo.root()?.to_owned();
    let mut address = source.as_os_str().as_bytes().to_vec();
    if let Some(fragment) = fragment {
        address.extend([b"#", fragment].concat());
    }
    let target = match rest.first() {
        Some(target) => local_path(target)?.to_vec(),
        None => {
            let name = Path::new(OsStr::from_bytes(typed_source)).file_name();
            let name = name.unwrap_or_default().as_bytes().to_vec();
            if !name.is_empty() {
                ui.status([b"destination directory: ", &name[..], b"\n"].concat())?;
            }
            name
        }
    };
    let target_path = free_directory(&repo.cwd, &target)?;
    let publishing = config.is_publishing(repo, ui)?;
    let view = repo.view()?;
    let (heads, first) = requested(repo, ui, matches, &view, fragment)?;
    let names_some = fragment.is_some()
        || ["rev", "branch"]
            .iter()
            .any(|name| !matches.list(name).is_empty());
    // The null changeset is named like any other, and is no head.
    let heads = names_some.then_some(heads);
    let update = match (matches.value("updaterev"), first) {
        _ if matches.flag("noupdate") => Checkout::Nothing,
        (Some(rev), _) => match repo.revision(ui, Some(rev))? {
            Some(rev) => Checkout::To(view.changelog().node(rev)),
            None => Checkout::Nothing,
        },
        (None, Some(rev)) => Checkout::To(view.changelog().node(rev)),
        (None, None) => Checkout::Default,
    };
    let pull = matches.flag("pull") || heads.is_some();
    Ok(ClonePlan {
        address,
        target: target_path,
        heads,
        update,
        pull,
        link: !is_streamed(matches),
        publishing,
    })
}

/// The changesets that `-b`, `-r` and the branch or changeset behind `#` ask for, and the one of them that the
/// working copy is updated to.
fn requested(
    repo: &mut Repo,
    ui: &mut Ui,
    matches: &Matches,
    view: &RepoView,
    fragment: Option<&[u8]>,
) -> Result<(Vec<Rev>, Option<Rev>), Abort> {
    let (branches, revs) = (matches.list("branch"), matches.list("rev"));
    let mut heads = Vec::new();
    for branch in &branches {
        heads.extend(heads_of(view, branch)?);
    }
    for rev in &revs {
        heads.extend(repo.revision(ui, Some(rev))?);
    }
    let of_fragment = match fragment {
        Some(fragment) => outgoing::branch_heads(repo, ui, view, fragment)?,
        None => Vec::new(),
    };
    let first = match (revs.first(), branches.first()) {
        (Some(rev), _) => repo.revision(ui, Some(rev))?,
        (None, Some(branch)) => heads_of(view, branch)?.last().copied(),
        (None, None) => of_fragment.last().copied(),
    };
    heads.extend(of_fragment);
    Ok((heads, first))
}

/// A path, and what stands behind its last `#`.
fn split_fragment(path: &[u8]) -> (&[u8], Option<&[u8]>) {
    let hash = path.iter().rposition(|byte| *byte == b'#');
    match hash {
        Some(hash) => {
            let fragment = &path[hash + 1..];
            (&path[..hash], Some(fragment).filter(|it| !it.is_empty()))
        }
        None => (path, None),
    }
}

/// `--stream`, by its name of today or the old one.
fn is_streamed(matches: &Matches) -> bool {
    matches.flag("stream") || matches.flag("uncompressed")
}

/// The user's choice to stream files or not; `None` leaves it to the server.
fn streams(matches: &Matches) -> Option<bool> {
    match is_streamed(matches) {
        true => Some(true),
        false => matches.flag("pull").then_some(false),
    }
}

/// A path of this machine.
fn local_path(typed: &[u8]) -> Result<&[u8], Abort> {
    if let Some(path) = typed.strip_prefix(b"file:") {
        return Ok(path.strip_prefix(b"//").unwrap_or(path));
    }
    if typed.starts_with(b"union:") {
        let typed = String::from_utf8_lossy(typed);
        return Err(Abort::input(format!("cannot clone from or to {typed}")));
    }
    Ok(typed)
}

/// The path of the new repository, whose directory must be empty or absent.
fn free_directory(cwd: &Path, typed: &[u8]) -> Result<PathBuf, Abort> {
    if typed.is_empty() {
        return Err(Abort::input("empty destination path is not valid"));
    }
    let path = cwd.join(Path::new(OsStr::from_bytes(typed)));
    let shown = String::from_utf8_lossy(typed);
    if path.is_dir() {
        let mut entries = std::fs::read_dir(&path).map_err(|e| Abort::file(&e, &path))?;
        if entries.next().is_some() {
            return Err(Abort::input(format!("destination '{shown}' is not empty")));
        }
    } else if path.exists() {
        return Err(Abort::input(format!(
            "destination '{shown}' already exists"
        )));
    }
    // Without dots, because it will stand in messages and in other repositories' paths.
    std::path::absolute(&path).map_err(|e| Abort::file(&e, &path))
}

fn heads_of(view: &RepoView, branch: &[u8]) -> Result<Vec<Rev>, Abort> {
    let branches = view.branchmap()?;
    let heads = branches.get(branch).map(|heads| heads.heads.clone());
    heads.ok_or_else(|| {
        let branch = String::from_utf8_lossy(branch);
        Abort::input(format!("unknown branch '{branch}'"))
    })
}

/// Removes a clone that has not become whole; that of a large one takes as long as its files are many.
fn keep_or_remove<T>(ui: &mut Ui, outcome: Result<T, Abort>) -> Result<T, Abort> {
    let clone = ui.guard.clone.clone();
    if outcome.is_ok() {
        clone.finish();
        return outcome;
    }
    if ui.guard.words().is_some() {
        // Nothing changes if standard error is gone.
        let _ = ui.warn("removing the incomplete clone\n");
    }
    clone.remove_then(|| ());
    outcome
}

fn clone(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    plan: &ClonePlan,
    copied_with: Option<&SourceHooks>,
) -> Result<Repository, Abort> {
    let source = repo.repository()?;
    let others = source.view_for(ViewFilter::Served)?;
    let target = if let Some(hooks) = copied_with {
        hooks.before_copy(ui)?;
        let lock = repo.lock(ui, LockKind::Store)?;
        let work = (ui.progress.as_ref(), &ui.stop);
        let how = (plan.link, !plan.publishing);
        let requirements = source
            .requirements()
            .of_copy(&requirements_around_store(config)?);
        let place = (plan.target.as_path(), &requirements);
        source.clone_by_copying(&lock, place, how, work.0, work.1)?
    } else {
        pull(repo, ui, config, plan, &source, &others)?
    };
    target.copy_bookmarks(others.bookmarks())?;
    target.write_configuration_of_clone(&plan.address)?;
    if let Some(hooks) = copied_with {
        hooks.after_copy(ui)?;
    }
    Ok(Repository::open(disk(), &plan.target)?)
}

fn pull(
    repo: &Repo,
    ui: &mut Ui,
    config: &Config,
    plan: &ClonePlan,
    source: &Repository,
    others: &RepoView,
) -> Result<Repository, Abort> {
    let settings = config.storage_settings()?;
    let requirements = requirements_of_new(config)?;
    let write = settings.write_options(&requirements);
    let all = plan.heads.is_none();
    let heads = plan.heads.clone().unwrap_or_else(|| others.heads());
    others.check_visible(&heads)?;
    print_steps(ui, all, heads.is_empty())?;
    let work = (ui.progress.as_ref(), &ui.stop);
    let place = (plan.target.as_path(), &requirements);
    let (target, counts) = source.clone_revisions(others, place, &heads, write, work)?;
    if !plan.publishing {
        target.copy_phases(others)?;
    }
    let markers = match exchanges_markers(repo, ui, config)? {
        true => copy_markers(others, &target, write)?,
        false => None,
    };
    print_pulled(ui, &target, &counts, markers.as_ref())?;
    Ok(target)
}

/// Whether obsolescence markers may go from the source to a repository with its own configuration.
fn exchanges_markers(repo: &Repo, ui: &mut Ui, config: &Config) -> Result<bool, Abort> {
    let of_source = Evolution::read(&config.of_repository(repo, ui)?).map_err(Abort::Setting)?;
    Ok(of_source.exchange && config.new_exchanges_markers()?)
}

/// Prints the steps of a clone that copies revisions.
fn print_steps(ui: &mut Ui, all: bool, is_empty: bool) -> Result<(), Abort> {
    if is_empty {
        return Ok(());
    }
    if all {
        ui.status("requesting all changes\n")?;
    }
    for step in ["changesets", "manifests", "file changes"] {
        ui.status(format!("adding {step}\n"))?;
    }
    Ok(())
}

/// Prints the counts of a clone that copies revisions.
fn print_pulled(
    ui: &mut Ui,
    target: &Repository,
    counts: &CloneCounts,
    markers: Option<&CopiedMarkers>,
) -> Result<(), Abort> {
    let Some(summary) = CloneSummary::of(target)? else {
        return ui.status("no changes found\n");
    };
    let CloneCounts {
        changesets,
        revisions,
        files,
    } = counts;
    let heads = match summary.more_heads {
        0 => String::new(),
        more => format!(" ({more:+} heads)"),
    };
    ui.status(format!(
        "added {changesets} changesets with {revisions} changes to {files} files{heads}\n"
    ))?;
    if let Some(copied) = markers {
        ui.status(format!("{} new obsolescence markers\n", copied.markers))?;
        for change in &copied.unstable {
            ui.warn(change.to_string())?;
        }
    }
    let mut range = short_hex(&summary.first);
    if summary.first != summary.last {
        range = format!("{range}:{}", short_hex(&summary.last));
    }
    let drafts = match summary.drafts {
        0 => String::new(),
        drafts => format!(" ({drafts} drafts)"),
    };
    ui.status(format!("new changesets {range}{drafts}\n"))
}

/// Fills the clone's working copy, and returns the exit code.
fn check_out(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    (update, directory): (&Checkout, &Path),
    target: &Repository,
) -> Result<u8, Abort> {
    let opening = OpenOptions {
        filters: config.clone_filters(directory)?,
        ..OpenOptions::default()
    };
    let target = &Repository::open_with(Arc::clone(target.storage()), directory, opening)?;
    let view = target.view_for(ViewFilter::Visible)?;
    let destination = match update {
        Checkout::Nothing => return Ok(0),
        Checkout::To(node) => Destination {
            rev: view.changelog().rev(node),
            bookmark: None,
        },
        Checkout::Default => varve_workdir::clone_destination(&view)?,
    };
    print_destination(ui, &view, &destination)?;
    repo.move_hooks(directory);
    let parents = [view.changelog().node_or_null(destination.rev), Node::NULL];
    let lock = target.try_lock(LockKind::WorkingCopy)?;
    repo.before_update(ui, &parents)?;
    let mut dirstate = Dirstate::read(target)?;
    let updated = update::go_to(
        ui,
        config,
        matches,
        (target, &view),
        &mut dirstate,
        destination.rev,
        LocalChanges::Keep,
    )?;
    if let Some(name) = followed(matches, &view, &destination) {
        varve_workdir::set_active_bookmark(target, Some(name))?;
    }
    repo.after_update(ui, &parents, 0)?;
    drop(lock);
    update::report(ui, &updated)?;
    match update::print_left_out(ui, &view, destination.rev)? {
        true => Ok(0),
        false => Ok(update::UNRESOLVED),
    }
}

/// The bookmark that becomes the active one: that of `--updaterev`, or the one that the clone was updated to by itself.
fn followed<'a>(
    matches: &'a Matches,
    view: &RepoView,
    destination: &'a Destination,
) -> Option<&'a [u8]> {
    let typed = matches.value("updaterev");
    match &destination.bookmark {
        _ if typed.is_some() => typed.filter(|name| view.bookmarks().contains_key(*name)),
        Some(DestinationBookmark::Follows(name)) => Some(name),
        _ => None,
    }
}

/// Prints the bookmark or else the branch that the working copy is updated to.
fn print_destination(ui: &mut Ui, view: &RepoView, destination: &Destination) -> Result<(), Abort> {
    if let Some(DestinationBookmark::Follows(name)) = &destination.bookmark {
        return ui.status([b"updating to bookmark ", &name[..], b"\n"].concat());
    }
    let branch = match destination.rev {
        Some(rev) => view.with_changeset(rev, |changeset| changeset.branch().into_owned())?,
        None => DEFAULT_BRANCH.to_vec(),
    };
    ui.status([b"updating to branch ", &branch[..], b"\n"].concat())
}
