//! Conditions on one value.

use super::node::{Fields, Node};
use regex::bytes::Regex;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use varve_json::{Number, Object, Value, collate};

/// An operator with its argument, perhaps negated.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub(crate) test: Test,
    /// False if the test must fail.
    pub(crate) wanted: bool,
}

/// An operator. Arguments are kept beside the form that they are compared by, to be shown.
#[derive(Clone, Debug)]
pub(crate) enum Test {
    Exists,
    Compare(Relation, Argument),
    Type(String),
    In(Arguments),
    Size(u64),
    Modulo(i64, i64),
    Regex(Box<Regex>),
    All(Arguments),
    Some(Box<Node>),
    Every(Box<Node>),
    Key(Box<Node>),
    BeginsWith(String),
}

/// A value and the key that it sorts by.
#[derive(Clone, Debug)]
pub(crate) struct Argument {
    pub(crate) value: Value,
    pub(crate) key: Vec<u8>,
    /// Whether document ids are compared with it. As in CouchDB they compare by their bytes, and are above all that is
    /// no text.
    is_of_id: bool,
}

impl Argument {
    pub(crate) fn new(value: &Value, is_of_id: bool) -> Self {
        Argument {
            value: value.clone(),
            key: key_of(value),
            is_of_id,
        }
    }

    /// How a value compares with this one.
    fn order(&self, value: &Value, fields: &impl Fields) -> Ordering {
        match (value, &self.value) {
            (Value::String(id), Value::String(other)) if self.is_of_id => id.cmp(other),
            (Value::String(_), _) if self.is_of_id => Ordering::Greater,
            _ => fields.with_key(value, |key| key.cmp(&self.key)),
        }
    }
}

/// Several values, and the keys that they sort by.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    /// As they were given.
    pub(crate) values: Vec<Value>,
    /// In order, none twice.
    keys: Vec<Vec<u8>>,
}

impl Arguments {
    pub(crate) fn new(values: &[Value]) -> Self {
        let mut keys: Vec<_> = values.iter().map(key_of).collect();
        keys.sort();
        keys.dedup();
        Arguments {
            values: values.to_vec(),
            keys,
        }
    }

    fn hold(&self, key: &[u8]) -> bool {
        let found = self
            .keys
            .binary_search_by(|known| known.as_slice().cmp(key));
        found.is_ok()
    }

    /// Of an array, one of its items must be among the arguments.
    fn hold_one_of(&self, value: &Value, fields: &impl Fields) -> bool {
        let is_one = |value: &Value| fields.with_key(value, |key| self.hold(key));
        match value {
            Value::Array(items) => items.iter().any(is_one),
            value => is_one(value),
        }
    }

    /// All arguments are items of the value, or the only one is the value itself.
    fn are_all_in(&self, value: &Value, fields: &impl Fields) -> bool {
        let Value::Array(items) = value else {
            return false;
        };
        if let ([Value::Array(_)], [key]) = (&self.values[..], &self.keys[..])
            && fields.with_key(value, |whole| whole == key.as_slice())
        {
            return true;
        }
        let mut left: BTreeSet<&[u8]> = self.keys.iter().map(Vec::as_slice).collect();
        for item in items {
            fields.with_key(item, |key| left.remove(key));
        }
        !self.keys.is_empty() && left.is_empty()
    }
}

/// How a value compares with an argument, in the order of view keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl Relation {
    pub(super) fn of(operator: &str) -> Option<Relation> {
        Some(match operator {
            "$eq" => Relation::Equal,
            "$ne" => Relation::NotEqual,
            "$lt" => Relation::Less,
            "$lte" => Relation::AtMost,
            "$gt" => Relation::Greater,
            "$gte" => Relation::AtLeast,
            _ => return None,
        })
    }

    fn operator(self) -> &'static str {
        match self {
            Relation::Equal => "$eq",
            Relation::NotEqual => "$ne",
            Relation::Less => "$lt",
            Relation::AtMost => "$lte",
            Relation::Greater => "$gt",
            Relation::AtLeast => "$gte",
        }
    }

    pub(super) fn negated(self) -> Relation {
        match self {
            Relation::Equal => Relation::NotEqual,
            Relation::NotEqual => Relation::Equal,
            Relation::Less => Relation::AtLeast,
            Relation::AtMost => Relation::Greater,
            Relation::Greater => Relation::AtMost,
            Relation::AtLeast => Relation::Less,
        }
    }

    fn holds(self, order: Ordering) -> bool {
        match self {
            Relation::Equal => order.is_eq(),
            Relation::NotEqual => order.is_ne(),
            Relation::Less => order.is_lt(),
            Relation::AtMost => order.is_le(),
            Relation::Greater => order.is_gt(),
            Relation::AtLeast => order.is_ge(),
        }
    }
}

impl Condition {
    /// Whether a value passes; `fields` is the object that holds it.
    pub(crate) fn passes(&self, value: &Value, fields: &impl Fields) -> bool {
        self.test.passes(value, fields) == self.wanted
    }

    /// Whether a field that is not there passes: only where its absence is demanded.
    pub(crate) fn wants_nothing(&self) -> bool {
        matches!(self.test, Test::Exists) && !self.wanted
    }

    /// The condition as a selector says it: `{"$gt":1}`.
    pub(super) fn to_json(&self) -> Value {
        let (operator, argument) = self.test.to_json();
        let negates_itself = match &self.test {
            Test::Exists => return of_one("$exists", Value::Bool(self.wanted)),
            Test::In(_) => Some("$nin"),
            _ => None,
        };
        match (self.wanted, negates_itself) {
            (true, _) => of_one(operator, argument),
            (false, Some(negation)) => of_one(negation, argument),
            (false, None) => of_one("$not", of_one(operator, argument)),
        }
    }
}

impl Test {
    fn passes(&self, value: &Value, fields: &impl Fields) -> bool {
        match self {
            Test::Exists => true,
            Test::Compare(relation, argument) => relation.holds(argument.order(value, fields)),
            Test::Type(name) => type_of(value) == name,
            Test::In(arguments) => arguments.hold_one_of(value, fields),
            Test::Size(size) => value.as_array().is_some_and(|v| v.len() as u64 == *size),
            Test::Modulo(divisor, remainder) => {
                let number = value.as_i64();
                number.is_some_and(|n| n.wrapping_rem(*divisor) == *remainder)
            }
            Test::Regex(regex) => value.as_str().is_some_and(|v| regex.is_match(v.as_bytes())),
            Test::All(arguments) => arguments.are_all_in(value, fields),
            Test::Some(node) => items(value).iter().any(|item| node.passes_value(item)),
            Test::Every(node) => {
                let items = items(value);
                !items.is_empty() && items.iter().all(|item| node.passes_value(item))
            }
            Test::Key(node) => {
                let mut names = value.as_object().into_iter().flat_map(Object::iter);
                names.any(|(name, _)| node.passes_value(&Value::from(name)))
            }
            Test::BeginsWith(prefix) => value.as_str().is_some_and(|v| v.starts_with(prefix)),
        }
    }

    fn to_json(&self) -> (&'static str, Value) {
        let list = |arguments: &Arguments| Value::Array(arguments.values.clone());
        match self {
            Test::Exists => ("$exists", Value::Bool(true)),
            Test::Compare(relation, argument) => (relation.operator(), argument.value.clone()),
            Test::Type(name) => ("$type", Value::from(name.as_str())),
            Test::In(arguments) => ("$in", list(arguments)),
            Test::Size(size) => ("$size", Value::from(*size)),
            Test::Modulo(divisor, remainder) => {
                let pair = vec![Value::from(*divisor), Value::from(*remainder)];
                ("$mod", Value::Array(pair))
            }
            Test::Regex(regex) => ("$regex", Value::from(regex.as_str())),
            Test::All(arguments) => ("$all", list(arguments)),
            Test::Some(node) => ("$elemMatch", node.to_json()),
            Test::Every(node) => ("$allMatch", node.to_json()),
            Test::Key(node) => ("$keyMapMatch", node.to_json()),
            Test::BeginsWith(prefix) => ("$beginsWith", Value::from(prefix.as_str())),
        }
    }
}

/// An object with one member.
pub(super) fn of_one(name: &str, value: Value) -> Value {
    let mut object = Object::new();
    object.insert(name, value);
    Value::Object(object)
}

pub(crate) fn key_of(value: &Value) -> Vec<u8> {
    let mut key = Vec::new();
    collate::sort_key(value, &mut key);
    key
}

fn items(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_default()
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(Number::Int(_) | Number::Float(_) | Number::Big(_)) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
