//! Pushing to another repository of this machine: no other program stores the changesets.

use super::bookmarks;
use super::send::prepare;
use crate::context::{Config, OtherRepository, Repo};
use crate::remote::PeerAddress;
use crate::remote::incoming;
use crate::remote::incoming::ApplyMode;
use crate::remote::peers;
use crate::ui::{Abort, Ui};
use varve_exchange::ExchangeError;
use varve_exchange::Spool;
use varve_exchange::apply::PushContext;
use varve_exchange::apply::{PushOutput, ReplyParts};
use varve_exchange::client::peer::Remote;
use varve_exchange::client::push::{PushPlan, PushReply};
use varve_exchange::format::bundle::open_bundle;
use varve_exchange::format::limits::BundleLimits;
use varve_repo::LockKind;

/// Puts the bundle together and stores it there, with the configuration and the hooks of there.
pub(super) fn store(
    repo: &Repo,
    ui: &mut Ui,
    config: &Config,
    remote: &Remote,
    source: &PeerAddress,
    plan: &PushPlan<'_>,
) -> Result<PushReply, Abort> {
    let mut spool = Spool::default();
    prepare(repo, ui, remote, plan, &mut spool)?;
    spool.rewind().map_err(ExchangeError::Read)?;
    let root = peers::root_of(repo, source)?;
    let mut there = OtherRepository::open(repo, ui, config, &root)?;
    let lock = there.repo.lock(&mut there.ui, LockKind::Store)?;
    let bundle = open_bundle(spool, BundleLimits::default())?;
    let (output, mut replies) = (PushOutput::default(), ReplyParts::default());
    let takes_variables = there.config.boolean("push", "pushvars.server", false)?;
    let hooks = there.repo.hooks.clone();
    let push = PushContext {
        hooks: takes_variables.then_some(hooks.as_ref()),
        publishing: there.config.is_publishing(&there.repo, &mut there.ui)?,
        output: &output,
        replies: &mut replies,
    };
    let origin = ("push", source.hook_url(repo));
    let applied = incoming::apply(
        &mut there.repo,
        &mut there.ui,
        &there.config,
        lock,
        bundle,
        origin,
        ApplyMode::Push(push),
    )?;
    let (arrival, lock) = applied.map_err(|error| refused(error, plan))?;
    drop(lock);
    incoming::print_stored(&mut there.repo, &mut there.ui, &arrival)?;
    there.repo.run_queued_hooks(&mut there.ui)?;
    if ui.verbosity.debug {
        print_replies(ui, &replies)?;
    }
    Ok(PushReply {
        changegroup: (!plan.changesets.is_empty()).then_some(1),
    })
}

/// Prints the replies as the bundle that Mercurial makes of them, even between repositories of one machine.
fn print_replies(ui: &mut Ui, replies: &ReplyParts) -> Result<(), Abort> {
    let parts: Vec<String> = replies.debug_summaries().collect();
    let count = parts.len();
    ui.write(format!(
        "bundle2-output-bundle: \"HG20\", {count} parts total\n"
    ))?;
    for part in &parts {
        ui.write(format!("bundle2-output-part: {part} empty payload\n"))?;
    }
    ui.write("bundle2-input-bundle: no-transaction\n")?;
    for part in &parts {
        ui.write(format!("bundle2-input-part: {part} supported\n"))?;
    }
    ui.write(format!("bundle2-input-bundle: {count} parts total\n"))
}

/// A change of the other repository since the push was prepared is a race.
fn refused(error: ExchangeError, plan: &PushPlan<'_>) -> Abort {
    match error {
        ExchangeError::RepositoryChanged(_) => ExchangeError::PushRaced(error.to_string()).into(),
        other => bookmarks::refused(other, &plan.bookmarks),
    }
}
