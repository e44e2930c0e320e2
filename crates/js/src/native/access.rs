//! Running a program over a document: members and items of values.

use super::document::Container;
use super::heap::Made;
use super::program::{Expression, Operand};
use super::run::Machine;
use super::stringify;
use super::texts::units;
use super::value::{Result, Stop, Value};

/// Members that every object inherits.
pub(super) const INHERITED: [&str; 13] = [
    "__defineGetter__",
    "__defineSetter__",
    "__lookupGetter__",
    "__lookupSetter__",
    "__proto__",
    "constructor",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "toJSON",
    "toLocaleString",
    "toString",
    "valueOf",
];

impl<'d: 'p, 'p> Machine<'_, 'd, 'p> {
    /// Evaluates an expression that looks into a value.
    pub(super) fn access(&mut self, expression: &'p Expression) -> Result<Value<'p>> {
        match expression {
            Expression::Member {
                object,
                name,
                is_optional,
            } => {
                let object = self.object(object, name, *is_optional)?;
                self.member(&object, name)
            }
            Expression::Item {
                object,
                key,
                is_optional,
            } => {
                let object = self.evaluate(object)?;
                if object.is_nothing() && *is_optional {
                    return Err(Stop::Chain);
                }
                let key = self.evaluate(key)?;
                self.item(&object, &key)
            }
            Expression::Method {
                object,
                method,
                name,
                arguments,
                is_optional,
            } => {
                let object = self.object(object, name, *is_optional)?;
                let arguments = self.all(arguments)?;
                self.method(&object, *method, &arguments)
            }
            Expression::Iterate {
                object,
                method,
                callback,
                argument,
                is_optional,
            } => {
                let object = self.object(object, method.name(), *is_optional)?;
                self.iterate(object, (*method, *callback), argument.as_ref())
            }
            Expression::AssignMember {
                object,
                key,
                operator,
                value,
            } => self.assign_member((object, key), *operator, value),
            Expression::StepMember {
                object,
                key,
                by,
                gives_old,
            } => self.step_member((object, key), (*by, *gives_old)),
            _ => Err(Stop::Unsure),
        }
    }

    /// The object before a name; it must be one that has members.
    fn object(&mut self, object: &'p Operand, name: &str, is_optional: bool) -> Result<Value<'p>> {
        let object = self.evaluate(object)?;
        match (object.is_nothing(), is_optional) {
            (false, _) => Ok(object),
            (true, true) => Err(Stop::Chain),
            (true, false) => Err(no_member(&object, name)),
        }
    }

    /// A member of a value that is neither `undefined` nor `null`.
    fn member(&mut self, object: &Value<'p>, name: &str) -> Result<Value<'p>> {
        match object {
            Value::Text(text) if name == "length" => {
                self.work(text.len() / 16)?;
                Ok(Value::Number(units(text) as f64))
            }
            Value::Text(text) => match stringify::position(name) {
                Some(at) => self.character(text, at as usize),
                None => Err(Stop::Unsure),
            },
            Value::Made(handle) => {
                self.work(1)?;
                match &self.heap[*handle] {
                    Made::Object(members) => {
                        let found = members.get(name);
                        let cost = members.list().len().min(16);
                        let found = found.map_or_else(|| absent(name), |value| Ok(value.clone()));
                        self.work(cost)?;
                        found
                    }
                    Made::Array(items) | Made::Match(items) if name == "length" => {
                        Ok(Value::Number(items.len() as f64))
                    }
                    Made::Array(_) | Made::Match(_) => Err(Stop::Unsure),
                }
            }
            Value::Stored(_) => match self.open(object)? {
                Container::Array(items) if name == "length" => {
                    Ok(Value::Number(items.len() as f64))
                }
                Container::Array(_) => Err(Stop::Unsure),
                Container::Object(members) => {
                    let found = self.find(&members, name)?;
                    found.map_or_else(|| absent(name), Ok)
                }
            },
            _ => Err(Stop::Unsure),
        }
    }

    /// `object[key]`
    pub(super) fn item(&mut self, object: &Value<'p>, key: &Value<'p>) -> Result<Value<'p>> {
        if object.is_nothing() {
            return Err(no_member(object, &key.to_chars()?));
        }
        if !self.is_array(object) {
            return self.member(object, &key.to_chars()?);
        }
        let position = match key {
            Value::Number(number) if *number >= 0.0 && number.fract() == 0.0 => *number as usize,
            // An array has no such member.
            Value::Number(_) => return Ok(Value::Undefined),
            Value::Text(name) => match stringify::position(name) {
                Some(position) => position as usize,
                None => return self.member(object, name),
            },
            _ => return Err(Stop::Unsure),
        };
        if let Value::Made(handle) = object {
            let found = self.item_at(*handle, position)?;
            return Ok(found.unwrap_or(Value::Undefined));
        }
        match self.open(object)? {
            Container::Array(items) => match items.get(position) {
                Some(item) => self.value(*item),
                None => Ok(Value::Undefined),
            },
            Container::Object(_) => Err(Stop::Unsure),
        }
    }

    /// `name in object`
    pub(super) fn has(&mut self, name: &Value<'p>, object: &Value<'p>) -> Result<Value<'p>> {
        let name = name.to_chars()?;
        if let Value::Made(handle) = object {
            let Made::Object(members) = &self.heap[*handle] else {
                return Err(Stop::Unsure);
            };
            let is_there = members.get(&name).is_some() || INHERITED.contains(&&*name);
            self.work(1 + name.len() / 16)?;
            return Ok(Value::Bool(is_there));
        }
        let Container::Object(members) = self.open(object)? else {
            return Err(Stop::Unsure);
        };
        let found = self.find(&members, &name)?;
        Ok(Value::Bool(found.is_some() || INHERITED.contains(&&*name)))
    }
}

/// Value of a member that an object does not have.
fn absent<'p>(name: &str) -> Result<Value<'p>> {
    match INHERITED.contains(&name) {
        true => Err(Stop::Unsure),
        false => Ok(Value::Undefined),
    }
}

/// The engine's words.
fn no_member(object: &Value<'_>, name: &str) -> Stop {
    let of = match object {
        Value::Null => "null",
        _ => "undefined",
    };
    Stop::Thrown(format!("TypeError: cannot read property '{name}' of {of}"))
}
