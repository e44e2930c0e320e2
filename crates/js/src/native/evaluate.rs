//! Running a program over a document: expressions.

use super::program::{Binary, Constant, Expression, Function, Logical, Operand, Unary};
use super::run::Machine;
use super::value::{Result, Stop, Value, check_length};
use super::{number, operators};

impl<'d: 'p, 'p> Machine<'_, 'd, 'p> {
    pub(super) fn evaluate(&mut self, expression: &'p Expression) -> Result<Value<'p>> {
        self.work(1)?;
        Ok(match expression {
            Expression::Constant(constant) => value_of(constant),
            Expression::Variable(slot) => match &self.slots[*slot] {
                Value::Unset => return Err(Stop::Unsure),
                value => value.clone(),
            },
            Expression::Member { .. }
            | Expression::Item { .. }
            | Expression::Method { .. }
            | Expression::ForEach { .. } => self.access(expression)?,
            Expression::Chain(inner) => match self.evaluate(inner) {
                Err(Stop::Chain) => Value::Undefined,
                outcome => outcome?,
            },
            Expression::Unary(operator, operand) => self.unary(*operator, operand)?,
            Expression::Binary(operator, left, right) => self.binary(*operator, left, right)?,
            Expression::Logical(operator, left, right) => self.logical(*operator, left, right)?,
            Expression::Conditional(test, then, otherwise) => {
                match self.evaluate(test)?.is_true() {
                    true => self.evaluate(then)?,
                    false => self.evaluate(otherwise)?,
                }
            }
            Expression::Array(items) => {
                let items = self.all(items)?;
                self.made(Value::array(items)?)?
            }
            Expression::Object(members) => self.literal(members)?,
            Expression::Template(texts, values) => self.template(texts, values)?,
            Expression::Sequence(parts) => self.all(parts)?.pop().unwrap_or(Value::Undefined),
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
        })
    }

    /// The values of several expressions, one after the other.
    pub(super) fn all(&mut self, expressions: &'p [Expression]) -> Result<Vec<Value<'p>>> {
        let values = expressions.iter();
        values.map(|expression| self.evaluate(expression)).collect()
    }

    fn binary(
        &mut self,
        operator: Binary,
        left: &'p Operand,
        right: &'p Operand,
    ) -> Result<Value<'p>> {
        let (left, right) = (self.evaluate(left)?, self.evaluate(right)?);
        self.read_all([&left, &right])?;
        match operator {
            Binary::In => self.has(&left, &right),
            Binary::Add => {
                let sum = operators::apply(operator, &left, &right)?;
                self.made(sum)
            }
            _ => operators::apply(operator, &left, &right),
        }
    }

    fn unary(&mut self, operator: Unary, operand: &'p Operand) -> Result<Value<'p>> {
        let value = self.evaluate(operand)?;
        self.read_all([&value])?;
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
        self.made(Value::object(made)?)
    }

    fn template(&mut self, texts: &'p [Box<str>], values: &'p [Expression]) -> Result<Value<'p>> {
        let mut text = String::new();
        for (index, part) in texts.iter().enumerate() {
            text.push_str(part);
            if let Some(value) = values.get(index) {
                self.evaluate(value)?.push_to(&mut text)?;
            }
            // Before the next value, so that many of them do not make one endless text.
            check_length(&text)?;
        }
        self.made(Value::text(text)?)
    }

    fn call(&mut self, function: Function, arguments: &'p [Expression]) -> Result<Value<'p>> {
        let values = self.all(arguments)?;
        self.read_all(&values)?;
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
            Function::Keys if first.is_container() => {
                let names = self.names(first)?;
                self.made(Value::array(names)?)?
            }
            Function::Keys => return Err(Stop::Unsure),
            Function::String if values.is_empty() => "".into(),
            Function::String => {
                let mut text = String::new();
                first.push_to(&mut text)?;
                self.made(Value::text(text)?)?
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

/// Halves go up; a negative number that rounds to zero gives a negative zero.
fn round(number: f64) -> f64 {
    let floor = number.floor();
    let rounded = match number - floor >= 0.5 {
        true => floor + 1.0,
        false => floor,
    };
    rounded.copysign(number)
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
