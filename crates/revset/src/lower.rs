//! From the tree that is written to the one that is evaluated.

use crate::RevsetError;
use crate::syntax::Syntax;
use crate::tree::{Expr, Infix, Postfix, Prefix, RangeKind};
use varve_lang::did_you_mean;

/// Joins the operands of `##` to one string.
///
/// # Errors
/// An operand that is neither a word nor a string.
pub fn concatenated(tree: Syntax) -> Result<Syntax, RevsetError> {
    let Syntax::Node(name, operands) = tree else {
        return Ok(tree);
    };
    if name == "_concat" {
        let mut text = Vec::new();
        for operand in operands {
            push_word(operand, &mut text)?;
        }
        return Ok(Syntax::Text(text));
    }
    let operands = operands.into_iter().map(concatenated);
    Ok(Syntax::Node(name, operands.collect::<Result<_, _>>()?))
}

fn push_word(operand: Syntax, text: &mut Vec<u8>) -> Result<(), RevsetError> {
    match operand {
        Syntax::Symbol(word) | Syntax::Text(word) => text.extend(word),
        Syntax::Node("_concat", operands) => {
            for operand in operands {
                push_word(operand, text)?;
            }
        }
        other => {
            let message = format!("\"##\" can't concatenate \"{}\" element", other.name());
            return Err(RevsetError::parse(message));
        }
    }
    Ok(())
}

/// The tree that is evaluated: groups are gone, and relations are calls of functions.
///
/// # Errors
/// A form that has no meaning.
pub fn lower(tree: &Syntax) -> Result<Expr, RevsetError> {
    match tree {
        Syntax::Symbol(name) => Ok(Expr::Symbol(name.clone())),
        Syntax::Text(text) => Ok(Expr::Text(text.clone())),
        Syntax::Absent => Ok(Expr::Empty),
        Syntax::Node("or", operands) => {
            let mut all = operands.iter().map(lower);
            let first = all.next().unwrap_or(Ok(Expr::Empty))?;
            all.try_fold(first, |left, right| Ok(Expr::or(left, right?)))
        }
        Syntax::Node("list", items) => Ok(Expr::List(
            items.iter().map(lower).collect::<Result<_, _>>()?,
        )),
        Syntax::Node(name, operands) => match &operands[..] {
            [one] => lower_one(name, one),
            [left, right] => lower_two(name, left, right),
            [operand, relation, subscript] => generations(operand, relation, Some(subscript)),
            _ => Err(RevsetError::parse("missing argument")),
        },
    }
}

fn lower_one(name: &str, operand: &Syntax) -> Result<Expr, RevsetError> {
    let kind = match name {
        "rangeall" | "rangepre" | "rangepost" => RangeKind::Numbers,
        _ => RangeKind::Descent,
    };
    let inner = || Ok::<_, RevsetError>(Box::new(lower(operand)?));
    Ok(match name {
        "group" => lower(operand)?,
        "rangeall" | "dagrangeall" => Expr::Whole(kind),
        "rangepre" | "dagrangepre" => Expr::Prefix(Prefix::Upto(kind), inner()?),
        "rangepost" | "dagrangepost" => Expr::Postfix(Postfix::From(kind), inner()?),
        "parentpost" => Expr::Postfix(Postfix::Parent, inner()?),
        "onlypost" => Expr::Postfix(Postfix::Only, inner()?),
        "negate" => Expr::Prefix(Prefix::Minus, inner()?),
        _ => Expr::Prefix(Prefix::Not, inner()?),
    })
}

fn lower_two(name: &str, left: &Syntax, right: &Syntax) -> Result<Expr, RevsetError> {
    let infix = match name {
        "func" => return call(left, right),
        "keyvalue" => {
            return Ok(Expr::KeyValue(
                Box::new(lower(left)?),
                Box::new(lower(right)?),
            ));
        }
        "subscript" => return Err(not_in_context("a subscript")),
        "relation" => return generations(left, right, None),
        "range" => Infix::Between(RangeKind::Numbers),
        "dagrange" => Infix::Between(RangeKind::Descent),
        "parent" => Infix::Parent,
        "ancestor" => Infix::Ancestor,
        "and" | "andsmally" => Infix::And,
        "minus" | "difference" => Infix::Minus,
        _ => Infix::Only,
    };
    Ok(Expr::Infix(
        infix,
        Box::new(lower(left)?),
        Box::new(lower(right)?),
    ))
}

fn not_in_context(what: &str) -> RevsetError {
    RevsetError::parse(format!("can't use {what} in this context"))
}

fn call(name: &Syntax, arguments: &Syntax) -> Result<Expr, RevsetError> {
    let Syntax::Symbol(name) = name else {
        return Err(RevsetError::parse("not a symbol"));
    };
    let arguments = match arguments {
        Syntax::Absent => Vec::new(),
        some => match lower(some)? {
            Expr::List(items) => items,
            one => vec![one],
        },
    };
    Ok(Expr::Call(name.clone(), arguments))
}

/// Names of the one relation that there is.
const RELATIONS: &[&str] = &["g", "generations"];

/// `x#generations[from:to]`: descendants by so many steps; ancestors, where the number is negative.
fn generations(
    operand: &Syntax,
    relation: &Syntax,
    subscript: Option<&Syntax>,
) -> Result<Expr, RevsetError> {
    let Syntax::Symbol(name) = relation else {
        return Err(RevsetError::parse("relation name must be a symbol"));
    };
    let name = String::from_utf8_lossy(name);
    if !RELATIONS.contains(&&*name) {
        let unknown = RevsetError::parse(format!("unknown identifier: {name}"));
        return Err(match did_you_mean(&name, RELATIONS.iter().copied()) {
            Some(words) => unknown.hint(words),
            None => unknown,
        });
    }
    let (first, last) = match subscript {
        Some(subscript) => bounds(subscript)?,
        None => (None, None),
    };
    let operand = lower(operand)?;
    if first.zip(last).is_some_and(|(first, last)| first > last) {
        return Ok(Expr::Call(b"none".to_vec(), Vec::new()));
    }
    let up = |from: i64, to: Option<i64>| steps("ancestors", &operand, from, to);
    let down = |from: i64, to: Option<i64>| steps("descendants", &operand, from, to);
    Ok(match (first, last) {
        (first, Some(last)) if last <= 0 => up(-last, first.map(|first| -first)),
        (Some(first), last) if first >= 0 => down(first, last),
        (first, last) => {
            let both = Expr::or(up(0, first.map(|first| -first)), down(0, last));
            Expr::Call(b"sort".to_vec(), vec![both])
        }
    })
}

/// A call for the changesets that are `from` to `to` steps away.
fn steps(function: &str, operand: &Expr, from: i64, to: Option<i64>) -> Expr {
    let key = |name: &str, value: i64| {
        Expr::KeyValue(
            Box::new(Expr::Symbol(name.as_bytes().to_vec())),
            Box::new(Expr::Symbol(value.to_string().into_bytes())),
        )
    };
    let mut arguments = vec![operand.clone(), key("startdepth", from)];
    arguments.extend(to.map(|to| key("depth", to)));
    Expr::Call(function.as_bytes().to_vec(), arguments)
}

/// The first and the last number of a subscript; `None` for an open end.
fn bounds(subscript: &Syntax) -> Result<(Option<i64>, Option<i64>), RevsetError> {
    let bound = |of: &Syntax| {
        let wrong = || RevsetError::parse("relation subscript bounds must be integers");
        number(of).map(Some).ok_or_else(wrong)
    };
    match subscript {
        Syntax::Node("range", ends) if ends.len() == 2 => Ok((bound(&ends[0])?, bound(&ends[1])?)),
        Syntax::Node("rangepre", ends) if ends.len() == 1 => Ok((None, bound(&ends[0])?)),
        Syntax::Node("rangepost", ends) if ends.len() == 1 => Ok((bound(&ends[0])?, None)),
        Syntax::Node("rangeall", _) => Ok((None, None)),
        one => {
            let words = "relation subscript must be an integer or a range";
            let number = number(one).ok_or_else(|| RevsetError::parse(words))?;
            Ok((Some(number), Some(number)))
        }
    }
}

fn number(tree: &Syntax) -> Option<i64> {
    match tree {
        Syntax::Symbol(text) | Syntax::Text(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        Syntax::Node("group", inner) => match &inner[..] {
            [one] => number(one),
            _ => None,
        },
        Syntax::Node("negate", operands) => match &operands[..] {
            [one @ (Syntax::Symbol(_) | Syntax::Text(_))] => number(one)?.checked_neg(),
            _ => None,
        },
        _ => None,
    }
}
