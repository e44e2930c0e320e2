//! The text of a manifest: one line per file, sorted bytewise by path.
//!
//! ```text
//! path \0 forty hexadecimal digits [x|l] \n       x: executable, l: symbolic link
//! ```

use std::cmp::Ordering;
use varve_delta::push_hunk;
use varve_revlog::Node;

/// Zero byte, digits, flag and newline.
const LINE_BEYOND_PATH: usize = 1 + 2 * Node::LEN + 2;

/// Flag of a manifest entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileKind {
    /// Neither of the others.
    #[default]
    Plain,
    /// May be executed.
    Executable,
    /// The text is the target of a symbolic link.
    Symlink,
}

impl FileKind {
    fn suffix(self) -> &'static [u8] {
        match self {
            FileKind::Plain => b"",
            FileKind::Executable => b"x",
            FileKind::Symlink => b"l",
        }
    }
}

/// One tracked file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ManifestEntry<'a> {
    /// Path with slashes.
    pub path: &'a [u8],
    /// Revision of its filelog.
    pub node: Node,
    /// Executable, link or neither.
    pub kind: FileKind,
}

/// The entries of a manifest's text; ends after the first error, which is the offset of the line
/// and its damage.
#[derive(Clone, Debug)]
pub struct ManifestEntries<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> ManifestEntries<'a> {
    /// Reads a text from its beginning.
    pub fn new(text: &'a [u8]) -> Self {
        ManifestEntries { text, at: 0 }
    }

    /// The entry of one path, by a search that looks at few lines.
    ///
    /// # Errors
    /// Offset and damage of a line that was parsed.
    pub fn find(
        text: &'a [u8],
        path: &[u8],
    ) -> Result<Option<ManifestEntry<'a>>, (usize, &'static str)> {
        let (start, end) = place(text, 0, path)?;
        if start == end {
            return Ok(None);
        }
        parse_line(text, start).map(|(entry, _)| Some(entry))
    }
}

fn parse_line(
    text: &[u8],
    start: usize,
) -> Result<(ManifestEntry<'_>, usize), (usize, &'static str)> {
    let rest = &text[start..];
    let zero = rest.iter().position(|byte| *byte == 0);
    let zero = zero.ok_or((start, "no zero byte behind the path"))?;
    let (path, behind) = (&rest[..zero], &rest[zero + 1..]);
    let hex = behind.get(..2 * Node::LEN).and_then(Node::from_hex);
    let node = hex.ok_or((start, "no forty digits behind the path"))?;
    let (kind, len) = match &behind[2 * Node::LEN..] {
        [b'\n', ..] => (FileKind::Plain, 1),
        [b'x', b'\n', ..] => (FileKind::Executable, 2),
        [b'l', b'\n', ..] => (FileKind::Symlink, 2),
        _ => return Err((start, "unknown flag or no newline behind the node")),
    };
    let entry = ManifestEntry { path, node, kind };
    Ok((entry, start + zero + 1 + 2 * Node::LEN + len))
}

impl<'a> Iterator for ManifestEntries<'a> {
    type Item = Result<ManifestEntry<'a>, (usize, &'static str)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.text.len() {
            return None;
        }
        Some(match parse_line(self.text, self.at) {
            Ok((entry, next)) => {
                self.at = next;
                Ok(entry)
            }
            Err(error) => {
                self.at = self.text.len();
                Err(error)
            }
        })
    }
}

/// A file of a manifest without its path.
pub(crate) type Tracked = (Node, FileKind);

/// A path and its new entry; `None` removes it.
pub(crate) type Edit<'a> = (&'a [u8], Option<Tracked>);

/// A text, and the patch that makes it.
pub(crate) type Edited = (Vec<u8>, Vec<u8>);

/// A manifest's text with some entries added, replaced or removed, and the patch that does it.
/// `edits` are sorted by path, each once. The lines between them are copied and not looked at.
///
/// # Errors
/// Offset and damage of a line that was parsed.
pub(crate) fn edited(text: &[u8], edits: &[Edit<'_>]) -> Result<Edited, (usize, &'static str)> {
    let room = edits.iter().map(|(path, _)| path.len() + LINE_BEYOND_PATH);
    let mut out = Vec::with_capacity(text.len() + room.sum::<usize>());
    let (mut patch, mut line) = (Vec::new(), Vec::new());
    let mut hunk = Hunk::default();
    let mut copied = 0;
    for (path, after) in edits {
        let (start, end) = place(text, copied, path)?;
        line.clear();
        if let Some((node, kind)) = *after {
            push_entry(&ManifestEntry { path, node, kind }, &mut line);
        }
        out.extend_from_slice(&text[copied..start]);
        out.extend_from_slice(&line);
        if line != text[start..end] {
            if hunk.end != start {
                hunk.end_with(&mut patch);
                hunk.start = start;
            }
            hunk.end = end;
            hunk.lines.extend_from_slice(&line);
        }
        copied = end;
    }
    hunk.end_with(&mut patch);
    out.extend_from_slice(&text[copied..]);
    Ok((out, patch))
}

/// Changes of lines that stand side by side.
#[derive(Default)]
struct Hunk {
    start: usize,
    end: usize,
    lines: Vec<u8>,
}

impl Hunk {
    fn end_with(&mut self, patch: &mut Vec<u8>) {
        if self.start != self.end || !self.lines.is_empty() {
            // A revlog's texts are shorter than 2 GiB.
            push_hunk(patch, self.start as u32, self.end as u32, &self.lines);
            self.lines.clear();
            self.start = self.end;
        }
    }
}

/// Where the line of `path` stands, or would stand (an empty range), not before `from`.
fn place(text: &[u8], from: usize, path: &[u8]) -> Result<(usize, usize), (usize, &'static str)> {
    let (mut low, mut high) = (from, text.len());
    while low < high {
        let (start, entry, next) = line_around(text, low, low + (high - low) / 2)?;
        match entry.path.cmp(path) {
            Ordering::Equal => return Ok((start, next)),
            Ordering::Less => low = next,
            Ordering::Greater => high = start,
        }
    }
    Ok((low, low))
}

/// The line at `middle`, which begins at `low` or later: its place, entry and end.
fn line_around(
    text: &[u8],
    low: usize,
    middle: usize,
) -> Result<(usize, ManifestEntry<'_>, usize), (usize, &'static str)> {
    let before = text[low..middle].iter().rposition(|byte| *byte == b'\n');
    let start = before.map_or(low, |newline| low + newline + 1);
    let (entry, next) = parse_line(text, start)?;
    Ok((start, entry, next))
}

/// Appends the line of one entry.
pub(crate) fn push_entry(entry: &ManifestEntry<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(entry.path);
    out.push(0);
    out.extend_from_slice(&entry.node.to_hex());
    out.extend_from_slice(entry.kind.suffix());
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn damaged_lines_are_named() {
        let digits = "0".repeat(40);
        for (text, place) in [
            ("a".to_owned(), 0),
            (format!("a\0{digits}\nb\0123\n"), 43),
            (format!("a\0{digits}q\n"), 0),
            (format!("a\0{digits}"), 0),
        ] {
            let error = ManifestEntries::new(text.as_bytes()).find_map(Result::err);
            assert_eq!(error.unwrap().0, place, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_and_found(
            paths in proptest::collection::btree_set("[a-c/]{1,6}", 0..20),
        ) {
            let mut text = Vec::new();
            let kinds = [FileKind::Plain, FileKind::Executable, FileKind::Symlink];
            let entries: Vec<_> = paths.iter().enumerate().map(|(i, path)| ManifestEntry {
                path: path.as_bytes(), node: Node([i as u8; 20]), kind: kinds[i % 3],
            }).collect();
            entries.iter().for_each(|entry| push_entry(entry, &mut text));
            let read: Result<Vec<_>, _> = ManifestEntries::new(&text).collect();
            prop_assert_eq!(read.unwrap(), entries.clone());
            for entry in &entries {
                prop_assert_eq!(ManifestEntries::find(&text, entry.path), Ok(Some(*entry)));
            }
            prop_assert_eq!(ManifestEntries::find(&text, b"b+"), Ok(None));
        }

        #[test]
        fn editing_a_text_is_editing_a_map(
            old in proptest::collection::btree_map("[a-c/]{1,4}", 0_u8..3, 0..20),
            edits in proptest::collection::btree_map("[a-c/]{1,4}", proptest::option::of(0_u8..3), 0..8),
        ) {
            let kinds = [FileKind::Plain, FileKind::Executable, FileKind::Symlink];
            let tracked = |n: u8| (Node([n; 20]), kinds[n as usize]);
            let text = |files: &std::collections::BTreeMap<String, u8>| {
                let mut out = Vec::new();
                for (path, n) in files {
                    let (node, kind) = tracked(*n);
                    push_entry(&ManifestEntry { path: path.as_bytes(), node, kind }, &mut out);
                }
                out
            };
            let given: Vec<Edit<'_>> = edits.iter()
                .map(|(path, n)| (path.as_bytes(), n.map(tracked))).collect();
            let before = text(&old);
            let (found, patch) = edited(&before, &given).unwrap();
            let mut patched = Vec::new();
            varve_delta::apply(&patch, &before, &mut patched).unwrap();
            prop_assert_eq!(&patched, &found);
            let mut new = old;
            for (path, n) in edits {
                match n {
                    Some(n) => new.insert(path, n),
                    None => new.remove(&path),
                };
            }
            prop_assert_eq!(found, text(&new));
        }

        #[test]
        fn any_bytes_are_read_without_panic(text in proptest::collection::vec(0_u8..4, 0..200)) {
            let _ = ManifestEntries::new(&text).count();
            let _ = ManifestEntries::find(&text, b"a");
            let _ = edited(&text, &[(b"a", None), (b"b", Some((Node::NULL, FileKind::Plain)))]);
        }
    }
}
