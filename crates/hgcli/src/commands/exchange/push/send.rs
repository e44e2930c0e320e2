//! Sending what a push has planned, and telling what comes back.

use crate::context::Context;
use crate::remote::PeerAddress;
use crate::remote::incoming;
use crate::remote::peers;
use crate::ui::Abort;
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
    context: &mut Context,
    remote: &mut Remote,
    source: &PeerAddress,
    plan: &PushPlan<'_>,
) -> Result<PushReply, Abort> {
    let mut spool = Spool::default();
    let first = announce(context, plan)?;
    // Over HTTP the length goes first, over ssh the bundle is sent as it is made.
    if source.is_ssh() {
        context.ui.debug("sending unbundle command\n")?;
    }
    write(context, remote, (plan, first), &mut spool)?;
    if !source.is_ssh() {
        let len = spool.len();
        context
            .ui
            .debug(format!("sending unbundle command\nsending {len} bytes\n"))?;
    }
    context.ui.out.flush()?;
    let answer = match remote.unbundle(&mut spool) {
        Err(ExchangeError::LoginNeeded { url, realm }) => {
            let login = peers::prompt_login(context, source, (url, &realm))?;
            remote.log_in(login);
            remote.unbundle(&mut spool)?
        }
        answered => answered?,
    };
    let mut told = Ok(());
    let reply = read_reply(answer, &mut |news| {
        if told.is_ok() {
            told = incoming::print_event(context, news);
        }
    });
    told?;
    reply.map_err(|error| of_remote(context, error))
}

/// Writes the bundle, between the hooks that belong to changesets that leave.
pub(super) fn prepare(
    context: &mut Context,
    remote: &Remote,
    plan: &PushPlan<'_>,
    spool: &mut Spool,
) -> Result<(), Abort> {
    let first = announce(context, plan)?;
    write(context, remote, (plan, first), spool)
}

/// Writes the bundle, of whose changesets one is the `first`.
fn write(
    context: &mut Context,
    remote: &Remote,
    (plan, first): (&PushPlan<'_>, Option<Node>),
    spool: &mut Spool,
) -> Result<(), Abort> {
    if context.ui.verbosity.debug {
        let parts = plan.outline(remote.capabilities())?;
        context.ui.write(format!(
            "bundle2-output-bundle: \"HG20\", {} parts total\n",
            parts.len()
        ))?;
        for part in parts {
            context.ui.write(line_of(&part))?;
        }
    }
    let sizes = plan.write(remote.capabilities(), spool)?;
    if let Some(sizes) =
        sizes.filter(|_| context.ui.verbosity.verbose && !context.ui.verbosity.debug)
    {
        incoming::note_sizes(&mut context.ui, &sizes)?;
    }
    if let Some(first) = first {
        let facts = HookArgs::from([
            ("node", first.to_hex().to_vec()),
            ("source", b"push".to_vec()),
        ]);
        context
            .repo
            .notify_hooks(&mut context.ui, "outgoing", &facts)?;
    }
    Ok(())
}

/// Tells which changesets leave, after a hook was asked; the first of them.
pub(super) fn announce(context: &mut Context, plan: &PushPlan<'_>) -> Result<Option<Node>, Abort> {
    let nodes = plan
        .changesets
        .iter()
        .map(|rev| plan.view.changelog().node(*rev));
    let first = nodes.clone().next();
    if first.is_none() {
        return Ok(None);
    }
    let facts = HookArgs::from([("source", b"push".to_vec())]);
    context
        .repo
        .run_hooks(&mut context.ui, "preoutgoing", &facts)?;
    context
        .ui
        .note(format!("{} changesets found\n", plan.changesets.len()))?;
    if context.ui.verbosity.debug {
        context.ui.write("list of changesets:\n")?;
        for node in nodes {
            context.ui.write(format!("{node}\n"))?;
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

/// What the other side says about its failure is told before the command ends.
fn of_remote(context: &mut Context, error: ExchangeError) -> Abort {
    if let ExchangeError::PushFailed { message, hint } = &error {
        let mut words = format!("remote: {message}\n");
        if let Some(hint) = hint {
            words += &format!("remote: ({hint})\n");
        }
        if let Err(abort) = context.ui.warn(words) {
            return abort;
        }
    }
    error.into()
}
