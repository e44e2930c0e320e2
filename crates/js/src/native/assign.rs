//! Running a program over a document: changing arrays and objects that the function made.

use super::access::INHERITED;
use super::heap::Made;
use super::operators;
use super::program::{Binary, Operand};
use super::run::Machine;
use super::stringify::position;
use super::value::{Chars, Result, Stop, Value};

impl<'d: 'p, 'p> Machine<'_, 'd, 'p> {
    /// `object[key] = value`, or with an operator before `=`.
    pub(super) fn assign_member(
        &mut self,
        (object, key): (&'p Operand, &'p Operand),
        operator: Option<Binary>,
        value: &'p Operand,
    ) -> Result<Value<'p>> {
        let object = self.evaluate(object)?;
        let key = self.evaluate(key)?;
        let Some(operator) = operator else {
            let value = self.evaluate(value)?;
            self.set_item(&object, &key, value.clone())?;
            return Ok(value);
        };
        let old = self.item(&object, &key)?;
        let value = self.evaluate(value)?;
        let value = self.apply(operator, &old, &value)?;
        self.set_item(&object, &key, value.clone())?;
        Ok(value)
    }

    /// `object[key]++`
    pub(super) fn step_member(
        &mut self,
        (object, key): (&'p Operand, &'p Operand),
        (by, gives_old): (f64, bool),
    ) -> Result<Value<'p>> {
        let object = self.evaluate(object)?;
        let key = self.evaluate(key)?;
        let old = match self.item(&object, &key)? {
            // Added to one, a date is a string.
            Value::Date(_) => return Err(Stop::Unsure),
            old => old.to_number()?,
        };
        self.set_item(&object, &key, Value::Number(old + by))?;
        Ok(Value::Number(if gives_old { old } else { old + by }))
    }

    /// Result of an operator for two values, with its work.
    pub(super) fn apply(
        &mut self,
        operator: Binary,
        left: &Value<'p>,
        right: &Value<'p>,
    ) -> Result<Value<'p>> {
        self.read_all([left, right])?;
        match operator {
            Binary::In => self.has(left, right),
            Binary::Add => {
                let sum = operators::apply(operator, left, right)?;
                self.made(sum)
            }
            _ => operators::apply(operator, left, right),
        }
    }

    fn set_item(&mut self, object: &Value<'p>, key: &Value<'p>, value: Value<'p>) -> Result<()> {
        let Value::Made(handle) = object else {
            return Err(Stop::Unsure);
        };
        let name = match key {
            Value::Text(name) => name.clone(),
            other => Chars::Shared(other.to_chars()?.to_string().into()),
        };
        self.work(1 + name.len() / 16)?;
        let is_new = match &mut self.heap[*handle] {
            Made::Array(items) => {
                let at = position(&name).ok_or(Stop::Unsure)? as usize;
                match items.len().checked_sub(at) {
                    Some(0) => items.push(value),
                    Some(_) => items[at] = value,
                    // Leaves a hole.
                    None => return Err(Stop::Unsure),
                }
                true
            }
            Made::Object(members) => {
                if INHERITED.contains(&&*name) {
                    return Err(Stop::Unsure);
                }
                members.set(name, value)
            }
            Made::Match(_) => return Err(Stop::Unsure),
        };
        match is_new {
            true => self.fill(4 * size_of::<Value<'_>>() + key.size()),
            false => self.work(1),
        }
    }
}
