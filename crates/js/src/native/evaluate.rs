//! Running a program over a document: expressions.

use super::document::Container;
use super::program::{Binary, Constant, Expression, Function, Logical, Operand, Unary};
use super::run::Machine;
use super::value::{Result, Stop, Value};
use super::{number, operators, stringify};

/// What every object inherits.
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
    pub(super) fn evaluate(&mut self, expression: &'p Expression) -> Result<Value<'p>> {
        self.work(1)?;
        Ok(match expression {
            Expression::Constant(constant) => value_of(constant),
            Expression::Variable(slot) => match &self.slots[*slot] {
                Value::Unset => return Err(Stop::Unsure),
                value => value.clone(),
            },
            Expression::Member {
                object,
                name,
                is_optional,
            } => {
                let object = self.object(object, name, *is_optional)?;
                self.member(&object, name)?
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
                self.item(&object, &key)?
            }
            Expression::Chain(inner) => match self.evaluate(inner) {
                Err(Stop::Chain) => Value::Undefined,
                outcome => outcome?,
            },
            Expression::Unary(operator, operand) => self.unary(*operator, operand)?,
            Expression::Binary(operator, left, right) => {
                let (left, right) = (self.evaluate(left)?, self.evaluate(right)?);
                if let (Value::Text(left), Value::Text(right)) = (&left, &right) {
                    self.work((left.len() + right.len()) / 16)?;
                }
                match operator {
                    Binary::In => self.has(&left, &right)?,
                    _ => operators::apply(*operator, &left, &right)?,
                }
            }
            Expression::Logical(operator, left, right) => self.logical(*operator, left, right)?,
            Expression::Conditional(test, then, otherwise) => {
                let branch = if self.evaluate(test)?.is_true() {
                    then
                } else {
                    otherwise
                };
                self.evaluate(branch)?
            }
            Expression::Array(items) => {
                let items = items.iter().map(|item| self.evaluate(item));
                Value::array(items.collect::<Result<_>>()?)?
            }
            Expression::Object(members) => self.literal(members)?,
            Expression::Template(texts, values) => self.template(texts, values)?,
            Expression::Sequence(parts) => {
                let mut last = Value::Undefined;
                for part in parts {
                    last = self.evaluate(part)?;
                }
                last
            }
            Expression::Assign(slot, value) => {
                let value = self.evaluate(value)?;
                self.slots[*slot] = value.clone();
                value
            }
            Expression::Step {
                slot,
                by,
                gives_old,
            } => {
                let old = self.slots[*slot].to_number()?;
                self.slots[*slot] = Value::Number(old + by);
                Value::Number(if *gives_old { old } else { old + by })
            }
            Expression::Call(function, arguments) => self.call(*function, arguments)?,
            Expression::Method {
                object,
                method,
                arguments,
                is_optional,
            } => {
                let object = self.object(object, method.name(), *is_optional)?;
                let arguments = arguments.iter().map(|argument| self.evaluate(argument));
                let arguments = arguments.collect::<Result<Vec<_>>>()?;
                self.method(&object, *method, &arguments)?
            }
            Expression::ForEach {
                object,
                callback,
                is_optional,
            } => {
                let array = self.object(object, "forEach", *is_optional)?;
                self.call_for_each(&array, callback)?;
                Value::Undefined
            }
        })
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
                let found = members.iter().find(|(known, _)| *known == name);
                found.map_or_else(|| absent(name), |(_, value)| Ok(value.clone()))
            }
            Value::Stored(_) => match self.open(object)? {
                Container::Array(items) if name == "length" => {
                    Ok(Value::Number(items.len() as f64))
                }
                Container::Array(_) => Err(Stop::Unsure),
                Container::Object(members) => {
                    self.work(members.len())?;
                    let found = self.document.find(&members, name)?;
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
                Some(item) => Ok(self.document.value(*item)?),
                None => Ok(Value::Undefined),
            },
            Container::Object(_) => Err(Stop::Unsure),
        }
    }

    /// `name in object`
    fn has(&mut self, name: &Value<'p>, object: &Value<'p>) -> Result<Value<'p>> {
        let name = name.to_chars()?;
        let Container::Object(members) = self.open(object)? else {
            return Err(Stop::Unsure);
        };
        self.work(members.len())?;
        let found = self.document.find(&members, &name)?;
        Ok(Value::Bool(found.is_some() || INHERITED.contains(&&*name)))
    }

    fn unary(&mut self, operator: Unary, operand: &'p Operand) -> Result<Value<'p>> {
        let value = self.evaluate(operand)?;
        Ok(match operator {
            Unary::Not => Value::Bool(!value.is_true()),
            Unary::Minus => Value::Number(-value.to_number()?),
            Unary::Plus => Value::Number(value.to_number()?),
            Unary::TypeOf => value.type_name().into(),
            Unary::Void => Value::Undefined,
            Unary::BitNot => Value::Number(f64::from(!number::to_int32(value.to_number()?))),
        })
    }

    fn logical(
        &mut self,
        operator: Logical,
        left: &'p Operand,
        right: &'p Operand,
    ) -> Result<Value<'p>> {
        let left = self.evaluate(left)?;
        let is_decided = match operator {
            Logical::And => !left.is_true(),
            Logical::Or => left.is_true(),
            Logical::Coalesce => !left.is_nothing(),
        };
        match is_decided {
            true => Ok(left),
            false => self.evaluate(right),
        }
    }

    /// An object that is written out; of a repeated name the last value counts, at the first place.
    fn literal(&mut self, members: &'p [(Box<str>, Expression)]) -> Result<Value<'p>> {
        let mut made: Vec<(&'p str, Value<'p>)> = Vec::with_capacity(members.len());
        for (name, value) in members {
            let value = self.evaluate(value)?;
            match made.iter_mut().find(|(known, _)| **known == **name) {
                Some((_, old)) => *old = value,
                None => made.push((name, value)),
            }
        }
        Value::object(made)
    }

    fn template(&mut self, texts: &'p [Box<str>], values: &'p [Expression]) -> Result<Value<'p>> {
        let mut text = String::new();
        for (index, part) in texts.iter().enumerate() {
            text.push_str(part);
            if let Some(value) = values.get(index) {
                self.evaluate(value)?.push_to(&mut text)?;
            }
        }
        Value::text(text)
    }

    fn call(&mut self, function: Function, arguments: &'p [Expression]) -> Result<Value<'p>> {
        let values = arguments.iter().map(|argument| self.evaluate(argument));
        let values = values.collect::<Result<Vec<_>>>()?;
        let first = values.first().unwrap_or(&Value::Undefined);
        Ok(match function {
            Function::Emit => {
                let value = values.get(1).unwrap_or(&Value::Undefined);
                for part in [first, value] {
                    self.stringify(part)?;
                    self.said.push('\n');
                }
                Value::Undefined
            }
            Function::IsArray => Value::Bool(match first {
                Value::Array(..) => true,
                Value::Stored(span) => self.document.is_array(*span),
                _ => false,
            }),
            Function::Keys if first.is_container() => Value::array(self.names(first)?)?,
            Function::Keys => return Err(Stop::Unsure),
            Function::String if values.is_empty() => "".into(),
            Function::String => {
                let mut text = String::new();
                first.push_to(&mut text)?;
                Value::text(text)?
            }
            Function::Number if values.is_empty() => Value::Number(0.0),
            Function::Number => Value::Number(first.to_number()?),
            Function::Boolean => Value::Bool(first.is_true()),
            Function::Floor => Value::Number(first.to_number()?.floor()),
            Function::Ceil => Value::Number(first.to_number()?.ceil()),
            Function::Abs => Value::Number(first.to_number()?.abs()),
            Function::Trunc => Value::Number(first.to_number()?.trunc()),
            Function::Round => Value::Number(round(first.to_number()?)),
        })
    }
}

/// Halves go up.
fn round(number: f64) -> f64 {
    let floor = number.floor();
    match number - floor >= 0.5 {
        true => floor + 1.0,
        false => floor,
    }
}

/// What an object says of a name that it has not.
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

fn value_of(constant: &Constant) -> Value<'_> {
    match constant {
        Constant::Undefined => Value::Undefined,
        Constant::Null => Value::Null,
        Constant::Bool(truth) => Value::Bool(*truth),
        Constant::Number(number) => Value::Number(*number),
        Constant::Text(text) => Value::from(&**text),
    }
}
