//! Lines with a match that a change of a file added or removed.

use varve_delta::same_lines;
use varve_lang::patterns::{LineSearch, MatchedLine};

/// A line with a match that is in one of two texts only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedLine<'t> {
    /// The line.
    pub line: MatchedLine<'t>,
    /// Whether the later text has it.
    pub is_added: bool,
}

/// The lines with a match that were added or removed between `before` and the text whose lines with
/// a match are `now`. Only these lines are compared, so that a line which merely moved among others
/// is none of them.
pub fn changed_lines<'t>(
    search: &LineSearch,
    before: &'t [u8],
    now: Vec<MatchedLine<'t>>,
) -> Vec<ChangedLine<'t>> {
    let old: Vec<MatchedLine<'t>> = search.lines(before).collect();
    let blocks = same_lines(&joined(&old), &joined(&now));
    let changed = |lines: &[MatchedLine<'t>], is_added: bool| -> Vec<ChangedLine<'t>> {
        let one = |line: &MatchedLine<'t>| ChangedLine {
            line: line.clone(),
            is_added,
        };
        lines.iter().map(one).collect()
    };
    let (mut at_old, mut at_new) = (0, 0);
    let mut found = Vec::new();
    for block in blocks {
        found.extend(changed(&old[at_old..block.a], false));
        found.extend(changed(&now[at_new..block.b], true));
        (at_old, at_new) = (block.a + block.len, block.b + block.len);
    }
    found
}

/// The lines as one text; a match over several lines stays one line.
fn joined(lines: &[MatchedLine<'_>]) -> Vec<u8> {
    let mut text = Vec::new();
    for line in lines {
        text.extend(line.text.iter().map(|byte| match byte {
            b'\n' => 0,
            byte => *byte,
        }));
        text.push(b'\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_moved_among_others_have_not_changed() {
        let search = LineSearch::new(b"a", false).unwrap();
        let changed = |before: &str, now: &str| {
            let now = search.lines(now.as_bytes()).collect();
            let lines = changed_lines(&search, before.as_bytes(), now);
            let shown = lines.iter().map(|line| {
                let sign = if line.is_added { '+' } else { '-' };
                format!("{sign}{}", String::from_utf8_lossy(line.line.text))
            });
            shown.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(changed("a1\nb\na2\n", "b\na1\nb\nb\na2\n"), "");
        assert_eq!(changed("a1\nb\n", "a2\nb\n"), "-a1 +a2");
        assert_eq!(changed("", "a\nc\n"), "+a");
        assert_eq!(changed("a\na\n", "a\n"), "-a");
    }
}
