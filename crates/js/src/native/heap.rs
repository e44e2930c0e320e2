//! Arrays and objects that a function makes. They live as long as the call of the function, so that what refers to
//! itself needs no collector, and nothing that is nested deeply is freed by recursion.

use super::value::{Chars, Value};
use std::collections::HashMap;

/// Position of a value in the heap.
pub(super) type Handle = usize;

/// Objects with more members than this are searched by an index.
const SEARCHED: usize = 16;

/// An array or object.
#[derive(Debug)]
pub(super) enum Made<'a> {
    Array(Vec<Value<'a>>),
    /// The array that `match` and `exec` return, whose other members only the engine knows.
    Match(Vec<Value<'a>>),
    Object(Members<'a>),
}

impl<'a> Made<'a> {
    /// The items of an array.
    pub(super) fn items(&self) -> Option<&Vec<Value<'a>>> {
        match self {
            Made::Array(items) | Made::Match(items) => Some(items),
            Made::Object(_) => None,
        }
    }
}

/// Members of an object, each name once, in the order in which they were made.
#[derive(Debug, Default)]
pub(super) struct Members<'a> {
    list: Vec<(Chars<'a>, Value<'a>)>,
    /// Positions of all names, for objects of many.
    index: HashMap<Chars<'a>, usize>,
}

impl<'a> Members<'a> {
    /// The members, in order.
    pub(super) fn list(&self) -> &[(Chars<'a>, Value<'a>)] {
        &self.list
    }

    fn position(&self, name: &str) -> Option<usize> {
        match self.index.is_empty() {
            true => self.list.iter().position(|(known, _)| **known == *name),
            false => self.index.get(name).copied(),
        }
    }

    /// The value of the member of that name.
    pub(super) fn get(&self, name: &str) -> Option<&Value<'a>> {
        self.position(name).map(|at| &self.list[at].1)
    }

    /// Gives a member its value, and returns whether the member is a new one.
    pub(super) fn set(&mut self, name: Chars<'a>, value: Value<'a>) -> bool {
        if let Some(at) = self.position(&name) {
            self.list[at].1 = value;
            return false;
        }
        self.list.push((name, value));
        if self.list.len() == SEARCHED + 1 {
            let names = self.list.iter().map(|(name, _)| name.clone());
            self.index = names.zip(0..).collect();
        } else if let Some((name, _)) = self.list.last().filter(|_| !self.index.is_empty()) {
            self.index.insert(name.clone(), self.list.len() - 1);
        }
        true
    }
}
