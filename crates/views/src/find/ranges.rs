//! Which parts of an index can hold documents that pass a selector.
//!
//! All ranges are of bytes, from the first that belongs to the first that does not. For the values of a field those are
//! sort keys, for document ids the ids themselves. Documents in a range must still be matched.

use crate::selector::{Condition, FieldPath, Node, Relation, Test, key_of};
use std::cmp::{max, min};
use varve_json::{Object, Value, collate};

/// More ranges than these are not worth a look each.
const MAX_RANGES: usize = 10_000;

/// One run of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// Where it begins.
    pub low: Vec<u8>,
    /// Where it ends.
    pub high: Vec<u8>,
}

/// Runs of values: ascending, and none touches another.
pub(crate) type Ranges = Vec<KeyRange>;

/// Values that ranges are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// Sort keys.
    Keys,
    /// Document ids, which are always strings and sort by their bytes.
    Ids,
}

impl KeyRange {
    /// Whether it holds one value only.
    fn is_point(&self) -> bool {
        let len = self.low.len();
        self.high.len() == len + 1 && self.high.starts_with(&self.low) && len > 0
    }
}

impl Space {
    /// The edge that lies above everything.
    pub(crate) const END: &'static [u8] = &[collate::ABOVE_ALL];

    /// Everything.
    pub(crate) fn whole() -> Ranges {
        vec![KeyRange {
            low: Vec::new(),
            high: Space::END.to_vec(),
        }]
    }

    /// The edges before and behind a value.
    pub(super) fn around(self, value: &Value) -> KeyRange {
        let low = match (self, value) {
            (Space::Keys, value) => key_of(value),
            (Space::Ids, Value::String(id)) => {
                let low = id.as_bytes().to_vec();
                let high = [&low[..], &[0]].concat();
                return KeyRange { low, high };
            }
            // Ids are above all that is no text.
            (Space::Ids, _) => Vec::new(),
        };
        match self {
            Space::Ids => KeyRange {
                high: low.clone(),
                low,
            },
            Space::Keys => KeyRange {
                high: [&low[..], Space::END].concat(),
                low,
            },
        }
    }

    /// The values that pass a condition, or more; `None` if that says nothing.
    fn of_condition(self, condition: &Condition) -> Option<Ranges> {
        if !condition.wanted {
            return None;
        }
        match &condition.test {
            Test::Compare(relation, argument) => self.of_relation(*relation, &argument.value),
            Test::In(arguments) => {
                let values = arguments.values.iter();
                let mut ranges: Ranges = values.map(|value| self.around(value)).collect();
                if self == Space::Keys {
                    // An array passes if one of its items does.
                    ranges.push(KeyRange {
                        low: key_of(&Value::Array(Vec::new())),
                        high: key_of(&Value::Object(Object::new())),
                    });
                }
                Some(united(ranges))
            }
            Test::BeginsWith(prefix) => Some(vec![self.of_prefix(prefix)]),
            _ => None,
        }
    }

    /// Whether it says anything.
    pub(super) fn knows(self, condition: &Condition) -> bool {
        self.of_condition(condition).is_some()
    }

    fn of_relation(self, relation: Relation, value: &Value) -> Option<Ranges> {
        let KeyRange { low, high } = self.around(value);
        let (low, high) = match relation {
            Relation::Equal => (low, high),
            Relation::Less => (Vec::new(), low),
            Relation::AtMost => (Vec::new(), high),
            Relation::Greater => (high, Space::END.to_vec()),
            Relation::AtLeast => (low, Space::END.to_vec()),
            Relation::NotEqual => return None,
        };
        Some(united(vec![KeyRange { low, high }]))
    }

    /// Texts that begin so. Sort keys of ASCII begin with the weights of the characters whatever follows; other
    /// characters may be weighed together with those behind them.
    pub(super) fn of_prefix(self, prefix: &str) -> KeyRange {
        let low = match self {
            Space::Ids => prefix.as_bytes().to_vec(),
            Space::Keys => {
                let taken = if prefix.is_ascii() { prefix } else { "" };
                let key = key_of(&Value::from(taken));
                // 01 ends the weights that tell characters apart, 00 the string.
                let end = key.iter().position(|byte| *byte <= 1).unwrap_or(key.len());
                key[..end].to_vec()
            }
        };
        KeyRange {
            high: match self {
                Space::Ids => above_text(prefix),
                Space::Keys => above_bytes(&low),
            },
            low,
        }
    }

    /// The values of a field of documents that pass, or more; `None` if that says nothing.
    pub(crate) fn of_field(self, node: &Node, field: &FieldPath) -> Option<Ranges> {
        match node {
            Node::All(nodes) => {
                let known = nodes.iter().filter_map(|node| self.of_field(node, field));
                common_to_all(known.collect())
            }
            Node::Any(nodes) if nodes.is_empty() => None,
            Node::Any(nodes) => {
                let each = nodes.iter().map(|node| self.of_field(node, field));
                let all = each.collect::<Option<Vec<_>>>()?;
                Some(united(all.concat()))
            }
            Node::Field(path, condition) if **path == *field => self.of_condition(condition),
            Node::Field(..) => None,
        }
    }
}

/// The first bytes above all that begin so.
fn above_bytes(prefix: &[u8]) -> Vec<u8> {
    let mut above = prefix.to_vec();
    while let Some(last) = above.pop() {
        if last < collate::ABOVE_ALL {
            above.push(last + 1);
            return above;
        }
    }
    Space::END.to_vec()
}

/// The first text above all that begin so: UTF-8 sorts as its characters do.
fn above_text(prefix: &str) -> Vec<u8> {
    let mut characters: Vec<char> = prefix.chars().collect();
    while let Some(last) = characters.pop() {
        let mut above = ((u32::from(last) + 1)..=u32::from(char::MAX)).filter_map(char::from_u32);
        if let Some(next) = above.next() {
            characters.push(next);
            return String::from_iter(characters).into_bytes();
        }
    }
    Space::END.to_vec()
}

/// Puts ranges in order and together.
fn united(mut ranges: Ranges) -> Ranges {
    ranges.retain(|range| range.low < range.high);
    ranges.sort_by(|a, b| a.low.cmp(&b.low));
    let mut out: Ranges = Vec::with_capacity(ranges.len());
    for range in ranges {
        match out.last_mut() {
            Some(last) if range.low <= last.high => last.high = max(range.high, last.high.clone()),
            _ => out.push(range),
        }
    }
    out
}

/// Intersection of all sets of ranges; `None` if there are none. Two and two, so that a long one is not gone through
/// for each of many.
fn common_to_all(mut sets: Vec<Ranges>) -> Option<Ranges> {
    while sets.len() > 1 {
        let pairs = sets.chunks(2).map(|pair| match pair {
            [a, b] => common(a, b),
            single => single.concat(),
        });
        sets = pairs.collect();
    }
    sets.pop()
}

/// Intersection of two sets of ranges.
fn common(a: &[KeyRange], b: &[KeyRange]) -> Ranges {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let mut out = Vec::new();
    while let (Some(left), Some(right)) = (a.peek(), b.peek()) {
        let (low, high) = (max(&left.low, &right.low), min(&left.high, &right.high));
        if low < high {
            let (low, high) = (low.clone(), high.clone());
            out.push(KeyRange { low, high });
        }
        if left.high <= right.high {
            a.next();
        } else {
            b.next();
        }
    }
    out
}

/// Restriction of the columns of an index by a selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    /// The ranges of its keys.
    pub(crate) ranges: Ranges,
    /// How many columns have a share in that.
    pub(crate) used: usize,
}

/// The ranges of an index whose keys are arrays of these fields. While the fields in front can
/// have single values only, the next one narrows the ranges further.
pub(crate) fn of_columns<'f>(
    node: &Node,
    fields: impl IntoIterator<Item = &'f FieldPath>,
) -> Columns {
    let mut begun = key_of(&Value::Array(Vec::new()));
    // The array goes on.
    begun.pop();
    let mut fronts = vec![begun];
    let mut used = 0;
    let ranges = loop_over(node, fields, &mut fronts, &mut used);
    let ranges = ranges.unwrap_or_else(|| fronts.into_iter().map(continued).collect());
    Columns {
        ranges: few(ranges),
        used,
    }
}

/// Narrows the fronts as far as they are single values; the ranges, if a column ends that.
fn loop_over<'f>(
    node: &Node,
    fields: impl IntoIterator<Item = &'f FieldPath>,
    fronts: &mut Vec<Vec<u8>>,
    used: &mut usize,
) -> Option<Ranges> {
    for field in fields {
        let of_field = Space::Keys.of_field(node, field)?;
        if of_field.len().saturating_mul(fronts.len()) > MAX_RANGES && *used > 0 {
            return None;
        }
        *used += 1;
        let behind = |front: &Vec<u8>, edge: &[u8]| [front, edge].concat();
        if of_field.iter().all(KeyRange::is_point) {
            *fronts = fronts
                .iter()
                .flat_map(|front| of_field.iter().map(move |range| behind(front, &range.low)))
                .collect();
            continue;
        }
        let ranges = fronts.iter().flat_map(|front| {
            of_field.iter().map(move |range| KeyRange {
                low: behind(front, &range.low),
                high: behind(front, &range.high),
            })
        });
        return Some(ranges.collect());
    }
    None
}

/// All keys that begin so.
fn continued(front: Vec<u8>) -> KeyRange {
    KeyRange {
        high: [&front[..], Space::END].concat(),
        low: front,
    }
}

/// From the first to the last, if they are too many.
pub(crate) fn few(ranges: Ranges) -> Ranges {
    match (ranges.first(), ranges.last()) {
        (Some(first), Some(last)) if ranges.len() > MAX_RANGES => vec![KeyRange {
            low: first.low.clone(),
            high: last.high.clone(),
        }],
        _ => ranges,
    }
}
