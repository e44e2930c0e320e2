//! Changesets, paths and differences as templates want them.

use super::frame::{Link, Links};
use super::marked::{MarkedText, marked_run};
use crate::hg::pages::Page;
use crate::hg::pages::people;
use crate::hg::pages::read::changesets::ChangesetEntry;
use crate::hg::pages::read::diff::{FileDiff, lines, short};
use crate::hg::pages::read::{Text, file};
use varve_lang::date::Date;
use varve_repo::Node;

/// Bytes of a file's difference that a page shows.
const LONGEST_DIFF: usize = 256 << 10;

/// A tag, bookmark or branch of a changeset.
#[derive(Clone, Debug)]
pub(super) struct RowName {
    pub(super) kind: &'static str,
    pub(super) text: String,
    pub(super) url: String,
}

/// A changeset.
#[derive(Clone, Debug)]
pub(super) struct ChangesetRow {
    pub(super) url: String,
    /// First digits of the node.
    pub(super) id: String,
    pub(super) node: String,
    pub(super) number: u32,
    pub(super) date: String,
    pub(super) long_date: String,
    /// For programs.
    pub(super) datetime: String,
    pub(super) author: String,
    pub(super) user: String,
    pub(super) summary: String,
    pub(super) description: String,
    pub(super) phase: &'static str,
    pub(super) names: Vec<RowName>,
    pub(super) parents: Vec<Link>,
    pub(super) children: Vec<Link>,
    /// The first ones.
    pub(super) files: Vec<Link>,
    pub(super) more_files: usize,
}

impl ChangesetRow {
    pub(super) fn new(page: &Page<'_>, entry: &ChangesetEntry) -> ChangesetRow {
        let links = Links::new(page);
        let summary = lossy(entry.summary());
        let shown = page.limits.files.min(entry.files.len());
        ChangesetRow {
            url: links.of("rev", &entry.node),
            id: short(&entry.node),
            node: entry.node.to_string(),
            number: entry.rev.map_or(0, |rev| rev.0),
            date: entry.date.format("%Y-%m-%d"),
            long_date: entry.date.format("%Y-%m-%d %H:%M:%S %1%2"),
            datetime: iso(entry.date),
            author: people::person(&entry.user),
            user: lossy(&entry.user),
            summary: match summary.trim().is_empty() {
                true => "(no description)".to_owned(),
                false => summary,
            },
            description: lossy(&entry.description),
            phase: entry.phase,
            names: names(&links, entry),
            parents: nodes(&links, &entry.parents),
            children: Vec::new(),
            files: entry.files[..shown]
                .iter()
                .map(|path| Link {
                    url: links.file("diff", &entry.node, path),
                    text: lossy(path),
                })
                .collect(),
            more_files: entry.files.len() - shown,
        }
    }
}

fn names(links: &Links, entry: &ChangesetEntry) -> Vec<RowName> {
    let named = |kind: &'static str, name: &Text| RowName {
        kind,
        text: lossy(name),
        url: links.named("shortlog", name),
    };
    let branch = (entry.is_branch_tip).then(|| named("branch", &entry.branch));
    let tags = entry.tags.iter().map(|name| named("tag", name));
    let bookmarks = entry.bookmarks.iter().map(|name| named("bookmark", name));
    branch.into_iter().chain(tags).chain(bookmarks).collect()
}

/// Links to changesets by their nodes.
pub(super) fn nodes(links: &Links, nodes: &[Node]) -> Vec<Link> {
    let link = |node: &Node| Link {
        url: links.of("rev", node),
        text: short(node),
    };
    nodes.iter().map(link).collect()
}

pub(super) fn iso(date: Date) -> String {
    date.format("%Y-%m-%dT%H:%M:%S%1:%2")
}

pub(super) fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

/// A part of a path; the last one has no link.
#[derive(Clone, Debug)]
pub(super) struct PathPart {
    pub(super) text: String,
    pub(super) url: Option<String>,
}

/// A path whose directories are links, if the changeset has it.
pub(super) fn path_parts(
    page: &Page<'_>,
    (node, is_there): (&Node, bool),
    path: &[u8],
) -> Vec<PathPart> {
    let links = Links::new(page);
    let mut parts = vec![PathPart {
        text: page.about.name.clone(),
        url: (!path.is_empty()).then(|| links.of("file", node)),
    }];
    if path.is_empty() {
        return parts;
    }
    let mut end = 0;
    let names: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    for (number, name) in names.iter().enumerate() {
        end += name.len();
        let is_last = number + 1 == names.len();
        parts.push(PathPart {
            text: lossy(name),
            url: (is_there && !is_last).then(|| links.file("file", node, &path[..end])),
        });
        end += 1;
    }
    parts
}

/// A line of a difference.
#[derive(Clone, Debug)]
pub(super) struct DiffRow {
    /// `plus`, `minus`, `at` or `same`.
    pub(super) kind: &'static str,
    pub(super) text: MarkedText,
}

/// The difference of a file.
#[derive(Clone, Debug)]
pub(super) struct DiffSection {
    pub(super) anchor: String,
    pub(super) path: String,
    /// The file, if there is one after the change.
    pub(super) url: Option<String>,
    /// The same as text.
    pub(super) raw: String,
    pub(super) is_omitted: bool,
    pub(super) lines: Vec<DiffRow>,
}

/// Differences, as far as a page shows them.
pub(super) fn diff_sections(
    page: &Page<'_>,
    entry: &ChangesetEntry,
    diffs: &[FileDiff],
) -> Vec<DiffSection> {
    let links = Links::new(page);
    let mut length = 0;
    let mut sections = Vec::with_capacity(diffs.len());
    for (number, diff) in diffs.iter().enumerate() {
        if diff.is_empty() {
            continue;
        }
        length += diff.body.len();
        let is_omitted = diff.body.len() > LONGEST_DIFF || length > 4 * LONGEST_DIFF;
        sections.push(DiffSection {
            anchor: anchor(number),
            path: lossy(&diff.path),
            url: (!diff.is_removed).then(|| links.file("file", &entry.node, &diff.path)),
            raw: links.file("raw-diff", &entry.node, &diff.path),
            is_omitted,
            lines: match is_omitted {
                true => Vec::new(),
                false => diff_rows(diff),
            },
        });
    }
    sections
}

/// The place of a file's difference in a page.
pub(super) fn anchor(number: usize) -> String {
    format!("d{}", number + 1)
}

/// The lines of a difference. The content of a file that is no text is left out.
fn diff_rows(diff: &FileDiff) -> Vec<DiffRow> {
    let mut rows: Vec<DiffRow> = lines(&diff.body).into_iter().map(diff_row).collect();
    mark_changes(&mut rows);
    if !diff.literal().is_empty() {
        rows.push(DiffRow {
            kind: "same",
            text: MarkedText::plain("The content is no text.".to_owned()),
        });
    }
    rows
}

fn diff_row(line: &[u8]) -> DiffRow {
    DiffRow {
        kind: match line.first() {
            Some(b'+') => "plus",
            Some(b'-') => "minus",
            Some(b'@') => "at",
            _ => "same",
        },
        text: MarkedText::plain(line_text(line)),
    }
}

/// Marks what changed within lines.
fn mark_changes(rows: &mut [DiffRow]) {
    // The lines above the first hunk name the file.
    let first_hunk = rows.iter().position(|row| row.kind == "at");
    let mut at = first_hunk.unwrap_or(rows.len());
    while at < rows.len() {
        let run = |from: usize, kind: &str| {
            let others = rows[from..].iter().position(|row| row.kind != kind);
            others.map_or(rows.len(), |len| from + len)
        };
        let (middle, end) = (run(at, "minus"), run(run(at, "minus"), "plus"));
        let texts = |rows: &[DiffRow]| -> Vec<String> {
            rows.iter().map(|row| row.text.before.clone()).collect()
        };
        let (removed, added) = (texts(&rows[at..middle]), texts(&rows[middle..end]));
        let [removed, added] =
            [&removed, &added].map(|texts| texts.iter().map(String::as_str).collect::<Vec<_>>());
        for (number, [old, new]) in marked_run(&removed, &added)
            .into_iter()
            .flatten()
            .enumerate()
        {
            rows[at + number].text = old;
            rows[middle + number].text = new;
        }
        at = end.max(at + 1);
    }
}

/// A line without its end.
pub(super) fn line_text(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    lossy(line.strip_suffix(b"\r").unwrap_or(line))
}

/// A text that is shown in lines, or why it is not.
pub(super) fn shown_lines(content: &[u8]) -> Result<Vec<&[u8]>, &'static str> {
    if file::is_binary(content) {
        return Err("This file is no text.");
    }
    if content.len() > 4 * LONGEST_DIFF {
        return Err("This file is long.");
    }
    Ok(lines(content))
}
