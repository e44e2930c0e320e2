//! `_top_N` and `_bottom_N`: the highest or lowest values, in the order of view keys, as a list that
//! begins with the outermost.

use super::{Reduced, read_value};
use varve_json::{Value, collate, write};

/// Which values, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Extremes {
    Top(u8),
    Bottom(u8),
}

/// The most that a reduce may ask for.
const MOST: u8 = 100;

impl Extremes {
    /// Reads the name of a reduce, such as `_top_5`.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        let count = |digits: &str| {
            let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
            let count = digits.parse().ok().filter(|_| plain);
            count.filter(|count| (1..=MOST).contains(count))
        };
        match name.strip_prefix("_top_") {
            Some(digits) => count(digits).map(Extremes::Top),
            None => count(name.strip_prefix("_bottom_")?).map(Extremes::Bottom),
        }
    }

    /// Tells indexes apart. Those of earlier versions, which kept equal values, were written for the bare name.
    pub(super) fn name(self) -> String {
        match self {
            Extremes::Top(count) => format!("_top_{count} distinct"),
            Extremes::Bottom(count) => format!("_bottom_{count} distinct"),
        }
    }

    /// Those of emitted values.
    pub(super) fn of_values<'a>(self, values: impl Iterator<Item = &'a [u8]>) -> Reduced {
        self.choose(values.map(read_value))
    }

    /// Those of lists that were chosen before.
    pub(super) fn of_lists<'a>(self, lists: impl Iterator<Item = &'a [u8]>) -> Reduced {
        self.choose(lists.flat_map(|list| match read_value(list) {
            Value::Array(items) => items,
            other => vec![other],
        }))
    }

    fn choose(self, values: impl Iterator<Item = Value>) -> Reduced {
        let count = match self {
            Extremes::Top(count) | Extremes::Bottom(count) => usize::from(count),
        };
        let mut chosen: Vec<(Vec<u8>, Value)> = Vec::new();
        for value in values {
            let mut key = Vec::new();
            collate::sort_key(&value, &mut key);
            chosen.push((key, value));
            if chosen.len() > 2 * count {
                self.cut(&mut chosen, count);
            }
        }
        if chosen.is_empty() {
            return Reduced::Nothing;
        }
        self.cut(&mut chosen, count);
        let list: Value = chosen.into_iter().map(|(_, value)| value).collect();
        let mut json = Vec::new();
        write(&list, &mut json);
        Reduced::Value(json)
    }

    /// Of equal values one stays.
    fn cut(self, chosen: &mut Vec<(Vec<u8>, Value)>, count: usize) {
        match self {
            Extremes::Top(_) => chosen.sort_by(|a, b| b.0.cmp(&a.0)),
            Extremes::Bottom(_) => chosen.sort_by(|a, b| a.0.cmp(&b.0)),
        }
        chosen.dedup_by(|a, b| a.0 == b.0);
        chosen.truncate(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(name: &str, values: &[&str]) -> String {
        let extremes = Extremes::of_name(name).unwrap();
        let parts = values.chunks(7).map(|part| {
            let reduced = extremes.of_values(part.iter().map(|value| value.as_bytes()));
            let Reduced::Value(json) = reduced else {
                panic!("{reduced:?}")
            };
            json
        });
        let parts: Vec<_> = parts.collect();
        match extremes.of_lists(parts.iter().map(Vec::as_slice)) {
            Reduced::Value(json) => String::from_utf8(json).unwrap(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn the_outermost_values_come_first_and_equal_ones_once() {
        let values: Vec<_> = (0..50).map(|n| (n * 37 % 50).to_string()).collect();
        let values: Vec<_> = values.iter().map(String::as_str).collect();
        assert_eq!(chosen("_top_3", &values), "[49,48,47]");
        assert_eq!(chosen("_bottom_4", &values), "[0,1,2,3]");
        assert_eq!(chosen("_top_100", &["1", "3", "3", "2"]), "[3,2,1]");
        let mixed = ["null", "\"b\"", "[1]", "{}", "2.5", "\"B\"", "true"];
        assert_eq!(chosen("_top_2", &mixed), "[{},[1]]");
        assert_eq!(chosen("_bottom_3", &mixed), "[null,true,2.5]");
        assert_eq!(chosen("_top_2", &[]), "Nothing");
    }

    #[test]
    fn a_number_that_is_none_or_too_high_is_no_name() {
        for name in [
            "_top_0",
            "_top_101",
            "_top_",
            "_bottom_x",
            "_top_+1",
            "_first_1",
            "top_1",
        ] {
            assert_eq!(Extremes::of_name(name), None, "{name}");
        }
        for name in ["_top_1", "_bottom_100"] {
            assert_eq!(
                Extremes::of_name(name).map(Extremes::name),
                Some(format!("{name} distinct"))
            );
        }
    }
}
