//! Tags of pages, as `hg serve` makes them: the newest time of the files that pages depend on, in seconds.

use super::paths::Style;
use crate::Request;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use varve_base::StorageError;
use varve_repo::Repository;

/// Files of `.hg` whose times count.
const FILES: [&str; 4] = [
    "store/00changelog.i",
    "store/phaseroots",
    "store/obsstore",
    "bookmarks",
];

/// A file that was written less long ago may be written again within the same second.
const SETTLED: Duration = Duration::from_secs(2);

/// The tag of all pages of one style; `None` while the repository changes.
///
/// # Errors
/// The disk fails.
pub(super) fn of(repository: &Repository, style: Style) -> Result<Option<String>, StorageError> {
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
    let seconds = seconds.map_or(0, |since| since.as_secs());
    Ok(Some(match style {
        // Another version of this program may have other markup.
        Style::Html => format!("W/\"{seconds}-{}\"", env!("CARGO_PKG_VERSION")),
        _ => format!("W/\"{seconds}\""),
    }))
}

/// Returns whether the client has the page of this tag.
pub(super) fn matches(request: &Request, tag: &str) -> bool {
    let known = request.header("if-none-match").unwrap_or_default();
    known.split(',').any(|known| known.trim() == tag)
}
