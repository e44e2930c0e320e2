//! Overviews, lists of changesets and names, and one changeset.

use super::filled;
use super::frame::{Frame, Link, Links, short_list};
use super::remarks::{self, RemarkRow};
use super::rows::{ChangesetRow, DiffSection, anchor, diff_sections, lossy, nodes};
use crate::hg::pages::Page;
use crate::hg::pages::error::PageError;
use crate::hg::pages::paths::Command;
use crate::hg::pages::read::changesets::ChangesetEntry;
use crate::hg::pages::read::diff::short;
use crate::hg::pages::read::labels::Label;
use askama::Template;
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use varve_repo::Rev;

/// A tag, bookmark or branch.
struct LabelRow {
    name: String,
    url: String,
    date: String,
    id: String,
    status: &'static str,
}

struct LabelList {
    title: &'static str,
    noun: &'static str,
    labels: Vec<LabelRow>,
    /// All of them, if these are not.
    more: Option<String>,
}

#[derive(Template)]
#[template(path = "summary.html")]
struct SummaryPage {
    frame: Frame,
    description: Option<String>,
    clone: String,
    /// URL of the database, if it is one.
    database: Option<String>,
    changesets: usize,
    last_change: Option<String>,
    archives: Vec<Link>,
    newest: Vec<ChangesetRow>,
    lists: Vec<LabelList>,
}

#[derive(Template)]
#[template(path = "shortlog.html")]
struct ShortlogPage {
    frame: Frame,
    note: Option<String>,
    changesets: Vec<ChangesetRow>,
    pages: Vec<Link>,
}

#[derive(Template)]
#[template(path = "log.html")]
struct LogPage {
    frame: Frame,
    changesets: Vec<ChangesetRow>,
    pages: Vec<Link>,
}

#[derive(Template)]
#[template(path = "labels.html")]
struct LabelsPage {
    frame: Frame,
    labels: Vec<LabelRow>,
    /// Only branches are open, inactive or closed.
    has_states: bool,
}

#[derive(Template)]
#[template(path = "help.html")]
struct HelpPage {
    frame: Frame,
    links: Vec<Link>,
}

/// A file that a changeset lists.
struct FileRow {
    status: &'static str,
    path: String,
    url: String,
    anchor: String,
    has_difference: bool,
}

#[derive(Template)]
#[template(path = "changeset.html")]
struct ChangesetPage {
    frame: Frame,
    row: ChangesetRow,
    links: Vec<Link>,
    remarks: Vec<RemarkRow>,
    files: Vec<FileRow>,
    diffs: Vec<DiffSection>,
}

fn changeset_rows(page: &Page<'_>, entries: &[ChangesetEntry]) -> Vec<ChangesetRow> {
    let rows = entries.iter();
    rows.map(|entry| ChangesetRow::new(page, entry)).collect()
}

fn label_rows(page: &Page<'_>, labels: &[Label]) -> Vec<LabelRow> {
    let links = Links::new(page);
    let row = |label: &Label| LabelRow {
        name: lossy(&label.name),
        url: links.named("shortlog", &label.name),
        date: label.date.format("%Y-%m-%d"),
        id: short(&label.node),
        status: label.status,
    };
    labels.iter().map(row).collect()
}

pub(super) fn summary(page: &Page<'_>) -> Result<String, PageError> {
    let reader = &page.reader;
    let newest = reader.entries(page.newest())?;
    let count = short_list(&page.limits);
    let links = Links::new(page);
    let list = |(title, noun, labels): (&'static str, &'static str, Vec<Label>)| {
        let shown = labels.len().min(count);
        (!labels.is_empty()).then(|| LabelList {
            title,
            noun,
            labels: label_rows(page, &labels[..shown]),
            more: (shown < labels.len()).then(|| links.plain(noun)),
        })
    };
    let lists = [
        ("Branches", "branches", reader.all_branches()?),
        ("Tags", "tags", reader.all_tags()?),
        ("Bookmarks", "bookmarks", reader.all_bookmarks()?),
    ];
    let archives = page.archives().into_iter().map(|archive| Link {
        url: links.plain(&format!("archive/tip{}", archive.extension)),
        text: format!("tip{}", archive.extension),
    });
    filled(&SummaryPage {
        frame: Frame::new(page, "Summary".to_owned(), Some("summary")),
        description: page.about.description.clone(),
        clone: format!("{}{}", page.request.origin(), page.root),
        database: page.database.map(|database| {
            let name = database.name();
            let name = percent_encode(name.as_bytes(), NON_ALPHANUMERIC);
            format!("{}{}/{name}", page.request.origin(), page.request.mount)
        }),
        changesets: reader.count(),
        last_change: newest.first().map(|entry| entry.date.format("%Y-%m-%d")),
        archives: archives.collect(),
        newest: changeset_rows(page, &newest),
        lists: lists.into_iter().filter_map(list).collect(),
    })
}

/// The entries of a list with links to its neighbours.
fn listed(
    page: &Page<'_>,
    (command, usual): (&str, usize),
) -> Result<(Vec<ChangesetRow>, Vec<Link>), PageError> {
    let limit = page.limit(usual);
    let revs: Vec<Rev> = page
        .reader
        .downward(page.changeset()?)
        .take(limit)
        .collect();
    let entries = page.reader.entries(revs.iter().copied())?;
    let ends = (revs.first().copied(), revs.last().copied());
    let links = Links::new(page).pages(page, command, ends, limit);
    Ok((changeset_rows(page, &entries), links))
}

pub(super) fn shortlog(page: &Page<'_>) -> Result<String, PageError> {
    let (changesets, pages) = listed(page, ("shortlog", page.limits.short_changesets))?;
    filled(&ShortlogPage {
        frame: Frame::new(page, "Changesets".to_owned(), Some("shortlog")),
        note: changesets.is_empty().then(|| "There are none.".to_owned()),
        changesets,
        pages,
    })
}

pub(super) fn log(page: &Page<'_>) -> Result<String, PageError> {
    let (changesets, pages) = listed(page, ("log", page.limits.changesets))?;
    filled(&LogPage {
        frame: Frame::new(page, "Changesets in detail".to_owned(), Some("shortlog")),
        changesets,
        pages,
    })
}

pub(super) fn search(page: &Page<'_>) -> Result<String, PageError> {
    let text = page.query("rev").unwrap_or_default();
    let limit = page.limit(page.limits.short_changesets);
    let (_, found) = page.reader.search(text, limit)?;
    let note = match found.len() {
        0 => "Nothing was found.".to_owned(),
        1 => "One changeset was found.".to_owned(),
        count if count == limit => format!("The newest {count} that were found:"),
        count => format!("{count} changesets were found."),
    };
    filled(&ShortlogPage {
        frame: Frame::new(page, format!("Search for {text}"), Some("shortlog")),
        note: Some(note),
        changesets: changeset_rows(page, &found),
        pages: Vec::new(),
    })
}

pub(super) fn changeset(page: &Page<'_>) -> Result<String, PageError> {
    let reader = &page.reader;
    let rev = page.changeset()?;
    let entry = reader.entry(rev)?;
    let diffs = page.diffs((page.base()?, rev), None)?;
    let links = Links::new(page);
    let mut row = ChangesetRow::new(page, &entry);
    row.children = nodes(&links, &reader.children(rev));
    let changed = reader.changed_files(rev, &entry.files)?;
    let remarks = remarks::of_changeset(page, &entry.node, &changed)?;
    let files = changed.into_iter().map(|file| {
        let number = diffs.iter().position(|diff| diff.path == file.path);
        FileRow {
            status: file.status,
            url: match file.status {
                "removed" => links.file("diff", &entry.node, &file.path),
                _ => links.file("file", &entry.node, &file.path),
            },
            path: lossy(&file.path),
            anchor: anchor(number.unwrap_or_default()),
            has_difference: number.is_some_and(|number| !diffs[number].is_empty()),
        }
    });
    let mut places = vec![
        ("Files", links.of("file", &entry.node)),
        ("Log", links.of("shortlog", &entry.node)),
        ("Graph", links.of("graph", &entry.node)),
        ("Patch", links.of("raw-rev", &entry.node)),
    ];
    for archive in page.archives() {
        let url = format!("{}{}", links.of("archive", &entry.node), archive.extension);
        places.push((archive.name, url));
    }
    let places = places.into_iter().map(|(text, url)| Link {
        text: text.to_owned(),
        url,
    });
    let sections = diff_sections(page, &entry, &diffs);
    filled(&ChangesetPage {
        frame: Frame::new(page, row.summary.clone(), Some("shortlog")),
        links: places.collect(),
        remarks,
        files: files.collect(),
        diffs: sections,
        row,
    })
}

pub(super) fn labels(page: &Page<'_>, command: Command) -> Result<String, PageError> {
    let reader = &page.reader;
    let (title, place, labels) = match command {
        Command::Tags => ("Tags", "tags", reader.all_tags()?),
        Command::Bookmarks => ("Bookmarks", "bookmarks", reader.all_bookmarks()?),
        _ => ("Branches", "branches", reader.all_branches()?),
    };
    filled(&LabelsPage {
        frame: Frame::new(page, title.to_owned(), Some(place)),
        labels: label_rows(page, &labels),
        has_states: matches!(command, Command::Branches),
    })
}

pub(super) fn help(page: &Page<'_>) -> Result<String, PageError> {
    let links = Links::new(page);
    let places = [
        "log",
        "json-log",
        "raw-rev/tip",
        "atom-log",
        "rss-log",
        "atom-tags",
        "json-summary",
    ];
    let link = |place: &str| Link {
        url: links.plain(place),
        text: place.to_owned(),
    };
    filled(&HelpPage {
        frame: Frame::new(page, "Help".to_owned(), Some("help")),
        links: places.into_iter().map(link).collect(),
    })
}
