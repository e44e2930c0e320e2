//! Values while a function runs.

use super::heap::Handle;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::rc::Rc;
use varve_json::scan::Span;

/// Why a function does not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The result is left to the engine.
    Unsure,
    /// The function threw; the text is the engine's.
    Thrown(String),
    /// An `?.` found nothing to go on with.
    Chain,
}

pub(super) type Result<T> = std::result::Result<T, Stop>;

#[derive(Clone, Debug)]
pub(super) enum Value<'a> {
    /// A variable that is declared further down.
    Unset,
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    Text(Chars<'a>),
    /// An array or object of the document. It is never changed.
    Stored(Span),
    /// An array or object that the function made.
    Made(Handle),
    Date(Date),
    /// A regular expression, by its position among those that the machine has evaluated.
    Pattern(usize),
    /// A function of the program, by its position; only in the variable that it is called by.
    Function(usize),
}

/// A date, which is never changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Date {
    /// Milliseconds since 1970; NaN for a date that is none.
    pub(super) time: f64,
    /// Distinguishes dates of the same time, for `===`.
    pub(super) identity: u32,
}

/// Longer strings are left to the engine and its limit on memory.
pub(super) const MAX_TEXT: usize = 1 << 20;

/// The characters of a string.
#[derive(Clone, Debug)]
pub(super) enum Chars<'a> {
    /// Of the document or the program.
    Borrowed(&'a str),
    /// Made by the function.
    Shared(Rc<str>),
}

impl Deref for Chars<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Chars::Borrowed(text) => text,
            Chars::Shared(text) => text,
        }
    }
}

impl PartialEq for Chars<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Chars<'_> {}

impl Hash for Chars<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl std::borrow::Borrow<str> for Chars<'_> {
    fn borrow(&self) -> &str {
        self
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::Text(Chars::Borrowed(text))
    }
}

impl<'a> Value<'a> {
    /// A string that the function made.
    pub(super) fn text(text: String) -> Result<Self> {
        check_length(&text)?;
        Ok(Value::Text(Chars::Shared(text.into())))
    }

    /// Bytes that the value holds besides its own place and the document.
    pub(super) fn size(&self) -> usize {
        match self {
            Value::Text(Chars::Shared(text)) => text.len(),
            _ => 0,
        }
    }

    /// Whether the value is an array or object.
    pub(super) fn is_container(&self) -> bool {
        matches!(self, Value::Stored(_) | Value::Made(_))
    }

    /// Whether the value is `undefined` or `null`.
    pub(super) fn is_nothing(&self) -> bool {
        matches!(self, Value::Undefined | Value::Null)
    }

    pub(super) fn is_true(&self) -> bool {
        match self {
            Value::Unset | Value::Undefined | Value::Null => false,
            Value::Bool(truth) => *truth,
            Value::Number(number) => *number != 0.0 && !number.is_nan(),
            Value::Text(text) => !text.is_empty(),
            Value::Stored(_) | Value::Made(_) => true,
            Value::Date(_) | Value::Pattern(_) | Value::Function(_) => true,
        }
    }

    /// Result of `typeof`.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Value::Unset | Value::Undefined => "undefined",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::Text(_) => "string",
            Value::Null | Value::Stored(_) | Value::Made(_) => "object",
            Value::Date(_) | Value::Pattern(_) => "object",
            Value::Function(_) => "function",
        }
    }

    /// As a number, where that takes no method of an object.
    pub(super) fn to_number(&self) -> Result<f64> {
        match self {
            Value::Undefined => Ok(f64::NAN),
            Value::Null => Ok(0.0),
            Value::Bool(truth) => Ok(f64::from(u8::from(*truth))),
            Value::Number(number) => Ok(*number),
            Value::Text(text) => super::number::of_text(text),
            Value::Date(date) => Ok(date.time),
            _ => Err(Stop::Unsure),
        }
    }

    /// As a string, where that takes no method of an object.
    pub(super) fn push_to(&self, out: &mut String) -> Result<()> {
        match self {
            Value::Undefined => out.push_str("undefined"),
            Value::Null => out.push_str("null"),
            Value::Bool(true) => out.push_str("true"),
            Value::Bool(false) => out.push_str("false"),
            Value::Number(number) => super::number::push(*number, out),
            Value::Text(text) => out.push_str(text),
            _ => return Err(Stop::Unsure),
        }
        Ok(())
    }

    /// As [`Value::push_to`], without a copy of a value that is a string already.
    pub(super) fn to_chars(&self) -> Result<Chars<'_>> {
        if let Value::Text(text) = self {
            return Ok(Chars::Borrowed(text));
        }
        let mut text = String::new();
        self.push_to(&mut text)?;
        Ok(Chars::Shared(text.into()))
    }
}

/// Whether a string that grows may be one.
pub(super) fn check_length(text: &str) -> Result<()> {
    match text.len() > MAX_TEXT {
        true => Err(Stop::Unsure),
        false => Ok(()),
    }
}
