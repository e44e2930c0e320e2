//! Patterns for users, descriptions and names: plain text, `re:`, `literal:`.

use crate::RevsetError;
use regex::bytes::{Regex, RegexBuilder};
use varve_lang::patterns::why_invalid;

/// A pattern.
#[derive(Clone, Debug)]
pub struct TextMatcher {
    kind: TextPattern,
    case_sensitive: bool,
}

#[derive(Clone, Debug)]
enum TextPattern {
    Literal(Vec<u8>),
    Regex(Regex),
}

impl TextMatcher {
    /// Parses a pattern; one without a prefix is literal.
    ///
    /// # Errors
    /// An invalid regular expression behind `re:`.
    pub fn new(pattern: &[u8], case_sensitive: bool) -> Result<TextMatcher, RevsetError> {
        let kind = if let Some(regex) = pattern.strip_prefix(b"re:") {
            TextPattern::Regex(regex_of(regex, case_sensitive)?)
        } else {
            let literal = pattern.strip_prefix(b"literal:").unwrap_or(pattern);
            TextPattern::Literal(if case_sensitive {
                literal.to_vec()
            } else {
                lower(literal)
            })
        };
        Ok(TextMatcher {
            kind,
            case_sensitive,
        })
    }

    /// The literal text, if the pattern is one.
    pub fn literal(&self) -> Option<&[u8]> {
        match &self.kind {
            TextPattern::Literal(text) => Some(text),
            TextPattern::Regex(_) => None,
        }
    }

    /// Whether the text equals the literal, or the regular expression matches in it.
    pub fn is_match(&self, text: &[u8]) -> bool {
        match &self.kind {
            TextPattern::Literal(literal) if self.case_sensitive => literal == text,
            TextPattern::Literal(literal) => *literal == lower(text),
            TextPattern::Regex(regex) => regex.is_match(text),
        }
    }

    /// Whether the pattern occurs in the text.
    pub fn is_in(&self, text: &[u8]) -> bool {
        match &self.kind {
            TextPattern::Literal(literal) if self.case_sensitive => contains(text, literal),
            TextPattern::Literal(literal) => contains(&lower(text), literal),
            TextPattern::Regex(regex) => regex.is_match(text),
        }
    }
}

/// Compiles a regular expression.
pub(crate) fn regex_of(pattern: &[u8], case_sensitive: bool) -> Result<Regex, RevsetError> {
    let invalid =
        |reason: String| RevsetError::parse(format!("invalid regular expression: {reason}"));
    let pattern = std::str::from_utf8(pattern);
    let pattern = pattern.map_err(|_| invalid("not UTF-8".to_owned()))?;
    let built = RegexBuilder::new(pattern)
        .case_insensitive(!case_sensitive)
        // Python's expressions over bytes know letters of ASCII only.
        .unicode(false)
        .build();
    built.map_err(|_| invalid(why_invalid(pattern.as_bytes())))
}

/// Small letters, of all alphabets if the text is UTF-8.
pub(crate) fn lower(text: &[u8]) -> Vec<u8> {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    match std::str::from_utf8(text) {
        Ok(text) => text.to_lowercase().into_bytes(),
        Err(_) => text.to_ascii_lowercase(),
    }
}

pub(crate) fn contains(text: &[u8], part: &[u8]) -> bool {
    part.is_empty() || text.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_announced() {
        let is_in = |pattern: &str, text: &str| {
            let matcher = TextMatcher::new(pattern.as_bytes(), false).unwrap();
            matcher.is_in(text.as_bytes())
        };
        assert!(is_in("ADA", "Ada Lovelace"));
        assert!(is_in("re:^ada", "Ada Lovelace"));
        assert!(!is_in("literal:re:ada", "Ada"));
        assert!(is_in("É", "caf\u{e9}"));
        assert!(TextMatcher::new(b"re:(", false).is_err());
    }
}
