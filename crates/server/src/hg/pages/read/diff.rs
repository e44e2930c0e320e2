//! Differences of two changesets in the unified form.

use super::{LONGEST_FILE, PageReader, Text, file};
use crate::hg::pages::error::PageError;
use std::collections::BTreeMap;
use varve_delta::same_lines;
use varve_lang::date::Date;
use varve_repo::{FileKind, Node, ReaderState, Rev};

/// Lines around a change that are the same.
const CONTEXT: usize = 3;
/// Bytes of all differences of one page.
const LONGEST_DIFF: usize = 32 << 20;
/// Hexadecimal digits of nodes in headers.
const DIGITS: usize = 12;

/// Differences of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::hg::pages) struct FileDiff {
    pub(in crate::hg::pages) path: Text,
    /// `diff -r OLD -r NEW PATH`, with its line end.
    pub(in crate::hg::pages) header: Text,
    /// The lines behind it.
    pub(in crate::hg::pages) body: Text,
}

/// Change of a file by a changeset against its first parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::hg::pages) struct ChangedFile {
    pub(in crate::hg::pages) path: Text,
    pub(in crate::hg::pages) status: &'static str,
}

type Entry = (Node, FileKind);

impl PageReader<'_> {
    /// The files that a changeset lists.
    ///
    /// # Errors
    /// A damaged repository.
    pub(in crate::hg::pages) fn changed_files(
        &self,
        rev: Option<Rev>,
        files: &[Text],
    ) -> Result<Vec<ChangedFile>, PageError> {
        let before = self.view.manifest_text(self.first_parent(rev))?;
        let own = self.view.manifest_text(rev)?;
        let mut changed = Vec::with_capacity(files.len());
        for path in files {
            let is_there = self.view.find_in_manifest(&own, path)?.is_some();
            let was_there = self.view.find_in_manifest(&before, path)?.is_some();
            changed.push(ChangedFile {
                path: path.clone(),
                status: match (was_there, is_there) {
                    (false, true) => "added",
                    (_, false) => "removed",
                    (true, true) => "modified",
                },
            });
        }
        Ok(changed)
    }

    /// Differences from one changeset to another, of all files or one.
    ///
    /// # Errors
    /// A damaged repository; 413 if they are longer than 32 MiB.
    pub(in crate::hg::pages) fn diffs(
        &self,
        (from, to): (Option<Rev>, Option<Rev>),
        only: Option<&[u8]>,
    ) -> Result<Vec<FileDiff>, PageError> {
        let (old, new) = (self.view.manifest_text(from)?, self.view.manifest_text(to)?);
        let differing = differing(&old, &new);
        let dates = (self.date(from)?, self.date(to)?);
        let [old_hex, new_hex] = [from, to].map(|rev| short(&self.node(rev)));
        let (mut state, mut length, mut found) = (ReaderState::default(), 0, Vec::new());
        for path in differing {
            if only.is_some_and(|only| only != path) {
                continue;
            }
            self.check_stop()?;
            let sides = [&old, &new].map(|manifest| self.entry_of(manifest, &path));
            let [old, new] = sides;
            let sides = (old?, new?);
            let body = self.file_diff(&path, sides, dates, &mut state)?;
            if body.is_empty() {
                continue;
            }
            length += body.len();
            if length > LONGEST_DIFF {
                return Err(PageError::too_long("the difference"));
            }
            let words = format!("diff -r {old_hex} -r {new_hex} ");
            found.push(FileDiff {
                header: [words.as_bytes(), &path, b"\n"].concat(),
                path,
                body,
            });
        }
        Ok(found)
    }

    fn entry_of(&self, manifest: &[u8], path: &[u8]) -> Result<Option<Entry>, PageError> {
        let entry = self.view.find_in_manifest(manifest, path)?;
        Ok(entry.map(|entry| (entry.node, entry.kind)))
    }

    fn file_diff(
        &self,
        path: &[u8],
        (old, new): (Option<Entry>, Option<Entry>),
        dates: (Date, Date),
        state: &mut ReaderState,
    ) -> Result<Text, PageError> {
        let mut read = |entry: Option<Entry>| match entry {
            Some((node, _)) => self.view.file_content_with(path, &node, state),
            None => Ok(Vec::new()),
        };
        let (old_text, new_text) = (read(old)?, read(new)?);
        if old_text == new_text {
            return Ok(Vec::new());
        }
        let is_long = old_text.len().max(new_text.len()) > LONGEST_FILE;
        if is_long || file::is_binary(&old_text) || file::is_binary(&new_text) {
            return Ok([b"Binary file ", path, b" has changed\n"].concat());
        }
        let mut out = Vec::new();
        for (mark, prefix, entry, date) in [
            (b"--- ", b"a/", old, dates.0),
            (b"+++ ", b"b/", new, dates.1),
        ] {
            let (name, date) = match entry {
                Some(_) => ([prefix, path].concat(), date),
                None => (b"/dev/null".to_vec(), Date::default()),
            };
            let date = date.default_format();
            out.extend_from_slice(&[mark, &name[..], b"\t", date.as_bytes(), b"\n"].concat());
        }
        push_hunks(&old_text, &new_text, &mut out);
        Ok(out)
    }
}

/// The first digits of a node.
pub(in crate::hg::pages) fn short(node: &Node) -> String {
    String::from_utf8_lossy(&node.to_hex()[..DIGITS]).into_owned()
}

/// Paths whose lines in two manifests are not the same, in order.
fn differing(old: &[u8], new: &[u8]) -> Vec<Text> {
    let lines = |text: &'_ [u8]| -> BTreeMap<Text, Text> {
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        let pairs = lines.map(|line| {
            let end = line.iter().position(|byte| *byte == 0);
            let (path, rest) = line.split_at(end.unwrap_or(line.len()));
            (path.to_vec(), rest.to_vec())
        });
        pairs.collect()
    };
    // Most lines are the same, and stand at either end or between few others.
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let start = old[..start].iter().rposition(|byte| *byte == b'\n');
    let start = start.map_or(0, |at| at + 1);
    let (old, mut new) = (lines(&old[start..]), lines(&new[start..]));
    let mut paths: Vec<Text> = Vec::new();
    for (path, line) in old {
        if new.remove(&path).as_ref() != Some(&line) {
            paths.push(path);
        }
    }
    paths.extend(new.into_keys());
    paths.sort_unstable();
    paths
}

/// Lines of a text, each with its line end.
pub(in crate::hg::pages) fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Lines of both texts that differ, from the first to behind the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::hg::pages) struct LineChange {
    pub(in crate::hg::pages) old: (usize, usize),
    pub(in crate::hg::pages) new: (usize, usize),
}

/// The differing lines of two texts, in order.
pub(in crate::hg::pages) fn changes(old: &[u8], new: &[u8]) -> Vec<LineChange> {
    let (mut at, mut found) = ((0, 0), Vec::new());
    let ends = (lines(old).len(), lines(new).len());
    let blocks = same_lines(old, new);
    let blocks = blocks.iter().map(|block| (block.a, block.b, block.len));
    for (a, b, len) in blocks.chain([(ends.0, ends.1, 0)]) {
        if (a, b) != at {
            found.push(LineChange {
                old: (at.0, a),
                new: (at.1, b),
            });
        }
        at = (a + len, b + len);
    }
    found
}

/// Parts changes into those that share lines of context.
pub(in crate::hg::pages) fn grouped(
    changes: &[LineChange],
    context: usize,
) -> impl Iterator<Item = &[LineChange]> {
    changes.chunk_by(move |before, next| next.old.0 <= before.old.1 + 2 * context)
}

fn push_hunks(old: &[u8], new: &[u8], out: &mut Text) {
    let (a, b) = (lines(old), lines(new));
    for group in grouped(&changes(old, new), CONTEXT) {
        push_hunk(group, (&a, &b), out);
    }
}

fn push_hunk(group: &[LineChange], (a, b): (&[&[u8]], &[&[u8]]), out: &mut Text) {
    let (Some(first), Some(last)) = (group.first(), group.last()) else {
        return;
    };
    let before = first.old.0.min(CONTEXT);
    let after = CONTEXT.min(a.len() - last.old.1);
    let range = |start: usize, end: usize| match end - start {
        0 => format!("{start},0"),
        len => format!("{},{len}", start + 1),
    };
    let old = range(first.old.0 - before, last.old.1 + after);
    let new = range(first.new.0 - before, last.new.1 + after);
    out.extend_from_slice(format!("@@ -{old} +{new} @@\n").as_bytes());
    let mut at = first.old.0 - before;
    let mut push = |sign: u8, lines: &[&[u8]]| {
        for line in lines {
            out.push(sign);
            out.extend_from_slice(line);
            if !line.ends_with(b"\n") {
                out.extend_from_slice(b"\n\\ No newline at end of file\n");
            }
        }
    };
    for change in group {
        push(b' ', &a[at..change.old.0]);
        push(b'-', &a[change.old.0..change.old.1]);
        push(b'+', &b[change.new.0..change.new.1]);
        at = change.old.1;
    }
    push(b' ', &a[at..at + after]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(old: &str, new: &str) -> String {
        let mut out = Vec::new();
        push_hunks(old.as_bytes(), new.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn hunks_have_three_lines_around_and_share_six() {
        let old: String = (1..=20).map(|line| format!("{line}\n")).collect();
        let near = old
            .replace("\n5\n", "\nfive\n")
            .replace("\n12\n", "\ntwelve\n");
        assert_eq!(shown(&old, &near).matches("@@ -").count(), 1);
        let far = old.replace("\n5\n", "\nfive\n").replace("\n13\n", "\n");
        let far = shown(&old, &far);
        assert!(far.starts_with("@@ -2,7 +2,7 @@\n 2\n"), "{far}");
        assert!(far.contains("\n@@ -10,7 +10,6 @@\n"), "{far}");
        assert_eq!(
            shown("", "a"),
            "@@ -0,0 +1,1 @@\n+a\n\\ No newline at end of file\n"
        );
        assert_eq!(shown("a\n", ""), "@@ -1,1 +0,0 @@\n-a\n");
    }

    #[test]
    fn manifests_differ_in_paths() {
        let paths = differing(b"a\x001\nb\x001\nc\x001\n", b"a\x001\nbb\x001\nc\x002\n");
        assert_eq!(paths, [b"b".to_vec(), b"bb".to_vec(), b"c".to_vec()]);
        assert!(differing(b"a\x001\n", b"a\x001\n").is_empty());
    }
}
