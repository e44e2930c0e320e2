//! Functions that need no object.

use super::known::{Function, Math};
use super::run::Machine;
use super::value::{Result, Stop, Value};
use super::{dates, number};

impl<'d: 'p, 'p> Machine<'_, 'd, 'p> {
    /// Calls a function that needs no object.
    pub(super) fn call_with(
        &mut self,
        function: Function,
        values: &[Value<'p>],
    ) -> Result<Value<'p>> {
        self.work(values.len())?;
        self.read_all(values)?;
        let first = values.first().unwrap_or(&Value::Undefined);
        Ok(match function {
            Function::Emit | Function::Log => self.say(function, values)?,
            Function::Sum => self.sum(first)?,
            Function::IsArray => Value::Bool(self.is_array(first)),
            Function::Keys | Function::Values | Function::Entries => self.parts(function, first)?,
            Function::String if values.is_empty() => "".into(),
            Function::String => {
                let mut text = String::new();
                first.push_to(&mut text)?;
                self.made(Value::text(text)?)?
            }
            Function::Number if values.is_empty() => Value::Number(0.0),
            Function::Number => Value::Number(first.to_number()?),
            Function::Boolean => Value::Bool(first.is_true()),
            Function::ParseInt => match values.get(1) {
                None | Some(Value::Undefined) => Value::Number(number::parse_int(first, false)?),
                Some(Value::Number(10.0)) => Value::Number(number::parse_int(first, true)?),
                Some(_) => return Err(Stop::Unsure),
            },
            Function::ParseFloat => Value::Number(number::parse_float(first)?),
            Function::IsNan => Value::Bool(first.to_number()?.is_nan()),
            Function::IsFinite => Value::Bool(first.to_number()?.is_finite()),
            Function::Stringify if matches!(first, Value::Undefined) => Value::Undefined,
            Function::Stringify | Function::ToJson => {
                if values.len() != 1 {
                    return Err(Stop::Unsure);
                }
                let text = self.json(first)?;
                self.made(Value::text(text)?)?
            }
            Function::Math(function) => Value::Number(math(function, values)?),
            Function::NewDate => self.date(dates::given(values)?),
            Function::DateParse => match first {
                Value::Text(text) => Value::Number(dates::parse(text)?),
                _ => return Err(Stop::Unsure),
            },
            Function::DateUtc => Value::Number(dates::of_parts(values)?),
        })
    }

    /// Appends a row, or a line of the log.
    fn say(&mut self, function: Function, values: &[Value<'p>]) -> Result<Value<'p>> {
        let part = |at: usize| values.get(at).unwrap_or(&Value::Undefined);
        if function == Function::Emit {
            for at in 0..2 {
                self.stringify(part(at))?;
                self.said.push('\n');
            }
            return Ok(Value::Undefined);
        }
        let message = match part(0) {
            text @ Value::Text(_) => text.clone(),
            other => Value::text(self.json(other)?)?,
        };
        self.said.push('#');
        self.stringify(&message)?;
        self.said.push('\n');
        Ok(Value::Undefined)
    }

    fn sum(&mut self, values: &Value<'p>) -> Result<Value<'p>> {
        let mut total = 0.0;
        for value in self.items(values)? {
            match value {
                Value::Number(number) => total += number,
                _ => return Err(Stop::Unsure),
            }
        }
        Ok(Value::Number(total))
    }

    /// `Object.keys`, `values` and `entries`.
    fn parts(&mut self, function: Function, object: &Value<'p>) -> Result<Value<'p>> {
        if !object.is_container() {
            return Err(Stop::Unsure);
        }
        let names = self.names(object)?;
        if function == Function::Keys {
            return self.new_array(names);
        }
        let mut made = Vec::new();
        for name in names {
            let value = self.item(object, &name)?;
            made.push(match function {
                Function::Values => value,
                _ => self.new_array(vec![name, value])?,
            });
        }
        self.new_array(made)
    }
}

fn math(function: Math, values: &[Value<'_>]) -> Result<f64> {
    if matches!(function, Math::Max | Math::Min) {
        return extreme(function, values);
    }
    let number = values.first().unwrap_or(&Value::Undefined).to_number()?;
    Ok(match function {
        Math::Floor => number.floor(),
        Math::Ceil => number.ceil(),
        Math::Abs => number.abs(),
        Math::Trunc => number.trunc(),
        Math::Sqrt => number.sqrt(),
        Math::Round => round(number),
        Math::Max | Math::Min => return Err(Stop::Unsure),
    })
}

/// A negative zero is below a positive one; with a value that is no number, the result is none.
fn extreme(function: Math, values: &[Value<'_>]) -> Result<f64> {
    let mut found = match function {
        Math::Max => f64::NEG_INFINITY,
        _ => f64::INFINITY,
    };
    for value in values {
        let number = value.to_number()?;
        let is_further = match function {
            Math::Max => number.total_cmp(&found).is_gt(),
            _ => number.total_cmp(&found).is_lt(),
        };
        if number.is_nan() || (is_further && !found.is_nan()) {
            found = number;
        }
    }
    Ok(found)
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
