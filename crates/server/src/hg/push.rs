//! Pushes: from a request that writes to its answer.

use crate::hg::find::ServedRepository;
use crate::hg::hgrc::RepositoryConfig;
use crate::hg::hooks::RequestHooks;
use crate::hg::rights::AccessRequest;
use crate::hg::{OpenError, RepoRegistry, log_damage, send, wire_request};
use crate::{Answer, Request};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use varve_exchange::apply::PushOutput;
use varve_exchange::client::peer::HttpOptions;
use varve_exchange::server::unbundle::PushHandler;
use varve_exchange::server::wire::Bundle1Operation;
use varve_repo::{LockWait, OpenOptions, Repository, StorageSettings};

/// Characters that hooks see escaped in the parts of a client's URL.
const ESCAPED_IN_URL: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'_')
    .remove(b'.')
    .remove(b'-')
    .remove(b'~')
    .remove(b'/');

/// Default of `ui.timeout`: seconds to wait for a lock.
const TIMEOUT: i64 = 600;

/// `web.max-push-size`: bytes that a push may have, as sent and expanded.
pub(super) fn longest(config: &RepositoryConfig) -> Result<Option<u64>, OpenError> {
    Ok(config.values.bytes("web", "max-push-size")?)
}

/// Takes a push in.
pub(super) fn receive(
    repos: &Arc<RepoRegistry>,
    found: &ServedRepository,
    config: &RepositoryConfig,
    (request, asked): (&Request, &AccessRequest<'_>),
) -> Result<Answer, OpenError> {
    let output = Arc::new(PushOutput::default());
    let hooks = Arc::new(RequestHooks::of_repository(repos, found, config, &output)?);
    let opening = OpenOptions {
        hooks: Some(hooks.clone()),
        filters: None,
        pending: false,
        shares: repos.share_access(),
    };
    let storage = Arc::clone(repos.storage());
    let repository = Repository::open_with(storage, Path::new(&found.directory), opening)?;
    let usual = repos.settings();
    let lookup = |section: &str, name: &str| {
        let own = config.values.text(section, name);
        own.or_else(|| (section == "storage").then(|| usual.storage(name))?)
    };
    let settings = StorageSettings::read(&lookup)?;
    let timeout = config.values.integer("ui", "timeout")?.unwrap_or(TIMEOUT);
    let url = url(request, asked);
    let push = PushHandler {
        repository: &repository,
        write: settings.write_options(repository.requirements()),
        url: url.as_bytes(),
        takes_markers: config.evolution()?.markers,
        publishing: config.publishing()?,
        takes_bundle1: Bundle1Operation::Push.is_served(&repository, &config.values)?,
        takes_variables: config.values.boolean("push", "pushvars.server", false)?,
        longest: longest(config)?,
        downloads: Some(&HttpOptions::default()),
        wait: LockWait {
            timeout: u64::try_from(timeout).ok().map(Duration::from_secs),
            notify_after: Duration::MAX,
            on_event: &|_| {},
            stop: &repos.server().hurry,
        },
        output: &output,
        hooks: hooks.as_ref(),
        after_locks: &|| hooks.after_locks(),
        on_error: &|error| log_damage(repos, &found.name, error),
    };
    let response = wire_request(request).and_then(|wire| match (asked.command, &request.upload) {
        ("pushkey", _) => push.pushkey(&wire),
        (_, Some(upload)) => push.unbundle(&wire, upload.reader()),
        (_, None) => push.unbundle(&wire, io::empty()),
    });
    Ok(send(repos, found, request, response))
}

/// Address and user of a pushing client, in the form that hooks know.
fn url(request: &Request, asked: &AccessRequest<'_>) -> String {
    let scheme = if asked.is_secure { "https" } else { "http" };
    let peer = request.peer.map(|peer| peer.to_string());
    let peer = peer.unwrap_or_default();
    let user = utf8_percent_encode(asked.user.unwrap_or_default(), ESCAPED_IN_URL);
    // An address of IPv6 has colons, which would end it.
    let peer = utf8_percent_encode(&peer, ESCAPED_IN_URL);
    format!("remote:{scheme}:{peer}:{user}")
}
