//! Directories.

use super::files::frame;
use super::filled;
use super::frame::{Frame, Link, Links};
use super::rows::{ChangesetRow, PathPart, lossy, path_parts};
use crate::hg::pages::Page;
use crate::hg::pages::error::PageError;
use crate::hg::pages::raw::mode;
use crate::hg::pages::read::tree::Directory;
use askama::Template;

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

pub(super) fn tree(page: &Page<'_>, directory: &Directory) -> Result<String, PageError> {
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
