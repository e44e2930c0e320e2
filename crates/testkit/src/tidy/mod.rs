//! The tidy rules: pure functions from the text of a file to its violations.
//!
//! `tests/main.rs` runs each over the tree, and over a made-up text to see that it can fail.

mod licences;
mod links;
mod words;

pub use licences::{forbidden_licences, is_allowed};
pub use links::{broken_links, links};
pub use words::{
    BARE, COINED, OPENINGS, VAGUE, bare_type_names, coined_names, count_vague, vague_openings,
};

use crate::workspace_root;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Longest source file, in lines.
pub const FILE_LIMIT: usize = 600;
/// Length that a source file should keep under, in lines; the share over it is reported.
pub const FILE_AIM: usize = 350;
/// Longest function, in lines of its body that are neither blank nor comment.
pub const FUNCTION_LIMIT: usize = 70;

/// Marks of unfinished work, in two parts so that this file has none of them.
const MARKS: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("HA", "CK"),
    concat!("to", "do!"),
    concat!("unimplement", "ed!"),
    concat!("db", "g!"),
    concat!("#[ign", "ore"),
    concat!("for n", "ow"),
];

/// Directories of one machine, in two parts likewise.
const MACHINE_PATHS: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
];

/// Files of the repository (tracked, or new and not ignored) with one of these endings, relative
/// to the root. Generated lock files are not among them.
pub fn files(endings: &[&str]) -> Vec<PathBuf> {
    let listing = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(workspace_root())
        .output()
        .expect("git runs");
    assert!(listing.status.success(), "git ls-files: {listing:?}");
    let names = String::from_utf8(listing.stdout).expect("names are UTF-8");
    let mut files: Vec<PathBuf> = names
        .split_terminator('\0')
        .filter(|name| endings.iter().any(|ending| name.ends_with(ending)))
        .filter(|name| !name.ends_with("package-lock.json"))
        .map(PathBuf::from)
        // A file removed but not yet committed is still listed.
        .filter(|path| workspace_root().join(path).is_file())
        .collect();
    files.sort();
    files.dedup();
    files
}

/// Text of a file that [`files`] named.
pub fn read(path: &Path) -> String {
    let bytes = std::fs::read(workspace_root().join(path)).expect("listed files can be read");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Number of lines, if it is over [`FILE_LIMIT`].
pub fn too_long(text: &str) -> Option<usize> {
    Some(text.lines().count()).filter(|lines| *lines > FILE_LIMIT)
}

/// Functions over [`FUNCTION_LIMIT`] with their length. Relies on rustfmt: a function ends at the
/// first lone brace that stands as deep as its first line.
pub fn long_functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else {
            continue;
        };
        let end = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
        let body = lines[at..]
            .iter()
            .skip_while(|l| !l.trim_end().ends_with('{'))
            .skip(1);
        let length = body
            .take_while(|l| **l != end)
            .map(|l| l.trim_start())
            .filter(|l| !l.is_empty() && !l.starts_with("//"))
            .count();
        if length > FUNCTION_LIMIT {
            found.push((name.to_owned(), length));
        }
    }
    found
}

fn function_name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    for word in [
        "pub ",
        "pub(crate) ",
        "pub(super) ",
        "const ",
        "async ",
        "unsafe ",
    ] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    let name = rest.strip_prefix("fn ")?.split(['(', '<']).next()?;
    // A declaration without body, or all on one line, has no length.
    (!line.trim_end().ends_with([';', '}'])).then_some(name)
}

/// Lines (from 1) with a mark of unfinished work, each with the mark.
pub fn leftovers(text: &str) -> Vec<(usize, &'static str)> {
    find_any(text, MARKS)
}

/// Lines (from 1) that name a directory of one machine, each with the directory.
pub fn machine_paths(text: &str) -> Vec<(usize, &'static str)> {
    find_any(text, MACHINE_PATHS)
}

fn find_any(text: &str, needles: &[&'static str]) -> Vec<(usize, &'static str)> {
    let lines = text.lines().zip(1..);
    lines
        .flat_map(|(line, at)| {
            let hits = needles.iter().filter(move |needle| has_word(line, needle));
            hits.map(move |needle| (at, *needle))
        })
        .collect()
}

/// Whether `needle` stands in `line` and is not the end of a longer word or path.
fn has_word(line: &str, needle: &str) -> bool {
    line.match_indices(needle).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + needle.len()..].chars().next();
        let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let ends_open = !needle.ends_with(|c: char| c.is_alphanumeric());
        !inside(before) && (ends_open || !inside(after))
    })
}

/// Whether a crate's first file begins with its description.
pub fn has_head(text: &str) -> bool {
    text.starts_with("//! ")
}
