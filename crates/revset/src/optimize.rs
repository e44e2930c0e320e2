//! Simpler forms of a query with the same answer, as Mercurial makes them.

use crate::RevsetError;
use crate::syntax::Syntax;

/// Between the names of `_list()`.
pub(crate) const SEPARATOR: u8 = 0;

/// Replaces operators by those few that are evaluated, and removes groups.
///
/// # Errors
/// An operator that has no meaning in its place.
pub fn analyzed(tree: Syntax) -> Result<Syntax, RevsetError> {
    let Syntax::Node(name, mut operands) = tree else {
        return Ok(tree);
    };
    match name {
        "dagrangeall" => {
            return Err(RevsetError::parse("can't use '::' in this context"));
        }
        // Numbers and names of relations are no sets.
        "parent" | "ancestor" | "relation" | "subscript" | "relsubscript" => {
            if let Some(first) = operands.first_mut() {
                *first = analyzed(std::mem::replace(first, Syntax::Absent))?;
            }
            return Ok(Syntax::Node(name, operands));
        }
        "negate" => {
            return match operands.pop() {
                Some(Syntax::Symbol(number) | Syntax::Text(number)) => {
                    Ok(Syntax::Text([b"-", &number[..]].concat()))
                }
                _ => Err(RevsetError::parse("can't negate that")),
            };
        }
        _ => {}
    }
    let operands = operands.into_iter().map(analyzed);
    let mut operands: Vec<Syntax> = operands.collect::<Result<_, _>>()?;
    Ok(match name {
        "group" => operands.pop().unwrap_or(Syntax::Absent),
        "minus" => {
            let right = operands.pop().unwrap_or(Syntax::Absent);
            operands.push(Syntax::Node("not", vec![right]));
            Syntax::Node("and", operands)
        }
        "only" => call("only", Syntax::Node("list", operands)),
        "onlypost" => call("only", operands.pop().unwrap_or(Syntax::Absent)),
        "dagrangepre" => call("ancestors", operands.pop().unwrap_or(Syntax::Absent)),
        "dagrangepost" => call("descendants", operands.pop().unwrap_or(Syntax::Absent)),
        _ => Syntax::Node(name, operands),
    })
}

fn call(function: &str, arguments: Syntax) -> Syntax {
    let name = Syntax::Symbol(function.as_bytes().to_vec());
    Syntax::Node("func", vec![name, arguments])
}

/// The cost of a set, compared with others.
type Weight = u32;

/// Weight of a name.
const NAME: Weight = 1;
/// Weight of a set that is read from indexes.
const INDEX: Weight = 2;
/// Weight of functions that read changesets.
const CHANGESETS: Weight = 20;

/// Functions that read many changesets.
const READING: &[&str] = &[
    "adds",
    "author",
    "closed",
    "contains",
    "converted",
    "date",
    "desc",
    "destination",
    "extra",
    "file",
    "filelog",
    "grep",
    "keyword",
    "matching",
    "modifies",
    "origin",
    "removes",
    "user",
];

/// Functions that look only at roots of phases.
const PHASES: &[&str] = &["draft", "public", "secret"];

/// The tree that costs least, of one that is [`analyzed`].
pub fn optimized(tree: Syntax) -> Syntax {
    optimize(tree).1
}

fn optimize(tree: Syntax) -> (Weight, Syntax) {
    let Syntax::Node(name, operands) = tree else {
        return (NAME, tree);
    };
    match name {
        "and" => conjunction(operands),
        "or" => alternatives(operands),
        "not" => {
            let (weight, operand) = optimize(operands.into_iter().next().unwrap_or(Syntax::Absent));
            if operand == call("public", Syntax::Absent) {
                return (NAME, call("_notpublic", Syntax::Absent));
            }
            (weight, Syntax::Node("not", vec![operand]))
        }
        "keyvalue" | "func" => {
            let mut operands = operands.into_iter();
            let first = operands.next().unwrap_or(Syntax::Absent);
            let (below, rest) = optimize(operands.next().unwrap_or(Syntax::Absent));
            let own = match &first {
                Syntax::Symbol(function)
                    if PHASES.iter().any(|name| name.as_bytes() == function) =>
                {
                    NAME
                }
                Syntax::Symbol(function) if is_reading(function) => CHANGESETS,
                _ => INDEX,
            };
            (own.max(below), Syntax::Node(name, vec![first, rest]))
        }
        "parent" | "ancestor" | "relation" | "subscript" | "relsubscript" => {
            let mut operands = operands;
            let mut weight = INDEX;
            if let Some(first) = operands.first_mut() {
                let (below, better) = optimize(std::mem::replace(first, Syntax::Absent));
                *first = better;
                weight = below;
            }
            (weight, Syntax::Node(name, operands))
        }
        _ => {
            let all: Vec<(Weight, Syntax)> = operands.into_iter().map(optimize).collect();
            let weight = all.iter().map(|(weight, _)| *weight).sum::<Weight>();
            let operands = all.into_iter().map(|(_, operand)| operand).collect();
            (weight.max(NAME), Syntax::Node(name, operands))
        }
    }
}

fn is_reading(function: &[u8]) -> bool {
    READING.iter().any(|name| name.as_bytes() == function)
}

fn conjunction(operands: Vec<Syntax>) -> (Weight, Syntax) {
    let mut operands = operands.into_iter();
    let mut next = || optimize(operands.next().unwrap_or(Syntax::Absent));
    let ((left_weight, left), (right_weight, right)) = (next(), next());
    let weight = left_weight.min(right_weight);
    for (kept, removed) in [(&left, &right), (&right, &left)] {
        if let Some(heads) = ancestors_of(kept)
            && let Some(others) = negated(removed).and_then(ancestors_of)
        {
            let list = Syntax::Node("list", vec![heads.clone(), others.clone()]);
            return (weight, call("only", list));
        }
    }
    if let Some(removed) = negated(&right) {
        return (
            weight,
            Syntax::Node("difference", vec![left, removed.clone()]),
        );
    }
    let name = match left_weight > right_weight {
        true => "andsmally",
        false => "and",
    };
    (weight, Syntax::Node(name, vec![left, right]))
}

fn negated(tree: &Syntax) -> Option<&Syntax> {
    match tree {
        Syntax::Node("not", operands) => operands.first(),
        _ => None,
    }
}

/// The heads of `ancestors(heads)` without further arguments.
fn ancestors_of(tree: &Syntax) -> Option<&Syntax> {
    let Syntax::Node("func", operands) = tree else {
        return None;
    };
    match &operands[..] {
        [Syntax::Symbol(name), heads]
            if name == b"ancestors"
                && !matches!(heads, Syntax::Absent | Syntax::Node("list" | "keyvalue", _)) =>
        {
            Some(heads)
        }
        _ => None,
    }
}

/// Names that follow each other become one list.
fn alternatives(operands: Vec<Syntax>) -> (Weight, Syntax) {
    let mut sets: Vec<Syntax> = Vec::new();
    let mut names: Vec<Syntax> = Vec::new();
    let mut sum = 0;
    for operand in operands {
        let (weight, better) = optimize(operand);
        sum += weight;
        match better {
            name @ (Syntax::Symbol(_) | Syntax::Text(_)) => names.push(name),
            other => {
                sets.extend(list_of(&mut names));
                sets.push(other);
            }
        }
    }
    sets.extend(list_of(&mut names));
    let tree = match sets.pop() {
        Some(only) if sets.is_empty() => only,
        last => {
            sets.extend(last);
            Syntax::Node("or", sets)
        }
    };
    (sum, tree)
}

fn list_of(names: &mut Vec<Syntax>) -> Option<Syntax> {
    let mut taken = std::mem::take(names);
    if taken.len() < 2 {
        return taken.pop();
    }
    let words = taken.iter().filter_map(|name| match name {
        Syntax::Symbol(word) | Syntax::Text(word) => Some(&word[..]),
        _ => None,
    });
    let joined = words.collect::<Vec<_>>().join(&SEPARATOR);
    Some(call("_list", Syntax::Text(joined)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{lower, parse_syntax};

    fn better(query: &str) -> String {
        let written = parse_syntax(query.as_bytes(), &|_| false).unwrap();
        let tree = optimized(analyzed(written).unwrap());
        lower(&tree).unwrap().to_string()
    }

    #[test]
    fn simpler_forms_are_found() {
        for (query, expected) in [
            ("::a - ::b", "only(a, b)"),
            ("not ::a and ::b", "only(b, a)"),
            ("ancestors(a, 2) - ::b", "(ancestors(a, 2) - ancestors(b))"),
            (
                "a or (b) or -2 or c:d",
                "(_list(\"a\\x00b\\x00-2\") or (c:d))",
            ),
            ("a and not public()", "(a and _notpublic())"),
            ("a - b", "(a - b)"),
            ("a%", "only(a)"),
            ("a^2", "(a^2)"),
        ] {
            assert_eq!(better(query), expected, "{query}");
        }
        let written = parse_syntax(b"f() & 2", &|_| false).unwrap();
        let tree = optimized(analyzed(written).unwrap());
        assert!(matches!(tree, Syntax::Node("andsmally", _)), "{tree}");
        let wrong = parse_syntax(b"-(a)", &|_| false).unwrap();
        assert_eq!(
            analyzed(wrong).unwrap_err().to_string(),
            "can't negate that"
        );
    }
}
