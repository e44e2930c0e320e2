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

/// A part of the form of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Open,
    Leaf,
    Close,
}

/// Statistics of numbers, or of arrays item by item, at any depth: the form of the values, and one entry for each of
/// their numbers, in order.
#[derive(Clone, Debug, PartialEq)]
struct Columns {
    form: Vec<Token>,
    stats: Vec<Stats>,
}

impl Columns {
    fn of_number(number: Total) -> Columns {
        Columns {
            form: vec![Token::Leaf],
            stats: vec![Stats::of_number(number)],
        }
    }

    /// `None` if there is something else than numbers, their statistics, and arrays.
    fn of(value: &Value) -> Option<Columns> {
        let (mut form, mut stats) = (Vec::new(), Vec::new());
        let mut open = vec![std::slice::from_ref(value).iter()];
        while let Some(innermost) = open.last_mut() {
            match innermost.next() {
                Some(Value::Array(items)) => {
                    form.push(Token::Open);
                    open.push(items.iter());
                    continue;
                }
                Some(Value::Object(object)) => stats.push(Stats::of_object(object)?),
                Some(number) => stats.push(Stats::of_number(Total::of(number)?)),
                None => {
                    open.pop();
                    form.push(Token::Close);
                    continue;
                }
            }
            form.push(Token::Leaf);
        }
        // The end of what stands around the value.
        form.pop();
        Some(Columns { form, stats })
    }

    /// Values that are reduced together have one form; returns whether they do.
    fn add(&mut self, other: &Columns) -> bool {
        let is_alike = self.form == other.form;
        if is_alike {
            let pairs = self.stats.iter_mut().zip(&other.stats);
            pairs.for_each(|(one, other)| *one = one.plus(*other));
        }
        is_alike
    }

    /// Returns whether a number is of the form.
    fn add_number(&mut self, number: Total) -> bool {
        let (&[Token::Leaf], [single]) = (&self.form[..], &mut self.stats[..]) else {
            return false;
        };
        *single = single.plus(Stats::of_number(number));
        true
    }

    fn write(&self, out: &mut Vec<u8>) {
        let mut stats = self.stats.iter();
        let mut before = Token::Open;
        for token in &self.form {
            if *token != Token::Close && before != Token::Open {
                out.push(b',');
            }
            match token {
                Token::Open => out.push(b'['),
                Token::Close => out.push(b']'),
                Token::Leaf => stats
                    .by_ref()
                    .take(1)
                    .for_each(|one| write(&one.value(), out)),
            }
            before = *token;
        }
    }
}

/// The statistics of emitted values, and of statistics of them.
pub(super) fn of_values<'a>(values: impl Iterator<Item = &'a [u8]>) -> Reduced {
    let mut sum: Option<Columns> = None;
    for json in values {
        let short = Total::of_digits(json);
        // Most values are numbers: nothing is allocated for them.
        if let (Some(sum), Some(number)) = (&mut sum, short)
            && sum.add_number(number)
        {
            continue;
        }
        let columns = match short {
            Some(number) => Some(Columns::of_number(number)),
            None => Columns::of(&read_value(json)),
        };
        let Some(columns) = columns else {
            return refused(json);
        };
        match &mut sum {
            None => sum = Some(columns),
            Some(sum) => {
                if !sum.add(&columns) {
                    return refused(json);
                }
            }
        }
    }
    let Some(sum) = sum else {
        return Reduced::Nothing;
    };
    let mut json = Vec::new();
    sum.write(&mut json);
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

    /// The stack is a small one. Statistics are a level deeper than what they are of, and are read again.
    #[test]
    fn the_depth_of_arrays_costs_no_stack() {
        let check = || {
            let levels = varve_json::MAX_DEPTH;
            let nested = |leaf: &str| format!("{}{leaf}{}", "[".repeat(levels), "]".repeat(levels));
            let half = stats(&[&nested("1"), &nested("2")]);
            let expected = nested(r#"{"sum":6,"count":3,"min":1,"max":3,"sumsqr":14}"#);
            assert!(stats(&[&half, &nested("3")]) == expected);
            assert!(stats(&[&half, &nested("[]")]).starts_with("The _stats"));
        };
        let small = std::thread::Builder::new().stack_size(512 << 10);
        small.spawn(check).unwrap().join().unwrap();
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
