//! From the keys of a query to a range of ids.

use std::ops::Bound;

use varve_docdb::{IdRange, LOCAL_PREFIX};
use varve_json::Value;
use varve_views::QueryOptions;

use crate::couch::document::all_docs::Which;

/// The range of ids that the options ask for, low before high.
#[derive(Debug, PartialEq, Eq)]
pub struct Ids {
    low: Bound<String>,
    high: Bound<String>,
}

impl Ids {
    /// The range of a query.
    pub fn of(options: &QueryOptions, which: Which) -> Ids {
        let end = |id: String| match options.inclusive_end {
            true => Bound::Included(id),
            false => Bound::Excluded(id),
        };
        let start = bound(
            options.start_key.as_ref(),
            options.descending,
            Bound::Included,
        );
        let end = bound(options.end_key.as_ref(), !options.descending, end);
        let (low, high) = match options.descending {
            true => (end, start),
            false => (start, end),
        };
        let ids = Ids { low, high };
        match which {
            Which::All => match &options.partition {
                Some(partition) => ids.within(partition.low(), partition.high()),
                None => ids,
            },
            Which::Design => ids.within("_design/", "_design0"),
            Which::Local => ids.without_prefix(LOCAL_PREFIX),
        }
    }

    fn within(mut self, low: &str, high: &str) -> Ids {
        let below = |bound: &Bound<String>, limit: &str| match bound {
            Bound::Included(id) | Bound::Excluded(id) => id.as_str() < limit,
            Bound::Unbounded => true,
        };
        if below(&self.low, low) {
            self.low = Bound::Included(low.to_owned());
        }
        if matches!(self.high, Bound::Unbounded) || !below(&self.high, high) {
            self.high = Bound::Excluded(high.to_owned());
        }
        self
    }

    fn without_prefix(self, prefix: &str) -> Ids {
        let cut = |bound: Bound<String>| {
            bound.map(|id| id.strip_prefix(prefix).map_or(id.clone(), str::to_owned))
        };
        Ids {
            low: cut(self.low),
            high: cut(self.high),
        }
    }

    /// Where it begins.
    pub fn low(&self) -> Bound<&str> {
        self.low.as_ref().map(String::as_str)
    }

    /// Where it ends.
    pub fn high(&self) -> Bound<&str> {
        self.high.as_ref().map(String::as_str)
    }

    /// Both ends.
    pub fn range(&self) -> IdRange<'_> {
        IdRange {
            low: self.low(),
            high: self.high(),
        }
    }
}

/// Ids are strings, which collate above null, booleans and numbers, and below arrays and objects. `is_high` says which
/// end of the range this is.
fn bound(
    key: Option<&Value>,
    is_high: bool,
    of: impl FnOnce(String) -> Bound<String>,
) -> Bound<String> {
    // No id is lower than the empty text, nor as high as this.
    let nothing_above = || Bound::Excluded(char::MAX.to_string().repeat(2));
    match (key, is_high) {
        (None, _) => Bound::Unbounded,
        (Some(Value::String(id)), _) => of(id.clone()),
        (Some(Value::Array(_) | Value::Object(_)), true) => Bound::Unbounded,
        (Some(Value::Array(_) | Value::Object(_)), false) => nothing_above(),
        (Some(_), true) => Bound::Excluded(String::new()),
        (Some(_), false) => Bound::Unbounded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(query: &[(&str, &str)], which: Which) -> (Bound<String>, Bound<String>) {
        let options = QueryOptions::from_query(query.iter().copied()).unwrap();
        let ids = Ids::of(&options, which);
        (ids.low, ids.high)
    }

    fn text(id: &str) -> String {
        id.to_owned()
    }

    #[test]
    fn descending_ranges_are_turned_round() {
        let query = [
            ("startkey", "\"m\""),
            ("endkey", "\"b\""),
            ("descending", "true"),
        ];
        let (low, high) = ids(&query, Which::All);
        assert_eq!(
            (low, high),
            (Bound::Included(text("b")), Bound::Included(text("m")))
        );
        let query = [
            ("startkey", "\"b\""),
            ("endkey", "\"m\""),
            ("inclusive_end", "false"),
        ];
        let (low, high) = ids(&query, Which::All);
        assert_eq!(
            (low, high),
            (Bound::Included(text("b")), Bound::Excluded(text("m")))
        );
    }

    #[test]
    fn the_range_of_a_partition_is_cut_to_it() {
        let of = |query: &[(&str, &str)]| ids(&[&[("partition", "p")], query].concat(), Which::All);
        let whole = (Bound::Included(text("p:")), Bound::Excluded(text("p;")));
        assert_eq!(of(&[]), whole);
        assert_eq!(of(&[("descending", "true")]), whole);
        assert_eq!(of(&[("startkey", "\"a\""), ("endkey", "{}")]), whole);
        let cut = of(&[("startkey", "\"p:b\""), ("endkey", "\"q:c\"")]);
        assert_eq!(cut, (Bound::Included(text("p:b")), whole.1));
    }

    #[test]
    fn keys_that_are_no_text_lie_outside() {
        assert_eq!(ids(&[("startkey", "1")], Which::All).0, Bound::Unbounded);
        assert_eq!(
            ids(&[("endkey", "1")], Which::All).1,
            Bound::Excluded(text(""))
        );
        assert_eq!(ids(&[("endkey", "{}")], Which::All).1, Bound::Unbounded);
        assert!(matches!(
            ids(&[("startkey", "[]")], Which::All).0,
            Bound::Excluded(_)
        ));
    }

    #[test]
    fn design_documents_stay_among_themselves() {
        let all = (
            Bound::Included(text("_design/")),
            Bound::Excluded(text("_design0")),
        );
        assert_eq!(ids(&[], Which::Design), all);
        assert_eq!(
            ids(&[("startkey", "\"a\"")], Which::Design).0,
            Bound::Included(text("a"))
        );
        assert_eq!(
            ids(&[("endkey", "\"z\"")], Which::Design).1,
            Bound::Excluded(text("_design0"))
        );
        let query = [("startkey", "\"_design/m\"")];
        assert_eq!(
            ids(&query, Which::Design).0,
            Bound::Included(text("_design/m"))
        );
    }
}
