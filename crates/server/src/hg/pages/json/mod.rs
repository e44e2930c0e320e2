//! Pages as JSON, byte for byte as `hg serve` writes them: `json-log`, `json-rev`, `json-file`, …

mod files;
mod value;

use super::error::PageError;
use super::paths::Command;
use super::read::changesets::ChangesetEntry;
use super::read::diff::FileDiff;
use super::read::graph::GraphRow;
use super::read::labels::Label;
use super::{Page, PageBody};
use crate::runtime::{HelpEntry, HelpIndex};
use hyper::StatusCode;
use value::JsonValue;

const MEDIA_TYPE: &str = "application/json";

/// An object with the message.
pub(super) fn failure(message: &str) -> (&'static str, Vec<u8>) {
    let error = JsonValue::Object(vec![("error", JsonValue::text(message))]);
    (MEDIA_TYPE, error.to_body())
}

/// The page as JSON.
///
/// # Errors
/// 404 for what there is not.
pub(super) fn render(page: &Page<'_>, command: Command) -> Result<PageBody, PageError> {
    let value = match command {
        Command::Log | Command::Changelog => {
            return log(page, page.limits.changesets);
        }
        Command::Shortlog => return log(page, page.limits.short_changesets),
        Command::Graph => return graph(page),
        Command::Search => search(page)?,
        Command::Changeset => changeset(page)?,
        Command::File | Command::Manifest => files::file_or_directory(page, command)?,
        Command::FileDiff => files::file_diff(page)?,
        Command::Comparison => files::comparison(page)?,
        Command::Annotate => files::annotation(page)?,
        Command::FileLog => files::file_log(page)?,
        Command::Tags => JsonValue::Object(vec![("node", tip(page)), ("tags", tags(page)?)]),
        Command::Bookmarks => {
            JsonValue::Object(vec![("node", tip(page)), ("bookmarks", bookmarks(page)?)])
        }
        Command::Branches => JsonValue::Object(vec![("branches", branches(page)?)]),
        Command::Summary => summary(page)?,
        Command::Help => help(page)?,
        Command::Statistics => {
            return Err(PageError::told(StatusCode::BAD_REQUEST, "method not found"));
        }
        Command::Archive | Command::Static => {
            return Err(PageError::told(
                StatusCode::NOT_FOUND,
                "Unsupported archive type",
            ));
        }
    };
    Ok(PageBody::whole(MEDIA_TYPE, value.to_body()))
}

fn tip(page: &Page<'_>) -> JsonValue {
    JsonValue::node(&page.reader.node(page.reader.view.tip()))
}

/// Members of a changeset up to its user.
fn described(entry: &ChangesetEntry) -> Vec<(&'static str, JsonValue)> {
    vec![
        ("node", JsonValue::node(&entry.node)),
        ("date", date(entry)),
        ("desc", JsonValue::Text(entry.description.clone())),
        ("branch", JsonValue::Text(entry.branch.clone())),
        ("bookmarks", JsonValue::texts(&entry.bookmarks)),
        ("tags", JsonValue::texts(&entry.tags)),
        ("user", JsonValue::Text(entry.user.clone())),
    ]
}

/// The null revision has whole seconds.
fn date(entry: &ChangesetEntry) -> JsonValue {
    match entry.rev {
        Some(_) => JsonValue::date(entry.date),
        None => JsonValue::Written("[0, 0]".to_owned()),
    }
}

/// A changeset of a log.
fn logged(entry: &ChangesetEntry) -> JsonValue {
    let mut members = described(entry);
    members.push(("phase", JsonValue::text(entry.phase)));
    members.push(("parents", JsonValue::nodes(&entry.parents)));
    JsonValue::Object(members)
}

fn log(page: &Page<'_>, limit: usize) -> Result<PageBody, PageError> {
    let reader = &page.reader;
    let from = page.changeset()?;
    let revs = reader.downward(from).take(page.limit(limit));
    let entries = reader.entries(revs)?;
    log_of(page, &reader.node(from), entries.iter().map(logged))
}

fn log_of(
    page: &Page<'_>,
    node: &varve_repo::Node,
    entries: impl Iterator<Item = JsonValue>,
) -> Result<PageBody, PageError> {
    let log = JsonValue::Object(vec![
        ("node", JsonValue::node(node)),
        (
            "changeset_count",
            JsonValue::Number(page.reader.view.changelog().len() as u64),
        ),
        ("changesets", JsonValue::list(entries)),
    ]);
    Ok(PageBody::whole(MEDIA_TYPE, log.to_indented_body()))
}

fn graph(page: &Page<'_>) -> Result<PageBody, PageError> {
    let from = page.changeset()?;
    let rows = page
        .reader
        .graph(from, page.limit(page.limits.short_changesets))?;
    let rows = rows.iter().enumerate();
    let rows: Result<Vec<JsonValue>, PageError> = rows
        .map(|(number, row)| graph_row(page, number, row))
        .collect();
    log_of(page, &page.reader.node(from), rows?.into_iter())
}

fn graph_row(page: &Page<'_>, number: usize, row: &GraphRow) -> Result<JsonValue, PageError> {
    let place = &row.place;
    let edge = |edge: &super::read::graph::GraphEdge| {
        let (color, width) = page.line_to(edge.to)?;
        Ok(JsonValue::Written(format!(
            "{{\"bcolor\": \"{color}\", \"col\": {}, \"color\": {}, \"nextcol\": {}, \"width\": {width}}}",
            edge.column, edge.color, edge.next
        )))
    };
    let edges: Result<Vec<JsonValue>, PageError> = place.edges.iter().map(edge).collect();
    let mut members = described(&row.entry);
    members.push(("phase", JsonValue::text(row.entry.phase)));
    members.push(("col", JsonValue::Number(place.column as u64)));
    members.push(("row", JsonValue::Number(number as u64)));
    members.push(("color", JsonValue::Number(place.color as u64)));
    members.push(("edges", JsonValue::List(edges?)));
    members.push(("parents", JsonValue::nodes(&row.entry.parents)));
    Ok(JsonValue::Object(members))
}

fn search(page: &Page<'_>) -> Result<JsonValue, PageError> {
    let text = page.query("rev").unwrap_or_default();
    let limit = page.limit(page.limits.changesets);
    let (_, found) = page.reader.search(text, limit)?;
    Ok(JsonValue::Object(vec![
        ("node", tip(page)),
        ("query", JsonValue::text(text)),
        ("entries", JsonValue::list(found.iter().map(logged))),
    ]))
}

fn changeset(page: &Page<'_>) -> Result<JsonValue, PageError> {
    let reader = &page.reader;
    let rev = page.changeset()?;
    let entry = reader.entry(rev)?;
    let files = reader.changed_files(rev, &entry.files)?;
    let files = files.iter().map(|file| {
        JsonValue::Object(vec![
            ("file", JsonValue::Text(file.path.clone())),
            ("status", JsonValue::text(file.status)),
        ])
    });
    let diffs = page.diffs((page.base()?, rev), None)?;
    let mut members = described(&entry);
    members.push(("parents", JsonValue::nodes(&entry.parents)));
    members.push(("children", JsonValue::nodes(&reader.children(rev))));
    members.push(("files", JsonValue::list(files)));
    members.push(("diff", diff_blocks(&diffs)));
    members.push(("phase", JsonValue::text(entry.phase)));
    Ok(JsonValue::Object(members))
}

/// A block for each file of which there is more than the header. The content of a file that is no text is one line.
fn diff_blocks(diffs: &[FileDiff]) -> JsonValue {
    let numbered = diffs.iter().zip(1..);
    let blocks = numbered.filter(|(diff, _)| !diff.is_empty());
    let blocks = blocks.map(|(diff, number)| {
        let lines = super::read::diff::lines(&diff.body);
        let literal = diff.literal.as_deref();
        let lines = lines
            .into_iter()
            .chain(literal)
            .zip(1..)
            .map(|(line, number)| {
                let kind = match line.first() {
                    Some(b'-') => "-",
                    Some(b'+') => "+",
                    Some(b'@') => "@",
                    _ => "",
                };
                JsonValue::Object(vec![
                    ("t", JsonValue::text(kind)),
                    ("n", JsonValue::Number(number)),
                    ("l", JsonValue::Text(line.to_vec())),
                ])
            });
        JsonValue::Object(vec![
            ("blockno", JsonValue::Number(number)),
            ("lines", JsonValue::list(lines)),
        ])
    });
    JsonValue::list(blocks)
}

fn label(kind: &'static str, label: &Label) -> JsonValue {
    let mut members = vec![
        (kind, JsonValue::Text(label.name.clone())),
        ("node", JsonValue::node(&label.node)),
        ("date", JsonValue::date(label.date)),
    ];
    if !label.status.is_empty() {
        members.push(("status", JsonValue::text(label.status)));
    }
    JsonValue::Object(members)
}

fn tags(page: &Page<'_>) -> Result<JsonValue, PageError> {
    let tags = page.reader.all_tags()?;
    let tags = tags.iter().filter(|tag| tag.name != b"tip");
    Ok(JsonValue::list(tags.map(|tag| label("tag", tag))))
}

fn bookmarks(page: &Page<'_>) -> Result<JsonValue, PageError> {
    let bookmarks = page.reader.all_bookmarks()?;
    let bookmarks = bookmarks.iter().map(|bookmark| label("bookmark", bookmark));
    Ok(JsonValue::list(bookmarks))
}

fn branches(page: &Page<'_>) -> Result<JsonValue, PageError> {
    let branches = page.reader.all_branches()?;
    let branches = branches.iter().map(|branch| label("branch", branch));
    Ok(JsonValue::list(branches))
}

fn summary(page: &Page<'_>) -> Result<JsonValue, PageError> {
    let reader = &page.reader;
    let tip = reader.view.tip();
    let newest = reader.entries(page.newest())?;
    let archives = page.archives().into_iter().map(|archive| {
        JsonValue::Object(vec![
            ("node", JsonValue::text("tip")),
            ("extension", JsonValue::text(archive.extension)),
            ("type", JsonValue::text(archive.name)),
            (
                "url",
                JsonValue::Text(
                    page.absolute(&format!("archive/tip{}", archive.extension))
                        .into_bytes(),
                ),
            ),
        ])
    });
    let labels = page.config.list("web", "labels");
    Ok(JsonValue::Object(vec![
        ("node", self::tip(page)),
        ("lastchange", date(&reader.entry(tip)?)),
        ("bookmarks", bookmarks(page)?),
        ("branches", branches(page)?),
        ("shortlog", JsonValue::list(newest.iter().map(logged))),
        ("tags", tags(page)?),
        ("archives", JsonValue::list(archives)),
        ("labels", JsonValue::texts(&labels)),
    ]))
}

/// All that there is help about, or the text about one of it.
fn help(page: &Page<'_>) -> Result<JsonValue, PageError> {
    let name = &page.address.path[..];
    let text = |text: &str| JsonValue::text(text);
    if !name.is_empty() {
        let entry = page.help.and_then(|help| help.entry(name));
        let entry = entry.ok_or_else(|| PageError::missing("Not Found".to_owned()))?;
        return Ok(JsonValue::Object(vec![
            ("topic", text(&entry.name)),
            ("rawdoc", text(&entry.text)),
        ]));
    }
    let listed = |entries: fn(&HelpIndex) -> &Vec<HelpEntry>| {
        let entries = page.help.map(entries).into_iter().flatten();
        JsonValue::list(entries.map(|entry| {
            JsonValue::Object(vec![
                ("topic", text(&entry.name)),
                ("summary", text(&entry.title)),
            ])
        }))
    };
    Ok(JsonValue::Object(vec![
        ("topics", listed(|help| &help.topics)),
        ("earlycommands", listed(|help| &help.basic_commands)),
        ("othercommands", listed(|help| &help.other_commands)),
    ]))
}
