//! Files as JSON.

use super::value::JsonValue;
use super::{date, described, diff_blocks, logged};
use crate::hg::pages::error::PageError;
use crate::hg::pages::paths::Command;
use crate::hg::pages::read::changesets::ChangesetEntry;
use crate::hg::pages::read::comparison::ComparedLine;
use crate::hg::pages::read::diff::lines;
use crate::hg::pages::read::file::FileRelatives;
use crate::hg::pages::read::{Text, tree};
use crate::hg::pages::{FileOrDirectory, Page};
use varve_repo::FileKind;

pub(super) fn file_or_directory(page: &Page<'_>, command: Command) -> Result<JsonValue, PageError> {
    match page.file_or_directory(command)? {
        FileOrDirectory::Directory(directory) => self::directory(page, &directory),
        FileOrDirectory::File(file) => {
            let relatives = page.reader.relatives(&file)?;
            let entry = page.reader.entry(file.changeset)?;
            let content = page.reader.lines_of(&file)?;
            let lines = lines(&content)
                .into_iter()
                .map(|line| JsonValue::Object(vec![("line", JsonValue::Text(line.to_vec()))]));
            let mut members = described(&entry);
            members.insert(1, ("path", JsonValue::Text(file.path.clone())));
            members.push(("parents", JsonValue::nodes(&relatives.parents)));
            members.push(("phase", JsonValue::text(entry.phase)));
            members.push(("lines", JsonValue::list(lines)));
            Ok(JsonValue::Object(members))
        }
    }
}

fn directory(page: &Page<'_>, directory: &tree::Directory) -> Result<JsonValue, PageError> {
    let entry = page.reader.entry(page.changeset()?)?;
    let prefix = match directory.path.as_slice() {
        b"" => Vec::new(),
        path => [path, b"/"].concat(),
    };
    let directories = directory.directories.iter().map(|found| {
        JsonValue::Object(vec![
            (
                "abspath",
                JsonValue::Text([b"/", &prefix[..], &found.name].concat()),
            ),
            ("basename", JsonValue::Text(found.name.clone())),
            ("emptydirs", JsonValue::Text(found.only.clone())),
        ])
    });
    let files = directory.files.iter().map(|found| {
        JsonValue::Object(vec![
            (
                "abspath",
                JsonValue::Text([&prefix[..], &found.name].concat()),
            ),
            ("basename", JsonValue::Text(found.name.clone())),
            ("date", date(&entry)),
            ("size", JsonValue::Number(found.size)),
            ("flags", JsonValue::text(flags(found.kind))),
        ])
    });
    Ok(JsonValue::Object(vec![
        ("node", JsonValue::node(&entry.node)),
        ("abspath", JsonValue::Text([b"/", &prefix[..]].concat())),
        ("directories", JsonValue::list(directories)),
        ("files", JsonValue::list(files)),
        ("bookmarks", JsonValue::texts(&entry.bookmarks)),
        ("tags", JsonValue::texts(&entry.tags)),
    ]))
}

fn flags(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Plain => "",
        FileKind::Executable => "x",
        FileKind::Symlink => "l",
    }
}

/// Members of a file's changeset: with its author, the changesets beside it, but no names.
fn of_file(
    page: &Page<'_>,
    path: &Text,
    entry: &ChangesetEntry,
) -> Result<Vec<(&'static str, JsonValue)>, PageError> {
    let reader = &page.reader;
    let relatives = match reader.find_file(entry.rev, path)? {
        Some(file) => reader.relatives(&file)?,
        None => FileRelatives {
            parents: entry.parents.clone(),
            children: reader.children(entry.rev),
            source: None,
        },
    };
    Ok(vec![
        ("path", JsonValue::Text(path.clone())),
        ("node", JsonValue::node(&entry.node)),
        ("date", date(entry)),
        ("desc", JsonValue::Text(entry.description.clone())),
        ("author", JsonValue::Text(entry.user.clone())),
        ("parents", JsonValue::nodes(&relatives.parents)),
        ("children", JsonValue::nodes(&relatives.children)),
    ])
}

pub(super) fn file_diff(page: &Page<'_>) -> Result<JsonValue, PageError> {
    let (entry, diffs) = page.file_diff()?;
    let mut members = of_file(page, &page.path(), &entry)?;
    members.push(("diff", diff_blocks(&diffs)));
    Ok(JsonValue::Object(members))
}

pub(super) fn comparison(page: &Page<'_>) -> Result<JsonValue, PageError> {
    let (entry, compared) = page.comparison()?;
    let side = |side: &Option<(usize, Text)>| match side {
        Some((number, text)) => (
            JsonValue::Number(*number as u64),
            JsonValue::Text(text.clone()),
        ),
        None => (JsonValue::text(""), JsonValue::text("")),
    };
    let line = |line: &ComparedLine| {
        let (left, right) = (side(&line.left), side(&line.right));
        JsonValue::Object(vec![
            ("t", JsonValue::text(line.kind)),
            ("ln", left.0),
            ("ll", left.1),
            ("rn", right.0),
            ("rl", right.1),
        ])
    };
    let blocks = compared
        .blocks
        .iter()
        .map(|block| JsonValue::Object(vec![("lines", JsonValue::list(block.iter().map(line)))]));
    let mut members = of_file(page, &page.path(), &entry)?;
    members.push(("leftnode", JsonValue::node(&compared.left)));
    members.push(("rightnode", JsonValue::node(&compared.right)));
    members.push(("comparison", JsonValue::list(blocks)));
    Ok(JsonValue::Object(members))
}

pub(super) fn annotation(page: &Page<'_>) -> Result<JsonValue, PageError> {
    let reader = &page.reader;
    let file = reader.file(page.file_changeset()?, &page.path())?;
    let entry = reader.entry(file.changeset)?;
    let relatives = reader.relatives(&file)?;
    let lines = page.annotation(&file)?;
    let lines = lines.iter().zip(1..).map(|(line, number)| {
        JsonValue::Object(vec![
            ("node", JsonValue::node(&line.origin.node)),
            ("author", JsonValue::Text(line.origin.user.clone())),
            ("desc", JsonValue::Text(line.origin.description.clone())),
            ("abspath", JsonValue::Text(line.path.clone())),
            ("targetline", JsonValue::Number(line.line as u64)),
            ("line", JsonValue::Text(line.text.clone())),
            ("lineno", JsonValue::Number(number)),
            ("revdate", date(&line.origin)),
        ])
    });
    Ok(JsonValue::Object(vec![
        ("abspath", JsonValue::Text(file.path.clone())),
        ("node", JsonValue::node(&entry.node)),
        ("author", JsonValue::Text(entry.user.clone())),
        ("date", date(&entry)),
        ("desc", JsonValue::Text(entry.description.clone())),
        ("parents", JsonValue::nodes(&relatives.parents)),
        ("children", JsonValue::nodes(&relatives.children)),
        ("permissions", JsonValue::text(flags(file.kind))),
        ("annotate", JsonValue::list(lines)),
    ]))
}

pub(super) fn file_log(page: &Page<'_>) -> Result<JsonValue, PageError> {
    let mut entries = Vec::new();
    for (mut entry, version) in page.file_log()? {
        entry.parents = page.reader.relatives(&version)?.parents;
        entries.push(logged(&entry));
    }
    Ok(JsonValue::Object(vec![(
        "entries",
        JsonValue::List(entries),
    )]))
}
