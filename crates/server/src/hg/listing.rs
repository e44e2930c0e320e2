//! The list of a directory's repositories, for one reader: as `hgwebdir` has it, without those that the reader may not
//! read (`allow_read`, `deny_read`) and those that say so (`hidden`), and with `name`, `description` and `contact` of
//! their `[web]`.

use crate::auth::UserContext;
use crate::hg::find::{self, ServedRepository};
use crate::hg::hgrc::RepositoryConfig;
use crate::hg::page::{About, ListedRepository};
use crate::hg::{OpenError, RepoRegistry, log_fault, rights};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use varve_base::StorageError;

/// A file that was written less long ago may be written again without another time.
const SETTLED: Duration = Duration::from_secs(2);

/// Configurations of listed repositories, by the names of these.
#[derive(Debug, Default)]
pub(super) struct ListedConfigs(Mutex<HashMap<String, (Stamp, Arc<RepositoryConfig>)>>);

/// A file's time and length; `None` where there is none.
type Stamp = Option<(SystemTime, u64)>;

/// The repositories that the user sees, in order.
///
/// # Errors
/// [`StorageError`] if the disk fails.
pub(super) fn list(
    repos: &RepoRegistry,
    user: &UserContext,
) -> Result<Vec<ListedRepository>, StorageError> {
    let names = find::list(repos.storage().as_ref())?;
    repos.listed.keep_only(&names);
    let mut listed = Vec::new();
    for name in names {
        let found = ServedRepository::named(name);
        // One whose rights are not known is shown to no reader.
        match config(repos, &found) {
            Ok(config) if is_shown(&config, user) => listed.push(ListedRepository {
                about: about(&config, &found),
                path: found.path(),
            }),
            Ok(_) => {}
            Err(error) => log_fault(repos, &found.name, &error.to_string()),
        }
    }
    Ok(listed)
}

pub(super) fn is_shown(config: &RepositoryConfig, user: &UserContext) -> bool {
    let is_hidden = config.values.boolean("web", "hidden", false);
    !is_hidden.unwrap_or(true) && rights::may_read(&config.values, user.name.as_deref())
}

/// Returns whether the user may read one repository.
///
/// # Errors
/// If its configuration cannot be read.
pub(super) fn may_read(
    repos: &RepoRegistry,
    found: &ServedRepository,
    user: &UserContext,
) -> Result<bool, OpenError> {
    let config = config(repos, found)?;
    Ok(rights::may_read(&config.values, user.name.as_deref()))
}

/// Name, contact and description of a repository, from `[web]` of its configuration.
pub(super) fn about(config: &RepositoryConfig, found: &ServedRepository) -> About {
    let text = |section, key| {
        let value = config.values.text(section, key);
        value.filter(|value| !value.is_empty())
    };
    // One that is served alone was named at the start, by an option or by `web.name`.
    let name = text("web", "name").filter(|_| !found.is_lone || found.is_in_collection);
    About {
        name: name.unwrap_or_else(|| found.name.clone()),
        description: text("web", "description"),
        contact: text("web", "contact").or_else(|| text("ui", "username")),
    }
}

/// The configuration of one repository: from the cache if its file has not changed.
fn config(
    repos: &RepoRegistry,
    found: &ServedRepository,
) -> Result<Arc<RepositoryConfig>, OpenError> {
    let (storage, path) = (repos.storage(), found.directory.join(".hg/hgrc"));
    let stamp = storage.modified(&path)?.zip(storage.file_len(&path)?);
    if let Some(known) = repos.listed.get(&found.name, stamp) {
        return Ok(known);
    }
    let config = Arc::new(RepositoryConfig::read(repos, found)?);
    let age = stamp.and_then(|(time, _)| time.elapsed().ok());
    if stamp.is_none() || age.is_some_and(|age| age > SETTLED) {
        repos.listed.insert(&found.name, stamp, &config);
    }
    Ok(config)
}

impl ListedConfigs {
    fn get(&self, name: &str, stamp: Stamp) -> Option<Arc<RepositoryConfig>> {
        let known = self.0.lock();
        let (known_stamp, config) = known.get(name)?;
        (*known_stamp == stamp).then(|| Arc::clone(config))
    }

    fn insert(&self, name: &str, stamp: Stamp, config: &Arc<RepositoryConfig>) {
        let known = (stamp, Arc::clone(config));
        self.0.lock().insert(name.to_owned(), known);
    }

    /// Forgets repositories that are gone: no more are known than a list names.
    fn keep_only(&self, names: &[String]) {
        let is_listed = |name: &String| names.binary_search(name).is_ok();
        self.0.lock().retain(|name, _| is_listed(name));
    }
}
