//! Two versions of a file side by side.

use super::diff::{LineChange, changes, grouped, lines};
use super::{PageReader, Text, file};
use crate::hg::pages::error::PageError;
use varve_repo::{Node, Rev};

/// Lines around a change unless another number is asked for.
const CONTEXT: usize = 5;

/// A row: a line of either text or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::hg::pages) struct ComparedLine {
    /// `equal`, `replace`, `insert` or `delete`.
    pub(in crate::hg::pages) kind: &'static str,
    /// Number from 1 and text without the line end.
    pub(in crate::hg::pages) left: Option<(usize, Text)>,
    pub(in crate::hg::pages) right: Option<(usize, Text)>,
}

/// A file before and after.
#[derive(Clone, Debug)]
pub(in crate::hg::pages) struct Comparison {
    pub(in crate::hg::pages) left: Node,
    pub(in crate::hg::pages) right: Node,
    /// Neighbouring lines.
    pub(in crate::hg::pages) blocks: Vec<Vec<ComparedLine>>,
}

impl PageReader<'_> {
    /// Compares a file with its version in the first parent. `context` is a number of lines or `full`.
    ///
    /// # Errors
    /// 404 if neither has it.
    pub(in crate::hg::pages) fn comparison(
        &self,
        rev: Option<Rev>,
        path: &[u8],
        context: Option<&str>,
    ) -> Result<Comparison, PageError> {
        let parent = self.first_parent(rev);
        let new = self.find_file(rev, path)?;
        let old = self.find_file(parent, path)?;
        if new.is_none() && old.is_none() {
            return Err(PageError::not_in_manifest(path, &self.node(parent)));
        }
        let text = |version: &Option<file::FileVersion>| match version {
            Some(version) => self.compared_text(version),
            None => Ok(Vec::new()),
        };
        let (old_text, new_text) = (text(&old)?, text(&new)?);
        let context = match context {
            Some("full") => None,
            Some(number) => Some(number.parse().unwrap_or(CONTEXT)),
            None => Some(CONTEXT),
        };
        Ok(Comparison {
            left: self.node(parent),
            right: self.node(rev),
            blocks: blocks(
                &with_plain_ends(&old_text),
                &with_plain_ends(&new_text),
                context,
            ),
        })
    }

    fn compared_text(&self, version: &file::FileVersion) -> Result<Text, PageError> {
        let content = self.content(version)?;
        if content.len() > super::LONGEST_FILE {
            return Err(PageError::too_long("the file"));
        }
        if file::is_binary(&content) {
            let media = file::media_type(&version.path);
            return Ok(format!("(binary file {media}, hash: {})", version.node).into_bytes());
        }
        Ok(content)
    }
}

/// Each line with a newline: how lines end makes no difference.
fn with_plain_ends(text: &[u8]) -> Text {
    let mut out = Vec::with_capacity(text.len() + 1);
    for line in lines(text) {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        out.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
        out.push(b'\n');
    }
    out
}

/// Changed lines with so many others around them; `None` is all.
fn blocks(old: &[u8], new: &[u8], context: Option<usize>) -> Vec<Vec<ComparedLine>> {
    let (a, b) = (lines(old), lines(new));
    let changes = changes(old, new);
    let Some(context) = context else {
        return vec![block(&changes, (&a, &b), usize::MAX)];
    };
    grouped(&changes, context)
        .map(|group| block(group, (&a, &b), context))
        .collect()
}

fn block(group: &[LineChange], (a, b): (&[&[u8]], &[&[u8]]), context: usize) -> Vec<ComparedLine> {
    let start = LineChange {
        old: (0, 0),
        new: (0, 0),
    };
    let first = group.first().unwrap_or(&start);
    let before = first.old.0.min(context);
    let (mut at, mut out) = ((first.old.0 - before, first.new.0 - before), Vec::new());
    for change in group {
        push_equal(&mut out, (a, b), at, change.old.0 - at.0);
        push_changed(&mut out, (a, b), change);
        at = (change.old.1, change.new.1);
    }
    push_equal(&mut out, (a, b), at, context.min(a.len() - at.0));
    out
}

fn push_equal(
    out: &mut Vec<ComparedLine>,
    (a, b): (&[&[u8]], &[&[u8]]),
    at: (usize, usize),
    count: usize,
) {
    for step in 0..count {
        out.push(ComparedLine {
            kind: "equal",
            left: numbered(a, at.0 + step, a.len()),
            right: numbered(b, at.1 + step, b.len()),
        });
    }
}

fn push_changed(out: &mut Vec<ComparedLine>, (a, b): (&[&[u8]], &[&[u8]]), change: &LineChange) {
    let rows = (change.old.1 - change.old.0).max(change.new.1 - change.new.0);
    let kind = match (change.old.0 == change.old.1, change.new.0 == change.new.1) {
        (true, _) => "insert",
        (_, true) => "delete",
        _ => "replace",
    };
    for row in 0..rows {
        out.push(ComparedLine {
            kind,
            left: numbered(a, change.old.0 + row, change.old.1),
            right: numbered(b, change.new.0 + row, change.new.1),
        });
    }
}

fn numbered(lines: &[&[u8]], at: usize, end: usize) -> Option<(usize, Text)> {
    let line = lines.get(at).filter(|_| at < end)?;
    let text = line.strip_suffix(b"\n").unwrap_or(line);
    Some((at + 1, text.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stand_side_by_side() {
        let shown = |context| {
            let blocks = blocks(b"1\n2\n3\n4\n5\n6\n", b"1\n2\nx\ny\n4\n5\n6\n7\n", context);
            let row = |line: &ComparedLine| {
                let number = |side: &Option<(usize, Text)>| match side {
                    Some((number, _)) => number.to_string(),
                    None => "-".to_owned(),
                };
                let (left, right) = (number(&line.left), number(&line.right));
                format!("{}{left}:{right}", &line.kind[..1])
            };
            let texts = blocks.iter().map(|block| {
                let rows: Vec<String> = block.iter().map(row).collect();
                rows.join(" ")
            });
            texts.collect::<Vec<_>>().join(" | ")
        };
        assert_eq!(shown(Some(1)), "e2:2 r3:3 r-:4 e4:5 | e6:7 i-:8");
        assert_eq!(shown(None), "e1:1 e2:2 r3:3 r-:4 e4:5 e5:6 e6:7 i-:8");
    }
}
