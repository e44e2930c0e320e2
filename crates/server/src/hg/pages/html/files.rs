//! Files: their lines, where these come from, their changes and versions.

use super::frame::{Frame, Link, Links, Tab};
use super::rows::{
    ChangesetRow, DiffSection, PathPart, diff_sections, line_text, lossy, nodes, path_parts,
    shown_lines,
};
use super::{filled, tree};
use crate::Failure;
use crate::hg::pages::error::PageError;
use crate::hg::pages::highlight::{Highlighter, TokenKind};
use crate::hg::pages::paths::Command;
use crate::hg::pages::read::annotation::AnnotatedLine;
use crate::hg::pages::read::changesets::ChangesetEntry;
use crate::hg::pages::read::diff::short;
use crate::hg::pages::read::file::FileVersion;
use crate::hg::pages::{FileOrDirectory, Page, people};
use askama::Template;
use varve_repo::Node;

/// The changeset of a line.
struct LineOrigin {
    url: String,
    title: String,
    text: String,
}

/// A part of a line.
struct LinePart {
    /// Empty where nothing is highlighted.
    class: &'static str,
    text: String,
}

struct LineRow {
    number: usize,
    parts: Vec<LinePart>,
    /// `None` for a line whose changeset is that of the line before.
    origin: Option<LineOrigin>,
}

#[derive(Template)]
#[template(path = "file.html")]
struct FilePage {
    frame: Frame,
    parts: Vec<PathPart>,
    path: String,
    row: ChangesetRow,
    /// The file that it was copied from.
    source: Option<Link>,
    tabs: Vec<Tab>,
    note: Option<&'static str>,
    raw: String,
    has_origins: bool,
    lines: Vec<LineRow>,
}

#[derive(Template)]
#[template(path = "diff.html")]
struct DiffPage {
    frame: Frame,
    parts: Vec<PathPart>,
    row: ChangesetRow,
    tabs: Vec<Tab>,
    diffs: Vec<DiffSection>,
}

#[derive(Template)]
#[template(path = "filelog.html")]
struct FileLogPage {
    frame: Frame,
    parts: Vec<PathPart>,
    tabs: Vec<Tab>,
    changesets: Vec<ChangesetRow>,
}

/// The pages about a file; one that the changeset does not have is in some of them only.
pub(super) fn tabs(
    page: &Page<'_>,
    node: &Node,
    path: &[u8],
    current: &str,
    is_there: bool,
) -> Vec<Tab> {
    let links = Links::new(page);
    [
        ("File", "file", true),
        ("Annotate", "annotate", true),
        ("Difference", "diff", false),
        ("Comparison", "comparison", false),
        ("Log", "log", false),
        ("Raw", "raw-file", true),
    ]
    .into_iter()
    .filter(|(_, _, needs_file)| is_there || !needs_file)
    .map(|(name, command, _)| Tab {
        name,
        url: links.file(command, node, path),
        is_current: command == current,
    })
    .collect()
}

pub(super) fn frame(page: &Page<'_>, path: &[u8], what: &str) -> Frame {
    let title = match path {
        b"" => what.to_owned(),
        path => format!("{}: {what}", lossy(path)),
    };
    Frame::new(page, title, Some("file/tip"))
}

pub(super) fn file_or_directory(page: &Page<'_>, command: Command) -> Result<String, PageError> {
    match page.file_or_directory(command)? {
        FileOrDirectory::Directory(directory) => tree::tree(page, &directory),
        FileOrDirectory::File(file) => {
            let content = page.reader.content(&file)?;
            let shown = shown_lines(&content);
            let lines = shown.as_deref().unwrap_or_default().iter().zip(1..);
            let mut highlighter = highlighter(page, &file, &content)?;
            let lines = lines.map(|(line, number)| LineRow {
                number,
                parts: parts(&mut highlighter, line),
                origin: None,
            });
            let lines = lines.collect();
            file_page(page, &file, ("file", shown.err()), lines)
        }
    }
}

/// Highlights the lines of a file, unless `web.highlight` is off.
fn highlighter(
    page: &Page<'_>,
    file: &FileVersion,
    content: &[u8],
) -> Result<Highlighter, PageError> {
    let is_on = page.config.boolean("web", "highlight", true);
    let is_on = is_on.map_err(|error| PageError::Failed(Failure::internal(error.to_string())))?;
    Ok(match is_on {
        true => Highlighter::new(&file.path, content),
        false => Highlighter::off(),
    })
}

fn parts(highlighter: &mut Highlighter, line: &[u8]) -> Vec<LinePart> {
    let text = line_text(line);
    let tokens = highlighter.line(&text).into_iter();
    tokens
        .map(|token| LinePart {
            class: token.kind.map_or("", TokenKind::class),
            text: token.text.to_owned(),
        })
        .collect()
}

/// The changeset of a file, with those beside the file, and the file that it was copied from.
fn row_of(page: &Page<'_>, file: &FileVersion) -> Result<(ChangesetRow, Option<Link>), PageError> {
    let entry = page.reader.entry(file.changeset)?;
    let relatives = page.reader.relatives(file)?;
    let links = Links::new(page);
    let mut row = ChangesetRow::new(page, &entry);
    row.parents = nodes(&links, &relatives.parents);
    row.children = nodes(&links, &relatives.children);
    let source = relatives.source.zip(relatives.parents.first());
    let source = source.map(|(path, node)| Link {
        url: links.file("file", node, &path),
        text: lossy(&path),
    });
    Ok((row, source))
}

fn file_page(
    page: &Page<'_>,
    file: &FileVersion,
    (command, note): (&str, Option<&'static str>),
    lines: Vec<LineRow>,
) -> Result<String, PageError> {
    let node = page.reader.node(file.changeset);
    let (row, source) = row_of(page, file)?;
    filled(&FilePage {
        frame: frame(page, &file.path, command),
        parts: path_parts(page, (&node, true), &file.path),
        path: lossy(&file.path),
        row,
        source,
        tabs: tabs(page, &node, &file.path, command, true),
        note,
        raw: Links::new(page).file("raw-file", &node, &file.path),
        has_origins: command == "annotate",
        lines,
    })
}

pub(super) fn annotation(page: &Page<'_>) -> Result<String, PageError> {
    let file = page.reader.file(page.file_changeset()?, &page.path())?;
    let content = page.reader.content(&file)?;
    if let Err(note) = shown_lines(&content) {
        return file_page(page, &file, ("annotate", Some(note)), Vec::new());
    }
    let mut highlighter = highlighter(page, &file, &content)?;
    let links = Links::new(page);
    let mut before: Option<Node> = None;
    let mut lines = Vec::new();
    for (line, number) in page.annotation(&file)?.iter().zip(1..) {
        let is_same = before.replace(line.origin.node) == Some(line.origin.node);
        lines.push(LineRow {
            number,
            parts: parts(&mut highlighter, &line.text),
            origin: (!is_same).then(|| origin(&links, line)),
        });
    }
    file_page(page, &file, ("annotate", None), lines)
}

fn origin(links: &Links, line: &AnnotatedLine) -> LineOrigin {
    let entry = &line.origin;
    let url = links.file("annotate", &entry.node, &line.path);
    LineOrigin {
        url: format!("{url}#l{}", line.line),
        title: format!("{}: {}", short(&entry.node), lossy(entry.summary())),
        text: format!(
            "{} {}",
            people::login(&entry.user),
            entry.date.format("%Y-%m-%d")
        ),
    }
}

/// Returns whether a changeset has the file of the address.
pub(super) fn is_there(page: &Page<'_>, entry: &ChangesetEntry) -> Result<bool, PageError> {
    Ok(page.reader.find_file(entry.rev, &page.path())?.is_some())
}

pub(super) fn file_diff(page: &Page<'_>) -> Result<String, PageError> {
    let (entry, diffs) = page.file_diff()?;
    let path = page.path();
    let there = is_there(page, &entry)?;
    filled(&DiffPage {
        frame: frame(page, &path, "difference"),
        parts: path_parts(page, (&entry.node, there), &path),
        row: ChangesetRow::new(page, &entry),
        tabs: tabs(page, &entry.node, &path, "diff", there),
        diffs: diff_sections(page, &entry, &diffs),
    })
}

pub(super) fn file_log(page: &Page<'_>) -> Result<String, PageError> {
    let versions = page.file_log()?;
    let path = page.path();
    let rev = page.changeset()?;
    let node = page.reader.node(rev);
    let there = page.reader.find_file(rev, &path)?.is_some();
    let rows = versions.iter();
    filled(&FileLogPage {
        frame: frame(page, &path, "log"),
        parts: path_parts(page, (&node, there), &path),
        tabs: tabs(page, &node, &path, "log", there),
        changesets: rows
            .map(|(entry, _)| ChangesetRow::new(page, entry))
            .collect(),
    })
}
