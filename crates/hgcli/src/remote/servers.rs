//! Configuration for servers: trusted certificates and proxies.

use crate::context::Config;
use crate::ui::{Abort, Ui, environment::variable};
use std::path::Path;
use varve_exchange::client::peer::{
    ComparedFingerprint, Fingerprint, Fingerprints, HttpOptions, Proxy,
};

/// Versions of TLS by their names; a server that has none from 1.2 on is never spoken to.
const PROTOCOLS: [&str; 4] = ["tls1.0", "tls1.1", "tls1.2", "tls1.3"];
/// The one that a minimum cannot be yet: nothing here leaves out only the version before it.
const NEWEST: &str = "tls1.3";

const SECTION: &str = "hostsecurity";
/// Where older versions had SHA-1 hashes.
const LEGACY_FINGERPRINTS: &str = "hostfingerprints";
const PROXY: &str = "http_proxy";

/// The host of a URL, without its port.
pub(crate) fn host_of(url: &str) -> &str {
    let host = url.split("://").nth(1).unwrap_or_default();
    let host = host.split('/').next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    match host.starts_with('[') {
        true => host.split_inclusive(']').next().unwrap_or_default(),
        false => host.split(':').next().unwrap_or_default(),
    }
}

/// How the server of a URL is reached.
pub(crate) fn http_options(config: &Config, cwd: &Path, url: &str) -> Result<HttpOptions, Abort> {
    let host = host_of(url);
    let mut options = HttpOptions {
        proxy: proxy(config, host)?,
        ..HttpOptions::default()
    };
    if url.starts_with("https:") {
        refuse_unsupported(config, host)?;
        options.trusts_all = config.accepts_any_certificate;
        options.fingerprints = fingerprints(config, host)?;
        if options.fingerprints.is_none() && !config.accepts_any_certificate {
            options.authorities = authorities((config, cwd), host)?;
        }
    }
    Ok(options)
}

/// How servers are reached that a bundle names; `None` if some host is special, because which it
/// will be is not known yet.
pub fn download_options(config: &Config, cwd: &Path) -> Result<Option<HttpOptions>, Abort> {
    let all = config.section(SECTION);
    let is_special = all.iter().any(|item| item.key.contains(&b':'));
    if is_special || !config.section(LEGACY_FINGERPRINTS).is_empty() || proxy(config, "")?.is_some()
    {
        return Ok(None);
    }
    http_options(config, cwd, "https://").map(Some)
}

fn refuse_unsupported(config: &Config, host: &str) -> Result<(), Abort> {
    for key in ["minimumprotocol", "ciphers"] {
        for key in [key.to_owned(), format!("{host}:{key}")] {
            let Some(value) = config.text(SECTION, &key) else {
                continue;
            };
            let is_minimum = key.ends_with("minimumprotocol");
            if is_minimum && !PROTOCOLS.contains(&value.as_str()) {
                let words = format!("unsupported protocol from {SECTION}.{key}: {value}");
                let valid = format!("valid protocols: {}", PROTOCOLS.join(" "));
                return Err(Abort::new(words).hint(valid));
            }
            if !is_minimum || value == NEWEST {
                return Err(Abort::new(format!("{SECTION}.{key} is not supported")));
            }
        }
    }
    Ok(())
}

/// Fingerprints of a host, if there are any.
fn fingerprints(config: &Config, host: &str) -> Result<Option<Fingerprints>, Abort> {
    let texts = |section: &str, key: &str| {
        let items = config.list(section, key).into_iter();
        items.map(|item| String::from_utf8_lossy(&item).into_owned())
    };
    let mut found = Fingerprints::default();
    for text in texts(SECTION, &format!("{host}:fingerprints")) {
        let fingerprint = Fingerprint::parse(&text).ok_or_else(|| {
            let words = format!("invalid fingerprint for {host}: {text}");
            Abort::new(words).hint(r#"must begin with "sha1:", "sha256:", or "sha512:""#)
        })?;
        found.accepted.push(fingerprint);
    }
    for text in texts(LEGACY_FINGERPRINTS, host) {
        found.accepted.push(Fingerprint::sha1(&text));
        found.is_legacy = true;
    }
    Ok((!found.accepted.is_empty()).then_some(found))
}

/// Whether a host is known by fingerprints, which count whatever else is asked for.
pub(crate) fn has_fingerprints(config: &Config, host: &str) -> Result<bool, Abort> {
    Ok(fingerprints(config, host)?.is_some())
}

/// Warns of settings about fingerprints that do not mean what the user may think.
pub(crate) fn warn_of_fingerprints(
    ui: &mut Ui,
    host: &str,
    compared: Option<&ComparedFingerprint>,
) -> Result<(), Abort> {
    let Some(compared) = compared else {
        return Ok(());
    };
    if let (true, Some(matched)) = (ui.verbosity.debug, &compared.matched) {
        ui.write(format!(
            "{host} certificate matched fingerprint {matched}\n"
        ))?;
    }
    if compared.is_legacy {
        ui.warn(format!(
            "(SHA-1 fingerprint for {host} found in legacy [{LEGACY_FINGERPRINTS}] section; if you trust this \
             fingerprint, remove the old SHA-1 fingerprint from [{LEGACY_FINGERPRINTS}] and add the following entry to \
             the new [{SECTION}] section: {host}:fingerprints={})\n",
            compared.sha256
        ))?;
    }
    Ok(())
}

/// Warns of certificates that do not count beside fingerprints.
pub(crate) fn warn_of_ignored_certificates(
    config: &Config,
    ui: &mut Ui,
    host: &str,
) -> Result<(), Abort> {
    let key = format!("{host}:verifycertsfile");
    if config.text(SECTION, &key).is_some() && has_fingerprints(config, host)? {
        ui.warn(format!(
            "({SECTION}.{key} ignored when host fingerprints defined; using host fingerprints for verification)\n"
        ))?;
    }
    Ok(())
}

/// The certificates that are believed besides, or instead of, the usual ones.
fn authorities((config, cwd): (&Config, &Path), host: &str) -> Result<Option<Vec<u8>>, Abort> {
    let own = format!("{host}:verifycertsfile");
    if let Some(path) = config.text(SECTION, &own) {
        let missing = format!("path specified by {SECTION}.{own} does not exist: {path}");
        return certificates(cwd, &path, missing).map(Some);
    }
    let general = config.text("web", "cacerts");
    match general.filter(|path| !path.is_empty()) {
        None => Ok(None),
        Some(path) => {
            let missing = format!("could not find web.cacerts: {path}");
            certificates(cwd, &path, missing).map(Some)
        }
    }
}

fn certificates(cwd: &Path, path: &str, missing: String) -> Result<Vec<u8>, Abort> {
    let path = cwd.join(Path::new(path));
    std::fs::read(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Abort::new(missing),
        _ => Abort::file(&error, &path),
    })
}

/// Proxy for a host: `[http_proxy]`, or the variable of that name.
fn proxy(config: &Config, host: &str) -> Result<Option<Proxy>, Abort> {
    let text = |key| config.text(PROXY, key).filter(|text| !text.is_empty());
    let environment =
        || variable("http_proxy").map(|text| String::from_utf8_lossy(&text).into_owned());
    let Some(at) = text("host")
        .or_else(environment)
        .filter(|at| !at.is_empty())
    else {
        return Ok(None);
    };
    let always = config.boolean(PROXY, "always", false)?;
    let mut without: Vec<String> = ["localhost", "127.0.0.1"].map(str::to_owned).to_vec();
    let listed = config.list(PROXY, "no").into_iter();
    without.extend(listed.map(|name| String::from_utf8_lossy(&name).to_ascii_lowercase()));
    if let Some(names) = variable("no_proxy") {
        let names = String::from_utf8_lossy(&names).to_ascii_lowercase();
        // Of these, unlike the others, the hosts below a name are meant as well.
        let names = names
            .split(',')
            .map(|name| name.trim().trim_start_matches('.'));
        let names = names.filter(|name| !name.is_empty());
        without.extend(names.flat_map(|name| [name.to_owned(), format!(".{name}")]));
    }
    let is_without = |name: &String| match name.strip_prefix('*').unwrap_or(name) {
        "" => false,
        end if end.starts_with('.') => host.ends_with(end),
        whole => whole == host,
    };
    if !always && without.iter().any(is_without) {
        return Ok(None);
    }
    let proxy = Proxy::parse(&at, text("user").as_deref(), text("passwd").as_deref());
    proxy.map(Some).map_err(Abort::from)
}
