//! `_sum`: of numbers, of arrays item by item, of objects member by member.
//!
//! CouchDB begins with 0 and goes through rows, and through sums of rows, from the last to the first. What cannot be
//! added is seen when something is to be added to it, and makes the sum an object with `error`, `reason` and `caused_by`,
//! which is a value like others but takes the place of each sum that it would be part of.

use super::number::Total;
use super::{Reduced, read_value, term_size};
use std::iter::Peekable;
use std::vec::IntoIter;
use varve_json::{Number, Object, Value, write};

/// Members of a sum that failed.
const ERROR: &str = "error";
const BUILTIN_REDUCE_ERROR: &str = "builtin_reduce_error";

/// CouchDB's words, which clients show to their users.
const REASON: &str = "The _sum function requires that map values be numbers, arrays of numbers, or objects. Objects cannot be \
                      mixed with other data structures. Objects can be arbitrarily nested, provided that the values \
                      for all fields are themselves numbers, arrays of numbers, or objects.";

/// Longer sums, in bytes of their terms, must be shorter than half of what they were made of. CouchDB's number.
const MAY_GROW: usize = 4906;
/// The term of such a JSON text is never that long: `[]` and `{}` grow most.
const SHORT: usize = MAY_GROW / 8;

/// The sum of values given as JSON text, from the last to the first. `input` gives the bytes of their terms, where sums
/// have to shrink.
pub(super) fn of_values<'a>(
    values: impl DoubleEndedIterator<Item = &'a [u8]>,
    input: Option<impl FnOnce() -> usize>,
) -> Reduced {
    let mut sum = None;
    for json in values.rev() {
        let before = sum.take().unwrap_or(Value::Number(Number::Int(0)));
        match add(before, read_value(json)) {
            Ok(total) => sum = Some(total),
            Err(refused) => {
                sum = Some(refused.into_value());
                break;
            }
        }
    }
    let Some(sum) = sum else {
        return Reduced::Nothing;
    };
    let mut json = Vec::new();
    write(&sum, &mut json);
    if let Some(input) = input.filter(|_| json.len() > SHORT)
        && let Some(reason) = overflow(&sum, input)
    {
        json.clear();
        write(&failure(reason.as_str(), None), &mut json);
    }
    Reduced::Value(json)
}

/// Why a sum is too long.
fn overflow(sum: &Value, input: impl FnOnce() -> usize) -> Option<String> {
    let output = term_size::of_result(sum);
    let input = (output > MAY_GROW).then(input)?;
    (output * 2 > input).then(|| super::must_shrink(input, output))
}

fn failure(reason: &str, caused_by: Option<Value>) -> Value {
    let mut object = Object::new();
    object.insert(ERROR, BUILTIN_REDUCE_ERROR);
    object.insert("reason", reason);
    if let Some(cause) = caused_by {
        object.insert("caused_by", cause);
    }
    Value::Object(object)
}

/// Why two values do not add.
enum Refused {
    /// The value that is no number, array or object where one belongs.
    CausedBy(Value),
    /// One of them is a sum that failed.
    Failed(Object),
}

impl Refused {
    fn into_value(self) -> Value {
        match self {
            Refused::CausedBy(value) => failure(REASON, Some(value)),
            Refused::Failed(object) => Value::Object(object),
        }
    }
}

/// Members that wait for their turn, in the order of their names.
type Waiting = Peekable<IntoIter<(String, Value)>>;

/// Two objects that are being added: the members to come, and the sums so far. The members of sums are in the order
/// of their names.
struct OpenObjects {
    left: Waiting,
    right: Waiting,
    merged: Vec<(String, Value)>,
}

impl OpenObjects {
    fn new(sums: Object, members: Object) -> Self {
        let sorted = |mut object: Object| {
            let mut members = object.extract(|_| true);
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            members.into_iter().peekable()
        };
        OpenObjects {
            left: sorted(sums),
            right: sorted(members),
            merged: Vec::new(),
        }
    }

    /// Takes members over up to the next name that both have; `None` at the end.
    fn next_pair(&mut self) -> Option<(String, Value, Value)> {
        while let (Some((name, _)), Some((other, _))) = (self.left.peek(), self.right.peek()) {
            let order = name.cmp(other);
            let from_left = self.left.next_if(|_| order.is_le());
            let from_right = self.right.next_if(|_| order.is_ge());
            match (from_left, from_right) {
                (Some((name, sum)), Some((_, value))) => return Some((name, sum, value)),
                (one, other) => self.merged.extend(one.or(other)),
            }
        }
        let rest = self.left.by_ref().chain(self.right.by_ref());
        self.merged.extend(rest);
        None
    }
}

/// Result of adding two values without looking into members.
enum Added {
    Sum(Value),
    /// Both are objects.
    Objects(OpenObjects),
}

/// Adds a value to a sum, of objects member by member at any depth.
fn add(sum: Value, value: Value) -> Result<Value, Refused> {
    // Objects around the pair that is next, outermost first, each with the name under which it stands in the one before.
    let mut open: Vec<(String, OpenObjects)> = Vec::new();
    let mut name = String::new();
    let mut added = add_flat(sum, value)?;
    loop {
        match added {
            Added::Objects(objects) => open.push((name, objects)),
            Added::Sum(sum) => match open.last_mut() {
                Some((_, outer)) => outer.merged.push((name, sum)),
                None => return Ok(sum),
            },
        }
        let Some((own_name, mut innermost)) = open.pop() else {
            return Ok(Value::default());
        };
        added = match innermost.next_pair() {
            Some((next_name, sum, value)) => {
                open.push((own_name, innermost));
                name = next_name;
                add_flat(sum, value)?
            }
            None => {
                name = own_name;
                Added::Sum(Value::Object(innermost.merged.into_iter().collect()))
            }
        };
    }
}

fn add_flat(sum: Value, value: Value) -> Result<Added, Refused> {
    let is_failure = |object: &Object| {
        let error = object.get(ERROR).and_then(Value::as_str);
        error == Some(BUILTIN_REDUCE_ERROR)
    };
    match (sum, value) {
        (sum @ Value::Number(_), value @ Value::Number(_)) => add_numbers(&sum, &value),
        (Value::Array(sums), Value::Array(items)) => add_items(sums, items),
        (Value::Array(sums), number @ Value::Number(_)) => add_items(sums, vec![number]),
        (number @ Value::Number(_), Value::Array(items)) => add_items(vec![number], items),
        (_, Value::Object(object)) if is_failure(&object) => Err(Refused::Failed(object)),
        (Value::Number(Number::Int(0)), object @ Value::Object(_)) => Ok(object),
        (Value::Object(sums), Value::Object(members)) => {
            return Ok(Added::Objects(OpenObjects::new(sums, members)));
        }
        (_, value) => Err(Refused::CausedBy(value)),
    }
    .map(Added::Sum)
}

fn add_numbers(sum: &Value, value: &Value) -> Result<Value, Refused> {
    match (Total::of(sum), Total::of(value)) {
        (Some(sum), Some(value)) => Ok(sum.plus(value).value()),
        _ => Err(Refused::CausedBy(value.clone())),
    }
}

/// The rest of the longer array is taken as it is.
fn add_items(mut sums: Vec<Value>, items: Vec<Value>) -> Result<Value, Refused> {
    for (index, item) in items.into_iter().enumerate() {
        let Some(sum) = sums.get_mut(index) else {
            sums.push(item);
            continue;
        };
        let (Some(total), Some(addend)) = (Total::of(sum), Total::of(&item)) else {
            return Err(Refused::CausedBy(Value::Array(sums.split_off(index))));
        };
        *sum = total.plus(addend).value();
    }
    Ok(Value::Array(sums))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(values: &[&str]) -> String {
        let input = None::<fn() -> usize>;
        match of_values(values.iter().map(|value| value.as_bytes()), input) {
            Reduced::Nothing => "nothing".to_owned(),
            Reduced::Value(json) => String::from_utf8(json).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn sums_are_exact_and_of_every_kind() {
        assert_eq!(sum(&[]), "nothing");
        assert_eq!(sum(&["1", "2", "-4"]), "-1");
        assert_eq!(sum(&["1.5", "2.5"]), "4.0");
        let (max, twice) = ("9223372036854775807", "18446744073709551614");
        assert_eq!(sum(&[max, max]), twice);
        assert_eq!(sum(&["[1,2]", "[3]", "4"]), "[8,2]");
        assert_eq!(sum(&["1", "[1,2.0]"]), "[2,2.0]");
        let objects = [r#"{"b":{"c":5}}"#, r#"{"a":2,"b":{"c":[1]}}"#, r#"{"a":1}"#];
        assert_eq!(sum(&objects), r#"{"a":3,"b":{"c":[6]}}"#);
        let names = [r#"{"z":1,"b":1}"#, r#"{"y":1,"b":2}"#];
        assert_eq!(sum(&names), r#"{"b":3,"y":1,"z":1}"#);
    }

    /// The stack is a small one.
    #[test]
    fn the_depth_of_objects_costs_no_stack() {
        let check = || {
            let nested = |leaf: &str| {
                let levels = varve_json::MAX_DEPTH;
                format!(
                    "{}{leaf}{}",
                    r#"{"a":"#.repeat(levels),
                    r#","b":2}"#.repeat(levels)
                )
            };
            let (one, three) = (nested("1"), nested("3"));
            let expected = nested("4").replace(r#""b":2"#, r#""b":4"#);
            assert!(sum(&[&one, &three]) == expected);
            let cause = sum(&[&nested("null"), &one]);
            assert!(cause.ends_with(r#""caused_by":null}"#));
        };
        let small = std::thread::Builder::new().stack_size(512 << 10);
        small.spawn(check).unwrap().join().unwrap();
    }

    /// Nothing is added to these.
    #[test]
    fn what_nothing_is_added_to_is_not_looked_at() {
        assert_eq!(sum(&[r#"{"a":null}"#]), r#"{"a":null}"#);
        assert_eq!(sum(&[r#"[1,"x"]"#]), r#"[1,"x"]"#);
    }

    #[test]
    fn what_does_not_add_is_told_as_the_cause() {
        for (wrong, cause) in [
            (&["null"][..], "null"),
            (&["\"a\"", "\"b\"", "1"], "\"b\""),
            (&["1", "true"], "true"),
            (&["[1]", "[\"x\"]"], "[0]"),
            (&["[1,2]", "[1,\"x\",3]"], "[\"x\",3]"),
            (&["[[1]]"], "[0]"),
            (&["{\"a\":1}", "2"], "{\"a\":1}"),
            (&["2", "{\"a\":1}"], "2"),
            (&["{\"a\":null}", "{\"a\":1}"], "null"),
        ] {
            let failed = sum(wrong);
            let start = format!(r#"{{"error":"builtin_reduce_error","reason":"{REASON}""#);
            assert!(failed.starts_with(&start), "{failed}");
            assert!(
                failed.ends_with(&format!(r#","caused_by":{cause}}}"#)),
                "{wrong:?}: {failed}"
            );
            assert_eq!(sum(&["1", &failed, "2"]), failed);
        }
    }

    #[test]
    fn a_sum_that_does_not_shrink_is_told_with_its_sizes() {
        let long = format!("{{\"{}\":1}}", "x".repeat(5000));
        let reduced = |input: usize| of_values([long.as_bytes()].into_iter(), Some(|| input));
        assert_eq!(reduced(10_036), Reduced::Value(long.clone().into_bytes()));
        let Reduced::Value(json) = reduced(10_035) else {
            panic!("no value");
        };
        assert_eq!(
            String::from_utf8(json).unwrap(),
            r#"{"error":"builtin_reduce_error","reason":"Reduce output must shrink more rapidly: "#
                .to_owned()
                + r#"input size: 10035 output size: 5018"}"#
        );
    }
}
