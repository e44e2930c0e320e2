//! Reading a text on several threads whose outermost object has one long array, as the documents of
//! a bulk request.
//!
//! ```text
//! {"new_edits": false, "docs": [ item , item , item , item , item ] }
//!                              ^ the array    ^ a cut             ^
//! ```
//! A quick look finds where the array stands and where some of its items end. The parts between the
//! cuts are read side by side, and what is around the array like any text. Whatever is not as
//! expected is left to [`parse`], so values and errors are the same.

use super::{Parser, parse};
use crate::{JsonError, Value};
use std::ops::Range;
use std::thread;

/// Shorter texts are read before a thread has begun.
const LEAST: usize = 64 << 10;

/// Reads one value as [`parse`] does, on up to so many threads.
///
/// # Errors
/// As [`parse`].
pub fn parse_on(threads: usize, bytes: &[u8]) -> Result<Value, JsonError> {
    if threads > 1
        && bytes.len() >= LEAST
        && let Ok(text) = std::str::from_utf8(bytes)
        && let Some(value) = in_parts(threads, text)
    {
        return Ok(value);
    }
    parse(bytes)
}

/// `None` where there is no such array, or something is wrong.
pub(crate) fn in_parts(threads: usize, text: &str) -> Option<Value> {
    let step = text.len() / threads.max(1) + 1;
    let found = longest_array(text.as_bytes(), step)?;
    let (before, rest) = (found.items.start, found.items.end);
    let around = [&text[..before], &text[rest..]].concat();
    let Value::Object(mut object) = parse(around.as_bytes()).ok()? else {
        return None;
    };
    // Not if a name is there twice.
    let is_whole = object.len() == found.members;
    let place = object.value_at_mut(found.member).filter(|_| is_whole)?;
    let mut parts = found.parts(text).into_iter();
    let own = parts.next_back()?;
    *place = thread::scope(|scope| {
        let others: Option<Vec<_>> = parts
            .map(|part| {
                let thread = thread::Builder::new().name("parsing".to_owned());
                thread.spawn_scoped(scope, move || items(part)).ok()
            })
            .collect();
        let (others, mut own) = (others?, items(own)?);
        let mut all = Vec::new();
        for other in others {
            all.append(&mut other.join().ok()??);
        }
        all.append(&mut own);
        Some(Value::Array(all))
    })?;
    Some(Value::Object(object))
}

/// Items with commas between them.
fn items(part: &str) -> Option<Vec<Value>> {
    // They stand in an array and an object.
    let mut parser = Parser::new(part, 2);
    let mut items = Vec::new();
    loop {
        items.push(parser.value().ok()?);
        match parser.peek() {
            None => return Some(items),
            Some(b',') => parser.at += 1,
            Some(_) => return None,
        }
    }
}

/// An array that is a member of the outermost object.
struct Found {
    /// What stands between its brackets.
    items: Range<usize>,
    /// Commas between items.
    cuts: Vec<usize>,
    /// Which member it is.
    member: usize,
    /// How many members there are.
    members: usize,
}

impl Found {
    fn parts<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let mut start = self.items.start;
        let mut parts = Vec::with_capacity(self.cuts.len() + 1);
        for cut in &self.cuts {
            parts.push(&text[start..*cut]);
            start = cut + 1;
        }
        parts.push(&text[start..self.items.end]);
        parts
    }
}

/// Looks for the longest array, and cuts it behind at least `step` bytes each time.
fn longest_array(bytes: &[u8], step: usize) -> Option<Found> {
    let mut found: Option<Found> = None;
    // The array that is open directly below the outermost object.
    let mut open: Option<(usize, Vec<usize>)> = None;
    let (mut depth, mut members, mut at) = (0_usize, 0, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = end_of_string(bytes, at)?,
            b'[' | b'{' => {
                depth += 1;
                if depth == 2 {
                    open = (*byte == b'[').then(|| (at + 1, Vec::new()));
                }
            }
            b']' | b'}' => {
                if depth == 2 {
                    let items = open.take().map(|(start, cuts)| (start..at, cuts));
                    let is_longer = |items: &Range<usize>| {
                        found.as_ref().is_none_or(|it| it.items.len() < items.len())
                    };
                    if let Some((items, cuts)) = items.filter(|(items, _)| is_longer(items)) {
                        found = Some(Found {
                            items,
                            cuts,
                            member: members,
                            members: 0,
                        });
                    }
                }
                depth = depth.checked_sub(1)?;
            }
            b',' if depth == 1 => members += 1,
            b',' if depth == 2 => {
                if let Some((start, cuts)) = &mut open
                    && at - cuts.last().unwrap_or(start) >= step
                {
                    cuts.push(at);
                }
            }
            _ => {}
        }
        at += 1;
    }
    let found = found.filter(|found| !found.cuts.is_empty());
    found.map(|found| Found {
        members: members + 1,
        ..found
    })
}

/// Where the closing quote of a string stands that begins at `at`.
fn end_of_string(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        at += super::plain_prefix(bytes.get(at..)?);
        match bytes.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MAX_DEPTH, write};
    use proptest::prelude::*;

    fn texts() -> impl Strategy<Value = String> {
        let pieces = [
            "{\"a\":1}",
            "[]",
            "[[1],{}]",
            "null",
            "-1.5e3",
            "\"x,]}\\\"\\\\\"",
            "\"docs\"",
            " ",
            ",",
            "{",
            "}",
            "[",
            "]",
            ":",
            "\"",
            "\\",
            "{\"docs\":[",
            "],\"a\":[1,2,3]}",
            "\u{e9}",
        ];
        let piece = proptest::sample::select(pieces.to_vec());
        proptest::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
    }

    fn lists() -> impl Strategy<Value = String> {
        let items = [
            "{\"a\":[1,{\"b\":\"]\"}]}",
            "7",
            " null ",
            "[ ]",
            "\"\\\\\"",
            "{}",
            "1.0",
        ];
        let list = proptest::collection::vec(proptest::sample::select(items.to_vec()), 0..12);
        (list.clone(), list).prop_map(|(some, more)| {
            let (some, more) = (some.join(","), more.join(" , "));
            format!("{{\"first\":[{some}],\"x\":{{\"docs\":[1,2]}} , \"docs\" : [{more}]}}")
        })
    }

    /// How often parts were what was read.
    fn agree(text: &str) -> usize {
        let expected = parse(text.as_bytes());
        let found = [2, 3, 7, 1000].map(|threads| in_parts(threads, text));
        for value in found.iter().flatten() {
            assert_eq!(Ok(value), expected.as_ref(), "{text}");
        }
        found.iter().flatten().count()
    }

    proptest! {
        #[test]
        fn whatever_the_text_is_parts_give_the_same_or_nothing(text in texts()) {
            agree(&text);
        }

        #[test]
        fn lists_are_read_in_parts(text in lists()) {
            agree(&text);
        }
    }

    #[test]
    fn long_arrays_are_read_in_parts_and_everything_else_as_ever() {
        let item = |number: usize| format!("{{\"_id\":\"{number:06}\",\"text\":\"\\\"],[{{\"}}");
        let list = |count: usize| (0..count).map(item).collect::<Vec<_>>().join(",");
        let text = format!(
            "{{\"new_edits\":false,\"docs\":[{}],\"z\":[1]}}",
            list(4000)
        );
        assert_eq!(agree(&text), 4);
        let mut written = Vec::new();
        write(&parse_on(2, text.as_bytes()).unwrap(), &mut written);
        assert_eq!(written, text.as_bytes());
        for wrong in [
            text.replace("003999", "\u{1}"),
            text.replace("\"z\"", "\"docs\""),
            text.replace("},{\"_id\":\"002000", "}{\"_id\":\"002000"),
            format!("{text}]"),
            format!("[{text}]"),
            text.replace(",\"z\":[1]}", ""),
            list(4000),
        ] {
            assert_eq!(agree(&wrong), 0);
            assert_eq!(parse_on(2, wrong.as_bytes()), parse(wrong.as_bytes()));
        }
    }

    #[test]
    fn nesting_is_counted_from_the_outermost_object() {
        let deep = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        for (depth, is_read) in [(MAX_DEPTH - 2, true), (MAX_DEPTH - 1, false)] {
            let text = format!("{{\"docs\":[{},{}]}}", deep(depth), deep(depth));
            assert_eq!(agree(&text) > 0, is_read);
            assert_eq!(parse(text.as_bytes()).is_ok(), is_read);
        }
    }
}
