//! Looking into JSON text without reading all of it: the places of the items of an array and of the members of an
//! object. The text between them is skipped, at the speed of finding its end.
//!
//! The text is one that this program wrote. One that is not JSON gives `None`, or spans that are
//! no values; never a panic, and never one outside of the text.

use crate::lexer::plain_prefix;

/// Where a value stands: positions of its first byte and behind its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Of the first byte.
    pub start: u32,
    /// Behind the last byte.
    pub end: u32,
}

impl Span {
    /// The whole text; `None` if it is longer than 4 GiB.
    pub fn whole(text: &str) -> Option<Span> {
        let end = u32::try_from(text.len()).ok()?;
        Some(Span { start: 0, end })
    }

    /// The bytes of the value.
    pub fn of(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }
}

/// A member of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The name, with its quotes.
    pub name: Span,
    /// Position of the value in the text.
    pub value: Span,
}

/// The items of an array, in order.
pub fn items(text: &str, array: Span) -> Option<Vec<Span>> {
    let mut scan = Scan::inside(text, array, b'[')?;
    let mut items = Vec::new();
    while !scan.closes(b']')? {
        items.push(scan.value()?);
    }
    Some(items)
}

/// The members of an object, in order.
pub fn members(text: &str, object: Span) -> Option<Vec<Member>> {
    let mut scan = Scan::inside(text, object, b'{')?;
    let mut members = Vec::with_capacity(16);
    while !scan.closes(b'}')? {
        let name = scan.value()?;
        (text.as_bytes().get(scan.at)? == &b':').then_some(())?;
        scan.at += 1;
        let value = scan.value()?;
        members.push(Member { name, value });
    }
    Some(members)
}

struct Scan<'t> {
    bytes: &'t [u8],
    at: usize,
    /// Whether nothing has been read yet.
    is_first: bool,
}

impl<'t> Scan<'t> {
    fn inside(text: &'t str, container: Span, bracket: u8) -> Option<Self> {
        let bytes = text.as_bytes().get(..container.end as usize)?;
        let at = container.start as usize;
        (bytes.get(at) == Some(&bracket)).then_some(Scan {
            bytes,
            at: at + 1,
            is_first: true,
        })
    }

    /// Skips the comma before the next value, or sees the end.
    fn closes(&mut self, bracket: u8) -> Option<bool> {
        let is_first = std::mem::take(&mut self.is_first);
        match *self.bytes.get(self.at)? {
            byte if byte == bracket => Some(true),
            b',' if !is_first => {
                self.at += 1;
                Some(false)
            }
            _ => is_first.then_some(false),
        }
    }

    /// Skips a value.
    fn value(&mut self) -> Option<Span> {
        let start = self.at;
        match *self.bytes.get(start)? {
            b'"' => self.string()?,
            b'[' | b'{' => self.container()?,
            b',' | b':' | b']' | b'}' => return None,
            _ => self.word(),
        }
        let position = |at| u32::try_from(at).ok();
        Some(Span {
            start: position(start)?,
            end: position(self.at)?,
        })
    }

    /// Stands on the opening quote.
    fn string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            self.at += plain_prefix(&self.bytes[self.at..]);
            match *self.bytes.get(self.at)? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => return None,
            }
            self.bytes.get(self.at)?;
        }
        self.at += 1;
        Some(())
    }

    /// Stands on an opening bracket. Only their number counts, not their kind.
    fn container(&mut self) -> Option<()> {
        let mut depth = 0usize;
        loop {
            self.at += between_marks(&self.bytes[self.at..]);
            match *self.bytes.get(self.at)? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Some(());
            }
        }
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) {
        let rest = &self.bytes[self.at..];
        let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b':');
        self.at += rest.iter().position(ends).unwrap_or(rest.len());
    }
}

/// How many bytes at the beginning are neither quotes nor brackets, as far as eight at a time tell:
/// behind them comes one, or too few bytes to tell.
fn between_marks(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = ONES << 7;
    // Exact for the lowest byte that is zero: borrows only travel upwards.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    let mut count = 0;
    for word in bytes.as_chunks::<8>().0 {
        let word = u64::from_le_bytes(*word);
        let quotes = zeros(word ^ (ONES * u64::from(b'"')));
        // `[` and `]` are `{` and `}` without this bit.
        let folded = word | (ONES * 0x20);
        let opening = zeros(folded ^ (ONES * u64::from(b'{')));
        let marks = quotes | opening | zeros(folded ^ (ONES * u64::from(b'}')));
        if marks != 0 {
            return count + (marks.trailing_zeros() / 8) as usize;
        }
        count += 8;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Value, parse};
    use proptest::prelude::*;

    fn whole(text: &str) -> Span {
        Span::whole(text).unwrap()
    }

    /// The value of a text, put together from its parts.
    fn assembled(text: &str, span: Span) -> Value {
        let of = span.of(text);
        match of.as_bytes()[0] {
            b'[' => {
                let items = items(text, span).unwrap();
                Value::Array(items.iter().map(|item| assembled(text, *item)).collect())
            }
            b'{' => {
                let members = members(text, span).unwrap();
                let read = members.iter().map(|member| {
                    let name = parse(member.name.of(text).as_bytes()).unwrap();
                    (
                        name.as_str().unwrap().to_owned(),
                        assembled(text, member.value),
                    )
                });
                Value::Object(read.collect())
            }
            _ => parse(of.as_bytes()).unwrap(),
        }
    }

    #[test]
    fn the_parts_are_the_whole() {
        for text in [
            r#"{"a":1,"b\"}":[1,[],{},"]"],"c":{"d":null,"e":[true,false]},"\\":-1.5e3}"#,
            "[]",
            "{}",
            r#"["\\\"",[[[]]]]"#,
        ] {
            assert_eq!(
                assembled(text, whole(text)),
                parse(text.as_bytes()).unwrap()
            );
        }
    }

    #[test]
    fn what_is_no_json_has_no_parts() {
        for text in [
            "[", "[1", "[1,", "[,]", "[\"", "[\"\\", "[[}", "[1 2", "{\"a\"}", "{\"a\":}", "1", "",
        ] {
            assert_eq!(items(text, whole(text)), None, "{text}");
            assert_eq!(members(text, whole(text)), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_mark_is_passed_over(text in "[\\[\\]{}\"0-9a-z,éÛÝ]{0,40}") {
            let count = between_marks(text.as_bytes());
            let is_mark = |byte: &u8| matches!(byte, b'"' | b'[' | b']' | b'{' | b'}');
            let marks = text.bytes().position(|byte| is_mark(&byte));
            prop_assert!(count <= marks.unwrap_or(text.len()));
            prop_assert!(marks == Some(count) || text.len() - count < 8);
        }

        #[test]
        fn any_text_is_looked_into_without_a_panic(text in "[\\[\\]{}:,\"\\\\ é1-9]{0,24}") {
            let is_inside = |span: Span| {
                span.start < span.end && text.get(span.start as usize..span.end as usize).is_some()
            };
            let found = items(&text, whole(&text)).unwrap_or_default();
            prop_assert!(found.into_iter().all(is_inside));
            for member in members(&text, whole(&text)).unwrap_or_default() {
                prop_assert!(is_inside(member.name) && is_inside(member.value));
            }
        }
    }
}
