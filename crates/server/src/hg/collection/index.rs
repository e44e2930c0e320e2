//! The list of a collection's repositories: as a page, as lines of text (`style=raw`) and as JSON.

use super::{RepoCollection, RepositoryNames};
use crate::hg::page::{self, IndexRow};
use crate::hg::registry::LoneConfig;
use crate::hg::rights;
use crate::runtime::repeats::fault_id;
use crate::{Answer, Request};
use hyper::StatusCode;
use percent_encoding::percent_decode_str;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::UNIX_EPOCH;
use varve_config::hgrc::{Hgrc, HgrcError};

/// Words for a missing description or contact.
const UNKNOWN: &str = "unknown";
/// Heading of the list.
const TITLE: &str = "Repositories";
/// Content type of lines.
const TEXT: &str = "text/plain; charset=UTF-8";

/// Form of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Page,
    Raw,
    Json,
}

impl Style {
    /// That of the request, or else of `web.style`. Unknown names stand for pages.
    pub(super) fn of(request: &Request, values: &Hgrc) -> Style {
        let named = |name: &str| match name {
            "raw" => Some(Style::Raw),
            "json" => Some(Style::Json),
            _ => None,
        };
        let mut pairs = request.query.iter().rev();
        let asked = pairs.find(|(key, _)| key == "style");
        let asked = asked.and_then(|(_, value)| named(value));
        let configured = || named(&values.text("web", "style")?);
        asked.or_else(configured).unwrap_or(Style::Page)
    }
}

/// A line of the list.
#[derive(Clone, Debug, Default)]
struct Row {
    name: String,
    /// Path of the URL, not escaped.
    url: Vec<u8>,
    description: String,
    contact: String,
    /// Seconds since 1970.
    last_change: i64,
    labels: Vec<String>,
    is_directory: bool,
}

/// The list of the repositories whose names begin with `below`.
pub(super) fn answer(
    collection: &RepoCollection,
    names: &RepositoryNames,
    below: &[u8],
    request: &Request,
) -> Answer {
    let base = base(request, &names.settings.values);
    let mut rows = rows(collection, names, below, &base);
    if let Some(key) = request.query("sort") {
        sort(&mut rows, key);
    }
    let zone = &collection.source.zone;
    match Style::of(request, &names.settings.values) {
        Style::Raw => {
            let urls = rows.iter().map(|row| [&row.url[..], b"\n"].concat());
            let lines = [
                b"\n".to_vec(),
                urls.collect::<Vec<_>>().concat(),
                b"\n".to_vec(),
            ];
            found(TEXT, lines.concat())
        }
        Style::Json => {
            let offset = |row: &Row| zone.west_at(row.last_change);
            let entries = rows.iter().map(|row| json_entry(row, offset(row)));
            let entries = entries.collect::<Vec<_>>().join(", ");
            let text = format!("{{\n\"entries\": [{entries}]\n}}");
            found("application/json", text.into_bytes())
        }
        Style::Page => {
            let rows = rows.into_iter().map(|row| IndexRow {
                name: row.name,
                url: row.url,
                description: row.description,
                contact: row.contact,
                last_change: (row.last_change, zone.west_at(row.last_change)),
                is_directory: row.is_directory,
            });
            page::collection_index(TITLE, &rows.collect::<Vec<_>>())
        }
    }
}

fn found(content_type: &str, body: Vec<u8>) -> Answer {
    let mut answer = Answer::whole(StatusCode::OK, content_type, body);
    answer.reason = Some("Script output follows");
    answer
}

/// The answer to a path that leads nowhere.
pub(super) fn not_found(path: &[u8], style: Style) -> Answer {
    let path = String::from_utf8_lossy(path);
    match style {
        Style::Raw => {
            let text = format!("\nerror: repository {path} not found\n");
            Answer::whole(StatusCode::NOT_FOUND, TEXT, text.into_bytes())
        }
        _ => page::no_repository(&path),
    }
}

/// The path below which the collection is, with slashes at both ends.
fn base(request: &Request, values: &Hgrc) -> Vec<u8> {
    let configured = values.text("web", "baseurl");
    let configured = configured.filter(|url| !url.is_empty());
    let path = match &configured {
        Some(url) => {
            let rest = url.split_once("://").map_or(&url[..], |(_, rest)| rest);
            rest.find('/').map_or("", |at| &rest[at..])
        }
        None => &request.mount,
    };
    let mut base: Vec<u8> = percent_decode_str(path.trim_end_matches('/')).collect();
    base.push(b'/');
    base
}

fn rows(
    collection: &RepoCollection,
    names: &RepositoryNames,
    below: &[u8],
    base: &[u8],
) -> Vec<Row> {
    let mut rows = Vec::new();
    let (mut directories, mut repositories) = (HashSet::new(), HashSet::new());
    let started_in = &collection.source.started_in;
    for named in &names.listed {
        let Some(mut name) = named.name.strip_prefix(below) else {
            continue;
        };
        let mut path = named.directory.clone();
        if let Some(slash) = name.iter().position(|byte| *byte == b'/') {
            let first = &name[..slash];
            if !names.descend || names.collapse && directories.contains(first) {
                continue;
            }
            if names.collapse && !repositories.contains(first) {
                let Some(above) = above(&named.written, name.len() - slash) else {
                    continue;
                };
                (path, name) = (started_in.join(above), first);
                if !path.join(".hg").is_dir() {
                    if let Some(last_change) = modified(&path) {
                        directories.insert(first);
                        rows.push(directory_row(first, [base, below].concat(), last_change));
                    }
                    continue;
                }
            }
        }
        match row(collection, names, (name, &path)) {
            Ok(Some(row)) => {
                repositories.insert(name);
                let url = [base, below, name, b"/"].concat();
                rows.push(Row { url, ..row });
            }
            Ok(None) => {}
            Err(error) => log_fault(collection, &[below, name].concat(), &error),
        }
    }
    rows
}

/// The path without as many bytes at its end: that of the directory that stands for what is below it.
fn above(path: &Path, bytes: usize) -> Option<&Path> {
    let path = path.as_os_str().as_bytes();
    let above = &path[..path.len().saturating_sub(bytes)];
    (!above.is_empty()).then(|| Path::new(OsStr::from_bytes(above)))
}

fn directory_row(name: &[u8], base: Vec<u8>, last_change: i64) -> Row {
    let name = [name, b"/"].concat();
    Row {
        name: text(&name),
        url: [base, name].concat(),
        last_change,
        is_directory: true,
        ..Row::default()
    }
}

/// The line of a repository, if it is meant for every client.
fn row(
    collection: &RepoCollection,
    names: &RepositoryNames,
    (name, directory): (&[u8], &Path),
) -> Result<Option<Row>, HgrcError> {
    let LoneConfig {
        values,
        with_untrusted,
    } = (names.settings.configuration)(directory)?;
    let values = with_untrusted.unwrap_or(values);
    if values.boolean("web", "hidden", false)? || !rights::may_read(&values, None) {
        return Ok(None);
    }
    let Some(last_change) = last_change(directory) else {
        return Ok(None);
    };
    let set = |section, key| {
        let value = values.text(section, key);
        value.filter(|value| !value.is_empty())
    };
    let contact = set("web", "contact").or_else(|| set("ui", "username"));
    let contact = contact.or_else(|| collection.source.email.clone());
    let labels = values.list("web", "labels");
    Ok(Some(Row {
        name: values.text("web", "name").unwrap_or_else(|| text(name)),
        description: set("web", "description").unwrap_or_else(|| UNKNOWN.to_owned()),
        contact: contact.unwrap_or_else(|| UNKNOWN.to_owned()),
        last_change,
        labels: labels.iter().map(|label| text(label)).collect(),
        ..Row::default()
    }))
}

/// When the changelog was written, or else the store that is to have one; `None` if that is gone.
fn last_change(directory: &Path) -> Option<i64> {
    let mut hg = directory.join(".hg");
    if let Ok(shared) = std::fs::read(hg.join("sharedpath")) {
        let shared = shared.strip_suffix(b"\n").unwrap_or(&shared);
        hg = hg.join(OsStr::from_bytes(shared));
    }
    let requires = std::fs::read_to_string(hg.join("requires")).unwrap_or_default();
    let has_store = |line: &str| ["store", "share-safe"].contains(&line);
    let store = match requires.lines().any(has_store) {
        true => hg.join("store"),
        false => hg,
    };
    modified(&store.join("00changelog.i")).or_else(|| modified(&store))
}

fn modified(path: &Path) -> Option<i64> {
    let time = std::fs::metadata(path).ok()?.modified().ok()?;
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).ok()
}

fn log_fault(collection: &RepoCollection, name: &[u8], error: &HgrcError) {
    let name = text(name);
    let words = format!("repository {name}: {error}");
    let fault = fault_id(&words);
    let log = &collection.server.log;
    log.scope(|| tracing::error!(repository = name, fault = fault, "{words}"));
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Sorts by a column, backwards behind a `-`; an unknown one changes nothing.
fn sort(rows: &mut [Row], key: &str) {
    let (key, is_reverse) = match key.strip_prefix('-') {
        Some(key) => (key, true),
        None => (key, false),
    };
    let compare = |one: &Row, other: &Row| match key {
        "name" => one.name.cmp(&other.name),
        "contact" => (one.contact.to_uppercase()).cmp(&other.contact.to_uppercase()),
        "description" => (one.description.to_uppercase()).cmp(&other.description.to_uppercase()),
        // The newest first.
        "lastchange" => other.last_change.cmp(&one.last_change),
        _ => std::cmp::Ordering::Equal,
    };
    rows.sort_by(|one, other| match is_reverse {
        true => compare(other, one),
        false => compare(one, other),
    });
}

fn json_entry(row: &Row, offset: i32) -> String {
    let Row {
        name,
        description,
        contact,
        last_change,
        ..
    } = row;
    let [name, description, contact] = [name, description, contact].map(|text| json_string(text));
    let labels = row.labels.iter().map(|label| json_string(label));
    let labels = labels.collect::<Vec<_>>().join(", ");
    format!(
        "{{\n\"name\": {name},\n\"description\": {description},\n\"contact\": {contact},\n\
         \"lastchange\": [{last_change}, {offset}],\n\"labels\": [{labels}]\n}}"
    )
}

/// In ASCII, and without what could begin markup.
fn json_string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            ' '..='~' if !matches!(character, '<' | '>') => quoted.push(character),
            _ => {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    // Writing to a string cannot fail.
                    let _ = write!(quoted, "\\u{unit:04x}");
                }
            }
        }
    }
    quoted.push('"');
    quoted
}
