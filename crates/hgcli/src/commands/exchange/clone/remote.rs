//! Clones of repositories on other machines: an empty repository that pulls.

use super::{Checkout, bundles, check_out, free_directory, keep_or_remove};
use crate::arguments::Matches;
use crate::commands::exchange::pull::{PullRequest, apply, bring, heads_of_branches};
use crate::commands::local::init::requirements_of_new;
use crate::context::disk;
use crate::context::{Config, Repo};
use crate::remote::PeerAddress;
use crate::remote::incoming;
use crate::remote::incoming::ApplyMode;
use crate::remote::peers;
use crate::ui::{Abort, Ui};
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use varve_exchange::apply::PullContext;
use varve_exchange::client::peer::{Remote, StreamSupport};
use varve_exchange::client::pull::BundleRequest;
use varve_repo::{LockKind, Node, Repository};

/// A clone to be made.
struct ClonePlan {
    source: PeerAddress,
    target: PathBuf,
    wanted: PullRequest,
    /// Files of the store are taken, if all of it is wanted and they can be; `None` leaves it to the server.
    streamed: Option<bool>,
    update: Checkout,
}

/// Clones the repository at a URL.
pub(super) fn run(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    source: PeerAddress,
) -> Result<u8, Abort> {
    let mut remote = peers::connect(repo, ui, config, &source)?;
    let target = target(ui, matches, &source)?;
    let target = free_directory(&repo.cwd, &target)?;
    let mut wanted = PullRequest {
        heads: heads_of_branches(repo, matches, &source, &mut remote)?,
        is_clone: true,
        ..PullRequest::default()
    };
    let branch = wanted.heads.last().copied();
    let mut first = None;
    for rev in matches.list("rev") {
        let node = remote.lookup(rev)?;
        first.get_or_insert(node);
        wanted.heads.push(node);
    }
    let update = update(matches, &mut remote, first.or(branch))?;
    let plan = ClonePlan {
        streamed: super::streams(matches),
        source,
        target,
        wanted,
        update,
    };
    ui.guard.writes();
    ui.guard.clone.begin(&plan.target);
    let outcome = fill(repo, ui, config, &plan, &mut remote);
    keep_or_remove(ui, outcome)?;
    repo.run_queued_hooks(ui)?;
    let repository = repo.repository()?;
    check_out(
        repo,
        ui,
        config,
        matches,
        (&plan.update, &plan.target),
        &repository,
    )
}

/// The directory that was typed, or else the last word of the URL.
fn target(ui: &mut Ui, matches: &Matches, source: &PeerAddress) -> Result<Vec<u8>, Abort> {
    if let [_, target, ..] = matches.arguments() {
        return Ok(target.clone());
    }
    let host = if source.is_elsewhere() { 3 } else { 0 };
    let behind = source.url.split(|byte| *byte == b'/').skip(host);
    let name = behind.filter(|word| !word.is_empty()).last();
    let name = name.unwrap_or_default().to_vec();
    if !name.is_empty() {
        ui.status([b"destination directory: ", &name[..], b"\n"].concat())?;
    }
    Ok(name)
}

fn update(matches: &Matches, remote: &mut Remote, first: Option<Node>) -> Result<Checkout, Abort> {
    if matches.flag("noupdate") {
        return Ok(Checkout::Nothing);
    }
    let typed = match matches.value("updaterev") {
        Some(rev) => Some(remote.lookup(rev)?),
        None => first,
    };
    Ok(match typed {
        Some(node) => Checkout::To(node),
        None => Checkout::Default,
    })
}

/// Makes the repository and pulls into it.
fn fill(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    plan: &ClonePlan,
    remote: &mut Remote,
) -> Result<(), Abort> {
    let target = Repository::create_as(disk(), &plan.target, &requirements_of_new(config)?)?;
    repo.switch_to(plan.target.as_os_str().as_bytes());
    repo.move_hooks(&plan.target);
    let everything = plan.wanted.heads.is_empty();
    let asked = plan.streamed == Some(true);
    let begun = everything && bundles::begin(repo, ui, config, &plan.source, remote, asked)?;
    let prefers = || plan.source.is_elsewhere() && remote.capabilities().has("stream-preferred");
    let streamed = everything && !begun && plan.streamed.unwrap_or_else(prefers);
    if streamed && may_stream(ui, &plan.source, remote)? {
        stream(repo, ui, config, &plan.source, remote)?;
    } else {
        let pair = (remote, &plan.wanted);
        let arrival = bring(repo, ui, config, &plan.source, pair, true)?;
        incoming::print_arrival(repo, ui, &arrival)?;
    }
    let address = plan.source.of_clone(repo);
    Ok(target.write_configuration_of_clone(&address)?)
}

/// Whether the server streams files that this program can read; warns if not.
fn may_stream(ui: &mut Ui, source: &PeerAddress, remote: &Remote) -> Result<bool, Abort> {
    let support = match source.is_elsewhere() {
        true => remote.capabilities().stream_support(),
        false => StreamSupport::Disabled,
    };
    match support {
        StreamSupport::Supported => Ok(true),
        StreamSupport::Disabled => {
            ui.warn("warning: stream clone requested but server has them disabled\n")?;
            Ok(false)
        }
        StreamSupport::UnknownRequirements(unknown) => {
            let unknown = unknown.join(", ");
            ui.warn(format!(
                "warning: stream clone requested but client is missing requirements: {unknown}\n"
            ))?;
            Ok(false)
        }
    }
}

/// Takes the files of the store, and the bookmarks.
fn stream(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    source: &PeerAddress,
    remote: &mut Remote,
) -> Result<(), Abort> {
    let look = remote.heads_and_known(&[])?;
    ui.status("streaming all changes\n")?;
    let comes_along = remote.capabilities().bundle2("listkeys").is_some();
    let request = BundleRequest {
        heads: look.heads,
        streamed: true,
        bookmarks: comes_along,
        ..BundleRequest::default()
    };
    let bookmarks = match comes_along {
        true => BTreeMap::new(),
        false => remote.bookmarks()?,
    };
    let pulled = PullContext {
        bookmarks,
        path: source.name.as_deref(),
        ..PullContext::default()
    };
    let lock = repo.lock(ui, LockKind::Store)?;
    apply(
        repo,
        ui,
        config,
        source,
        (remote, lock),
        request,
        ApplyMode::Clone(pulled),
    )?;
    Ok(())
}
