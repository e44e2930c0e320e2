//! Selectors: conditions on documents, written as JSON.
//!
//! A selector is compiled once and then asked for each document. Negations are pushed down to the
//! operators while compiling, so that `{"a": {"$not": {"$eq": 1}}}` demands that `a` is there, as
//! in CouchDB. Values are compared in the order of view keys.

use varve_json::{Number, Object, Value, collate};

/// Selectors nested deeper are refused: matching recurses.
const MAX_NESTING: usize = 100;

/// A selector is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectorError {
    /// It is no object.
    #[error("Selector must be a JSON object, not: {found}")]
    NotAnObject {
        /// The JSON text instead.
        found: String,
    },
    /// An operator that is not known.
    #[error("Invalid operator: {operator}")]
    Operator {
        /// As written, such as `$nope`.
        operator: String,
    },
    /// An operator does not take such a value.
    #[error("Bad argument for operator {operator}: {found}")]
    Argument {
        /// The operator.
        operator: String,
        /// The JSON text of its argument.
        found: String,
    },
    /// More than 100 selectors inside one another.
    #[error("the selector is nested too deeply")]
    TooDeep,
}

impl SelectorError {
    /// CouchDB's one-word name of the error.
    pub fn error(&self) -> &'static str {
        match self {
            SelectorError::NotAnObject { .. } => "invalid_selector_json",
            SelectorError::Operator { .. } => "invalid_operator",
            SelectorError::Argument { .. } | SelectorError::TooDeep => "bad_arg",
        }
    }
}

/// A compiled selector.
#[derive(Clone, Debug)]
pub struct Selector(Test);

#[derive(Clone, Debug)]
enum Test {
    All(Vec<Test>),
    Any(Vec<Test>),
    Field(Vec<String>, Box<Test>),
    Exists(bool),
    /// The value against an argument, both as sort keys.
    Compare(Relation, Vec<u8>),
    Type(String, bool),
    In(Vec<Vec<u8>>, bool),
    Size(u64, bool),
    Modulo(i64, i64, bool),
    Contains(Vec<Vec<u8>>, bool),
    Some(Box<Test>, bool),
    Every(Box<Test>, bool),
    Key(Box<Test>, bool),
    BeginsWith(String, bool),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl Relation {
    fn of(operator: &str) -> Option<Relation> {
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

    fn negated(self) -> Relation {
        match self {
            Relation::Equal => Relation::NotEqual,
            Relation::NotEqual => Relation::Equal,
            Relation::Less => Relation::AtLeast,
            Relation::AtMost => Relation::Greater,
            Relation::Greater => Relation::AtMost,
            Relation::AtLeast => Relation::Less,
        }
    }

    fn holds(self, value: &[u8], argument: &[u8]) -> bool {
        match self {
            Relation::Equal => value == argument,
            Relation::NotEqual => value != argument,
            Relation::Less => value < argument,
            Relation::AtMost => value <= argument,
            Relation::Greater => value > argument,
            Relation::AtLeast => value >= argument,
        }
    }
}

impl Selector {
    /// Compiles a selector.
    ///
    /// # Errors
    /// Any [`SelectorError`].
    pub fn compile(selector: &Value) -> Result<Selector, SelectorError> {
        match selector {
            Value::Object(object) => compile_object(object, true, 0).map(Selector),
            other => Err(SelectorError::NotAnObject {
                found: varve_json::to_string(other),
            }),
        }
    }

    /// Whether a document passes.
    pub fn matches(&self, document: &Value) -> bool {
        self.0.passes(document)
    }
}

/// All members of an object must hold; `wanted` is false below an odd number of negations.
fn compile_object(object: &Object, wanted: bool, depth: usize) -> Result<Test, SelectorError> {
    if depth > MAX_NESTING {
        return Err(SelectorError::TooDeep);
    }
    let members = object.iter();
    let tests = members.map(|(name, value)| compile_member(name, value, wanted, depth + 1));
    let tests = tests.collect::<Result<_, _>>()?;
    Ok(if wanted {
        Test::All(tests)
    } else {
        Test::Any(tests)
    })
}

fn compile_member(
    name: &str,
    value: &Value,
    wanted: bool,
    depth: usize,
) -> Result<Test, SelectorError> {
    if name.starts_with('$') {
        return compile_operator(name, value, wanted, depth);
    }
    let test = compile_condition(value, wanted, depth)?;
    Ok(Test::Field(split_path(name), Box::new(test)))
}

/// What stands behind a field: an object of operators or of further fields, or a value to equal.
fn compile_condition(value: &Value, wanted: bool, depth: usize) -> Result<Test, SelectorError> {
    match value {
        Value::Object(object) if !object.is_empty() => compile_object(object, wanted, depth),
        value => compile_operator("$eq", value, wanted, depth),
    }
}

fn compile_operator(
    operator: &str,
    value: &Value,
    wanted: bool,
    depth: usize,
) -> Result<Test, SelectorError> {
    if let Some(relation) = Relation::of(operator) {
        let relation = if wanted { relation } else { relation.negated() };
        return Ok(Test::Compare(relation, key_of(value)));
    }
    let bad = || SelectorError::Argument {
        operator: operator.to_owned(),
        found: varve_json::to_string(value),
    };
    let list = || value.as_array().ok_or_else(bad);
    let keys = || Ok::<_, SelectorError>(list()?.iter().map(key_of).collect());
    let several = |wanted: bool| {
        let tests = list()?
            .iter()
            .map(|item| compile_condition(item, wanted, depth));
        tests.collect::<Result<Vec<Test>, SelectorError>>()
    };
    let inner = || compile_condition(value, true, depth).map(Box::new);
    Ok(match operator {
        "$and" if wanted => Test::All(several(true)?),
        "$and" => Test::Any(several(false)?),
        "$or" if wanted => Test::Any(several(true)?),
        "$or" => Test::All(several(false)?),
        "$nor" if wanted => Test::All(several(false)?),
        "$nor" => Test::Any(several(true)?),
        "$not" => compile_condition(value, !wanted, depth)?,
        "$exists" => Test::Exists(value.as_bool().ok_or_else(bad)? == wanted),
        "$type" => Test::Type(value.as_str().ok_or_else(bad)?.to_owned(), wanted),
        "$in" => Test::In(keys()?, wanted),
        "$nin" => Test::In(keys()?, !wanted),
        "$size" => Test::Size(value.as_u64().ok_or_else(bad)?, wanted),
        "$all" => Test::Contains(keys()?, wanted),
        "$elemMatch" => Test::Some(inner()?, wanted),
        "$allMatch" => Test::Every(inner()?, wanted),
        "$keyMapMatch" => Test::Key(inner()?, wanted),
        "$beginsWith" => Test::BeginsWith(value.as_str().ok_or_else(bad)?.to_owned(), wanted),
        "$mod" => match list()? {
            [divisor, remainder] => {
                let divisor = divisor
                    .as_i64()
                    .filter(|number| *number != 0)
                    .ok_or_else(bad)?;
                Test::Modulo(divisor, remainder.as_i64().ok_or_else(bad)?, wanted)
            }
            _ => return Err(bad()),
        },
        _ => {
            return Err(SelectorError::Operator {
                operator: operator.to_owned(),
            });
        }
    })
}

impl Test {
    fn passes(&self, value: &Value) -> bool {
        match self {
            Test::All(tests) => tests.iter().all(|test| test.passes(value)),
            Test::Any(tests) => tests.iter().any(|test| test.passes(value)),
            Test::Field(path, test) => match find(value, path) {
                Some(found) => test.passes(found),
                None => test.wants_nothing(),
            },
            Test::Exists(wanted) => *wanted,
            Test::Compare(relation, argument) => relation.holds(&key_of(value), argument),
            Test::Type(name, wanted) => (type_of(value) == name) == *wanted,
            Test::In(keys, wanted) => is_in(value, keys) == *wanted,
            Test::Size(size, wanted) => {
                let items = value.as_array();
                items.is_some_and(|items| (items.len() as u64 == *size) == *wanted)
            }
            Test::Modulo(divisor, remainder, wanted) => {
                let number = value.as_i64();
                number.is_some_and(|n| (n.wrapping_rem(*divisor) == *remainder) == *wanted)
            }
            Test::Contains(keys, wanted) => contains_all(value, keys) == *wanted,
            Test::Some(test, wanted) => {
                let items = value.as_array().unwrap_or_default();
                items.iter().any(|item| test.passes(item)) == *wanted
            }
            Test::Every(test, wanted) => {
                let items = value.as_array().unwrap_or_default();
                (!items.is_empty() && items.iter().all(|item| test.passes(item))) == *wanted
            }
            Test::Key(test, wanted) => {
                let mut names = value.as_object().into_iter().flat_map(Object::iter);
                names.any(|(name, _)| test.passes(&Value::String(name.to_owned()))) == *wanted
            }
            Test::BeginsWith(prefix, wanted) => {
                let text = value.as_str();
                text.is_some_and(|text| text.starts_with(prefix) == *wanted)
            }
        }
    }

    /// Whether a field that is not there passes: only where its absence is demanded.
    fn wants_nothing(&self) -> bool {
        match self {
            Test::Exists(wanted) => !wanted,
            Test::All(tests) => !tests.is_empty() && tests.iter().all(Test::wants_nothing),
            Test::Any(tests) => tests.iter().any(Test::wants_nothing),
            _ => false,
        }
    }
}

/// `a.b` is the member `b` of `a`; a backslash keeps a dot in a name.
fn split_path(path: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut characters = path.chars().peekable();
    while let Some(character) = characters.next() {
        let escaped = character == '\\' && matches!(characters.peek(), Some('.' | '\\'));
        let next = if escaped { characters.next() } else { None };
        match (character, parts.last_mut()) {
            ('.', _) => parts.push(String::new()),
            (_, Some(part)) => part.push(next.unwrap_or(character)),
            _ => {}
        }
    }
    parts
}

fn find<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, part| match value {
        Value::Object(object) => object.get(part),
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        _ => None,
    })
}

fn key_of(value: &Value) -> Vec<u8> {
    let mut key = Vec::new();
    collate::sort_key(value, &mut key);
    key
}

fn is_in(value: &Value, keys: &[Vec<u8>]) -> bool {
    let of_items = value.as_array().unwrap_or_default();
    keys.contains(&key_of(value)) || of_items.iter().any(|item| keys.contains(&key_of(item)))
}

fn contains_all(value: &Value, keys: &[Vec<u8>]) -> bool {
    let items: Vec<_> = value
        .as_array()
        .unwrap_or_default()
        .iter()
        .map(key_of)
        .collect();
    !keys.is_empty() && keys.iter().all(|key| items.contains(key))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(selector: &str, document: &str) -> bool {
        let parse = |text: &str| varve_json::parse(text.as_bytes()).unwrap();
        Selector::compile(&parse(selector))
            .unwrap()
            .matches(&parse(document))
    }

    #[test]
    fn operators_decide_as_couchdbs_do() {
        let document = r#"{"v":2,"s":"berry","a":[1,"x",{"b":3}],"o":{"p":{"q":null}},"d.e":1}"#;
        for (selector, expected) in [
            ("{}", true),
            (r#"{"v":2}"#, true),
            (r#"{"v":{"$gt":1,"$lt":3}}"#, true),
            (r#"{"s":{"$gt":1}}"#, true),
            (r#"{"v":{"$not":{"$eq":1}}}"#, true),
            (r#"{"nope":{"$not":{"$eq":1}}}"#, false),
            (r#"{"nope":{"$exists":false}}"#, true),
            (r#"{"$not":{"v":{"$exists":false}}}"#, true),
            (r#"{"$nor":[{"v":1},{"v":2}]}"#, false),
            (r#"{"$or":[{"v":1},{"v":2}]}"#, true),
            (r#"{"o.p.q":null}"#, true),
            (r#"{"o":{"p":{"q":null}}}"#, true),
            (r#"{"d\\.e":1}"#, true),
            (r#"{"a.2.b":3}"#, true),
            (r#"{"a":{"$all":[1,"x"]}}"#, true),
            (r#"{"a":{"$elemMatch":{"b":3}}}"#, true),
            (r#"{"a":{"$allMatch":{"$type":"number"}}}"#, false),
            (r#"{"a":{"$size":3}}"#, true),
            (r#"{"v":{"$in":[5,2]}}"#, true),
            (r#"{"v":{"$nin":[5,2]}}"#, false),
            (r#"{"v":{"$mod":[2,0]}}"#, true),
            (r#"{"s":{"$beginsWith":"be"}}"#, true),
            (r#"{"o":{"$keyMapMatch":{"$eq":"p"}}}"#, true),
        ] {
            assert_eq!(matches(selector, document), expected, "{selector}");
        }
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let refused = |text: &str| {
            let value = varve_json::parse(text.as_bytes()).unwrap();
            Selector::compile(&value).unwrap_err().to_string()
        };
        assert_eq!(refused("1"), "Selector must be a JSON object, not: 1");
        assert_eq!(refused(r#"{"v":{"$nope":1}}"#), "Invalid operator: $nope");
        assert!(refused(r#"{"v":{"$mod":[0,1]}}"#).starts_with("Bad argument"));
        let deep = format!("{}{}", r#"{"$not":"#.repeat(150), "{}") + &"}".repeat(150);
        assert_eq!(refused(&deep), "the selector is nested too deeply");
    }
}
