//! Documents of people about a changeset: reviews, comments, results of builds.

use super::frame::{Link, Links};
use crate::hg::Remark;
use crate::hg::pages::Page;
use crate::hg::pages::error::PageError;
use crate::hg::pages::read::diff::ChangedFile;
use varve_repo::Node;

/// Words of states that are good and bad news.
const GOOD: [&str; 6] = [
    "accepted",
    "approved",
    "ok",
    "passed",
    "success",
    "succeeded",
];
const BAD: [&str; 6] = [
    "broken", "error", "failed", "failure", "refused", "rejected",
];

/// A document of people.
pub(super) struct RemarkRow {
    pub(super) kind: String,
    pub(super) author: String,
    pub(super) date: String,
    pub(super) state: String,
    /// Class of the state in the style sheet.
    pub(super) class: &'static str,
    pub(super) text: String,
    pub(super) url: Option<String>,
    /// Path and line, and their page if the changeset changed that file.
    pub(super) place: Option<Link>,
}

/// The documents about a changeset that changed these files.
///
/// # Errors
/// A damaged database.
pub(super) fn of_changeset(
    page: &Page<'_>,
    node: &Node,
    files: &[ChangedFile],
) -> Result<Vec<RemarkRow>, PageError> {
    let remarks = page.database.map(|database| database.remarks(node));
    let remarks = remarks.transpose().map_err(PageError::Failed)?;
    let links = Links::new(page);
    let row = |remark: Remark| RemarkRow {
        place: place(&links, node, (&remark, files)),
        class: class(&remark.state),
        kind: match remark.kind.is_empty() {
            true => "document".to_owned(),
            false => remark.kind,
        },
        author: remark.author,
        date: remark.date,
        state: remark.state,
        text: remark.text,
        url: remark.url,
    };
    Ok(remarks.unwrap_or_default().into_iter().map(row).collect())
}

fn class(state: &str) -> &'static str {
    match state {
        state if GOOD.contains(&state) => "added",
        state if BAD.contains(&state) => "removed",
        _ => "",
    }
}

fn place(links: &Links, node: &Node, (remark, files): (&Remark, &[ChangedFile])) -> Option<Link> {
    let path = remark.path.as_ref()?;
    let is_there = |file: &&ChangedFile| file.path == path.as_bytes() && file.status != "removed";
    let file = files.iter().find(is_there);
    let (text, fragment) = match remark.line {
        Some(line) => (format!("{path}:{line}"), format!("#l{line}")),
        None => (path.clone(), String::new()),
    };
    let url = file.map(|file| links.file("file", node, &file.path) + &fragment);
    Some(Link {
        url: url.unwrap_or_default(),
        text,
    })
}
