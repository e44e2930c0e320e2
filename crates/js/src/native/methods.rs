//! Methods: which kind of value has which, and those of arrays.

use super::document::Container;
use super::heap::Made;
use super::known::{DatePart, Method};
use super::run::Machine;
use super::texts::{from_end, of_number};
use super::value::{Chars, Date, Result, Stop, Value, check_length};
use super::{dates, operators};

impl<'d: 'p, 'p> Machine<'_, 'd, 'p> {
    /// Calls a method of a value that is neither `undefined` nor `null`.
    pub(super) fn method(
        &mut self,
        object: &Value<'p>,
        method: Method,
        arguments: &[Value<'p>],
    ) -> Result<Value<'p>> {
        self.read_all(arguments)?;
        match object {
            Value::Text(text) => match (method, arguments.first()) {
                (Method::Match | Method::Search | Method::Replace, _)
                | (Method::Split, Some(Value::Pattern(_))) => {
                    self.match_text(text, method, arguments)
                }
                _ => self.of_text(text, method, arguments),
            },
            Value::Pattern(matcher) => self.of_pattern(*matcher, method, arguments),
            Value::Date(date) => self.of_date(*date, method),
            Value::Number(number) => {
                let value = of_number(*number, method, arguments)?;
                self.made(value)
            }
            _ if self.is_array(object) => self.of_array(object, method, arguments),
            Value::Stored(_) | Value::Made(_) if method == Method::HasOwnProperty => {
                self.has_own(object, arguments.first().unwrap_or(&Value::Undefined))
            }
            _ => Err(Stop::Unsure),
        }
    }

    /// `hasOwnProperty` of an object, unless it has a member of that name.
    fn has_own(&mut self, object: &Value<'p>, name: &Value<'p>) -> Result<Value<'p>> {
        let name = name.to_chars()?;
        if let Value::Made(handle) = object {
            let Made::Object(members) = &self.heap[*handle] else {
                return Err(Stop::Unsure);
            };
            let has = |name: &str| members.get(name).is_some();
            let answer = match has("hasOwnProperty") {
                true => Err(Stop::Unsure),
                false => Ok(Value::Bool(has(&name))),
            };
            self.work(2 + name.len() / 16)?;
            return answer;
        }
        let Container::Object(members) = self.open(object)? else {
            return Err(Stop::Unsure);
        };
        if self.find(&members, "hasOwnProperty")?.is_some() {
            return Err(Stop::Unsure);
        }
        let found = self.find(&members, &name)?;
        Ok(Value::Bool(found.is_some()))
    }

    /// A date that the function makes.
    pub(super) fn date(&mut self, time: f64) -> Value<'p> {
        self.dates += 1;
        let identity = self.dates;
        Value::Date(Date { time, identity })
    }

    fn of_date(&mut self, date: Date, method: Method) -> Result<Value<'p>> {
        match method {
            Method::Date(DatePart::Zone) => {
                // NaN stays; all else is zero.
                Ok(Value::Number(date.time * 0.0))
            }
            Method::Date(part) => Ok(Value::Number(dates::part(date.time, part))),
            Method::ToIsoString if date.time.is_nan() => {
                // The engine's words.
                Err(Stop::Thrown("RangeError: Date value is NaN".to_owned()))
            }
            Method::ToIsoString => self.made(Value::text(dates::iso(date.time)?)?),
            _ => Err(Stop::Unsure),
        }
    }

    fn of_array(
        &mut self,
        array: &Value<'p>,
        method: Method,
        arguments: &[Value<'p>],
    ) -> Result<Value<'p>> {
        if let Method::Push | Method::Pop | Method::Shift | Method::Unshift | Method::Reverse =
            method
        {
            return self.change(array, method, arguments);
        }
        let items = self.items(array)?;
        let first = arguments.first().unwrap_or(&Value::Undefined);
        if let Value::Text(sought) = first {
            self.work(items.len() * (sought.len() / 16))?;
        }
        let second = arguments.get(1).unwrap_or(&Value::Undefined);
        let position = |at: Option<usize>| Value::Number(at.map_or(-1.0, |at| at as f64));
        let is_first = |item: &Value<'p>| operators::same(item, first);
        match method {
            Method::IndexOf if arguments.len() == 1 => {
                Ok(position(items.iter().position(is_first)))
            }
            Method::LastIndexOf if arguments.len() == 1 => {
                Ok(position(items.iter().rposition(is_first)))
            }
            Method::Includes if arguments.len() == 1 => {
                let is_nan = |value: &Value<'_>| matches!(value, Value::Number(n) if n.is_nan());
                let is_it = |item| is_first(item) || is_nan(item) && is_nan(first);
                Ok(Value::Bool(items.iter().any(is_it)))
            }
            Method::Slice => {
                let from = from_end(first, 0, items.len())?;
                let to = from_end(second, items.len(), items.len())?;
                self.new_array(items.get(from..to).unwrap_or_default().to_vec())
            }
            Method::Concat => {
                let mut joined = items;
                for argument in arguments {
                    match self.is_array(argument) {
                        true => joined.extend(self.items(argument)?),
                        false => joined.push(argument.clone()),
                    }
                }
                self.new_array(joined)
            }
            Method::Join => self.join(&items, first),
            Method::Sort if arguments.is_empty() => self.sort(array, items),
            _ => Err(Stop::Unsure),
        }
    }

    /// Methods that change an array, which the function must have made.
    fn change(
        &mut self,
        array: &Value<'p>,
        method: Method,
        arguments: &[Value<'p>],
    ) -> Result<Value<'p>> {
        self.work(1 + arguments.len())?;
        self.fill(4 * size_of_val(arguments))?;
        let moved = match method {
            Method::Shift | Method::Unshift | Method::Reverse => self.changeable(array)?.len(),
            _ => 0,
        };
        self.work(moved)?;
        let items = self.changeable(array)?;
        match method {
            Method::Push => items.extend_from_slice(arguments),
            Method::Unshift => {
                items.splice(0..0, arguments.iter().cloned());
            }
            Method::Reverse => {
                items.reverse();
                return Ok(array.clone());
            }
            Method::Shift if items.is_empty() => return Ok(Value::Undefined),
            Method::Shift => return Ok(items.remove(0)),
            _ => return Ok(items.pop().unwrap_or(Value::Undefined)),
        }
        Ok(Value::Number(items.len() as f64))
    }

    fn join(&mut self, items: &[Value<'p>], separator: &Value<'p>) -> Result<Value<'p>> {
        let separator = match separator {
            Value::Undefined => Chars::Borrowed(","),
            other => other.to_chars()?,
        };
        let mut text = String::new();
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                text.push_str(&separator);
            }
            if !item.is_nothing() {
                item.push_to(&mut text)?;
            }
            check_length(&text)?;
        }
        self.made(Value::text(text)?)
    }

    /// Sorts an array that the function made by its items' texts; `undefined` comes last.
    fn sort(&mut self, array: &Value<'p>, items: Vec<Value<'p>>) -> Result<Value<'p>> {
        self.changeable(array)?;
        let (absent, given): (Vec<_>, Vec<_>) = items
            .into_iter()
            .partition(|item| matches!(item, Value::Undefined));
        let mut keyed = Vec::new();
        for item in given {
            let mut key = String::new();
            item.push_to(&mut key)?;
            self.work(8 + key.len())?;
            self.fill(key.len())?;
            keyed.push((key, item));
        }
        keyed.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
        let sorted = keyed.into_iter().map(|(_, item)| item).chain(absent);
        *self.changeable(array)? = sorted.collect();
        Ok(array.clone())
    }
}
