//! Running a program over a document: looking into arrays and objects.

use super::document::Container;
use super::heap::{Handle, Made};
use super::run::Machine;
use super::stringify::{in_order, position};
use super::value::{Result, Stop, Value};

impl<'d: 'p, 'p> Machine<'_, 'd, 'p> {
    /// Opens an array or object of the document.
    pub(super) fn open(&mut self, value: &Value<'p>) -> Result<Container> {
        let Value::Stored(span) = value else {
            return Err(Stop::Unsure);
        };
        let (container, read) = self.document.open(*span)?;
        self.work(read / 8)?;
        if read > 0 {
            let parts = match &container {
                Container::Array(items) => size_of_val(&**items),
                Container::Object(members) => size_of_val(members.list()),
            };
            self.fill(parts)?;
        }
        Ok(container)
    }

    /// Whether a value is an array.
    pub(super) fn is_array(&self, value: &Value<'p>) -> bool {
        match value {
            Value::Made(handle) => self.heap[*handle].items().is_some(),
            Value::Stored(span) => self.document.is_array(*span),
            _ => false,
        }
    }

    /// The items of an array as they are now.
    pub(super) fn items(&mut self, array: &Value<'p>) -> Result<Vec<Value<'p>>> {
        if let Value::Made(handle) = array {
            let items = self.heap[*handle].items().ok_or(Stop::Unsure)?.clone();
            self.work(items.len())?;
            self.fill(size_of_val(&*items))?;
            return Ok(items);
        }
        let Container::Array(items) = self.open(array)? else {
            return Err(Stop::Unsure);
        };
        self.work(items.len())?;
        self.fill(items.len() * size_of::<Value<'_>>())?;
        let values = items.iter().map(|item| self.value(*item));
        values.collect()
    }

    /// The item of an array that the function made; none behind its end.
    pub(super) fn item_at(&mut self, array: Handle, at: usize) -> Result<Option<Value<'p>>> {
        self.work(1)?;
        let items = self.heap[array].items().ok_or(Stop::Unsure)?;
        Ok(items.get(at).cloned())
    }

    /// An array that the function made and may change.
    pub(super) fn changeable(&mut self, array: &Value<'p>) -> Result<&mut Vec<Value<'p>>> {
        let Value::Made(handle) = array else {
            return Err(Stop::Unsure);
        };
        match &mut self.heap[*handle] {
            Made::Array(items) => Ok(items),
            Made::Match(_) | Made::Object(_) => Err(Stop::Unsure),
        }
    }

    /// The names that `for (… in …)` goes through.
    pub(super) fn names(&mut self, object: &Value<'p>) -> Result<Vec<Value<'p>>> {
        if object.is_nothing() {
            return Ok(Vec::new());
        }
        if let Value::Made(handle) = object {
            return match &self.heap[*handle] {
                Made::Array(items) => self.positions(items.len()),
                // It has members besides its items.
                Made::Match(_) => Err(Stop::Unsure),
                Made::Object(members) => {
                    let names = members.list().iter().map(|(name, _)| name.clone());
                    let names = in_order(names.collect(), |name| position(name));
                    self.work(2 * names.len())?;
                    self.fill(names.len() * size_of::<Value<'_>>())?;
                    Ok(names.into_iter().map(Value::Text).collect())
                }
            };
        }
        match self.open(object)? {
            Container::Array(items) => self.positions(items.len()),
            Container::Object(members) => {
                self.work(members.cost())?;
                self.fill(members.list().len() * size_of::<Value<'_>>())?;
                let names = members.list().iter();
                let names = names.map(|member| self.document.name(member).map(Value::Text));
                let names = names.collect::<Result<Vec<_>>>()?;
                names.iter().try_for_each(|name| self.fill(name.size()))?;
                // Positions come first; the engine knows their order.
                let is_position = |name: &Value<'_>| match name {
                    Value::Text(name) => position(name).is_some(),
                    _ => false,
                };
                match names.iter().any(is_position) {
                    true => Err(Stop::Unsure),
                    false => Ok(names),
                }
            }
        }
    }

    /// The names of an array's items.
    fn positions(&mut self, count: usize) -> Result<Vec<Value<'p>>> {
        self.work(count)?;
        self.fill(count * (size_of::<Value<'_>>() + 16))?;
        (0..count).map(|at| Value::text(at.to_string())).collect()
    }
}
