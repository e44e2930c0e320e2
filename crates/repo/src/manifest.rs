//! The text of a manifest: one line per file, sorted bytewise by path.
//!
//! ```text
//! path \0 forty hexadecimal digits [x|l] \n       x: executable, l: symbolic link
//! ```

use varve_revlog::Node;

/// What kind of file an entry is.
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

/// The entries of a manifest's text; ends after the first error, which is the place of the line
/// and what is wrong with it.
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
    /// Place and damage of a line that was looked at.
    pub fn find(
        text: &'a [u8],
        path: &[u8],
    ) -> Result<Option<ManifestEntry<'a>>, (usize, &'static str)> {
        let (mut low, mut high) = (0, text.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let before = text[low..middle].iter().rposition(|byte| *byte == b'\n');
            let start = before.map_or(low, |newline| low + newline + 1);
            let (entry, next) = parse_line(text, start)?;
            match entry.path.cmp(path) {
                std::cmp::Ordering::Equal => return Ok(Some(entry)),
                std::cmp::Ordering::Less => low = next,
                std::cmp::Ordering::Greater => high = start,
            }
        }
        Ok(None)
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
        fn any_bytes_are_read_without_panic(text in proptest::collection::vec(0_u8..4, 0..200)) {
            let _ = ManifestEntries::new(&text).count();
            let _ = ManifestEntries::find(&text, b"a");
        }
    }
}
