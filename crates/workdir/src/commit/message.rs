//! Descriptions of changesets, and the text that an editor shows.

use crate::Status;

/// Lines that begin so are notes for the user.
const NOTE: &[u8] = b"HG:";

/// A description as it is stored: without blanks at ends of lines, nor empty lines around it.
pub fn tidy(text: &[u8]) -> Vec<u8> {
    let lines = text.split(|byte| *byte == b'\n');
    let lines: Vec<&[u8]> = lines.map(<[u8]>::trim_ascii_end).collect();
    let Some(first) = lines.iter().position(|line| !line.is_empty()) else {
        return Vec::new();
    };
    let last = lines.iter().rposition(|line| !line.is_empty());
    lines[first..=last.unwrap_or(first)].join(&b'\n')
}

/// The edited text without the notes.
pub fn without_notes(text: &[u8]) -> Vec<u8> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    lines
        .filter(|line| !line.starts_with(NOTE))
        .flatten()
        .copied()
        .collect()
}

/// The notes that an editor shows below the description.
#[derive(Clone, Copy, Debug)]
pub struct EditorNotes<'a> {
    /// Name of the committer.
    pub user: &'a [u8],
    /// The branch of the changeset.
    pub branch: &'a [u8],
    /// Whether there are two parents.
    pub is_merge: bool,
    /// The bookmark that goes along.
    pub bookmark: Option<&'a [u8]>,
    /// The changed files.
    pub status: &'a Status,
}

/// The text that an editor is given.
pub fn with_notes(description: &[u8], notes: &EditorNotes<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    if !description.is_empty() {
        out.extend_from_slice(description);
        out.push(b'\n');
    }
    out.extend_from_slice(b"\n\n");
    let mut line = |parts: &[&[u8]]| {
        out.extend_from_slice(b"HG: ");
        out.extend_from_slice(&parts.concat());
        out.push(b'\n');
    };
    line(&[b"Enter commit message.  Lines beginning with 'HG:' are removed."]);
    line(&[b"Leave message empty to abort commit."]);
    line(&[b"--"]);
    line(&[b"user: ", notes.user]);
    if notes.is_merge {
        line(&[b"branch merge"]);
    }
    line(&[b"branch '", notes.branch, b"'"]);
    if let Some(bookmark) = notes.bookmark {
        line(&[b"bookmark '", bookmark, b"'"]);
    }
    let status = notes.status;
    let lists: [(&[u8], &Vec<Vec<u8>>); 3] = [
        (b"added ", &status.added),
        (b"changed ", &status.modified),
        (b"removed ", &status.removed),
    ];
    for (what, files) in lists {
        for file in files {
            line(&[what, file]);
        }
    }
    if lists.iter().all(|(_, files)| files.is_empty()) {
        line(&[b"no files changed"]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_are_tidied_as_hg_does() {
        assert_eq!(tidy(b"\n\n a b \t\r\n\nc\n\n"), b" a b\n\nc");
        assert_eq!(tidy(b" \n\t\n"), b"");
    }

    #[test]
    fn notes_are_left_out_again() {
        let status = Status {
            added: vec![b"new".to_vec()],
            ..Status::default()
        };
        let notes = EditorNotes {
            user: b"me",
            branch: b"default",
            is_merge: false,
            bookmark: Some(b"mark"),
            status: &status,
        };
        let text = with_notes(b"what", &notes);
        assert!(text.ends_with(b"HG: bookmark 'mark'\nHG: added new\n"));
        assert_eq!(tidy(&without_notes(&text)), b"what");
    }
}
