//! `_stats`: sum, count, smallest, largest and sum of squares, of numbers or arrays of them.

use super::number::Total;
use super::{Reduced, read_value};
use varve_json::{Object, Value, write};

#[derive(Clone, Copy, Debug, PartialEq)]
struct Stats {
    sum: Total,
    count: Total,
    min: Total,
    max: Total,
    sumsqr: Total,
}

impl Stats {
    fn of_number(number: Total) -> Stats {
        Stats {
            sum: number,
            count: Total::Int(1),
            min: number,
            max: number,
            sumsqr: number.squared(),
        }
    }

    /// Reads statistics, made here or emitted by the map function.
    fn of_object(object: &Object) -> Option<Stats> {
        let member = |name| Total::of(object.get(name)?);
        Some(Stats {
            sum: member("sum")?,
            count: member("count")?,
            min: member("min")?,
            max: member("max")?,
            sumsqr: member("sumsqr")?,
        })
    }

    fn of(value: &Value) -> Option<Stats> {
        match value {
            Value::Object(object) => Stats::of_object(object),
            number => Total::of(number).map(Stats::of_number),
        }
    }

    fn plus(self, other: Stats) -> Stats {
        Stats {
            sum: self.sum.plus(other.sum),
            count: self.count.plus(other.count),
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            sumsqr: self.sumsqr.plus(other.sumsqr),
        }
    }

    fn value(self) -> Value {
        let members = [
            ("sum", self.sum),
            ("count", self.count),
            ("min", self.min),
            ("max", self.max),
            ("sumsqr", self.sumsqr),
        ];
        let members = members.map(|(name, total)| (name.to_owned(), total.value()));
        Value::Object(members.into_iter().collect())
    }
}

/// Statistics of numbers, or of arrays item by item, at any depth.
#[derive(Clone, Debug, PartialEq)]
enum Column {
    Single(Stats),
    Items(Vec<Column>),
}

impl Column {
    fn of(value: &Value) -> Option<Column> {
        match value {
            Value::Array(items) => {
                let items = items.iter().map(Column::of).collect::<Option<_>>();
                items.map(Column::Items)
            }
            single => Stats::of(single).map(Column::Single),
        }
    }

    /// Arrays that are reduced together are of one length; `None` otherwise.
    fn plus(self, other: Column) -> Option<Column> {
        match (self, other) {
            (Column::Single(one), Column::Single(other)) => Some(Column::Single(one.plus(other))),
            (Column::Items(items), Column::Items(others)) if items.len() == others.len() => {
                let pairs = items.into_iter().zip(others);
                let sums = pairs.map(|(one, other)| one.plus(other));
                sums.collect::<Option<_>>().map(Column::Items)
            }
            _ => None,
        }
    }

    fn value(self) -> Value {
        match self {
            Column::Single(stats) => stats.value(),
            Column::Items(items) => Value::Array(items.into_iter().map(Column::value).collect()),
        }
    }
}

/// The statistics of emitted values, and of statistics of them.
pub(super) fn of_values<'a>(values: impl Iterator<Item = &'a [u8]>) -> Reduced {
    let mut sum: Option<Column> = None;
    for json in values {
        let column = match Total::of_digits(json) {
            Some(number) => Some(Column::Single(Stats::of_number(number))),
            None => Column::of(&read_value(json)),
        };
        let added = match (sum.take(), column) {
            (None, column) => column,
            (Some(sum), Some(column)) => sum.plus(column),
            (Some(_), None) => None,
        };
        match added {
            Some(added) => sum = Some(added),
            None => return refused(json),
        }
    }
    let Some(sum) = sum else {
        return Reduced::Nothing;
    };
    let mut json = Vec::new();
    write(&sum.value(), &mut json);
    Reduced::Value(json)
}

/// CouchDB's words.
fn refused(json: &[u8]) -> Reduced {
    let found = String::from_utf8_lossy(json);
    Reduced::Failed(format!(
        "The _stats function requires that map values be numbers or arrays of numbers, not '{found}'"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(values: &[&str]) -> String {
        match of_values(values.iter().map(|value| value.as_bytes())) {
            Reduced::Nothing => "nothing".to_owned(),
            Reduced::Value(json) => String::from_utf8(json).unwrap(),
            Reduced::Failed(reason) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn numbers_arrays_and_statistics_are_taken() {
        assert_eq!(stats(&[]), "nothing");
        let expected = r#"{"sum":6,"count":3,"min":1,"max":3,"sumsqr":14}"#;
        assert_eq!(stats(&["1", "2", "3"]), expected);
        let half = stats(&["1", "2"]);
        assert_eq!(stats(&[&half, "3"]), expected);
        assert_eq!(
            stats(&["[1,-0.5]", "[2,4]"]),
            r#"[{"sum":3,"count":2,"min":1,"max":2,"sumsqr":5},"#.to_owned()
                + r#"{"sum":3.5,"count":2,"min":-0.5,"max":4,"sumsqr":16.25}]"#
        );
        assert_eq!(stats(&["[]", "[]"]), "[]");
        assert_eq!(stats(&["[[1,2]]", "[[2]]", "[[1]]"]).get(..3), Some("The"));
        assert_eq!(
            stats(&["[[1]]", "[[2]]", "[[3]]"]),
            format!("[[{expected}]]")
        );
    }

    #[test]
    fn anything_else_is_refused() {
        for wrong in [
            &["null"][..],
            &["\"a\""],
            &["1", "[1]"],
            &["[1]", "1"],
            &["[[1]]", "[1]"],
            &["[1]", "[1,2]"],
            &["{\"sum\":1}"],
        ] {
            assert!(
                stats(wrong).starts_with("The _stats function requires"),
                "{wrong:?}"
            );
        }
    }
}
