//! Tags of pages, as `hg serve` makes them: the newest time of the files that pages depend on, in seconds; and a hash of the
//! settings that pages depend on, if there are any.

use super::paths::{Command, PageAddress, Style};
use crate::hg::database::RepositoryDatabase;
use crate::{Failure, Request};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use varve_base::StorageError;
use varve_config::hgrc::Hgrc;
use varve_repo::Repository;

/// Files of `.hg` whose times count.
const FILES: [&str; 4] = [
    "store/00changelog.i",
    "store/phaseroots",
    "store/obsstore",
    "bookmarks",
];

/// Sections of the configuration whose settings count.
const SECTIONS: [&str; 6] = ["web", "diff", "annotate", "graph", "experimental", "ui"];

/// A file that was written less long ago may be written again within the same second.
const SETTLED: Duration = Duration::from_secs(2);

/// The tag of a page; `None` while the repository changes, and for statistics without all documents.
///
/// # Errors
/// The disk fails, or the database is damaged.
pub(super) fn of(
    repository: &Repository,
    address: &PageAddress,
    (config, database): (&Hgrc, Option<RepositoryDatabase<'_>>),
) -> Result<Option<String>, Failure> {
    let Some(seconds) = settled_seconds(repository).map_err(Failure::internal)? else {
        return Ok(None);
    };
    let settings = hash_of_settings(config).map(|hash| format!("-{hash:016x}"));
    let settings = settings.unwrap_or_default();
    if address.style != Style::Html {
        return Ok(Some(format!("W/\"{seconds}{settings}\"")));
    }
    let database = match (database, address.command) {
        // The page has documents of people.
        (Some(database), Some(Command::Changeset)) => format!("-d{}", database.update_seq()?),
        (Some(database), Some(Command::Statistics)) => match database.counted_seq()? {
            Some(seq) => format!("-d{seq}"),
            None => return Ok(None),
        },
        (None, Some(Command::Statistics)) => return Ok(None),
        (Some(_), _) => "-d".to_owned(),
        (None, _) => String::new(),
    };
    // Another version of this program may have other markup.
    let version = env!("CARGO_PKG_VERSION");
    Ok(Some(format!(
        "W/\"{seconds}-{version}{settings}{database}\""
    )))
}

/// The newest time of the files; `None` if that is too new to be sure of.
fn settled_seconds(repository: &Repository) -> Result<Option<u64>, StorageError> {
    let mut newest = UNIX_EPOCH;
    let own = repository.root().join(".hg");
    let source = repository.share_source().map(std::path::Path::to_owned);
    for directory in [Some(own), source].into_iter().flatten() {
        for file in FILES {
            let modified = repository.storage().modified(&directory.join(file))?;
            newest = newest.max(modified.unwrap_or(UNIX_EPOCH));
        }
    }
    let age = SystemTime::now().duration_since(newest);
    if age.is_ok_and(|age| age < SETTLED) {
        return Ok(None);
    }
    let seconds = newest.duration_since(UNIX_EPOCH);
    Ok(Some(seconds.map_or(0, |since| since.as_secs())))
}

/// `None` where nothing is set.
fn hash_of_settings(config: &Hgrc) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    let mut is_set = false;
    for section in SECTIONS {
        for item in config.section(section) {
            (section, &item.key, &item.value).hash(&mut hasher);
            is_set = true;
        }
    }
    is_set.then(|| hasher.finish())
}

/// Returns whether the client has the page of this tag.
pub(super) fn matches(request: &Request, tag: &str) -> bool {
    let known = request.header("if-none-match").unwrap_or_default();
    known.split(',').any(|known| known.trim() == tag)
}
