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

/// The statistics of emitted values, and of statistics of them.
pub(super) fn of_values<'a>(values: impl Iterator<Item = &'a [u8]>) -> Reduced {
    let mut single: Option<Stats> = None;
    let mut columns: Vec<Stats> = Vec::new();
    for json in values {
        if let Some(number) = Total::of_digits(json).filter(|_| columns.is_empty()) {
            let stats = Stats::of_number(number);
            single = Some(single.map_or(stats, |sum| sum.plus(stats)));
            continue;
        }
        let value = read_value(json);
        let added = match &value {
            Value::Array(items) if single.is_none() => add_columns(&mut columns, items),
            number if columns.is_empty() => Stats::of(number).map(|stats| {
                single = Some(single.map_or(stats, |sum| sum.plus(stats)));
            }),
            _ => None,
        };
        if added.is_none() {
            return refused(json);
        }
    }
    let value = match single {
        Some(stats) => stats.value(),
        None if columns.is_empty() => return Reduced::Nothing,
        None => columns.into_iter().map(Stats::value).collect(),
    };
    let mut json = Vec::new();
    write(&value, &mut json);
    Reduced::Value(json)
}

/// Arrays that are reduced together are of one length; `None` otherwise.
fn add_columns(columns: &mut Vec<Stats>, items: &[Value]) -> Option<()> {
    let added: Option<Vec<Stats>> = items.iter().map(Stats::of).collect();
    let added = added?;
    if columns.is_empty() {
        *columns = added;
        return (!columns.is_empty()).then_some(());
    }
    if columns.len() != added.len() {
        return None;
    }
    for (column, stats) in columns.iter_mut().zip(added) {
        *column = column.plus(stats);
    }
    Some(())
}

fn refused(json: &[u8]) -> Reduced {
    let found = String::from_utf8_lossy(json);
    Reduced::Failed(format!(
        "_stats takes numbers, or arrays of numbers of one length, not {found}"
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
    }

    #[test]
    fn anything_else_is_refused() {
        for wrong in [
            &["null"][..],
            &["\"a\""],
            &["[]"],
            &["1", "[1]"],
            &["[1]", "[1,2]"],
            &["{\"sum\":1}"],
        ] {
            assert!(stats(wrong).starts_with("_stats takes"), "{wrong:?}");
        }
    }
}
