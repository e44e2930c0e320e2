//! The list of the repositories in a shared store. One that this server has not opened is not fetched for it: its configuration
//! is read alone.

use super::{NAME_PREFIX, RepositoryLogs};
use crate::auth::UserContext;
use crate::hg::OpenError;
use crate::hg::find::ServedRepository;
use crate::hg::hgrc::RepositoryConfig;
use crate::hg::listing::{about, is_shown};
use crate::hg::page::{self, ListedRepository};
use crate::{Answer, Failure, Request};
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use varve_shared::Peeked;

/// A repository's configuration.
const HGRC: &str = ".hg/hgrc";
/// Longest configuration that is read alone, in bytes.
const LONGEST: u64 = 1 << 20;
/// Time for which a configuration is known that was read alone.
const CONFIGS_LAST: Duration = Duration::from_secs(60);

/// Configurations of repositories that are not open, by name.
#[derive(Debug, Default)]
pub(super) struct KnownConfigs(Mutex<HashMap<String, (Instant, Arc<RepositoryConfig>)>>);

pub(super) fn answer(
    logs: &RepositoryLogs,
    names: &BTreeSet<String>,
    (request, user): (&Request, &UserContext),
) -> Result<Answer, Failure> {
    logs.configs.0.lock().retain(|name, _| names.contains(name));
    let mut listed = Vec::new();
    for name in names {
        let path = name.strip_prefix(NAME_PREFIX).unwrap_or(name);
        let found = ServedRepository::in_log(path);
        // One whose rights are not known is shown to no reader.
        match config(logs, name) {
            Ok(config) if is_shown(&config, user) => listed.push(ListedRepository {
                about: about(&config, &found),
                path: found.path(),
            }),
            Ok(_) => {}
            Err(error) => {
                let log = &logs.server.log;
                log.scope(|| tracing::warn!(repository = path, "repository {path}: {error}"));
            }
        }
    }
    Ok(page::index(&logs.title, &listed, &request.mount))
}

/// The configuration of a repository, from its copy if it is open.
fn config(logs: &RepositoryLogs, name: &str) -> Result<Arc<RepositoryConfig>, OpenError> {
    if let Some(open) = logs.open.peek(name) {
        return Ok(Arc::new(open.config()?));
    }
    let known = logs.configs.0.lock().get(name).cloned();
    if let Some((_, config)) = known.filter(|(read, _)| read.elapsed() < CONFIGS_LAST) {
        return Ok(config);
    }
    let config = match logs.logs.peek(name, (Path::new(HGRC), LONGEST))? {
        Peeked::Absent => RepositoryConfig::trusted(Path::new(HGRC), &[])?,
        Peeked::File(text) => RepositoryConfig::trusted(Path::new(HGRC), &text)?,
        Peeked::InRecords => match logs.current(name)? {
            Some(open) => open.config()?,
            None => RepositoryConfig::trusted(Path::new(HGRC), &[])?,
        },
    };
    let config = Arc::new(config);
    let known = (Instant::now(), Arc::clone(&config));
    logs.configs.0.lock().insert(name.to_owned(), known);
    Ok(config)
}
