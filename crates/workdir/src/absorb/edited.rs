//! The text in which the user says which lines belong to which versions of a file, as Mercurial has it.
//!
//! Below a head of lines that begin with [`NOTE`], each line stands for one of the file, in any version: a margin, a
//! column for each version, [`SEPARATOR`] and the line. [`MARK`] in a column says that the version has it.

use crate::WorkdirError;
use varve_delta::LineHistory;

/// Begins a line that is not one of the file.
const NOTE: &[u8] = b"HG:";
/// Bytes before the first column, which may be any; as many as the notes take in the head.
const MARGIN: usize = 4;
/// Stands between the columns and the line.
const SEPARATOR: &[u8] = b" : ";
/// Says in a column that the version has the line.
const MARK: u8 = b'y';

/// The text for lines of `history` in the versions `first` to the newest, of which each has one title.
pub(super) fn encode(
    path: &[u8],
    titles: &[Vec<u8>],
    history: &LineHistory<'_>,
    first: usize,
) -> Vec<u8> {
    let mut text = [b"HG: editing ", path, b"\n"].concat();
    text.extend(b"HG: \"y\" means the line to the right exists in the changeset to the top\nHG:\n");
    let count = titles.len();
    for (number, title) in titles.iter().enumerate() {
        text.extend(b"HG: ");
        text.extend(vec![b'|'; number]);
        text.push(b'/');
        text.extend(vec![b'-'; count - number + 1]);
        text.push(b' ');
        text.extend(title);
        text.push(b'\n');
    }
    text.extend(b"HG: ");
    text.extend(vec![b'|'; count]);
    text.push(b'\n');
    for line in history.all_lines() {
        text.extend([b' '; MARGIN]);
        text.extend(
            (first..first + count).map(|version| match line.is_in(version) {
                true => MARK,
                false => b' ',
            }),
        );
        text.extend(SEPARATOR);
        text.extend(line.text);
    }
    text
}

/// The versions of the file that the user has left in the text, one for each column.
///
/// # Errors
/// The text is empty, or a line has no separator behind its columns.
pub fn parse_edited_lines(text: &[u8], columns: usize) -> Result<Vec<Vec<u8>>, WorkdirError> {
    if text.is_empty() {
        return Err(WorkdirError::EmptyEditedLines);
    }
    let end = MARGIN.saturating_add(columns);
    let mut versions = vec![Vec::new(); columns];
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    for line in lines.filter(|line| !line.starts_with(NOTE)) {
        let parts = line.split_at_checked(end);
        let parts = parts.and_then(|(marks, rest)| Some((marks, rest.strip_prefix(SEPARATOR)?)));
        let Some((marks, rest)) = parts else {
            let line = String::from_utf8_lossy(line).into_owned();
            return Err(WorkdirError::MalformedEditedLine(line));
        };
        let marked = versions.iter_mut().zip(&marks[MARGIN..]);
        let marked = marked.filter(|(_, mark)| **mark == MARK);
        marked.for_each(|(version, _)| version.extend(rest));
    }
    Ok(versions)
}

/// Never panics; versions hold what the text does, and no more.
pub(crate) fn fuzz(data: &[u8]) {
    let Some((columns, text)) = data.split_first() else {
        return;
    };
    let columns = usize::from(columns % 8);
    if let Ok(versions) = parse_edited_lines(text, columns) {
        assert_eq!(versions.len(), columns);
        assert!(versions.iter().all(|version| version.len() < text.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_of_all_versions_are_shown_with_marks() {
        let mut history = LineHistory::new(b"base\n");
        history.push(b"base\none\n");
        history.push(b"base\ntwo\n");
        let titles = [b"0 zero".to_vec(), b"1 one".to_vec(), b"2 two".to_vec()];
        let shown = |first| {
            let text = encode(b"a b", &titles[first..], &history, first);
            String::from_utf8(text).unwrap()
        };
        let head = "HG: editing a b\n\
             HG: \"y\" means the line to the right exists in the changeset to the top\n\
             HG:\n";
        assert_eq!(
            shown(0),
            head.to_owned()
                + "HG: /---- 0 zero\nHG: |/--- 1 one\nHG: ||/-- 2 two\nHG: |||\n\
                   \x20   yyy : base\n      y : two\n     y  : one\n"
        );
        assert_eq!(
            shown(1),
            head.to_owned()
                + "HG: /--- 1 one\nHG: |/-- 2 two\nHG: ||\n\
                   \x20   yy : base\n     y : two\n    y  : one\n"
        );
    }

    #[test]
    fn only_marks_in_columns_count() {
        let versions = |text: &str| {
            let versions = parse_edited_lines(text.as_bytes(), 2).ok()?;
            let text = |version| String::from_utf8(version).unwrap();
            Some(versions.into_iter().map(text).collect::<Vec<String>>())
        };
        let both = |first: &str, second: &str| Some(vec![first.to_owned(), second.to_owned()]);
        assert_eq!(versions("yyyyYy : a\n"), both("", "a\n"));
        assert_eq!(versions("    y  :  : y\n    yy : b"), both(" : y\nb", "b"));
        assert_eq!(versions("HG:"), both("", ""));
        assert_eq!(versions("    yy : \n"), both("\n", "\n"));
        for malformed in [
            "",
            "\n",
            "HG",
            " HG:",
            "    yy :\n",
            "    y : a\n",
            "    yyy : a\n",
        ] {
            assert_eq!(versions(malformed), None, "{malformed}");
        }
    }

    #[test]
    fn refusals_say_which_line() {
        let refusal = |text: &[u8]| parse_edited_lines(text, 1).unwrap_err().to_string();
        assert_eq!(refusal(b""), "empty editor text");
        assert_eq!(
            refusal(b"HG: x\n    y : a\nwrong\n"),
            "malformed line: wrong\n"
        );
    }

    proptest! {
        /// Text that was not changed is read as the versions that it was made of.
        #[test]
        fn unchanged_text_has_the_same_versions(
            versions in proptest::collection::vec("(([a-d:y H]|HG:){0,3}\n){0,6}", 1..6),
            first in 0_usize..2,
        ) {
            let first = first.min(versions.len() - 1);
            let mut history = LineHistory::new(versions[0].as_bytes());
            versions[1..].iter().for_each(|text| history.push(text.as_bytes()));
            let titles = vec![b"title".to_vec(); versions.len() - first];
            let text = encode(b"path", &titles, &history, first);
            let read = parse_edited_lines(&text, titles.len()).unwrap();
            let expected: Vec<&[u8]> = versions[first..].iter().map(String::as_bytes).collect();
            prop_assert_eq!(read, expected);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[\\x00-\\x05](( |y|HG:| : ){0,6}[a \n]){0,20}") {
            fuzz(text.as_bytes());
        }
    }
}
