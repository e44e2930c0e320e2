//! Descriptions of history in one line, such as `+3:a @stable <a +2 /a`.
//!
//! | element | meaning |
//! | --- | --- |
//! | `+n` | n changesets, one above the other |
//! | `.` | one changeset |
//! | `$` | the next one has no parent |
//! | `<p` | the next one follows p |
//! | `*p1/p2` | a changeset that follows both, or p1 alone |
//! | `/p2` | a merge of the newest one with p2 |
//! | `:tag` | a local tag of the newest one |
//! | `@branch` | the branch of those that follow |
//! | `#…` | a comment up to the end of the line |
//!
//! A parent is a tag, or how far it is back from the next changeset, or nothing for the newest one.

use std::collections::HashMap;
use std::iter;

/// Most changesets of one description.
const MOST: usize = 1 << 24;

/// One step of a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DagStep {
    /// A changeset with the numbers of its parents, from 0.
    Changeset([Option<usize>; 2]),
    /// A local tag of the changeset of this number.
    Tag(usize, Vec<u8>),
    /// The branch of all changesets that follow.
    Branch(Vec<u8>),
}

/// A description that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DagTextError {
    /// An element begins with an unknown character.
    #[error("invalid character in dag description: {0}...")]
    Character(String),
    /// `+` without a number.
    #[error("a run of changesets needs its length behind the '+'")]
    NoLength,
    /// A parent that is no tag and no number.
    #[error("no changeset before this one has the tag '{0}'")]
    UnknownTag(String),
    /// More changesets than can be made.
    #[error("the description has more than {MOST} changesets")]
    TooMany,
    /// A quoted string without its end.
    #[error("the description ends within quotation marks")]
    OpenQuote,
}

/// Reads a description.
///
/// # Errors
/// [`DagTextError`].
pub fn parse_dag(text: &[u8]) -> Result<Vec<DagStep>, DagTextError> {
    let mut parser = Parser {
        rest: text,
        steps: Vec::new(),
        count: 0,
        base: None,
        tags: HashMap::new(),
    };
    parser.rest = parser.rest.trim_ascii_start();
    while let [first, rest @ ..] = parser.rest {
        parser.rest = rest;
        parser.element(*first)?;
        parser.rest = parser.rest.trim_ascii_start();
    }
    Ok(parser.steps)
}

struct Parser<'t> {
    rest: &'t [u8],
    steps: Vec<DagStep>,
    /// Changesets so far.
    count: usize,
    /// The default parent.
    base: Option<usize>,
    tags: HashMap<Vec<u8>, usize>,
}

impl Parser<'_> {
    fn element(&mut self, first: u8) -> Result<(), DagTextError> {
        match first {
            b'+' => {
                let run = self.digits();
                let run: usize = match run.is_empty() {
                    true => return Err(DagTextError::NoLength),
                    false => run.parse().map_err(|_| DagTextError::TooMany)?,
                };
                for _ in 0..run {
                    self.add([self.base, None])?;
                }
            }
            b'.' => {
                self.digits();
                self.add([self.base, None])?;
            }
            b'$' => self.base = None,
            b'<' => self.base = self.parent()?,
            b'*' => {
                let first = self.parent()?;
                let second = self.second_parent()?;
                self.add([first, second])?;
            }
            b'/' => {
                let second = self.parent()?;
                self.add([self.base, second])?;
            }
            b':' => {
                let name = self.string()?;
                let Some(newest) = self.count.checked_sub(1) else {
                    return Ok(());
                };
                self.tags.insert(name.clone(), newest);
                self.steps.push(DagStep::Tag(newest, name));
            }
            b'@' => {
                let name = self.string()?;
                self.steps.push(DagStep::Branch(name));
            }
            b'#' => {
                let end = self.rest.iter().position(|byte| *byte == b'\n');
                self.rest = &self.rest[end.unwrap_or(self.rest.len())..];
            }
            other => {
                let shown = iter::once(&other).chain(self.rest).take(10).copied();
                let shown = String::from_utf8_lossy(&shown.collect::<Vec<u8>>()).into_owned();
                return Err(DagTextError::Character(shown));
            }
        }
        Ok(())
    }

    fn add(&mut self, parents: [Option<usize>; 2]) -> Result<(), DagTextError> {
        if self.count == MOST {
            return Err(DagTextError::TooMany);
        }
        self.steps.push(DagStep::Changeset(parents));
        self.base = Some(self.count);
        self.count += 1;
        Ok(())
    }

    fn second_parent(&mut self) -> Result<Option<usize>, DagTextError> {
        match self.rest.strip_prefix(b"/") {
            Some(rest) => {
                self.rest = rest;
                self.parent()
            }
            None => Ok(None),
        }
    }

    /// A reference to a changeset; `None` for one before the first.
    fn parent(&mut self) -> Result<Option<usize>, DagTextError> {
        let name = self.string()?;
        if name.is_empty() {
            return Ok(self.base);
        }
        let back = std::str::from_utf8(&name).ok();
        if let Some(back) = back.and_then(|digits| digits.parse::<usize>().ok()) {
            return Ok(self.count.checked_sub(back).filter(|at| *at < self.count));
        }
        let tagged = self.tags.get(&name).copied();
        let unknown = || DagTextError::UnknownTag(String::from_utf8_lossy(&name).into_owned());
        tagged.map(Some).ok_or_else(unknown)
    }

    fn digits(&mut self) -> &str {
        let end = self.rest.iter().position(|byte| !byte.is_ascii_digit());
        let (digits, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        std::str::from_utf8(digits).unwrap_or_default()
    }

    /// A word, or a string between quotation marks.
    fn string(&mut self) -> Result<Vec<u8>, DagTextError> {
        let Some(rest) = self.rest.strip_prefix(b"\"") else {
            let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
            let end = self.rest.iter().position(|byte| !is_word(byte));
            let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
            self.rest = rest;
            return Ok(word.to_vec());
        };
        let (mut out, mut bytes) = (Vec::new(), rest.iter());
        while let Some(byte) = bytes.next() {
            match byte {
                b'"' => {
                    self.rest = bytes.as_slice();
                    return Ok(out);
                }
                b'\\' => out.extend(bytes.next()),
                other => out.push(*other),
            }
        }
        Err(DagTextError::OpenQuote)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let steps = match parse_dag(text.as_bytes()) {
            Ok(steps) => steps,
            Err(error) => return error.to_string(),
        };
        let number = |parent: Option<usize>| parent.map_or("-".to_owned(), |at| at.to_string());
        let one = |step: &DagStep| match step {
            DagStep::Changeset([first, None]) => number(*first),
            DagStep::Changeset([first, second]) => {
                format!("{}/{}", number(*first), number(*second))
            }
            DagStep::Tag(at, name) => format!("{at}={}", String::from_utf8_lossy(name)),
            DagStep::Branch(name) => format!("@{}", String::from_utf8_lossy(name)),
        };
        steps.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn elements_make_changesets() {
        for (text, expected) in [
            ("", ""),
            (
                "+2:f +3:p2 @temp <f+2 @default /p2 +1",
                "- 0 1=f 1 2 3 4=p2 @temp 1 5 @default 6/4 7",
            ),
            ("+2*1", "- 0 1"),
            ("+2 *2/1", "- 0 0/1"),
            ("/9", "-"),
            (".$.", "- -"),
            ("#c\n.", "-"),
            ("@\"x y\"+1:\"t \\\"u\"", "@x y - 0=t \"u"),
            (":early.", "-"),
            ("!", "invalid character in dag description: !..."),
            ("+", "a run of changesets needs its length behind the '+'"),
            (
                "*nosuch",
                "no changeset before this one has the tag 'nosuch'",
            ),
            (
                "+99999999999999999999999",
                "the description has more than 16777216 changesets",
            ),
            (":\"open", "the description ends within quotation marks"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }
}
