//! Expressions of Python that cannot be matched in linear time, over bytes.

use fancy_regex::{BytesMode, Regex, RegexBuilder};

/// Instructions of a compiled expression, at most.
const MOST_INSTRUCTIONS: usize = 1 << 16;
/// Bytes that each part of one may take that can be matched in linear time.
const PART_LIMIT: usize = 16 << 20;

/// An expression that is matched from the beginning of a path on.
#[derive(Clone, Debug)]
pub(super) struct BacktrackingRegex(Regex);

impl BacktrackingRegex {
    /// Compiles a translated expression; `None` if it is invalid, too large or nested too deeply.
    pub(super) fn compile(translated: &str) -> Option<BacktrackingRegex> {
        let mut builder = RegexBuilder::new(&format!("^(?:{translated})"));
        builder
            .unicode_mode(false)
            .bytes_mode(BytesMode::Ascii)
            .delegate_size_limit(PART_LIMIT)
            .max_prog_size(MOST_INSTRUCTIONS)
            // It takes as long as it does in Python: the user who wrote the expression waits for it.
            .backtrack_limit(usize::MAX);
        builder.build().ok().map(BacktrackingRegex)
    }

    /// True if the expression matches. A path whose ways to match fill the stack of a million entries, where Python may run out
    /// of memory, does not.
    pub(super) fn is_match(&self, path: &[u8]) -> bool {
        self.0.is_match(path).unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_match(pattern: &str, path: &[u8]) -> bool {
        BacktrackingRegex::compile(pattern).unwrap().is_match(path)
    }

    #[test]
    fn paths_are_bytes() {
        assert!(is_match(r"(?!a)\xe9.\W", b"\xe9\xff\xfe"));
        assert!(is_match(r".*(?<!a)b\b", b"\xc3b\xe9"));
        assert!(!is_match(r"(?i)(?=\xe9)\xe9", b"\xc9"));
    }

    #[test]
    fn what_is_too_much_is_refused() {
        for pattern in [
            "(?=".repeat(10_000),
            "(?!(a{1000}){1000}b)".to_owned(),
            "(?!".to_owned(),
        ] {
            assert!(BacktrackingRegex::compile(&pattern).is_none());
        }
    }
}
