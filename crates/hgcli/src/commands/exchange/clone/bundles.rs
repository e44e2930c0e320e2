//! Clones that begin with a bundle that was made before, see `hg help -e clonebundles`.

use crate::context::{Config, Repo};
use crate::remote::PeerAddress;
use crate::remote::{download, incoming, peers};
use crate::ui::{Abort, Ui};
use std::io::{self, Read};
use varve_exchange::ExchangeError;
use varve_exchange::client::clone_bundles::{BundlePreferences, Candidates};
use varve_exchange::client::peer::{Remote, Transport};
use varve_exchange::format::bundle::{Bundle, open_bundle};
use varve_exchange::format::clone_bundle_manifest::INLINE;
use varve_exchange::format::limits::BundleLimits;
use varve_repo::LockKind;

/// Mercurial's advice when a bundle does not come.
const ADVICE: &str = "if this error persists, consider contacting the server operator or disable \
                      clone bundles via \"--config ui.clonebundles=false\"";

/// Applies the clone bundle that suits best, if the server has any; the rest is still to be pulled.
pub(super) fn begin(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    source: &PeerAddress,
    remote: &mut Remote,
    streamed: bool,
) -> Result<bool, Abort> {
    let wanted = config.boolean("ui", "clonebundles", true);
    if !source.is_elsewhere() || !wanted.map_err(Abort::Setting)? {
        return Ok(false);
    }
    let Some(manifest) = remote.clone_bundles()? else {
        return Ok(false);
    };
    if manifest.entries().next().is_none() {
        ui.note("no clone bundles available on remote; falling back to regular clone\n")?;
        return Ok(false);
    }
    let memory = memory();
    let mut found = Candidates::of(&manifest, &BundlePreferences { streamed, memory });
    if ui.verbosity.debug {
        for reason in &found.rejected {
            ui.write(format!("{reason}\n"))?;
        }
    }
    if found.usable.is_empty() {
        ui.warn(
            "no compatible clone bundles available on server; falling back to regular clone\n\
             (you may want to report this to the server operator)\n",
        )?;
        return Ok(false);
    }
    found.sort_by(&preferred(config)?);
    match found.usable.first() {
        Some(best) => take(repo, ui, config, source, remote, &best.url),
        None => Ok(false),
    }
}

/// `ui.clonebundleprefers`.
fn preferred(config: &Config) -> Result<Vec<(String, String)>, Abort> {
    let items = config.list("ui", "clonebundleprefers");
    let pairs = items.iter().map(|item| {
        let item = String::from_utf8_lossy(item);
        let pair = item.split_once('=');
        let pair = pair.map(|(key, value)| (key.to_owned(), value.to_owned()));
        pair.ok_or_else(|| {
            Abort::new(format!("invalid ui.clonebundleprefers item: {item}"))
                .hint("each comma separated item should be key=value pairs")
        })
    });
    pairs.collect()
}

fn take(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    source: &PeerAddress,
    remote: &mut Remote,
    url: &str,
) -> Result<bool, Abort> {
    ui.status(format!("applying clone bundle from {url}\n"))?;
    let fetched = match url.strip_prefix(INLINE) {
        Some(name) => remote.clone_bundle(name),
        None => fetch(repo, ui, config, source, url)?,
    };
    match fetched {
        Ok(mut bytes) => {
            apply(repo, ui, config, url, &mut bytes)?;
            // Over ssh the next answer stands behind it.
            io::copy(&mut bytes, &mut io::sink()).map_err(ExchangeError::Read)?;
            ui.status("finished applying clone bundle\n")?;
            return Ok(true);
        }
        Err(error @ ExchangeError::HttpStatus { .. }) => {
            ui.warn(format!("HTTP error fetching bundle: {error}\n"))?;
        }
        Err(error @ ExchangeError::FetchFailed { .. }) => {
            ui.warn(format!("{error}\n"))?;
        }
        Err(other) => return Err(other.into()),
    }
    let falls_back = config.boolean("ui", "clonebundlefallback", false);
    if !falls_back.map_err(Abort::Setting)? {
        return Err(Abort::new("error applying bundle").hint(ADVICE));
    }
    ui.warn("falling back to normal clone\n")?;
    Ok(false)
}

/// Asks for a file, and says whether it came. Where the repository's own server has it, a login for that is good for both.
fn fetch(
    repo: &Repo,
    ui: &mut Ui,
    config: &Config,
    source: &PeerAddress,
    url: &str,
) -> Result<Result<Box<dyn Read + Send>, ExchangeError>, Abort> {
    let file = download::address(url.as_bytes());
    let mut peer = peers::over_http(repo, config, &file)?;
    if peer.login().is_none()
        && origin(url) == origin(&String::from_utf8_lossy(&source.url))
        && let Some(login) = peers::over_http(repo, config, source)?.login()
    {
        peer.log_in(login.clone());
    }
    download::fetch(repo, ui, config, &file, peer)
}

/// Scheme, host and port.
fn origin(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next()?;
    Some((scheme, host.rsplit('@').next()?))
}

fn apply(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    url: &str,
    bytes: &mut (dyn Read + Send),
) -> Result<(), Abort> {
    let failed = |error: ExchangeError| Abort::of_bundle(error, b"stream");
    let lock = repo.lock(ui, LockKind::Store)?;
    let bundle = open_bundle(bytes, BundleLimits::default()).map_err(failed)?;
    let Bundle::Packed(packed) = bundle else {
        let origin = ("clonebundles", url.as_bytes().to_vec());
        let (report, lock) =
            incoming::apply_bundle(repo, ui, config, lock, bundle, origin, failed)?;
        drop(lock);
        return incoming::print_stored(repo, ui, &report);
    };
    drop(incoming::apply_packed(repo, ui, lock, packed, failed)?);
    repo.refresh();
    Ok(())
}

/// Bytes of memory of this machine.
fn memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kilobytes: u64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
    kilobytes.checked_mul(1024)
}
