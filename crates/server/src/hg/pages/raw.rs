//! Pages as plain text for programs: `raw-rev`, `raw-file`, `raw-diff`, `raw-annotate` and others.

use super::error::PageError;
use super::paths::Command;
use super::people;
use super::read::changesets::ChangesetEntry;
use super::read::diff::{FileDiff, short};
use super::read::graph::GraphRow;
use super::read::labels::Label;
use super::read::search::SearchMode;
use super::read::tree::Directory;
use super::read::{Text, file};
use super::{FileOrDirectory, Page, PageBody};
use hyper::StatusCode;
use varve_repo::FileKind;

const MEDIA_TYPE: &str = "text/plain; charset=UTF-8";

/// A line with the message.
pub(super) fn failure(message: &str) -> (&'static str, Vec<u8>) {
    (MEDIA_TYPE, format!("\nerror: {message}\n").into_bytes())
}

/// The page as text.
///
/// # Errors
/// 403 for pages that have no such form.
pub(super) fn render(page: &Page<'_>, command: Command) -> Result<PageBody, PageError> {
    let text = match command {
        Command::Changelog | Command::Log => log(page)?,
        Command::Changeset => changeset(page)?,
        Command::File | Command::Manifest => return file(page, command),
        Command::FileDiff => {
            let (_, diffs) = page.file_diff()?;
            [b"\n", &joined(&diffs)[..], b"\n\n\n\n"].concat()
        }
        Command::Annotate => annotation(page)?,
        Command::Tags => labels(&page.reader.all_tags()?),
        Command::Bookmarks => labels(&page.reader.all_bookmarks()?),
        Command::Branches => labels(&page.reader.all_branches()?),
        Command::Graph => graph(page)?,
        Command::Search => search(page)?,
        Command::Shortlog => {
            page.check(command)?;
            b"'raw' is not a browsable style".to_vec()
        }
        other => return Err(no_template(page, other)),
    };
    Ok(PageBody::whole(MEDIA_TYPE, text))
}

/// The refusal of a page that a style does not have.
pub(super) fn no_template(page: &Page<'_>, command: Command) -> PageError {
    if let Err(refused) = page.check(command) {
        return refused;
    }
    let is_directory = || {
        let found = page.file_or_directory(command);
        matches!(found, Ok(FileOrDirectory::Directory(_)))
    };
    let template = match command {
        Command::File if is_directory() => Command::Manifest.template(),
        other => other.template(),
    };
    PageError::Refused {
        status: StatusCode::FORBIDDEN,
        reason: None,
        message: format!("\"{template}\" not in template map"),
    }
}

fn joined(diffs: &[FileDiff]) -> Text {
    let texts = diffs.iter().map(FileDiff::text);
    texts.collect::<Vec<_>>().concat()
}

fn changeset(page: &Page<'_>) -> Result<Text, PageError> {
    let reader = &page.reader;
    let rev = page.changeset()?;
    let entry = reader.entry(rev)?;
    let diffs = page.diffs((page.base()?, rev), None)?;
    let parents = entry.parents.iter();
    let parents: String = parents
        .map(|parent| format!("# Parent  {parent}"))
        .collect();
    let head = format!(
        "# Date {} {}\n# Node ID {}\n{parents}\n",
        entry.date.time, entry.date.zone, entry.node
    );
    Ok([
        b"\n# HG changeset patch\n# User ",
        &entry.user[..],
        b"\n",
        head.as_bytes(),
        &entry.description,
        b"\n\n",
        &joined(&diffs),
        b"\n",
    ]
    .concat())
}

fn file(page: &Page<'_>, command: Command) -> Result<PageBody, PageError> {
    match page.file_or_directory(command)? {
        FileOrDirectory::Directory(found) => Ok(PageBody::whole(MEDIA_TYPE, directory(&found))),
        // By `web.style` alone a file is a page like others, which is not there.
        FileOrDirectory::File(_) if !page.address.names_style => Err(no_template(page, command)),
        FileOrDirectory::File(found) => {
            let content = page.reader.content(&found)?;
            let guesses = page.config.boolean("web", "guessmime", false);
            let media = match guesses.unwrap_or(false) {
                true => guessed_type(&found.path, &content),
                false => "application/binary".to_owned(),
            };
            let name = found.path.rsplit(|byte| *byte == b'/').next();
            let name = String::from_utf8_lossy(name.unwrap_or_default());
            let name = name.replace('\\', "\\\\").replace('"', "\\\"");
            let disposition = format!("inline; filename=\"{name}\"");
            Ok(PageBody::whole(&media, content)
                .with_header("content-disposition", disposition)
                .with_header("x-content-type-options", "nosniff".to_owned())
                .with_header("content-security-policy", "sandbox".to_owned()))
        }
    }
}

fn guessed_type(path: &[u8], content: &[u8]) -> String {
    let known = file::media_type(path);
    match known {
        "application/octet-stream" if !file::is_binary(content) => {
            "text/plain; charset=\"UTF-8\"".to_owned()
        }
        known if known.starts_with("text/") => format!("{known}; charset=\"UTF-8\""),
        known => known.to_owned(),
    }
}

fn directory(directory: &Directory) -> Text {
    let mut out = b"\n".to_vec();
    for found in &directory.directories {
        out.extend_from_slice(&[b"drwxr-xr-x ", &found.name[..], b"\n"].concat());
    }
    for found in &directory.files {
        let mode = mode(found.kind);
        let head = format!("{mode} {} ", found.size);
        out.extend_from_slice(&[head.as_bytes(), &found.name, b"\n"].concat());
    }
    out.extend_from_slice(b"\n\n");
    out
}

/// Permissions as `ls` has them.
pub(super) fn mode(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Plain => "-rw-r--r--",
        FileKind::Executable => "-rwxr-xr-x",
        FileKind::Symlink => "lrwxrwxrwx",
    }
}

fn annotation(page: &Page<'_>) -> Result<Text, PageError> {
    let file = page.reader.file(page.file_changeset()?, &page.path())?;
    let mut out = b"\n".to_vec();
    for line in page.annotation(&file)? {
        let user = people::login(&line.origin.user);
        let rev = line.origin.rev.map_or(0, |rev| rev.0);
        out.extend_from_slice(format!("{user}@{rev}: ").as_bytes());
        out.extend_from_slice(&line.text);
    }
    out.extend_from_slice(b"\n\n\n\n");
    Ok(out)
}

fn labels(labels: &[Label]) -> Text {
    let mut out = Vec::new();
    for label in labels {
        let node = label.node.to_hex();
        out.extend_from_slice(&[&label.name[..], b"\t", &node].concat());
        if !label.status.is_empty() {
            out.extend_from_slice(&[b"\t", label.status.as_bytes()].concat());
        }
        out.push(b'\n');
    }
    out
}

fn log(page: &Page<'_>) -> Result<Text, PageError> {
    let reader = &page.reader;
    let from = page.changeset()?;
    let revs = reader
        .downward(from)
        .take(page.limit(page.limits.changesets));
    let entries = reader.entries(revs)?;
    let mut out = format!("\n# HG changelog\n# Node ID {}\n\n", reader.node(from)).into_bytes();
    push_entries(&mut out, &entries);
    Ok(out)
}

fn push_entries(out: &mut Text, entries: &[ChangesetEntry]) {
    for entry in entries {
        let rev = entry.rev.map_or(0, |rev| rev.0);
        let head = format!("changeset:   {}\nrevision:    {rev}\n", entry.node);
        out.extend_from_slice(head.as_bytes());
        let date = entry.date.format("%a, %d %b %Y %H:%M:%S %1%2");
        push_details(out, entry, (&entry.user, &entry.description), &date);
        out.push(b'\n');
    }
    out.extend_from_slice(b"\n");
}

fn search(page: &Page<'_>) -> Result<Text, PageError> {
    let reader = &page.reader;
    let text = page.query("rev").unwrap_or_default();
    let (mode, found) = reader.search(text, page.limit(page.limits.changesets))?;
    let mode = match mode {
        SearchMode::Name => "exact revision",
        SearchMode::Revset => "revset expression",
        SearchMode::Words => "literal keyword",
    };
    let tip = reader.node(reader.view.tip());
    let head = format!(
        "\n# HG changesets search\n# Node ID {tip}\n# Query \"{text}\"\n# Mode {mode} search\n\n"
    );
    let mut out = head.into_bytes();
    push_entries(&mut out, &found);
    Ok(out)
}

fn push_details(
    out: &mut Text,
    entry: &ChangesetEntry,
    (user, summary): (&[u8], &[u8]),
    date: &str,
) {
    let mut line = |name: &[u8], value: &[u8]| {
        out.extend_from_slice(&[name, value, b"\n"].concat());
    };
    line(b"user:        ", user);
    line(b"date:        ", date.as_bytes());
    line(b"summary:     ", summary);
    if entry.is_branch_tip {
        line(b"branch:      ", &entry.branch);
    }
    for tag in &entry.tags {
        line(b"tag:         ", tag);
    }
    for bookmark in &entry.bookmarks {
        line(b"bookmark:    ", bookmark);
    }
}

fn graph(page: &Page<'_>) -> Result<Text, PageError> {
    let from = page.changeset()?;
    let rows = page
        .reader
        .graph(from, page.limit(page.limits.short_changesets))?;
    let head = format!(
        "\n# HG graph\n# Node ID {}\n# Rows shown {}\n\n",
        page.reader.node(from),
        rows.len()
    );
    let mut out = head.into_bytes();
    for (number, row) in rows.iter().enumerate() {
        push_graph_row(&mut out, number, row);
    }
    out.extend_from_slice(b"\n");
    Ok(out)
}

fn push_graph_row(out: &mut Text, number: usize, GraphRow { entry, place }: &GraphRow) {
    out.extend_from_slice(format!("changeset:   {}\n", short(&entry.node)).as_bytes());
    let user = people::person(&entry.user);
    let texts = (user.as_bytes(), entry.summary());
    push_details(out, entry, texts, &entry.date.format("%Y-%m-%d"));
    let (column, color, below) = (place.column, place.color, number + 1);
    let node = format!("\nnode:        ({column}, {number}) (color {color})\n");
    out.extend_from_slice(node.as_bytes());
    for edge in &place.edges {
        let (from, to, color) = (edge.column, edge.next, edge.color);
        let edge = format!("edge:        ({from}, {number}) -> ({to}, {below}) (color {color})\n");
        out.extend_from_slice(edge.as_bytes());
    }
    out.push(b'\n');
}
