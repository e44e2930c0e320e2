//! Sending the bundle of a planned push, and printing the reply.

use super::bookmarks;
use crate::context::{Config, Repo};
use crate::remote::PeerAddress;
use crate::remote::incoming;
use crate::remote::peers;
use crate::ui::{Abort, Ui};
use std::io::Write;
use varve_exchange::ExchangeError;
use varve_exchange::Spool;
use varve_exchange::client::peer::Remote;
use varve_exchange::client::push::{PushPlan, PushReply, read_reply};
use varve_exchange::generate::PartOutline;
use varve_repo::Node;
use varve_repo::hooks::HookArgs;

/// Puts the bundle together, sends it, and reads the answer.
pub(super) fn send(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    remote: &mut Remote,
    source: &PeerAddress,
    plan: &PushPlan<'_>,
) -> Result<PushReply, Abort> {
    let mut spool = Spool::default();
    let first = announce(repo, ui, plan)?;
    // Over HTTP the length goes first, over ssh the bundle is sent as it is made.
    if source.is_ssh() {
        ui.debug("sending unbundle command\n")?;
    }
    write(repo, ui, remote, (plan, first), &mut spool)?;
    if !source.is_ssh() {
        let len = spool.len();
        ui.debug(format!("sending unbundle command\nsending {len} bytes\n"))?;
    }
    ui.out.flush()?;
    let answer = match remote.unbundle(&mut spool) {
        Err(ExchangeError::LoginNeeded { url, realm }) => {
            let login = peers::prompt_login(repo, ui, config, source, (url, &realm))?;
            remote.log_in(login);
            remote.unbundle(&mut spool)?
        }
        answered => answered?,
    };
    let mut told = Ok(());
    let reply = read_reply(answer, &mut |event| {
        if told.is_ok() {
            told = incoming::print_event(repo, ui, event);
        }
    });
    told?;
    reply.map_err(|error| of_remote(ui, error, plan))
}

/// Writes the bundle, between the hooks that belong to changesets that leave.
pub(super) fn prepare(
    repo: &Repo,
    ui: &mut Ui,
    remote: &Remote,
    plan: &PushPlan<'_>,
    spool: &mut Spool,
) -> Result<(), Abort> {
    let first = announce(repo, ui, plan)?;
    write(repo, ui, remote, (plan, first), spool)
}

/// Writes the bundle, of whose changesets one is the `first`.
fn write(
    repo: &Repo,
    ui: &mut Ui,
    remote: &Remote,
    (plan, first): (&PushPlan<'_>, Option<Node>),
    spool: &mut Spool,
) -> Result<(), Abort> {
    if ui.verbosity.debug {
        let parts = plan.outline(remote.capabilities())?;
        ui.write(format!(
            "bundle2-output-bundle: \"HG20\", {} parts total\n",
            parts.len()
        ))?;
        for part in parts {
            ui.write(line_of(&part))?;
        }
    }
    let sizes = plan.write(remote.capabilities(), spool)?;
    if let Some(sizes) = sizes.filter(|_| ui.verbosity.verbose && !ui.verbosity.debug) {
        incoming::note_sizes(ui, &sizes)?;
    }
    if let Some(first) = first {
        let args = HookArgs::from([
            ("node", first.to_hex().to_vec()),
            ("source", b"push".to_vec()),
        ]);
        repo.notify_hooks(ui, "outgoing", &args)?;
    }
    Ok(())
}

/// Tells which changesets leave, after a hook was asked; the first of them.
pub(super) fn announce(
    repo: &Repo,
    ui: &mut Ui,
    plan: &PushPlan<'_>,
) -> Result<Option<Node>, Abort> {
    let nodes = plan
        .changesets
        .iter()
        .map(|rev| plan.view.changelog().node(*rev));
    let first = nodes.clone().next();
    if first.is_none() {
        return Ok(None);
    }
    let args = HookArgs::from([("source", b"push".to_vec())]);
    repo.run_hooks(ui, "preoutgoing", &args)?;
    ui.note(format!("{} changesets found\n", plan.changesets.len()))?;
    if ui.verbosity.debug {
        ui.write("list of changesets:\n")?;
        for node in nodes {
            ui.write(format!("{node}\n"))?;
        }
    }
    Ok(first)
}

fn line_of(part: &PartOutline) -> String {
    let params = match part.params {
        [0, 0] => String::new(),
        [mandatory, 0] => format!(" (params: {mandatory} mandatory)"),
        // Of both Mercurial shows the first number.
        [0, _] => " (params: 0 advisory)".to_owned(),
        [mandatory, _] => format!(" (params: {mandatory} mandatory {mandatory} advisory)"),
    };
    let payload = match part.len {
        Some(0) => "empty".to_owned(),
        Some(len) => format!("{len} bytes"),
        None => "streamed".to_owned(),
    };
    format!(
        "bundle2-output-part: \"{}\"{params} {payload} payload\n",
        part.name
    )
}

/// Prints the other side's message about its failure before the command ends.
fn of_remote(ui: &mut Ui, error: ExchangeError, plan: &PushPlan<'_>) -> Abort {
    if let ExchangeError::PushFailed { message, hint } = &error {
        let mut words = format!("remote: {message}\n");
        if let Some(hint) = hint {
            words += &format!("remote: ({hint})\n");
        }
        if let Err(abort) = ui.warn(words) {
            return abort;
        }
    }
    bookmarks::refused(error, &plan.bookmarks)
}
