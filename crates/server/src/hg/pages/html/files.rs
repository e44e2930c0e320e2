//! Directories and files.

use super::filled;
use super::frame::{Frame, Link, Links, Tab};
use super::rows::{
    ChangesetRow, DiffSection, PathPart, diff_sections, line_text, lossy, nodes, path_parts,
    shown_lines,
};
use crate::hg::pages::error::PageError;
use crate::hg::pages::paths::Command;
use crate::hg::pages::raw::mode;
use crate::hg::pages::read::annotation::AnnotatedLine;
use crate::hg::pages::read::changesets::ChangesetEntry;
use crate::hg::pages::read::comparison::ComparedLine;
use crate::hg::pages::read::diff::short;
use crate::hg::pages::read::file::FileVersion;
use crate::hg::pages::read::tree::Directory;
use crate::hg::pages::{FileOrDirectory, Page, people};
use askama::Template;
use varve_repo::Node;

/// A line of a directory.
struct TreeRow {
    links: Vec<Link>,
    size: String,
    mode: &'static str,
}

#[derive(Template)]
#[template(path = "tree.html")]
struct TreePage {
    frame: Frame,
    parts: Vec<PathPart>,
    row: ChangesetRow,
    up: Option<String>,
    entries: Vec<TreeRow>,
}

/// The changeset of a line.
struct LineOrigin {
    url: String,
    title: String,
    text: String,
}

struct LineRow {
    number: usize,
    text: String,
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

/// A line whose middle differs from the one beside it.
#[derive(Default)]
struct MarkedText {
    before: String,
    changed: String,
    after: String,
}

struct SideRow {
    kind: &'static str,
    left_number: String,
    left: MarkedText,
    right_number: String,
    right: MarkedText,
}

#[derive(Template)]
#[template(path = "comparison.html")]
struct ComparisonPage {
    frame: Frame,
    parts: Vec<PathPart>,
    path: String,
    row: ChangesetRow,
    tabs: Vec<Tab>,
    links: Vec<Link>,
    blocks: Vec<Vec<SideRow>>,
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
fn tabs(page: &Page<'_>, node: &Node, path: &[u8], current: &str, is_there: bool) -> Vec<Tab> {
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

fn frame(page: &Page<'_>, path: &[u8], what: &str) -> Frame {
    let title = match path {
        b"" => what.to_owned(),
        path => format!("{}: {what}", lossy(path)),
    };
    Frame::new(page, title, Some("file/tip"))
}

pub(super) fn file_or_directory(page: &Page<'_>, command: Command) -> Result<String, PageError> {
    match page.file_or_directory(command)? {
        FileOrDirectory::Directory(directory) => tree(page, &directory),
        FileOrDirectory::File(file) => {
            let content = page.reader.content(&file)?;
            let shown = shown_lines(&content);
            let lines = shown.as_deref().unwrap_or_default().iter().zip(1..);
            let lines = lines.map(|(line, number)| LineRow {
                number,
                text: line_text(line),
                origin: None,
            });
            let lines = lines.collect();
            file_page(page, &file, ("file", shown.err()), lines)
        }
    }
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

fn tree(page: &Page<'_>, directory: &Directory) -> Result<String, PageError> {
    let entry = page.reader.entry(page.changeset()?)?;
    let (links, node) = (Links::new(page), entry.node);
    let inside = |name: &[u8]| match directory.path.as_slice() {
        b"" => name.to_vec(),
        path => [path, b"/", name].concat(),
    };
    let link = |path: &[u8], text: String| Link {
        url: links.file("file", &node, path),
        text,
    };
    let directories = directory.directories.iter().map(|found| {
        let mut shown = vec![link(
            &inside(&found.name),
            format!("{}/", lossy(&found.name)),
        )];
        if !found.only.is_empty() {
            let path = [&found.name[..], b"/", &found.only].concat();
            shown.push(link(&inside(&path), format!("{}/", lossy(&found.only))));
        }
        TreeRow {
            links: shown,
            size: String::new(),
            mode: "drwxr-xr-x",
        }
    });
    let files = directory.files.iter().map(|found| TreeRow {
        links: vec![link(&inside(&found.name), lossy(&found.name))],
        size: found.size.to_string(),
        mode: mode(found.kind),
    });
    let up = (!directory.path.is_empty()).then(|| {
        let end = directory.path.iter().rposition(|byte| *byte == b'/');
        match end {
            Some(end) => links.file("file", &node, &directory.path[..end]),
            None => links.of("file", &node),
        }
    });
    filled(&TreePage {
        frame: frame(page, &directory.path, "files"),
        parts: path_parts(page, (&node, true), &directory.path),
        row: ChangesetRow::new(page, &entry),
        up,
        entries: directories.chain(files).collect(),
    })
}

pub(super) fn annotation(page: &Page<'_>) -> Result<String, PageError> {
    let file = page.reader.file(page.file_changeset()?, &page.path())?;
    let content = page.reader.content(&file)?;
    if let Err(note) = shown_lines(&content) {
        return file_page(page, &file, ("annotate", Some(note)), Vec::new());
    }
    let links = Links::new(page);
    let mut before: Option<Node> = None;
    let mut lines = Vec::new();
    for (line, number) in page.reader.annotation(&file)?.iter().zip(1..) {
        let is_same = before.replace(line.origin.node) == Some(line.origin.node);
        lines.push(LineRow {
            number,
            text: line_text(&line.text),
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
fn is_there(page: &Page<'_>, entry: &ChangesetEntry) -> Result<bool, PageError> {
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

pub(super) fn comparison(page: &Page<'_>) -> Result<String, PageError> {
    let (entry, compared) = page.comparison()?;
    let path = page.path();
    let there = is_there(page, &entry)?;
    let url = Links::new(page).file("comparison", &entry.node, &path);
    let contexts = [
        ("Fewer lines", "3"),
        ("More lines", "20"),
        ("All lines", "full"),
    ];
    let links = contexts.map(|(text, context)| Link {
        url: format!("{url}?context={context}"),
        text: text.to_owned(),
    });
    let blocks = compared.blocks.iter();
    let blocks = blocks.map(|block| block.iter().map(side_row).collect());
    filled(&ComparisonPage {
        frame: frame(page, &path, "comparison"),
        parts: path_parts(page, (&entry.node, there), &path),
        path: lossy(&path),
        row: ChangesetRow::new(page, &entry),
        tabs: tabs(page, &entry.node, &path, "comparison", there),
        links: links.to_vec(),
        blocks: blocks.collect(),
    })
}

fn side_row(line: &ComparedLine) -> SideRow {
    let text = |side: &Option<(usize, Vec<u8>)>| side.as_ref().map(|(_, text)| lossy(text));
    let number = |side: &Option<(usize, Vec<u8>)>| match side {
        Some((number, _)) => number.to_string(),
        None => String::new(),
    };
    let (left, right) = match (text(&line.left), text(&line.right)) {
        (Some(left), Some(right)) if line.kind == "replace" => marked(&left, &right),
        (left, right) => {
            let plain = |text: Option<String>| MarkedText {
                before: text.unwrap_or_default(),
                ..MarkedText::default()
            };
            (plain(left), plain(right))
        }
    };
    SideRow {
        kind: line.kind,
        left_number: number(&line.left),
        left,
        right_number: number(&line.right),
        right,
    }
}

/// Marks what stands between the common beginning and the common end.
fn marked(left: &str, right: &str) -> (MarkedText, MarkedText) {
    let same = |(a, b): &(char, char)| a == b;
    let start: usize = left
        .chars()
        .zip(right.chars())
        .take_while(same)
        .map(|(char, _)| char.len_utf8())
        .sum();
    let end: usize = left[start..]
        .chars()
        .rev()
        .zip(right[start..].chars().rev())
        .take_while(same)
        .map(|(char, _)| char.len_utf8())
        .sum();
    let part = |text: &str| MarkedText {
        before: text[..start].to_owned(),
        changed: text[start..text.len() - end].to_owned(),
        after: text[text.len() - end..].to_owned(),
    };
    (part(left), part(right))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_differing_middle_of_lines_is_marked() {
        let shown = |left: &str, right: &str| {
            let (left, right) = marked(left, right);
            format!(
                "{}|{}|{} {}|{}|{}",
                left.before, left.changed, left.after, right.before, right.changed, right.after
            )
        };
        assert_eq!(
            shown("let a = 1;", "let bé = 1;"),
            "let |a| = 1; let |bé| = 1;"
        );
        assert_eq!(shown("aa", "aaa"), "aa|| aa|a|");
        assert_eq!(shown("", "x"), "|| |x|");
    }
}
