//! The database that says where all others are.

use crate::couch_file::{CouchFile, Met};
use crate::{Finding, ReplicateError};
use std::path::Path;
use varve_base::{Interrupt, Storage};
use varve_json::{Value, parse};

/// Shards of a database, as `_dbs.couch` has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placement {
    pub(super) name: String,
    /// Behind the name of each of its files, with a point.
    pub(super) suffix: String,
    /// Ranges of its shards.
    pub(super) ranges: Vec<String>,
}

/// Reads the places of all databases that are not deleted.
pub(super) fn read(
    storage: &dyn Storage,
    path: &Path,
    stop: &Interrupt,
) -> Result<(Vec<Placement>, Vec<Finding>), ReplicateError> {
    let file = CouchFile::open(storage, path, stop)?;
    let mut contents = file.contents();
    let (mut placements, mut findings) = (Vec::new(), Vec::new());
    for met in file.by_id() {
        stop.check()?;
        let document = match met {
            Met::Item(document) => document,
            Met::Lost(lost) => {
                let what = format!("databases cannot be found: {}", lost.damage.reason);
                findings.push(Finding::in_file(path, Some(lost.damage.offset), what));
                continue;
            }
        };
        if document.id.starts_with("_design/") {
            continue;
        }
        let winner = document.winner().and_then(|winner| winner.content);
        let Some(content) = winner.filter(|content| !content.deleted) else {
            continue;
        };
        let mut report = |offset, reason: &str| {
            let what = format!("the place of {:?} cannot be read: {reason}", document.id);
            findings.push(Finding::in_file(path, Some(offset), what));
        };
        match contents.read(content.body) {
            Ok(read) => match placement(&document.id, &read.body) {
                Some(placement) => placements.push(placement),
                None => report(content.body, "it has no ranges"),
            },
            Err(damage) => report(damage.offset, &damage.reason),
        }
    }
    Ok((placements, findings))
}

fn placement(name: &str, body: &[u8]) -> Option<Placement> {
    let body = parse(body).ok()?;
    let ranges = body.get("by_range")?.as_object()?;
    let ranges: Vec<String> = ranges.iter().map(|(range, _)| range.to_owned()).collect();
    let suffix = match body.get("shard_suffix") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(letters)) => {
            let letters = letters.iter().map(|letter| {
                let letter = letter.as_u64().and_then(|letter| u8::try_from(letter).ok());
                letter.filter(u8::is_ascii_graphic).map(char::from)
            });
            letters.collect::<Option<String>>()?
        }
        _ => String::new(),
    };
    let is_plain = |part: &str| !part.contains('/') && !part.contains("..");
    let is_name = !name.split('/').any(|part| part.is_empty() || part == "..");
    let is_safe = is_name && is_plain(&suffix) && ranges.iter().all(|range| is_plain(range));
    (is_safe && !ranges.is_empty()).then(|| Placement {
        name: name.to_owned(),
        suffix,
        ranges,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_a_suffix_of_letters_and_ranges() {
        let body = br#"{"shard_suffix":[46,49,55],"by_range":{"00000000-ffffffff":["n"]}}"#;
        let found = placement("team/notes", body).unwrap();
        assert_eq!((found.suffix.as_str(), found.ranges.len()), (".17", 1));
        assert_eq!(placement("../x", body), None);
        assert_eq!(placement("x", br#"{"by_range":{}}"#), None);
        let outside = br#"{"shard_suffix":".17","by_range":{"../../etc":["n"]}}"#;
        assert_eq!(placement("x", outside), None);
    }
}
