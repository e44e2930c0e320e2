//! Folding the changes of a text into those of its earlier versions that brought the lines around them.
//!
//! A [`LineHistory`] holds the lines of all versions in one order, each with the version that brought it and the one
//! that removed it. A hunk of a later text belongs to a version if that alone brought the lines that it touches. The lines
//! are replaced in that version, and so in all that follow it.

use crate::same_lines;
use std::ops::Range;

/// A line removed by no version.
const NEVER: usize = usize::MAX;

/// The lines of several versions of a text, of which each follows from the one before it.
#[derive(Clone, Debug)]
pub struct LineHistory<'t> {
    lines: Vec<HistoryLine<'t>>,
    /// Number of the newest version.
    newest: usize,
}

/// A line of one version or several.
#[derive(Clone, Copy, Debug)]
pub struct HistoryLine<'t> {
    /// The line with its end.
    pub text: &'t [u8],
    /// The version that brought it.
    born: usize,
    /// The version that removed it.
    gone: usize,
}

impl HistoryLine<'_> {
    /// True if the version has the line.
    pub fn is_in(&self, version: usize) -> bool {
        self.born <= version && version < self.gone
    }
}

/// A hunk of a text that follows the newest version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbsorbedHunk {
    /// Lines of the newest version, from 0.
    pub old: Range<usize>,
    /// Lines in their place.
    pub new: Range<usize>,
    /// The parts that belong to a version, ascending; none if it is ambiguous.
    pub parts: Vec<AbsorbedPart>,
}

/// A part of a hunk and the version that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbsorbedPart {
    /// Number of the version, which is not the base.
    pub version: usize,
    /// Lines of the newest version, from 0.
    pub old: Range<usize>,
    /// Lines in their place.
    pub new: Range<usize>,
}

impl AbsorbedHunk {
    /// The version to which a line of the newest version belongs; `None` if it stays.
    pub fn version_of_old(&self, line: usize) -> Option<usize> {
        let mut parts = self.parts.iter();
        parts
            .find(|part| part.old.contains(&line))
            .map(|part| part.version)
    }

    /// The version to which a new line belongs; `None` if it is not absorbed.
    pub fn version_of_new(&self, line: usize) -> Option<usize> {
        let mut parts = self.parts.iter();
        parts
            .find(|part| part.new.contains(&line))
            .map(|part| part.version)
    }
}

impl<'t> LineHistory<'t> {
    /// A history that begins with `base`, version 0, whose lines stay.
    pub fn new(base: &'t [u8]) -> Self {
        let line = |text| HistoryLine {
            text,
            born: 0,
            gone: NEVER,
        };
        LineHistory {
            lines: text_lines(base).into_iter().map(line).collect(),
            newest: 0,
        }
    }

    /// Adds the next version.
    pub fn push(&mut self, text: &'t [u8]) {
        let hunks = self.hunks(text);
        let version = self.newest + 1;
        let parts = hunks
            .into_iter()
            .map(|(old, new)| AbsorbedPart { version, old, new });
        let parts: Vec<AbsorbedPart> = parts.collect();
        self.lines = self.edited(&parts, &text_lines(text));
        self.newest = version;
    }

    /// The lines of one version.
    pub fn lines(&self, version: usize) -> Vec<&'t [u8]> {
        let lines = self.lines.iter().filter(|line| line.is_in(version));
        lines.map(|line| line.text).collect()
    }

    /// One version.
    pub fn text(&self, version: usize) -> Vec<u8> {
        self.lines(version).concat()
    }

    /// The lines of all versions in one order, those included that are in none.
    pub fn all_lines(&self) -> &[HistoryLine<'t>] {
        &self.lines
    }

    /// The changes from the newest version to `text`, and where they belong.
    pub fn assign(&self, text: &[u8]) -> Vec<AbsorbedHunk> {
        let lines = self.lines.iter().enumerate();
        let newest = lines.filter(|(_, line)| line.is_in(self.newest));
        // The place among all lines, and the version.
        let newest: Vec<(usize, usize)> = newest.map(|(at, line)| (at, line.born)).collect();
        let hunks = self.hunks(text).into_iter();
        let hunks = hunks.map(|(old, new)| AbsorbedHunk {
            parts: parts(&newest, &old, &new),
            old,
            new,
        });
        hunks.collect()
    }

    /// The history with the parts of `hunks`, as [`LineHistory::assign`] has found them for `text`, in their versions.
    #[must_use]
    pub fn absorb(&self, text: &'t [u8], hunks: &[AbsorbedHunk]) -> LineHistory<'t> {
        let parts = hunks.iter().flat_map(|hunk| hunk.parts.iter().cloned());
        let parts: Vec<AbsorbedPart> = parts.collect();
        LineHistory {
            lines: self.edited(&parts, &text_lines(text)),
            newest: self.newest,
        }
    }

    /// Lines of the newest version and of `text` that differ, ascending.
    fn hunks(&self, text: &[u8]) -> Vec<(Range<usize>, Range<usize>)> {
        let old = self.text(self.newest);
        let (mut at_old, mut at_new) = (0, 0);
        let mut hunks = Vec::new();
        for same in same_lines(&old, text) {
            if at_old < same.a || at_new < same.b {
                hunks.push((at_old..same.a, at_new..same.b));
            }
            (at_old, at_new) = (same.a + same.len, same.b + same.len);
        }
        hunks
    }

    /// All lines after `parts` of the newest version, which ascend, were replaced by `new` lines. These come before the
    /// first line that they replace or push down, behind older ones that were there and are gone.
    fn edited(&self, parts: &[AbsorbedPart], new: &[&'t [u8]]) -> Vec<HistoryLine<'t>> {
        let mut lines = Vec::with_capacity(self.lines.len());
        let mut parts = parts.iter().peekable();
        let born = |part: &AbsorbedPart| {
            let version = part.version;
            new[part.new.clone()].iter().map(move |text| HistoryLine {
                text,
                born: version,
                gone: NEVER,
            })
        };
        let mut removed = (0..0, 0);
        let mut at = 0;
        for line in &self.lines {
            let mut line = *line;
            if line.is_in(self.newest) {
                if let Some(part) = parts.next_if(|part| part.old.start == at) {
                    lines.extend(born(part));
                    removed = (part.old.clone(), part.version);
                }
                if removed.0.contains(&at) {
                    line.gone = removed.1;
                }
                at += 1;
            }
            lines.push(line);
        }
        parts.for_each(|part| lines.extend(born(part)));
        lines
    }
}

/// The parts of one hunk. `newest` has place and version of the lines of the newest version.
fn parts(newest: &[(usize, usize)], old: &Range<usize>, new: &Range<usize>) -> Vec<AbsorbedPart> {
    let part = |version, old: Range<usize>, new: Range<usize>| {
        (version > 0).then_some(AbsorbedPart { version, old, new })
    };
    let only = |mut versions: Vec<usize>| {
        versions.dedup();
        <[usize; 1]>::try_from(versions).ok()
    };
    let versions = |of: &[(usize, usize)]| of.iter().map(|line| line.1).collect::<Vec<usize>>();
    if old.is_empty() {
        // New lines belong to a neighbour. That of the base has no say.
        let neighbours = old.start.saturating_sub(1)..newest.len().min(old.start + 1);
        let mut near = versions(&newest[neighbours]);
        near.retain(|version| *version > 0);
        let version = only(near).map_or(0, |[version]| version);
        return part(version, old.clone(), new.clone())
            .into_iter()
            .collect();
    }
    let touched = &newest[old.clone()];
    let is_unbroken = touched.windows(2).all(|two| two[0].0 + 1 == two[1].0);
    if let Some([version]) = only(versions(touched)).filter(|_| is_unbroken && !new.is_empty()) {
        return part(version, old.clone(), new.clone())
            .into_iter()
            .collect();
    }
    // Lines are paired, or each one goes by itself.
    if !new.is_empty() && old.len() != new.len() {
        return Vec::new();
    }
    let lines = old.clone().zip(touched).enumerate();
    let lines = lines.filter_map(|(number, (line, (_, version)))| {
        let at = new.start + if new.is_empty() { 0 } else { number };
        let end = at + usize::from(!new.is_empty());
        part(*version, line..line + 1, at..end)
    });
    lines.collect()
}

fn text_lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One letter a line.
    fn text(letters: &str) -> Vec<u8> {
        let lines = letters.chars().map(|letter| format!("{letter}\n"));
        lines.collect::<String>().into_bytes()
    }

    fn letters(text: &[u8]) -> String {
        let text = String::from_utf8_lossy(text);
        text.chars().filter(|letter| *letter != '\n').collect()
    }

    /// The versions after `changed` was absorbed.
    fn absorbed(versions: &[&str], changed: &str) -> Vec<String> {
        let texts: Vec<Vec<u8>> = versions.iter().map(|version| text(version)).collect();
        let changed = text(changed);
        let mut history = LineHistory::new(&texts[0]);
        texts[1..].iter().for_each(|text| history.push(text));
        let after = history.absorb(&changed, &history.assign(&changed));
        let versions = 0..texts.len();
        versions
            .map(|number| letters(&after.text(number)))
            .collect()
    }

    #[test]
    fn changes_go_where_mercurial_takes_them() {
        // Recorded from Mercurial 7.2.
        for (changed, expected) in [
            ("pqabcdX", ["pq", "pqab", "pqabcdX"]),
            ("Xpqabcd", ["pq", "pqab", "pqabcd"]),
            ("pqXabcd", ["pq", "pqXab", "pqXabcd"]),
            ("pqabXcd", ["pq", "pqab", "pqabcd"]),
            ("pqaXbcd", ["pq", "pqaXb", "pqaXbcd"]),
            ("pqcd", ["pq", "pq", "pqcd"]),
            ("pd", ["pq", "pq", "pqd"]),
            ("pqaXYd", ["pq", "pqaX", "pqaXYd"]),
            ("pqaXd", ["pq", "pqab", "pqabcd"]),
            ("pXacd", ["pq", "pqa", "pqacd"]),
            ("pqXYZcd", ["pq", "pqXYZ", "pqXYZcd"]),
            ("pqXYZYd", ["pq", "pqab", "pqabcd"]),
            ("", ["pq", "pq", "pq"]),
        ] {
            assert_eq!(
                absorbed(&["pq", "pqab", "pqabcd"], changed),
                expected,
                "{changed}"
            );
        }
    }

    #[test]
    fn lines_that_are_gone_between_make_a_change_ambiguous() {
        assert_eq!(absorbed(&["", "abc", "ac"], "X"), ["", "abc", "ac"]);
        assert_eq!(absorbed(&["", "abc", "ac"], "XY"), ["", "XbY", "XY"]);
    }

    proptest! {
        /// Whatever is left is what belongs to no version, and the base stays.
        #[test]
        fn absorbing_ends_nearer_to_the_changed_text(
            versions in proptest::collection::vec("[a-f]{0,8}", 1..5),
            changed in "[a-h]{0,8}",
        ) {
            let texts: Vec<Vec<u8>> = versions.iter().map(|version| text(version)).collect();
            let changed = text(&changed);
            let mut history = LineHistory::new(&texts[0]);
            for (number, text) in texts.iter().enumerate().skip(1) {
                history.push(text);
                prop_assert_eq!(&history.text(number), text);
            }
            let hunks = history.assign(&changed);
            let after = history.absorb(&changed, &hunks);
            prop_assert_eq!(&after.text(0), &texts[0]);
            let newest = text_lines(&texts[texts.len() - 1]);
            let lines = text_lines(&changed);
            let (mut expected, mut at): (Vec<&[u8]>, usize) = (Vec::new(), 0);
            for part in hunks.iter().flat_map(|hunk| &hunk.parts) {
                expected.extend(&newest[at..part.old.start]);
                expected.extend(&lines[part.new.clone()]);
                at = part.old.end;
            }
            expected.extend(&newest[at..]);
            prop_assert_eq!(after.lines(texts.len() - 1), expected);
        }
    }
}
