//! Python's regular expressions on any text.

use super::python::{self, Refusal};
use regex::bytes::{Regex, RegexBuilder};
use std::ops::Range;

/// A regular expression that looks for matches anywhere in a text.
#[derive(Clone, Debug)]
pub struct Search(Regex);

/// Why there is no such search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSearch {
    /// It is no expression in Python either.
    Invalid,
    /// It is one, but cannot be matched in linear time.
    Unsupported(&'static str),
}

/// Bytes that a compiled expression may take.
const LARGEST: usize = 1 << 20;

impl Search {
    /// Reads an expression.
    ///
    /// # Errors
    /// [`NoSearch`].
    pub fn new(pattern: &[u8]) -> Result<Search, NoSearch> {
        if pattern.windows(4).any(|part| part == b"(?P<") {
            return Err(NoSearch::Unsupported("a named group"));
        }
        let mut translated = String::new();
        python::push_regex(pattern, &mut translated).map_err(|refusal| match refusal {
            Refusal::Invalid => NoSearch::Invalid,
            Refusal::Unsupported(what) => NoSearch::Unsupported(what),
        })?;
        let built = RegexBuilder::new(&translated)
            .unicode(false)
            .size_limit(LARGEST)
            .build();
        built.map(Search).map_err(|_| NoSearch::Invalid)
    }

    /// The whole and the groups of the first match from `start` on.
    pub fn find(&self, text: &[u8], start: usize) -> Option<Vec<Option<Range<usize>>>> {
        let mut found = self.0.capture_locations();
        self.0.captures_read_at(&mut found, text, start)?;
        let group = |number| found.get(number).map(|(start, end)| start..end);
        Some((0..found.len()).map(group).collect())
    }
}
