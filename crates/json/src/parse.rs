//! Reading JSON in one pass, without recursion.
//!
//! Finished items wait on two shared stacks until their container closes, so that each container
//! takes exactly one allocation of the right size.

use crate::lexer::Lexer;
use crate::{JsonError, Object, Value};

/// In bytes, about: overhead of the allocator for each string and container.
const ALLOCATION: usize = 16;
/// A value, on the stack of open containers and in its own.
const ITEM: usize = 2 * size_of::<Value>();
/// A member, likewise.
const MEMBER: usize = 2 * size_of::<(String, Value)>();

/// Deepest nesting of arrays and objects that is accepted.
pub const MAX_DEPTH: usize = 2_500;
/// Containers that a program may put around a value of that depth.
const ADDED_DEPTH: usize = 4;

/// Reads one value, with nothing but blanks around it.
///
/// # Errors
/// The first place where the bytes are not JSON, or go beyond a limit.
pub fn parse(bytes: &[u8]) -> Result<Value, JsonError> {
    let mut lexer = Lexer::new(bytes)?;
    let value = value(&mut lexer)?;
    lexer.end()?;
    Ok(value)
}

/// Reads what a program made of values that were read: it may be a few levels deeper than [`MAX_DEPTH`].
///
/// # Errors
/// As [`parse`].
pub fn parse_made(bytes: &[u8]) -> Result<Value, JsonError> {
    let mut lexer = Lexer::new(bytes)?;
    lexer.allow_deeper(ADDED_DEPTH);
    let value = value(&mut lexer)?;
    lexer.end()?;
    Ok(value)
}

/// Reads one value whose parts take at most `room` bytes in memory, which may be many times their text.
///
/// # Errors
/// As [`parse`]; [`JsonError::TooLarge`].
pub fn parse_bounded(bytes: &[u8], room: usize) -> Result<Value, JsonError> {
    let mut lexer = Lexer::bounded(bytes, room)?;
    let value = value(&mut lexer)?;
    lexer.end()?;
    Ok(value)
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

/// Reads one value, which may stand inside another one.
pub(crate) fn value(lexer: &mut Lexer<'_>) -> Result<Value, JsonError> {
    let mut parser = Parser {
        lexer,
        open: Vec::new(),
        items: Vec::new(),
        members: Vec::new(),
    };
    parser.value()
}

/// A container whose end has not been read: where its items begin on their stack.
enum OpenContainer {
    Array { items: usize },
    Object { members: usize },
}

struct Parser<'l, 't> {
    lexer: &'l mut Lexer<'t>,
    open: Vec<OpenContainer>,
    items: Vec<Value>,
    /// Members of open objects; the value of the last one of each is yet to come.
    members: Vec<(String, Value)>,
}

impl Parser<'_, '_> {
    fn value(&mut self) -> Result<Value, JsonError> {
        loop {
            let mut value = match self.lexer.peek() {
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
        self.lexer.enter()?;
        if bracket == b'[' {
            if self.lexer.leave(b']') {
                return Ok(Some(Value::Array(Vec::new())));
            }
            let items = self.items.len();
            self.open.push(OpenContainer::Array { items });
            return Ok(None);
        }
        if self.lexer.leave(b'}') {
            return Ok(Some(Value::Object(Object::new())));
        }
        let members = self.members.len();
        self.open.push(OpenContainer::Object { members });
        self.name()?;
        Ok(None)
    }

    /// Puts a value into the innermost open container and reads the comma or bracket behind it.
    fn add(&mut self, value: Value) -> Result<Step, JsonError> {
        let Some(open) = self.open.last() else {
            return Ok(Step::Done(value));
        };
        match *open {
            OpenContainer::Array { items } => {
                self.lexer.charge(ITEM)?;
                self.items.push(value);
                if !self.lexer.goes_on(b']', "',' or ']'")? {
                    self.open.pop();
                    let items = self.items.drain(items..).collect();
                    return Ok(Step::Closed(Value::Array(items)));
                }
            }
            OpenContainer::Object { members } => {
                if let Some((_, pending)) = self.members.last_mut() {
                    *pending = value;
                }
                if !self.lexer.goes_on(b'}', "',' or '}'")? {
                    self.open.pop();
                    let members = self.members.drain(members..).collect();
                    return Ok(Step::Closed(Value::Object(Object::from_members(members))));
                }
                self.name()?;
            }
        }
        Ok(Step::Next)
    }

    /// Leaves a member whose value is yet to come.
    fn name(&mut self) -> Result<(), JsonError> {
        let name: String = self.lexer.name()?.into();
        self.lexer.charge(MEMBER + ALLOCATION + name.len())?;
        self.members.push((name, Value::Null));
        Ok(())
    }

    fn scalar(&mut self) -> Result<Value, JsonError> {
        Ok(match self.lexer.peek() {
            Some(b'"') => {
                let text: String = self.lexer.string()?.into();
                self.lexer.charge(ALLOCATION + text.len())?;
                Value::String(text)
            }
            Some(b'-' | b'0'..=b'9') => Value::Number(self.lexer.number()?.read()?),
            Some(b't') => self.lexer.word("true").map(|()| Value::Bool(true))?,
            Some(b'f') => self.lexer.word("false").map(|()| Value::Bool(false))?,
            Some(b'n') => self.lexer.word("null").map(|()| Value::Null)?,
            _ => return Err(self.lexer.unexpected("a value")),
        })
    }
}

/// Effect of a value on the innermost open container.
enum Step {
    /// No container is open: the value is the whole text.
    Done(Value),
    /// The container waits for another value.
    Next,
    /// The container is complete, and itself a value now.
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
    fn values_take_no_more_memory_than_allowed() {
        let is_refused = |text: &str, room| match parse_bounded(text.as_bytes(), room) {
            Ok(_) => false,
            Err(error) => matches!(error, JsonError::TooLarge { .. }),
        };
        for item in ["1", "\"\"", "[]", "{}", "{\"\":0}", "null"] {
            let text = format!("[{}]", vec![item; 10_000].join(","));
            assert!(
                is_refused(&text, 100 * text.len() / item.len().max(2) / 10),
                "{item}"
            );
            assert!(!is_refused(&text, 100 * text.len()), "{item}");
        }
        let long = format!("\"{}\"", "x".repeat(1000));
        assert!(is_refused(&long, 1000) && !is_refused(&long, 1016));
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
            let wrapped = format!("[[[[{text}]]]]");
            assert!(parse(wrapped.as_bytes()).is_err() && parse_made(wrapped.as_bytes()).is_ok());
            assert!(parse_made(format!("[{wrapped}]").as_bytes()).is_err());
            let too_deep = parse(nested(2 * MAX_DEPTH).as_bytes());
            assert!(matches!(too_deep, Err(JsonError::TooDeep { .. })));
            assert!(parse("[".repeat(1 << 20).as_bytes()).is_err());
        };
        let small = std::thread::Builder::new().stack_size(1 << 20);
        small.spawn(check).unwrap().join().unwrap();
    }
}
