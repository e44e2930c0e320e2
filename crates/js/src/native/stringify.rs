//! Values as `JSON.stringify` writes them.

use super::document::Text;
use super::heap::{Handle, Made};
use super::value::{Result, Stop, Value};
use super::{dates, number};
use varve_json::scan::{Span, items, members};

/// The engine may not have stack for values that are deeper, and throws for those that contain themselves.
const MAX_DEPTH: usize = 128;
/// Names that are read as positions come before all others, up to this one.
const LAST_INDEX: u32 = u32::MAX - 1;

/// Writes values behind a text that must not grow without end.
pub(super) struct Writer<'w, 'd, 'p> {
    pub(super) document: &'w Text<'d>,
    pub(super) heap: &'w [Made<'p>],
    pub(super) out: &'w mut String,
    /// How long the text may get: values that are shared can be small and their text endless.
    pub(super) limit: usize,
}

impl Writer<'_, '_, '_> {
    /// Appends a value; `null` for a value without a form in JSON.
    pub(super) fn push(&mut self, value: &Value<'_>) -> Result<()> {
        self.nested(value, MAX_DEPTH)
    }

    fn nested(&mut self, value: &Value<'_>, depth: usize) -> Result<()> {
        match value {
            Value::Unset => return Err(Stop::Unsure),
            Value::Undefined | Value::Null => self.out.push_str("null"),
            Value::Bool(true) => self.out.push_str("true"),
            Value::Bool(false) => self.out.push_str("false"),
            Value::Number(number) if !number.is_finite() => self.out.push_str("null"),
            Value::Number(number) => number::push(*number, self.out),
            Value::Text(text) => push_string(text, self.out),
            Value::Stored(span) => return self.stored(*span, depth),
            Value::Made(handle) => return self.made(*handle, depth),
            Value::Date(date) if date.time.is_nan() => self.out.push_str("null"),
            Value::Date(date) => push_string(&dates::iso(date.time)?, self.out),
            Value::Pattern(_) => self.out.push_str("{}"),
            // It has no form in JSON; here, it never is a value.
            Value::Function(_) => return Err(Stop::Unsure),
        }
        Ok(())
    }

    /// Appends a container that the function made.
    fn made(&mut self, handle: Handle, depth: usize) -> Result<()> {
        let depth = depth.checked_sub(1).ok_or(Stop::Unsure)?;
        match &self.heap[handle] {
            Made::Array(items) | Made::Match(items) => {
                self.parts(['[', ']'], items.iter(), |inner, item| {
                    inner.nested(item, depth)
                })
            }
            Made::Object(members) => {
                let said = members.list().iter();
                let said = said.filter(|(_, value)| !matches!(value, Value::Undefined));
                let ordered = in_order(said.collect(), |(name, _)| position(name));
                self.parts(['{', '}'], ordered.into_iter(), |inner, (name, value)| {
                    push_string(name, inner.out);
                    inner.out.push(':');
                    inner.nested(value, depth)
                })
            }
        }
    }

    /// Appends a part of the document.
    fn stored(&mut self, span: Span, depth: usize) -> Result<()> {
        let document = self.document;
        let json = document.json(span);
        let depth = depth.checked_sub(1).ok_or(Stop::Unsure)?;
        match json.as_bytes().first() {
            Some(b'[') => {
                let items = items(document.text(), span).ok_or(Stop::Unsure)?;
                return self.parts(['[', ']'], items.into_iter(), |inner, item| {
                    inner.stored(item, depth)
                });
            }
            Some(b'{') => {
                let members = members(document.text(), span).ok_or(Stop::Unsure)?;
                let ordered = in_order(members, |member| {
                    let name = document.json(member.name);
                    position(name.get(1..name.len() - 1).unwrap_or_default())
                });
                return self.parts(['{', '}'], ordered.into_iter(), |inner, member| {
                    push_json_string(document.json(member.name), inner.out)?;
                    inner.out.push(':');
                    inner.stored(member.value, depth)
                });
            }
            Some(b'"') => push_json_string(json, self.out)?,
            Some(b'-' | b'0'..=b'9') => number::push_token(json, self.out),
            Some(_) => self.out.push_str(json),
            None => return Err(Stop::Unsure),
        }
        Ok(())
    }

    /// Appends the parts of a container with their brackets and commas.
    fn parts<P>(
        &mut self,
        [open, close]: [char; 2],
        parts: impl Iterator<Item = P>,
        push: impl Fn(&mut Self, P) -> Result<()>,
    ) -> Result<()> {
        self.out.push(open);
        for (index, part) in parts.enumerate() {
            if self.out.len() > self.limit {
                return Err(Stop::Unsure);
            }
            if index > 0 {
                self.out.push(',');
            }
            push(self, part)?;
        }
        self.out.push(close);
        Ok(())
    }
}

/// Members in the order of the language: positions first, ascending, then names as they came.
pub(super) fn in_order<M>(mut members: Vec<M>, position: impl Fn(&M) -> Option<u32>) -> Vec<M> {
    if members.iter().any(|member| position(member).is_some()) {
        members.sort_by_key(|member| position(member).unwrap_or(u32::MAX));
    }
    members
}

/// The position that a name is, if it is written as one.
pub(super) fn position(name: &str) -> Option<u32> {
    let first = name.bytes().next()?;
    if !first.is_ascii_digit() || (first == b'0' && name.len() > 1) || name.len() > 10 {
        return None;
    }
    name.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then_some(())?;
    name.parse().ok().filter(|position| *position <= LAST_INDEX)
}

/// Appends text in quotes.
fn push_string(text: &str, out: &mut String) {
    if !text
        .bytes()
        .any(|byte| byte < 0x20 || byte == b'"' || byte == b'\\')
    {
        out.push('"');
        out.push_str(text);
        out.push('"');
        return;
    }
    let mut quoted = Vec::with_capacity(text.len() + 2);
    varve_json::write_string(text, &mut quoted);
    out.push_str(std::str::from_utf8(&quoted).unwrap_or_default());
}

/// Appends a string of the document.
fn push_json_string(json: &str, out: &mut String) -> Result<()> {
    if !json.contains('\\') {
        out.push_str(json);
        return Ok(());
    }
    let parsed = varve_json::parse(json.as_bytes()).map_err(|_| Stop::Unsure)?;
    push_string(parsed.as_str().ok_or(Stop::Unsure)?, out);
    Ok(())
}
