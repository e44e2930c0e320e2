//! Python's regular expressions over bytes, matched in linear time.

use super::python::{self, GroupNames, PythonRegexError, RegexEngine};
use regex::bytes::{Regex, RegexBuilder};
use std::ops::Range;

/// Bytes that one compiled expression may take.
const SIZE_LIMIT: usize = 16 << 20;
/// Deepest nesting of groups.
const NEST_LIMIT: u32 = 200;

/// A regular expression that is searched for anywhere in a text.
#[derive(Clone, Debug)]
pub struct PythonRegex(Regex);

impl PythonRegex {
    /// Compiles an expression of which only [`is_match`](Self::is_match) is used.
    ///
    /// # Errors
    /// [`PythonRegexError`].
    pub fn new(pattern: &[u8]) -> Result<PythonRegex, PythonRegexError> {
        PythonRegex::compile(pattern, GroupNames::Dropped)
    }

    /// Compiles an expression whose groups are used too.
    ///
    /// # Errors
    /// [`PythonRegexError`].
    pub fn with_groups(pattern: &[u8]) -> Result<PythonRegex, PythonRegexError> {
        PythonRegex::compile(pattern, GroupNames::Kept)
    }

    fn compile(pattern: &[u8], names: GroupNames) -> Result<PythonRegex, PythonRegexError> {
        let mut translated = String::new();
        python::push_regex(pattern, (names, RegexEngine::Linear), &mut translated)?;
        let regex = build(&translated).map_err(|_| PythonRegexError::Invalid)?;
        Ok(PythonRegex(regex))
    }

    /// Numbers and names of the groups that have one.
    pub fn names(&self) -> impl Iterator<Item = (usize, &str)> {
        let names = self.0.capture_names().enumerate();
        names.filter_map(|(number, name)| Some((number, name?)))
    }

    /// Whether the expression matches anywhere in `text`.
    pub fn is_match(&self, text: &[u8]) -> bool {
        self.0.is_match(text)
    }

    /// Finds the first match from `start` on: the range of the whole, then those of its groups.
    pub fn find(&self, text: &[u8], start: usize) -> Option<Vec<Option<Range<usize>>>> {
        let mut found = self.0.capture_locations();
        self.0.captures_read_at(&mut found, text, start)?;
        let group = |number| found.get(number).map(|(start, end)| start..end);
        Some((0..found.len()).map(group).collect())
    }
}

/// Compiles a translated expression; letters are those of ASCII, as in Python's bytes.
pub(super) fn build(translated: &str) -> Result<Regex, regex::Error> {
    builder(translated).build()
}

/// The same, with `^` and `$` at the ends of lines.
pub(super) fn line_regex(translated: &str, ignore_case: bool) -> Result<Regex, regex::Error> {
    let mut builder = builder(translated);
    builder.multi_line(true).case_insensitive(ignore_case);
    builder.build()
}

fn builder(translated: &str) -> RegexBuilder {
    let mut builder = RegexBuilder::new(translated);
    builder
        .unicode(false)
        .size_limit(SIZE_LIMIT)
        .nest_limit(NEST_LIMIT);
    builder
}
