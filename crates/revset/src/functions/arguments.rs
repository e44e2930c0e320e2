//! Arguments of functions, and the words for wrong ones.

use crate::engine::plain_number;
use crate::tree::Expr;
use crate::{Engine, RevsetError, Set};

/// The function takes nothing.
pub(super) fn none(name: &str, arguments: &[Expr]) -> Result<(), RevsetError> {
    if arguments.is_empty() {
        return Ok(());
    }
    Err(RevsetError::parse(format!("{name} takes no arguments")))
}

/// The function takes one argument or none.
pub(super) fn at_most_one(name: &str, arguments: &[Expr]) -> Result<(), RevsetError> {
    if arguments.len() <= 1 {
        return Ok(());
    }
    let words = format!("{name} takes at most one argument");
    Err(RevsetError::parse(words))
}

/// The one set that the function takes.
pub(super) fn set(engine: &Engine<'_>, arguments: &[Expr]) -> Result<Set, RevsetError> {
    match arguments {
        [] => Err(RevsetError::parse("missing argument")),
        [one] => engine.evaluate(one),
        many => engine.evaluate(&Expr::List(many.to_vec())),
    }
}

/// The one string that the function takes.
pub(super) fn string<'e>(arguments: &'e [Expr], wrong: &str) -> Result<&'e [u8], RevsetError> {
    match arguments {
        [one] => word(one, wrong),
        _ => Err(RevsetError::parse(wrong)),
    }
}

/// The string that an argument is.
pub(super) fn word<'e>(argument: &'e Expr, wrong: &str) -> Result<&'e [u8], RevsetError> {
    match argument {
        Expr::Symbol(text) | Expr::Text(text) => Ok(text),
        _ => Err(RevsetError::parse(wrong)),
    }
}

/// The number that an argument is.
pub(super) fn number(argument: &Expr, wrong: &str) -> Result<i64, RevsetError> {
    plain_number(argument).ok_or_else(|| RevsetError::parse(wrong))
}

/// Arguments by position or by `key=value`, in the order of `keys`.
pub(super) fn keyed<'e, const N: usize>(
    name: &str,
    keys: [&str; N],
    arguments: &'e [Expr],
) -> Result<[Option<&'e Expr>; N], RevsetError> {
    let mut found = [None; N];
    let mut position = 0;
    let mut after_key = false;
    for argument in arguments {
        match argument {
            Expr::KeyValue(key, value) => {
                after_key = true;
                let key = word(key, &format!("{name} got an invalid argument"))?;
                let at = keys.iter().position(|known| known.as_bytes() == key);
                let Some(at) = at else {
                    let key = String::from_utf8_lossy(key);
                    let message = format!("{name} got an unexpected keyword argument '{key}'");
                    return Err(RevsetError::parse(message));
                };
                if found[at].is_some() {
                    let key = keys[at];
                    let message =
                        format!("{name} got multiple values for keyword argument '{key}'");
                    return Err(RevsetError::parse(message));
                }
                found[at] = Some(&**value);
            }
            _ if after_key => {
                let message = format!("{name} got an invalid argument");
                return Err(RevsetError::parse(message));
            }
            _ if position >= N => {
                let message = format!("{name} takes at most {N} positional arguments");
                return Err(RevsetError::parse(message));
            }
            positional => {
                found[position] = Some(positional);
                position += 1;
            }
        }
    }
    Ok(found)
}
