//! Reading JSON in one pass, without recursion.
//!
//! Finished items wait on two shared stacks until their container closes, so that each container
//! takes exactly one allocation of the right size.

mod strings;

pub(crate) use strings::plain_prefix;

use crate::number::{read_float, read_int};
use crate::{JsonError, MAX_DIGITS, Number, Object, Value};

/// Deepest nesting of arrays and objects that is accepted.
pub const MAX_DEPTH: usize = 2_500;

/// Reads one value, with nothing but blanks around it.
///
/// # Errors
/// The first place where the bytes are not JSON, or go beyond a limit.
pub fn parse(bytes: &[u8]) -> Result<Value, JsonError> {
    let text = std::str::from_utf8(bytes).map_err(|error| JsonError::InvalidUtf8 {
        at: error.valid_up_to(),
    })?;
    let mut parser = Parser {
        text,
        bytes: text.as_bytes(),
        at: 0,
        open: Vec::new(),
        items: Vec::new(),
        members: Vec::new(),
    };
    let value = parser.value()?;
    match parser.peek() {
        None => Ok(value),
        Some(_) => Err(parser.unexpected("the end of the text")),
    }
}

/// Reads one object.
///
/// # Errors
/// As [`parse`]; [`JsonError::NotAnObject`] for any other value.
pub fn parse_object(bytes: &[u8]) -> Result<Object, JsonError> {
    match parse(bytes)? {
        Value::Object(object) => Ok(object),
        other => Err(JsonError::NotAnObject {
            found: other.kind(),
        }),
    }
}

/// A container whose end has not been read: where its items begin on their stack.
enum Open {
    Array { items: usize },
    Object { members: usize },
}

struct Parser<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    open: Vec<Open>,
    items: Vec<Value>,
    /// Members of open objects; the value of the last one of each is yet to come.
    members: Vec<(String, Value)>,
}

impl Parser<'_> {
    fn value(&mut self) -> Result<Value, JsonError> {
        loop {
            let mut value = match self.peek() {
                Some(bracket @ (b'[' | b'{')) => match self.open_container(bracket)? {
                    Some(empty) => empty,
                    None => continue,
                },
                _ => self.scalar()?,
            };
            loop {
                match self.add(value)? {
                    Step::Done(value) => return Ok(value),
                    Step::Next => break,
                    Step::Closed(container) => value = container,
                }
            }
        }
    }

    /// Behind an opening bracket; gives back the container if it is empty.
    fn open_container(&mut self, bracket: u8) -> Result<Option<Value>, JsonError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(JsonError::TooDeep { at: self.at });
        }
        self.at += 1;
        let closing = self.peek();
        if bracket == b'[' {
            if closing == Some(b']') {
                self.at += 1;
                return Ok(Some(Value::Array(Vec::new())));
            }
            let items = self.items.len();
            self.open.push(Open::Array { items });
            return Ok(None);
        }
        if closing == Some(b'}') {
            self.at += 1;
            return Ok(Some(Value::Object(Object::new())));
        }
        let members = self.members.len();
        self.open.push(Open::Object { members });
        self.name()?;
        Ok(None)
    }

    /// Puts a value into the innermost open container and reads the comma or bracket behind it.
    fn add(&mut self, value: Value) -> Result<Step, JsonError> {
        let Some(open) = self.open.last() else {
            return Ok(Step::Done(value));
        };
        match *open {
            Open::Array { items } => {
                self.items.push(value);
                match self.peek() {
                    Some(b',') => self.at += 1,
                    Some(b']') => {
                        self.at += 1;
                        self.open.pop();
                        return Ok(Step::Closed(Value::Array(
                            self.items.drain(items..).collect(),
                        )));
                    }
                    _ => return Err(self.unexpected("',' or ']'")),
                }
            }
            Open::Object { members } => {
                if let Some((_, pending)) = self.members.last_mut() {
                    *pending = value;
                }
                match self.peek() {
                    Some(b',') => {
                        self.at += 1;
                        self.name()?;
                    }
                    Some(b'}') => {
                        self.at += 1;
                        self.open.pop();
                        let members = self.members.drain(members..).collect();
                        return Ok(Step::Closed(Value::Object(Object::from_members(members))));
                    }
                    _ => return Err(self.unexpected("',' or '}'")),
                }
            }
        }
        Ok(Step::Next)
    }

    /// Reads `"name" :` and leaves a member whose value is yet to come.
    fn name(&mut self) -> Result<(), JsonError> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("a name in quotes"));
        }
        let name = self.string()?;
        if self.peek() != Some(b':') {
            return Err(self.unexpected("':'"));
        }
        self.at += 1;
        self.members.push((name, Value::Null));
        Ok(())
    }

    fn scalar(&mut self) -> Result<Value, JsonError> {
        match self.peek() {
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number().map(Value::Number),
            Some(b't') => self.literal("true", Value::Bool(true)),
            Some(b'f') => self.literal("false", Value::Bool(false)),
            Some(b'n') => self.literal("null", Value::Null),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn literal(&mut self, word: &'static str, value: Value) -> Result<Value, JsonError> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(self.unexpected(word));
        }
        self.at += word.len();
        Ok(value)
    }

    fn number(&mut self) -> Result<Number, JsonError> {
        let start = self.at;
        self.at += usize::from(self.bytes[start] == b'-');
        let first = self.at;
        let digits = self.digits()?;
        if digits > 1 && self.bytes[first] == b'0' {
            self.at = first + 1;
            return Err(self.unexpected("no digit behind a leading zero"));
        }
        let mut is_float = false;
        if self.bytes.get(self.at) == Some(&b'.') {
            is_float = true;
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            is_float = true;
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            self.digits()?;
        }
        let token = &self.text[start..self.at];
        if is_float {
            let float = read_float(token);
            return float
                .map(Number::Float)
                .ok_or(JsonError::NumberOutOfRange { at: start });
        }
        if digits > MAX_DIGITS {
            return Err(JsonError::NumberTooLong { at: start, digits });
        }
        Ok(read_int(token))
    }

    /// Skips at least one digit and says how many there were.
    fn digits(&mut self) -> Result<usize, JsonError> {
        let rest = &self.bytes[self.at..];
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return Err(self.unexpected("a digit"));
        }
        self.at += count;
        Ok(count)
    }

    /// The next byte that is not blank.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.bytes.get(self.at) {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                other => return other.copied(),
            }
        }
    }

    fn unexpected(&self, expected: &'static str) -> JsonError {
        match self.bytes.get(self.at) {
            Some(&byte) => JsonError::Unexpected {
                at: self.at,
                expected,
                found: char::from(byte),
            },
            None => JsonError::Truncated {
                at: self.at,
                expected,
            },
        }
    }
}

/// What a value did to the innermost open container.
enum Step {
    /// There is none: the value is the whole text.
    Done(Value),
    /// It waits for another value.
    Next,
    /// It is complete, and itself a value now.
    Closed(Value),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_place() {
        for (text, expected) in [
            (
                "",
                "invalid JSON: the text ends at byte 0 where a value should stand",
            ),
            (
                "[1,]",
                "invalid JSON at byte 3: expected a value, found ']'",
            ),
            (
                "{\"a\" 1}",
                "invalid JSON at byte 5: expected ':', found '1'",
            ),
            (
                "{\"a\":1,}",
                "invalid JSON at byte 7: expected a name in quotes, found '}'",
            ),
            (
                "01",
                "invalid JSON at byte 1: expected no digit behind a leading zero, found '1'",
            ),
            (
                "1 2",
                "invalid JSON at byte 2: expected the end of the text, found '2'",
            ),
            (
                "\"a\nb\"",
                "invalid JSON at byte 2: expected a character of a string, found '\\n'",
            ),
            ("\"\\ud800\"", "lone surrogate at byte 1"),
            ("\"\\udc00\\ud800\"", "lone surrogate at byte 1"),
            ("\"\\ud800\\u0041\"", "lone surrogate at byte 1"),
            ("1e999", "number out of range at byte 0"),
        ] {
            assert_eq!(
                parse(text.as_bytes()).unwrap_err().to_string(),
                expected,
                "{text}"
            );
        }
        assert_eq!(parse(b"\"\xff\""), Err(JsonError::InvalidUtf8 { at: 1 }));
    }

    #[test]
    fn nesting_is_bounded_and_safe_on_a_small_stack() {
        let nested = |depth: usize| {
            [
                "[{\"a\":".repeat(depth / 2),
                "1".into(),
                "}]".repeat(depth / 2),
            ]
            .concat()
        };
        let check = move || {
            let text = nested(MAX_DEPTH);
            let value = parse(text.as_bytes()).unwrap();
            assert_eq!(crate::to_string(&value), text);
            let copy = value.clone();
            assert!(copy == value);
            let too_deep = parse(nested(2 * MAX_DEPTH).as_bytes());
            assert!(matches!(too_deep, Err(JsonError::TooDeep { .. })));
            assert!(parse("[".repeat(1 << 20).as_bytes()).is_err());
        };
        let small = std::thread::Builder::new().stack_size(1 << 20);
        small.spawn(check).unwrap().join().unwrap();
    }
}
