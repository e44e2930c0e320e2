//! Running a program over a document: members and items of values.

use super::document::Container;
use super::program::{Expression, Operand};
use super::run::Machine;
use super::stringify;
use super::value::{Result, Stop, Value};

/// Members that every object inherits.
const INHERITED: [&str; 13] = [
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
                arguments,
                is_optional,
            } => {
                let object = self.object(object, method.name(), *is_optional)?;
                let arguments = self.all(arguments)?;
                self.method(&object, *method, &arguments)
            }
            Expression::ForEach {
                object,
                callback,
                is_optional,
            } => {
                let array = self.object(object, "forEach", *is_optional)?;
                self.call_for_each(&array, callback)?;
                Ok(Value::Undefined)
            }
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
                let units = match text.is_ascii() {
                    true => text.len(),
                    false => text.encode_utf16().count(),
                };
                Ok(Value::Number(units as f64))
            }
            Value::Array(_, items) if name == "length" => Ok(Value::Number(items.len() as f64)),
            Value::Object(_, members) => {
                self.work(members.len())?;
                let found = members.iter().find(|(known, _)| *known == name);
                found.map_or_else(|| absent(name), |(_, value)| Ok(value.clone()))
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
    fn item(&mut self, object: &Value<'p>, key: &Value<'p>) -> Result<Value<'p>> {
        if object.is_nothing() {
            return Err(no_member(object, &key.to_chars()?));
        }
        let is_array = match object {
            Value::Array(..) => true,
            Value::Stored(span) => self.document.is_array(*span),
            _ => false,
        };
        if !is_array {
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
        if let Value::Array(_, items) = object {
            return Ok(items.get(position).cloned().unwrap_or(Value::Undefined));
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
