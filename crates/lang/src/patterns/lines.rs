//! Lines of a text in which a regular expression matches.
//!
//! The text is searched as a whole, so that a match may cover several lines; then the text between the
//! beginning of its first line and the end of its last one counts as one line.

use super::python::{self, GroupNames, PythonRegexError, RegexEngine};
use super::regex::line_regex;
use regex::bytes::Regex;
use std::ops::Range;

/// A regular expression of Python whose `^` and `$` also match at line ends.
#[derive(Clone, Debug)]
pub struct LineSearch(Regex);

/// A line with a match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchedLine<'t> {
    /// Number of the line, from 1.
    pub number: usize,
    /// The line without its newline.
    pub text: &'t [u8],
    /// The first match, in bytes of `text`.
    pub first: Range<usize>,
}

impl LineSearch {
    /// Compiles an expression.
    ///
    /// # Errors
    /// [`PythonRegexError`].
    pub fn new(pattern: &[u8], ignore_case: bool) -> Result<LineSearch, PythonRegexError> {
        let mut translated = String::new();
        let dialect = (GroupNames::Dropped, RegexEngine::Linear);
        python::push_regex(pattern, dialect, &mut translated)?;
        let regex = line_regex(&translated, ignore_case);
        Ok(LineSearch(regex.map_err(|_| PythonRegexError::Invalid)?))
    }

    /// Lines of `text` with a match, in their order.
    pub fn lines<'s, 't>(&'s self, text: &'t [u8]) -> MatchedLines<'s, 't> {
        MatchedLines {
            regex: &self.0,
            text,
            at: 0,
            lines_before: 0,
        }
    }

    /// All matches in a line, in its bytes, without empty ones behind the first.
    pub fn matches_in(&self, line: &MatchedLine<'_>) -> Vec<Range<usize>> {
        let mut found = vec![line.first.clone()];
        let mut at = line.first.end;
        while at < line.text.len()
            && let Some(next) = self.0.find_at(line.text, at)
        {
            if next.end() == at {
                at += 1;
                continue;
            }
            found.push(next.range());
            at = next.end();
        }
        found
    }
}

/// See [`LineSearch::lines`].
pub struct MatchedLines<'s, 't> {
    regex: &'s Regex,
    text: &'t [u8],
    /// Beginning of the next line.
    at: usize,
    /// Number of lines before it.
    lines_before: usize,
}

impl<'t> Iterator for MatchedLines<'_, 't> {
    type Item = MatchedLine<'t>;

    fn next(&mut self) -> Option<MatchedLine<'t>> {
        if self.at >= self.text.len() {
            return None;
        }
        let found = self.regex.find_at(self.text, self.at)?;
        let skipped = &self.text[self.at..found.start()];
        let number = self.lines_before + newlines(skipped) + 1;
        let line_start = match skipped.iter().rposition(|byte| *byte == b'\n') {
            Some(newline) => self.at + newline + 1,
            None => self.at,
        };
        let behind = &self.text[found.end()..];
        let line_end = match behind.iter().position(|byte| *byte == b'\n') {
            Some(newline) => found.end() + newline,
            None => self.text.len(),
        };
        // A match over several lines counts as one, as in Mercurial.
        self.lines_before = number;
        self.at = line_end + 1;
        Some(MatchedLine {
            number,
            text: &self.text[line_start..line_end],
            first: found.start() - line_start..found.end() - line_start,
        })
    }
}

fn newlines(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(pattern: &str, text: &[u8]) -> Vec<(usize, Vec<u8>, Range<usize>)> {
        let search = LineSearch::new(pattern.as_bytes(), false).unwrap();
        let lines = search.lines(text);
        lines
            .map(|line| (line.number, line.text.to_vec(), line.first))
            .collect()
    }

    #[test]
    fn each_line_with_a_match_is_found_once() {
        let text = b"ab ab\nc\nxab";
        let expected = [(1, b"ab ab".to_vec(), 0..2), (3, b"xab".to_vec(), 1..3)];
        assert_eq!(found("ab", text), expected);
        assert_eq!(found("^ab", text), [(1, b"ab ab".to_vec(), 0..2)]);
        assert_eq!(found("c$", text), [(2, b"c".to_vec(), 0..1)]);
        // Behind the last newline is an empty line only for a search that begins before it.
        assert_eq!(found("^$", b"x\n"), [(2, Vec::new(), 0..0)]);
        assert_eq!(found("", b"x\n"), [(1, b"x".to_vec(), 0..0)]);
        assert_eq!(found("", b""), []);
        let several = [(1, b"ab ab\nc".to_vec(), 4..7)];
        assert_eq!(found("b\\sc", b"ab ab\nc\nxab"), several);
    }

    #[test]
    fn all_matches_of_a_line_are_found() {
        let search = LineSearch::new(b"a+|q*", true).unwrap();
        let line = search.lines(b"Aa-a").next().unwrap();
        assert_eq!(search.matches_in(&line), [0..2, 3..4]);
    }

    proptest! {
        #[test]
        fn any_expression_and_any_text_are_searched(
            pattern in proptest::collection::vec(any::<u8>(), 0..8),
            text in proptest::collection::vec(proptest::sample::select(b"ab\n\0".to_vec()), 0..40),
        ) {
            let Ok(search) = LineSearch::new(&pattern, false) else { return Ok(()) };
            for line in search.lines(&text) {
                for range in search.matches_in(&line) {
                    prop_assert!(range.end <= line.text.len());
                }
            }
        }
    }
}
