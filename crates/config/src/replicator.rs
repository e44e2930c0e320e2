//! `[replicator]`: jobs of replication, in CouchDB's words.

use crate::setting::or;
use crate::{ConfigError, Ini, Setting};
use std::path::PathBuf;
use std::time::Duration;

/// `[replicator]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replicator {
    /// `max_jobs` that run at the same time; default 500.
    pub max_jobs: usize,
    /// `interval` between two rounds of the scheduler; default 60 s.
    pub interval: Duration,
    /// `max_churn`: jobs that one round stops to let others run; default 20.
    pub max_churn: usize,
    /// `max_history`: events of a job that are remembered; default 20.
    pub max_history: usize,
    /// `worker_processes`: batches of one job under way at the same time; default 4.
    pub workers: u32,
    /// `worker_batch_size`: changes of a batch; default 500.
    pub batch_size: u32,
    /// `http_connections`: requests of one job to one side at the same time; default 20.
    pub connections: u32,
    /// `connection_timeout`: within which something of an answer must come; default 30 s.
    pub timeout: Duration,
    /// `retries_per_request` for failures that may pass; default 5.
    pub retries: u32,
    /// `checkpoint_interval`; default 30 s.
    pub checkpoint_interval: Duration,
    /// `use_checkpoints`; default true.
    pub use_checkpoints: bool,
    /// `use_bulk_get`; default true.
    pub use_bulk_get: bool,
    /// `verify_ssl_certificates` of the other side. Unlike CouchDB's, the default is true.
    pub verifies_certificates: bool,
    /// `ssl_trusted_certificates_file`: authorities in PEM, besides the usual ones.
    pub authorities: Option<PathBuf>,
    /// `valid_endpoint_protocols`; default `http, https`.
    pub endpoint_protocols: Vec<String>,
    /// `valid_proxy_protocols`; default `http, https, socks5`.
    pub proxy_protocols: Vec<String>,
    /// `auth_plugins`: whether sessions are tried before names and passwords; default true.
    pub uses_sessions: bool,
    /// `session_refresh_interval_sec`: how long a session is used; default 550 s.
    pub session_refresh: Duration,
    /// `allow_list`: hosts that replications may reach, `*.example.com` for all below a name; all without it.
    pub allow_list: Vec<String>,
}

impl Default for Replicator {
    fn default() -> Replicator {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Replicator {
            max_jobs: 500,
            interval: Duration::from_secs(60),
            max_churn: 20,
            max_history: 20,
            workers: 4,
            batch_size: 500,
            connections: 20,
            timeout: Duration::from_secs(30),
            retries: 5,
            checkpoint_interval: Duration::from_secs(30),
            use_checkpoints: true,
            use_bulk_get: true,
            verifies_certificates: true,
            authorities: None,
            endpoint_protocols: words(&["http", "https"]),
            proxy_protocols: words(&["http", "https", "socks5"]),
            uses_sessions: true,
            session_refresh: Duration::from_secs(550),
            allow_list: Vec::new(),
        }
    }
}

impl Replicator {
    /// Returns whether the settings allow replications to reach a host.
    pub fn allows(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let fits = |allowed: &String| match allowed.strip_prefix('*') {
            Some(end) => host.ends_with(&end.to_ascii_lowercase()),
            None => host == allowed.to_ascii_lowercase(),
        };
        self.allow_list.is_empty() || self.allow_list.iter().any(fits)
    }
}

/// # Errors
/// The first value that is not of its type.
pub(crate) fn read(ini: &Ini) -> Result<Replicator, ConfigError> {
    let of = |key| ini.get("replicator", key);
    let usual = Replicator::default();
    let count = |key, most, usual: u32| {
        let count = or(of(key), |setting| setting.number(1..=most), usual.into())?;
        Ok::<u32, ConfigError>(u32::try_from(count).unwrap_or(u32::MAX))
    };
    let items = |key, most, usual: usize| {
        let usual = u32::try_from(usual).unwrap_or(u32::MAX);
        Ok::<usize, ConfigError>(count(key, most, usual)? as usize)
    };
    let time = |key, usual: Duration| or(of(key), milliseconds, usual);
    let flag = |key, usual| or(of(key), Setting::boolean, usual);
    let retries = or(
        of("retries_per_request"),
        |s| s.number(0..=1000),
        usual.retries.into(),
    )?;
    Ok(Replicator {
        max_jobs: items("max_jobs", 100_000, usual.max_jobs)?,
        interval: time("interval", usual.interval)?,
        max_churn: items("max_churn", 100_000, usual.max_churn)?,
        max_history: items("max_history", 1000, usual.max_history)?,
        workers: count("worker_processes", 100, usual.workers)?,
        batch_size: count("worker_batch_size", 10_000, usual.batch_size)?,
        connections: count("http_connections", 10_000, usual.connections)?,
        timeout: time("connection_timeout", usual.timeout)?,
        retries: u32::try_from(retries).unwrap_or(usual.retries),
        checkpoint_interval: time("checkpoint_interval", usual.checkpoint_interval)?,
        use_checkpoints: flag("use_checkpoints", usual.use_checkpoints)?,
        use_bulk_get: flag("use_bulk_get", usual.use_bulk_get)?,
        verifies_certificates: flag("verify_ssl_certificates", usual.verifies_certificates)?,
        authorities: of("ssl_trusted_certificates_file")
            .map(|setting| setting.value.clone().into()),
        endpoint_protocols: protocols(of("valid_endpoint_protocols"), usual.endpoint_protocols)?,
        proxy_protocols: protocols(of("valid_proxy_protocols"), usual.proxy_protocols)?,
        uses_sessions: or(of("auth_plugins"), sessions, usual.uses_sessions)?,
        session_refresh: or(
            of("session_refresh_interval_sec"),
            refresh_interval,
            usual.session_refresh,
        )?,
        allow_list: of("allow_list").map(Setting::list).unwrap_or_default(),
    })
}

/// Reads a list of CouchDB's plugins: true if the one for sessions is in it. Names and passwords are always there.
fn sessions(setting: &Setting) -> Result<bool, ConfigError> {
    const SESSION: &str = "couch_replicator_auth_session";
    const NOTHING: &str = "couch_replicator_auth_noop";
    let plugins = setting.list();
    let known = |plugin: &String| plugin == SESSION || plugin == NOTHING;
    match plugins.iter().all(known) && !plugins.is_empty() {
        true => Ok(plugins.iter().any(|plugin| plugin == SESSION)),
        false => Err(setting
            .refuse("a list of couch_replicator_auth_session and couch_replicator_auth_noop")),
    }
}

fn refresh_interval(setting: &Setting) -> Result<Duration, ConfigError> {
    let seconds = setting.number(5..=i64::from(u32::MAX))?;
    Ok(Duration::from_secs(
        u64::try_from(seconds).unwrap_or_default(),
    ))
}

fn milliseconds(setting: &Setting) -> Result<Duration, ConfigError> {
    let time = setting.value.parse::<u32>().ok().filter(|time| *time > 0);
    let time = time.ok_or_else(|| setting.refuse("a number of milliseconds from 1 on"))?;
    Ok(Duration::from_millis(u64::from(time)))
}

/// Some of those that there are.
fn protocols(setting: Option<&Setting>, known: Vec<String>) -> Result<Vec<String>, ConfigError> {
    let Some(setting) = setting else {
        return Ok(known);
    };
    let list = setting.list();
    match list.iter().all(|protocol| known.contains(protocol)) {
        true => Ok(list),
        false => Err(setting.refuse(format!("a list of {}", known.join(", ")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn replicator(text: &str) -> Result<Replicator, String> {
        let text = format!("[replicator]\n{text}");
        let ini = Ini::parse(Path::new("varve.ini"), &text).unwrap();
        read(&ini).map_err(|error| error.to_string())
    }

    #[test]
    fn values_are_couchdbs_and_out_of_range_ones_are_refused() {
        assert_eq!(replicator("").unwrap(), Replicator::default());
        let set = replicator("max_jobs = 3\ninterval = 500\nvalid_endpoint_protocols = https\n");
        let set = set.unwrap();
        assert_eq!(
            (set.max_jobs, set.interval),
            (3, Duration::from_millis(500))
        );
        assert_eq!(set.endpoint_protocols, ["https"]);
        let plain = replicator("auth_plugins = couch_replicator_auth_noop").unwrap();
        assert!(set.uses_sessions && !plain.uses_sessions);
        for wrong in [
            "max_jobs = 0",
            "interval = soon",
            "valid_endpoint_protocols = gopher",
            "use_checkpoints = maybe",
            "auth_plugins = other",
            "session_refresh_interval_sec = 1",
        ] {
            assert!(replicator(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn hosts_are_allowed_by_name_or_by_the_name_above_them() {
        let set = replicator("allow_list = db.example.com, *.test").unwrap();
        assert!(set.allows("DB.example.com") && set.allows("a.test"));
        assert!(!set.allows("example.com") && !set.allows("test") && !set.allows("a.tests"));
        assert!(Replicator::default().allows("anything"));
    }
}
