//! Finding the databases in a data directory.
//!
//! ```text
//! data/_dbs.couch                           one document per database: its suffix and its ranges
//! data/shards/RANGE/NAME.SECONDS.couch      one shard; SECONDS is the database's suffix
//! data/NAME.couch                           a database in one file, as CouchDB 1 has them
//! ```
//! RANGE is `00000000-7fffffff`: the hashes of the shard's documents. Names may have slashes; each is a directory.

use super::shard_map::{self, Placement};
use crate::{Finding, ReplicateError};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use varve_base::storage::{Entry, EntryKind};
use varve_base::{Interrupt, Storage};

const SHARDS: &str = "shards";
const EXTENSION: &str = ".couch";
/// Databases of one node, which say nothing to another server.
const OF_NODES: [&str; 2] = ["_dbs", "_nodes"];
/// Names have fewer parts than this.
const DEEPEST: usize = 16;

/// The files of one database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceDatabase {
    /// Name of the database.
    pub name: String,
    /// Its files, of which each document is in one.
    pub files: Vec<PathBuf>,
    /// Parts that are known to be missing.
    pub findings: Vec<Finding>,
}

/// All databases that a path leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// By name.
    pub databases: Vec<SourceDatabase>,
    /// Files that are passed over, each with the reason.
    pub passed_over: Vec<(PathBuf, &'static str)>,
    /// Missing parts that belong to no single database.
    pub findings: Vec<Finding>,
}

/// Finds what is at a path: a data directory, or one file.
///
/// # Errors
/// [`ReplicateError::NoDatabases`]; errors of the storage.
pub fn find(
    storage: &dyn Storage,
    path: &Path,
    stop: &Interrupt,
) -> Result<Sources, ReplicateError> {
    let none = || ReplicateError::NoDatabases {
        path: path.to_owned(),
    };
    match storage.kind(path)? {
        Some(EntryKind::File) => one_file(path).ok_or_else(none),
        Some(EntryKind::Directory) => {
            let sources = directory(storage, path, stop)?;
            match sources.databases.is_empty() && sources.findings.is_empty() {
                true => Err(none()),
                false => Ok(sources),
            }
        }
        _ => Err(none()),
    }
}

fn one_file(path: &Path) -> Option<Sources> {
    let name = path.file_name()?.to_str()?.strip_suffix(EXTENSION)?;
    let name = split_suffix(name).map_or(name, |(name, _)| name);
    Some(Sources {
        databases: vec![SourceDatabase {
            name: name.to_owned(),
            files: vec![path.to_owned()],
            findings: Vec::new(),
        }],
        ..Sources::default()
    })
}

/// A name and the suffix behind it, which has a point and digits.
fn split_suffix(name: &str) -> Option<(&str, &str)> {
    let at = name.rfind('.')?;
    let (name, suffix) = name.split_at(at);
    let is_number = suffix.len() > 1 && suffix[1..].bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !name.is_empty()).then_some((name, suffix))
}

fn directory(
    storage: &dyn Storage,
    top: &Path,
    stop: &Interrupt,
) -> Result<Sources, ReplicateError> {
    let mut sources = Sources::default();
    let shards = shard_files(storage, &top.join(SHARDS), &mut sources.passed_over)?;
    let dbs = top.join("_dbs.couch");
    let placements = match storage.kind(&dbs)? {
        None => None,
        Some(_) => match shard_map::read(storage, &dbs, stop) {
            Ok((placements, findings)) => {
                sources.findings.extend(findings);
                Some(placements)
            }
            Err(ReplicateError::Open(error)) => {
                let what = format!("{error}; the newest files of each database are taken instead");
                sources.findings.push(Finding::of(what));
                None
            }
            Err(other) => return Err(other),
        },
    };
    match placements {
        Some(placements) => by_placement(top, placements, shards, &mut sources),
        None => by_suffix(shards, &mut sources),
    }
    let sharded: BTreeSet<&str> = sources
        .databases
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    let mut alone = Vec::new();
    for (name, file) in files_below(storage, top, &[SHARDS])? {
        if OF_NODES.contains(&name.as_str()) {
            continue;
        }
        match sharded.contains(name.as_str()) {
            true => sources.passed_over.push((file, "the database has shards")),
            false => alone.push(SourceDatabase {
                name,
                files: vec![file],
                findings: Vec::new(),
            }),
        }
    }
    sources.databases.extend(alone);
    sources.databases.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(sources)
}

/// A shard's file.
struct Shard {
    name: String,
    suffix: String,
    range: String,
    path: PathBuf,
}

fn shard_files(
    storage: &dyn Storage,
    top: &Path,
    passed_over: &mut Vec<(PathBuf, &'static str)>,
) -> Result<Vec<Shard>, ReplicateError> {
    let mut shards = Vec::new();
    for entry in sorted(storage, top)? {
        let (Some(range), EntryKind::Directory) = (entry.name.to_str(), entry.kind) else {
            continue;
        };
        if limits(range).is_none() {
            continue;
        }
        for (name, path) in files_below(storage, &top.join(range), &[])? {
            match split_suffix(&name) {
                Some((name, suffix)) => shards.push(Shard {
                    name: name.to_owned(),
                    suffix: suffix.to_owned(),
                    range: range.to_owned(),
                    path,
                }),
                None => passed_over.push((path, "the name of a shard ends in its suffix")),
            }
        }
    }
    Ok(shards)
}

/// The first and the last hash of a range.
fn limits(range: &str) -> Option<(u32, u32)> {
    let (first, last) = range.split_once('-')?;
    let number = |text: &str| match text.len() {
        8 => u32::from_str_radix(text, 16).ok(),
        _ => None,
    };
    let (first, last) = (number(first)?, number(last)?);
    (first <= last).then_some((first, last))
}

/// The databases that the shard map names.
fn by_placement(top: &Path, placements: Vec<Placement>, shards: Vec<Shard>, sources: &mut Sources) {
    let mut known: BTreeMap<PathBuf, Shard> = BTreeMap::new();
    for shard in shards {
        known.insert(shard.path.clone(), shard);
    }
    for placement in placements {
        let Placement {
            name,
            suffix,
            ranges,
        } = placement;
        let (mut files, mut findings) = (Vec::new(), Vec::new());
        for range in &ranges {
            let path = top
                .join(SHARDS)
                .join(range)
                .join(format!("{name}{suffix}{EXTENSION}"));
            match known.remove(&path) {
                Some(shard) => files.push(shard.path),
                None => {
                    let what = format!("the shard {range} of {name:?} is not there");
                    findings.push(Finding::in_file(&path, None, what));
                }
            }
        }
        let ranges: Vec<&str> = ranges.iter().map(String::as_str).collect();
        findings.extend(gaps(&name, &ranges));
        sources.databases.push(SourceDatabase {
            name,
            files,
            findings,
        });
    }
    let rest = known.into_values();
    let rest = rest.map(|shard| {
        (
            shard.path,
            "_dbs.couch does not name it: the database was deleted",
        )
    });
    sources.passed_over.extend(rest);
}

/// Databases by the names of their files alone: of each the newest.
fn by_suffix(shards: Vec<Shard>, sources: &mut Sources) {
    let mut by_name: BTreeMap<String, BTreeMap<(usize, String), Vec<Shard>>> = BTreeMap::new();
    for shard in shards {
        let generations = by_name.entry(shard.name.clone()).or_default();
        // Longer numbers are later ones.
        let suffix = (shard.suffix.len(), shard.suffix.clone());
        generations.entry(suffix).or_default().push(shard);
    }
    for (name, mut generations) in by_name {
        let Some((_, newest)) = generations.pop_last() else {
            continue;
        };
        let older = generations.into_values().flatten();
        let older = older.map(|shard| (shard.path, "there is a newer database of this name"));
        sources.passed_over.extend(older);
        let ranges: Vec<&str> = newest.iter().map(|shard| shard.range.as_str()).collect();
        let findings = gaps(&name, &ranges);
        sources.databases.push(SourceDatabase {
            files: newest.into_iter().map(|shard| shard.path).collect(),
            name,
            findings,
        });
    }
}

/// Hashes that none of the ranges has, or several have.
fn gaps(name: &str, ranges: &[&str]) -> Vec<Finding> {
    let mut limits: Vec<(u32, u32)> = ranges.iter().filter_map(|range| limits(range)).collect();
    limits.sort_unstable();
    let (mut findings, mut next) = (Vec::new(), 0_u64);
    for (first, last) in limits {
        let first = u64::from(first);
        if first > next {
            let what = format!(
                "no shard of {name:?} has the range {next:08x}-{:08x}",
                first - 1
            );
            findings.push(Finding::of(what));
        }
        if first < next {
            let what =
                format!("shards of {name:?} overlap at {first:08x}: documents may come twice");
            findings.push(Finding::of(what));
        }
        next = next.max(u64::from(last) + 1);
    }
    if next <= u64::from(u32::MAX) {
        let what = format!("no shard of {name:?} has the range {next:08x}-ffffffff");
        findings.push(Finding::of(what));
    }
    findings
}

/// The `.couch` files in and below a directory, by the names that their paths make without the extension.
fn files_below(
    storage: &dyn Storage,
    top: &Path,
    without: &[&str],
) -> Result<Vec<(String, PathBuf)>, ReplicateError> {
    let mut files = Vec::new();
    let mut waiting = vec![(String::new(), top.to_owned(), 0)];
    while let Some((prefix, directory, depth)) = waiting.pop() {
        for entry in sorted(storage, &directory)? {
            let Some(name) = entry.name.to_str() else {
                continue;
            };
            let path = directory.join(name);
            let full = format!("{prefix}{name}");
            match entry.kind {
                // Hidden ones hold indexes and deleted files.
                EntryKind::Directory if !name.starts_with('.') && depth < DEEPEST => {
                    let is_index = name.ends_with("_design");
                    let is_left_out = depth == 0 && without.contains(&name);
                    if !is_index && !is_left_out {
                        waiting.push((format!("{full}/"), path, depth + 1));
                    }
                }
                EntryKind::File => {
                    if let Some(full) = full.strip_suffix(EXTENSION) {
                        files.push((full.to_owned(), path));
                    }
                }
                _ => {}
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The entries of a directory by name; none if it is not there.
fn sorted(storage: &dyn Storage, path: &Path) -> Result<Vec<Entry>, ReplicateError> {
    if storage.kind(path)? != Some(EntryKind::Directory) {
        return Ok(Vec::new());
    }
    let mut entries = storage.list(path)?;
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_is_a_point_and_digits() {
        assert_eq!(split_suffix("a.1795439037"), Some(("a", ".1795439037")));
        assert_eq!(split_suffix("team/notes.17"), Some(("team/notes", ".17")));
        for none in ["a", "a.", "a.b", ".17"] {
            assert_eq!(split_suffix(none), None, "{none}");
        }
    }

    #[test]
    fn ranges_that_are_missing_or_overlap_are_named() {
        let said = |ranges: &[&str]| -> Vec<String> {
            gaps("db", ranges).iter().map(Finding::to_string).collect()
        };
        assert!(said(&["80000000-ffffffff", "00000000-7fffffff"]).is_empty());
        let missing = said(&["00000000-3fffffff", "80000000-bfffffff"]);
        assert_eq!(
            missing,
            [
                "no shard of \"db\" has the range 40000000-7fffffff",
                "no shard of \"db\" has the range c0000000-ffffffff"
            ]
        );
        let twice = said(&["00000000-ffffffff", "80000000-ffffffff"]);
        assert!(twice[0].contains("overlap at 80000000"), "{twice:?}");
        assert!(limits("80000000-7fffffff").is_none() && limits("0-1").is_none());
    }
}
