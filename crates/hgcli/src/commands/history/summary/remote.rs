//! Changesets and bookmarks that the usual source and destination have, or lack.

use crate::context::{Config, Repo};
use crate::remote::outgoing::{own_branch, typed_heads};
use crate::remote::{PeerAddress, discovery, peers};
use crate::ui::{Abort, Ui};
use std::collections::BTreeMap;
use varve_exchange::client::discovery::DiscoveryResult;
use varve_exchange::client::outgoing::Outgoing;
use varve_exchange::client::peer::Remote;
use varve_repo::Node;

/// Compares with the paths `default` and `default-push`, and prints a line about it.
pub(super) fn print(repo: &mut Repo, ui: &mut Ui, config: &Config) -> Result<(), Abort> {
    let source = usual(peers::sources(repo, ui, config, b"default")?)?;
    let mut remote = peers::connect(repo, ui, config, &source)?;
    let wanted = wanted_heads(repo, &source, &mut remote)?;
    ui.debug([b"comparing with ", &source.shown()[..], b"\n"].concat())?;
    let mut found = discover(repo, config, &mut remote, wanted.as_deref())?;
    let incoming = found.incoming;

    let destination = usual(peers::destinations(repo, ui, config, &[])?)?;
    let view = repo.view()?;
    let heads = typed_heads(repo, ui, &view, (&[], &[]), &destination)?;
    if destination.url != source.url {
        remote = peers::connect(repo, ui, config, &destination)?;
        ui.debug([b"comparing with ", &destination.shown()[..], b"\n"].concat())?;
    }
    if destination.url != source.url || wanted.is_some() {
        found = discover(repo, config, &mut remote, None)?;
    }
    let heads = heads.unwrap_or_else(|| view.heads());
    let outgoing = Outgoing::select(&view, found, &heads).missing.len();

    let theirs = remote.bookmarks()?;
    let ours = view.bookmarks();
    let lacked_by = |lacking: &BTreeMap<Vec<u8>, Node>, having: &BTreeMap<Vec<u8>, Node>| {
        let names = having.keys();
        names.filter(|name| !lacking.contains_key(*name)).count()
    };
    let counts = [
        (outgoing, "outgoing"),
        (lacked_by(ours, &theirs), "incoming bookmarks"),
        (lacked_by(&theirs, ours), "outgoing bookmarks"),
    ];
    // How many would come is known only to who fetches them.
    let mut words: Vec<String> = incoming
        .then(|| "1 or more incoming".to_owned())
        .into_iter()
        .collect();
    for (count, word) in counts.iter().filter(|(count, _)| *count > 0) {
        words.push(format!("{count} {word}"));
    }
    match words.is_empty() {
        true => ui.status("remote: (synced)\n"),
        false => ui.write(format!("remote: {}\n", words.join(", "))),
    }
}

/// The first of several addresses of a name.
fn usual(addresses: Vec<PeerAddress>) -> Result<PeerAddress, Abort> {
    let missing = || Abort::new("repository default not found");
    addresses.into_iter().next().ok_or_else(missing)
}

/// Heads of what stands behind `#` in the address of the source; `None` if nothing does.
fn wanted_heads(
    repo: &mut Repo,
    source: &PeerAddress,
    remote: &mut Remote,
) -> Result<Option<Vec<Node>>, Abort> {
    let Some(name) = &source.branch else {
        return Ok(None);
    };
    let branch = own_branch(repo, name)?;
    match remote.branchmap()?.remove(&branch) {
        Some(heads) => Ok(Some(heads)),
        None => Ok(Some(vec![remote.lookup(name)?])),
    }
}

fn discover(
    repo: &mut Repo,
    config: &Config,
    remote: &mut Remote,
    heads: Option<&[Node]>,
) -> Result<DiscoveryResult, Abort> {
    let view = repo.view()?;
    let found = discovery::begin(config, &view, remote, heads)?.finish(remote)?;
    found.check_related(&view)?;
    Ok(found)
}
