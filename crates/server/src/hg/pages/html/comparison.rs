//! Two versions of a file side by side.

use super::files::{frame, is_there, tabs};
use super::filled;
use super::frame::{Frame, Link, Links, Tab};
use super::marked::{MarkedText, marked};
use super::rows::{ChangesetRow, PathPart, lossy, path_parts};
use crate::hg::pages::Page;
use crate::hg::pages::error::PageError;
use crate::hg::pages::read::comparison::ComparedLine;
use askama::Template;

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
            let plain = |text: Option<String>| MarkedText::plain(text.unwrap_or_default());
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
