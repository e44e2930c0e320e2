//! Selectors: conditions on documents, written as JSON.
//!
//! A selector is compiled once and then asked for each document. Negations are pushed down to the
//! operators while compiling, so that `{"a": {"$not": {"$eq": 1}}}` demands that `a` is there, as
//! in CouchDB. Values are compared in the order of view keys.

mod compile;
mod condition;
mod indexed;
mod node;
mod path;

use varve_json::Value;

pub(crate) use condition::{Condition, Relation, Test, key_of};
pub(crate) use indexed::Indexed;
pub(crate) use node::{Fields, Node};
pub use path::FieldPath;
pub(crate) use path::PathLookup;

/// A selector is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectorError {
    /// The selector is no object.
    #[error("Selector must be a JSON object, not: {found}")]
    NotAnObject {
        /// The value that is there instead, as CouchDB shows it.
        found: String,
    },
    /// An operator that is not known.
    #[error("Invalid operator: {operator}")]
    Operator {
        /// As written, such as `$nope`.
        operator: String,
    },
    /// An operator of MongoDB that CouchDB knows by name only.
    #[error("Unsupported operator: {operator}")]
    Unsupported {
        /// As written, such as `$where`.
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
    /// A condition on no field.
    #[error("One or more conditions is missing a field name.")]
    NoField,
    /// More than 100 selectors inside one another.
    #[error("the selector is nested too deeply")]
    TooDeep,
    /// Too many patterns, or paths that are too long together.
    #[error("the selector is too large")]
    TooLarge,
}

impl SelectorError {
    /// CouchDB's one-word name of the error.
    pub fn error(&self) -> &'static str {
        match self {
            SelectorError::NotAnObject { .. } => "invalid_selector_json",
            SelectorError::Operator { .. } => "invalid_operator",
            SelectorError::Unsupported { .. } => "not_supported",
            SelectorError::NoField => "invalid_selector",
            SelectorError::Argument { .. } | SelectorError::TooDeep | SelectorError::TooLarge => {
                "bad_arg"
            }
        }
    }
}

/// A compiled selector.
#[derive(Clone, Debug)]
pub struct Selector(Node);

impl Selector {
    /// Compiles a selector.
    ///
    /// # Errors
    /// Any [`SelectorError`].
    pub fn compile(selector: &Value) -> Result<Selector, SelectorError> {
        compile::compile(selector).map(Selector)
    }

    /// Whether a document passes.
    pub fn matches(&self, document: &Value) -> bool {
        self.0.passes_value(document)
    }

    /// The selector with every operator written out and every negation resolved, as `_explain`
    /// shows it.
    pub fn to_json(&self) -> Value {
        self.0.to_json()
    }

    pub(crate) fn node(&self) -> &Node {
        &self.0
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
        let document = r#"{"v":2,"s":"berry","a":[1,"x",{"b":3}],"o":{"p":{"q":null}},"d.e":1,"$m":5,"_id":"a"}"#;
        for (selector, expected) in [
            ("{}", true),
            (r#"{"v":2}"#, true),
            (r#"{"v":{"$gt":1,"$lt":3}}"#, true),
            (r#"{"s":{"$gt":1}}"#, true),
            (r#"{"_id":{"$gt":{}}}"#, true),
            (r#"{"_id":{"$lt":{}}}"#, false),
            (r#"{"_id":{"$lte":[]}}"#, false),
            (r#"{"_id":{"$not":{"$lte":[]}}}"#, true),
            // Bytes, not the collation of keys.
            (r#"{"_id":{"$gt":"B"}}"#, true),
            (r#"{"_id":{"$lt":"B"}}"#, false),
            (r#"{"\\$m":5}"#, true),
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
            (r#"{"s":{"$regex":"^b.r+y$"}}"#, true),
            (r#"{"s":{"$regex":"^e"}}"#, false),
            (r#"{"v":{"$regex":"2"}}"#, false),
            (r#"{"a":{"$in":["x"]}}"#, true),
            (r#"{"a":{"$in":[[1,"x",{"b":3}]]}}"#, false),
            (r#"{"a":{"$all":[[1,"x",{"b":3}]]}}"#, true),
            (r#"{"a":{"$all":[]}}"#, false),
            (r#"{"$or":[]}"#, true),
            (r#"{"v":2,"$nor":[]}"#, true),
        ] {
            assert_eq!(matches(selector, document), expected, "{selector}");
        }
    }

    #[test]
    fn what_cannot_be_asked_of_a_value_is_negated_too() {
        let document = r#"{"v":2,"s":"x","a":[],"o":{}}"#;
        for (condition, on) in [
            (r#"{"$size":0}"#, "v"),
            (r#"{"$mod":[2,0]}"#, "s"),
            (r#"{"$regex":"x"}"#, "v"),
            (r#"{"$beginsWith":"x"}"#, "a"),
            (r#"{"$elemMatch":{"$eq":1}}"#, "a"),
            (r#"{"$allMatch":{"$eq":1}}"#, "a"),
            (r#"{"$all":[1]}"#, "s"),
            (r#"{"$type":"null"}"#, "o"),
            (r#"{"$keyMapMatch":{"$eq":"a"}}"#, "o"),
        ] {
            let plain = format!("{{\"{on}\":{condition}}}");
            assert!(!matches(&plain, document), "{plain}");
            assert!(
                matches(&format!("{{\"$not\":{plain}}}"), document),
                "{plain}"
            );
            let missing = format!("{{\"m\":{{\"$not\":{condition}}}}}");
            assert!(!matches(&missing, document), "{missing}");
        }
    }

    #[test]
    fn nothing_is_found_below_what_has_no_members() {
        for (document, expected) in [
            ("{}", true),
            (r#"{"a":{}}"#, true),
            (r#"{"a":{"b":null}}"#, false),
            (r#"{"a":1}"#, false),
            (r#"{"a":[1]}"#, false),
        ] {
            for selector in [
                r#"{"a.b":{"$exists":false}}"#,
                r#"{"a":{"b":{"$exists":false}}}"#,
            ] {
                assert_eq!(
                    matches(selector, document),
                    expected,
                    "{selector} {document}"
                );
            }
        }
    }

    #[test]
    fn patterns_see_the_bytes_of_characters() {
        assert!(matches(r#"{"s":{"$regex":"^..$"}}"#, r#"{"s":"é"}"#));
        assert!(matches(r#"{"s":{"$regex":"^[é]$"}}"#, r#"{"s":"é"}"#));
        assert!(matches(r#"{"s":{"$regex":"(?i)^É|A$"}}"#, r#"{"s":"a"}"#));
        assert!(!matches(r#"{"s":{"$regex":"\\w"}}"#, r#"{"s":"é"}"#));
    }

    #[test]
    fn many_conditions_on_a_long_object_decide_as_one_does() {
        let members: Vec<_> = (0..100)
            .map(|n| format!("\"m{n}\":[{n},{{\"x\":{n}}}]"))
            .collect();
        let document = format!("{{{},\"o\":{{{}}}}}", members.join(","), members.join(","));
        for (condition, expected) in [
            (r#"{"o.m70.1.x":70}"#, true),
            (r#"{"o.m70.1.x":{"$gt":70}}"#, false),
            (r#"{"m99":{"$in":[7,99]}}"#, true),
            (r#"{"m99":{"$in":[[99]]}}"#, false),
            (r#"{"m99":{"$all":[{"x":99},99]}}"#, true),
            (r#"{"m99":{"$elemMatch":{"x":{"$lt":99}}}}"#, false),
            (r#"{"m99":{"$size":2}}"#, true),
            (r#"{"o":{"none":{"$exists":false}}}"#, true),
            (r#"{"m1.none":{"$exists":false}}"#, false),
        ] {
            let never: Vec<_> = (0..100).map(|n| format!("{{\"m{n}\":{n}}}")).collect();
            let many = format!("{{\"$or\":[{},{condition}]}}", never.join(","));
            assert_eq!(matches(condition, &document), expected, "{condition}");
            assert_eq!(matches(&many, &document), expected, "{condition}");
        }
    }

    #[test]
    fn selectors_are_shown_with_every_operator() {
        let shown = |text: &str| {
            let value = varve_json::parse(text.as_bytes()).unwrap();
            varve_json::to_string(&Selector::compile(&value).unwrap().to_json())
        };
        for (given, expected) in [
            ("{}", "{}"),
            (r#"{"v":2}"#, r#"{"v":{"$eq":2}}"#),
            (
                r#"{"a":{"b":{"$gt":1,"$lt":2}}}"#,
                r#"{"$and":[{"a.b":{"$gt":1}},{"a.b":{"$lt":2}}]}"#,
            ),
            (
                r#"{"$not":{"a":1,"b":{"$in":[1]}}}"#,
                r#"{"$or":[{"a":{"$ne":1}},{"b":{"$nin":[1]}}]}"#,
            ),
            (
                r#"{"$nor":[{"a":{"$exists":true}},{"b":{"$regex":"x"}}]}"#,
                r#"{"$and":[{"a":{"$exists":false}},{"b":{"$not":{"$regex":"x"}}}]}"#,
            ),
            (
                r#"{"a":{"$elemMatch":{"b":{"$mod":[2,1]}}}}"#,
                r#"{"a":{"$elemMatch":{"b":{"$mod":[2,1]}}}}"#,
            ),
        ] {
            assert_eq!(shown(given), expected);
            assert_eq!(shown(expected), expected);
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
        let begins = refused(r#"{"v":{"$beginsWith":1}}"#);
        assert_eq!(begins, "Invalid operator: $beginsWith");
        let array = "Selector must be a JSON object, not: [null,<<98,105,110,103>>]";
        assert_eq!(refused(r#"[null,"bing"]"#), array);
        for bad in [
            r#"{"$and":{}}"#,
            r#"{"$not":1}"#,
            r#"{"v":{"$mod":[0,1]}}"#,
            r#"{"v":{"$mod":[2]}}"#,
            r#"{"v":{"$exists":1}}"#,
            r#"{"v":{"$type":1}}"#,
            r#"{"v":{"$in":1}}"#,
            r#"{"v":{"$nin":1}}"#,
            r#"{"v":{"$all":1}}"#,
            r#"{"v":{"$size":-1}}"#,
            r#"{"v":{"$regex":"("}}"#,
            r#"{"v":{"$regex":"(?=a)"}}"#,
            r#"{"v":{"$elemMatch":1}}"#,
            r#"{"v":{"$allMatch":[]}}"#,
            r#"{"v":{"$keyMapMatch":"a"}}"#,
        ] {
            assert!(
                refused(bad).starts_with("Bad argument for operator $"),
                "{bad}"
            );
        }
        let words = "One or more conditions is missing a field name.";
        assert_eq!(refused(r#"{"$gt":1}"#), words);
        let deep = format!("{}{}", r#"{"$not":"#.repeat(150), "{}") + &"}".repeat(150);
        assert_eq!(refused(&deep), "the selector is nested too deeply");
    }

    #[test]
    fn selectors_that_would_grow_are_refused() {
        let refused = |text: String| {
            let value = varve_json::parse(text.as_bytes()).unwrap();
            Selector::compile(&value).unwrap_err()
        };
        let members: Vec<_> = (0..100).map(|n| format!("\"{n}\":1")).collect();
        let long = format!("{{\"{}\":{{{}}}}}", "x".repeat(50_000), members.join(","));
        assert_eq!(refused(long), SelectorError::TooLarge);
        let many = vec![r#"{"a":{"$regex":"x"}}"#; 201].join(",");
        assert_eq!(
            refused(format!("{{\"$or\":[{many}]}}")),
            SelectorError::TooLarge
        );
        let huge = r#"{"a":{"$regex":"(x{1000}){1000}"}}"#.to_owned();
        assert!(matches!(refused(huge), SelectorError::Argument { .. }));
    }

    #[test]
    fn a_long_pattern_is_refused_before_it_is_compiled() {
        let selector = |len| {
            let text = format!(r#"{{"a":{{"$regex":"{}"}}}}"#, "x".repeat(len));
            Selector::compile(&varve_json::parse(text.as_bytes()).unwrap())
        };
        assert!(selector(4096).is_ok());
        assert_eq!(selector(4097).unwrap_err(), SelectorError::TooLarge);
    }
}
