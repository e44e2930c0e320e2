//! The document's text, of which only the containers that a function looks into are opened.

use super::value::{Chars, Result, Stop, Value};
use std::collections::HashMap;
use std::rc::Rc;
use varve_json::scan::{Member, Span, items, members};

/// A document as JSON text, for one thread.
#[derive(Debug)]
pub(crate) struct Text<'a> {
    text: &'a str,
    /// Containers that were opened, by where they start.
    opened: HashMap<u32, Container>,
}

/// Where the parts of a container stand.
#[derive(Clone, Debug)]
pub(super) enum Container {
    Array(Rc<[Span]>),
    Object(Members),
}

/// Where the members of an object stand.
#[derive(Clone, Debug)]
pub(super) struct Members {
    list: Rc<[Member]>,
    /// Steps that looking at every name takes.
    cost: usize,
}

impl Members {
    fn new(list: Vec<Member>) -> Self {
        let bytes = |member: &Member| (member.name.end - member.name.start) as usize;
        let names: usize = list.iter().map(bytes).sum();
        Members {
            cost: list.len() + names / 16,
            list: list.into(),
        }
    }

    /// The members, in order.
    pub(super) fn list(&self) -> &[Member] {
        &self.list
    }

    /// Steps that looking at every name takes.
    pub(super) fn cost(&self) -> usize {
        self.cost
    }
}

impl<'a> Text<'a> {
    /// A text that this program wrote, so that no object has a name twice.
    pub(crate) fn new(text: &'a str) -> Self {
        let opened = HashMap::new();
        Text { text, opened }
    }

    /// All of it.
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// The document itself.
    pub(super) fn root(&self) -> Result<Value<'a>> {
        Span::whole(self.text)
            .map(Value::Stored)
            .ok_or(Stop::Unsure)
    }

    /// The JSON text of a part.
    pub(super) fn json(&self, span: Span) -> &'a str {
        // Not through `span`, whose text would live as long as this borrow only.
        let text: &'a str = self.text;
        span.of(text)
    }

    /// The value at a place.
    pub(super) fn value(&self, span: Span) -> Result<Value<'a>> {
        let json = self.json(span);
        Ok(match json.as_bytes().first() {
            Some(b'{' | b'[') => Value::Stored(span),
            Some(b'"') => Value::Text(chars(json)?),
            Some(b'n') => Value::Null,
            Some(b't') => Value::Bool(true),
            Some(b'f') => Value::Bool(false),
            Some(_) => Value::Number(super::number::of_token(json)),
            None => return Err(Stop::Unsure),
        })
    }

    /// Whether a container is an array.
    pub(super) fn is_array(&self, container: Span) -> bool {
        self.json(container).starts_with('[')
    }

    /// Where the parts of a container stand, and how much reading that took: each container is read
    /// once.
    pub(super) fn open(&mut self, span: Span) -> Result<(Container, usize)> {
        if let Some(container) = self.opened.get(&span.start) {
            return Ok((container.clone(), 0));
        }
        let container = match self.is_array(span) {
            true => items(self.text, span).map(|items| Container::Array(items.into())),
            false => members(self.text, span).map(|of| Container::Object(Members::new(of))),
        };
        let container = container.ok_or(Stop::Unsure)?;
        self.opened.insert(span.start, container.clone());
        Ok((container, (span.end - span.start) as usize))
    }

    /// Where the member of that name stands.
    pub(super) fn find(&self, members: &Members, name: &str) -> Result<Option<Span>> {
        for member in members.list() {
            if self.has_name(member, name)? {
                return Ok(Some(member.value));
            }
        }
        Ok(None)
    }

    fn has_name(&self, member: &Member, name: &str) -> Result<bool> {
        let quoted = self.json(member.name);
        // Longer with escapes, never shorter.
        if quoted.len() < name.len() + 2 {
            return Ok(false);
        }
        let inner = &quoted[1..quoted.len() - 1];
        match inner.contains('\\') {
            false => Ok(inner == name),
            true => Ok(&*chars(quoted)? == name),
        }
    }

    /// The name of a member.
    pub(super) fn name(&self, member: &Member) -> Result<Chars<'a>> {
        chars(self.json(member.name))
    }
}

/// The characters of a JSON string.
fn chars(quoted: &str) -> Result<Chars<'_>> {
    let inner = quoted.get(1..quoted.len().saturating_sub(1));
    let inner = inner.ok_or(Stop::Unsure)?;
    if !inner.contains('\\') {
        return Ok(Chars::Borrowed(inner));
    }
    let parsed = varve_json::parse(quoted.as_bytes());
    let text = parsed.ok().and_then(|value| value.as_str().map(Rc::from));
    text.map(Chars::Shared).ok_or(Stop::Unsure)
}
