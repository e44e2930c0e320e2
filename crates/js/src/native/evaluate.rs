//! Running a program over a document: expressions.

use super::heap::Members;
use super::number;
use super::program::{Binary, Class, Constant, Expression, Logical, Operand, Unary};
use super::run::Machine;
use super::value::{Chars, Result, Stop, Value, check_length};

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
            | Expression::Iterate { .. }
            | Expression::AssignMember { .. }
            | Expression::StepMember { .. } => self.access(expression)?,
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
                self.new_array(items)?
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
                let old = match &self.slots[*slot] {
                    Value::Date(_) => return Err(Stop::Unsure),
                    old => old.to_number()?,
                };
                self.slots[*slot] = Value::Number(old + by);
                Value::Number(if *gives_old { old } else { old + by })
            }
            Expression::Call(function, arguments) => {
                let arguments = self.all(arguments)?;
                self.call_with(*function, &arguments)?
            }
            Expression::Invoke {
                name,
                function,
                arguments,
            } => self.invoke(*name, *function, arguments)?,
            Expression::Pattern(pattern) => self.new_matcher(pattern)?,
            Expression::IsInstance(value, class) => {
                let value = self.evaluate(value)?;
                Value::Bool(match class {
                    Class::Array => self.is_array(&value),
                    Class::Date => matches!(value, Value::Date(_)),
                    Class::Object => value.type_name() == "object" && !value.is_nothing(),
                })
            }
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
        self.apply(operator, &left, &right)
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
        let mut made = Members::default();
        for (name, value) in members {
            let value = self.evaluate(value)?;
            made.set(Chars::Borrowed(name), value);
        }
        self.new_object(made)
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
}

fn value_of(constant: &Constant) -> Value<'_> {
    match constant {
        Constant::Undefined => Value::Undefined,
        Constant::Null => Value::Null,
        Constant::Bool(truth) => Value::Bool(*truth),
        Constant::Number(number) => Value::Number(*number),
        Constant::Text(text) => Value::from(&**text),
        Constant::Function(id) => Value::Function(*id),
    }
}
