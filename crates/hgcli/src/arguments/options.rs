//! Taking arguments apart in Mercurial's way, with its messages.
//!
//! Options may stand behind other arguments up to `--`; a long name may be cut as long as one
//! option begins with it; letters may be joined; every flag has a `--no-` form.

use crate::arguments::flag::{Flag, FlagKind};

/// The options and other arguments of one call.
#[derive(Clone, Debug, Default)]
pub struct Matches {
    given: Vec<(&'static str, TypedValue)>,
    arguments: Vec<Vec<u8>>,
}

#[derive(Clone, Debug)]
enum TypedValue {
    Flag(bool),
    Value(Vec<u8>),
}

impl Matches {
    /// Whether a flag was given, and not taken back later.
    pub fn flag(&self, name: &str) -> bool {
        self.switch(name).unwrap_or(false)
    }

    /// The same with a flag that is not typed.
    pub(crate) fn with_flag(mut self, name: &'static str) -> Matches {
        self.given.push((name, TypedValue::Flag(true)));
        self
    }

    /// A flag, or the opposite, where either was given.
    pub fn switch(&self, name: &str) -> Option<bool> {
        self.given
            .iter()
            .rev()
            .find_map(|(long, given)| match given {
                TypedValue::Flag(on) if *long == name => Some(*on),
                _ => None,
            })
    }

    /// The last value of an option.
    pub fn value(&self, name: &str) -> Option<&[u8]> {
        self.list(name).pop()
    }

    /// All values of an option.
    pub fn list(&self, name: &str) -> Vec<&[u8]> {
        let values = self.given.iter().filter_map(|(long, given)| match given {
            TypedValue::Value(value) if *long == name => Some(value.as_slice()),
            _ => None,
        });
        values.collect()
    }

    /// Arguments that are no options.
    pub fn arguments(&self) -> &[Vec<u8>] {
        &self.arguments
    }

    /// Replaces values of the options that `chosen` names, and arguments if `with_arguments`.
    ///
    /// # Errors
    /// The first error of `change`.
    pub fn change_values<E>(
        &mut self,
        chosen: &[&str],
        with_arguments: bool,
        change: impl Fn(&[u8]) -> Result<Vec<u8>, E>,
    ) -> Result<(), E> {
        for (name, given) in &mut self.given {
            if let TypedValue::Value(value) = given
                && chosen.contains(name)
            {
                *value = change(value)?;
            }
        }
        for argument in self.arguments.iter_mut().filter(|_| with_arguments) {
            *argument = change(argument)?;
        }
        Ok(())
    }

    /// Puts the options of `earlier` before these.
    pub fn precede_with(&mut self, mut earlier: Matches) {
        earlier.given.append(&mut self.given);
        self.given = earlier.given;
    }
}

/// Where an argument ends the options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The first one that is no option, which is the command.
    CommandFirst,
    /// Only `--`.
    Anywhere,
}

/// Takes the arguments apart.
///
/// # Errors
/// A wrong argument, in Mercurial's words.
pub fn parse(
    tables: &[&'static [Flag]],
    arguments: &[Vec<u8>],
    order: Order,
) -> Result<Matches, String> {
    let table: Vec<&'static Flag> = tables.iter().copied().flatten().collect();
    let mut matches = Matches::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_slice() {
            b"--" => matches.arguments.extend(rest.by_ref().cloned()),
            [b'-', b'-', name @ ..] => long(&table, name, &mut rest, &mut matches)?,
            [b'-', letters @ ..] if !letters.is_empty() => {
                short(&table, letters, &mut rest, &mut matches)?;
            }
            _ => {
                matches.arguments.push(argument.clone());
                if order == Order::CommandFirst {
                    matches.arguments.extend(rest.by_ref().cloned());
                }
            }
        }
    }
    Ok(matches)
}

fn long<'a>(
    table: &[&'static Flag],
    text: &[u8],
    rest: &mut impl Iterator<Item = &'a Vec<u8>>,
    matches: &mut Matches,
) -> Result<(), String> {
    let equals = text.iter().position(|byte| *byte == b'=');
    let (name, value) = match equals {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let (full, flag, on) = find_long(table, name)?;
    let given = match (flag.kind, value) {
        (FlagKind::Flag, None) => TypedValue::Flag(on),
        (FlagKind::Flag, Some(_)) => {
            return Err(format!("option --{full} must not have an argument"));
        }
        (_, Some(value)) => TypedValue::Value(value.to_vec()),
        (_, None) => {
            let value = rest.next();
            let value = value.ok_or_else(|| format!("option --{full} requires argument"))?;
            TypedValue::Value(value.clone())
        }
    };
    matches.given.push((flag.long, given));
    Ok(())
}

/// Mercurial looks for this option before all others: any beginning of its name means it, and is then
/// refused as an abbreviation, whatever else begins like that.
const CONFIG: &str = "config";

/// The option that a name means, with its full name and, for a flag, whether it is switched on.
fn find_long(
    table: &[&'static Flag],
    name: &[u8],
) -> Result<(String, &'static Flag, bool), String> {
    let mut found = None;
    for flag in table {
        for (full, on) in spellings(table, flag) {
            if full.as_bytes() == name {
                return Ok((full, flag, on));
            }
            if full.as_bytes().starts_with(name) {
                let shown = String::from_utf8_lossy(name);
                if found.is_some() {
                    // A later exact name would have to be told apart first.
                    found = Some(Err(format!("option --{shown} not a unique prefix")));
                } else {
                    found = Some(Ok((full, *flag, on)));
                }
            }
        }
    }
    let config = table.iter().find(|flag| flag.long == CONFIG);
    if let (Some(config), Some(Err(_)), true) = (
        config,
        &found,
        !name.is_empty() && CONFIG.as_bytes().starts_with(name),
    ) {
        return Ok((CONFIG.to_owned(), config, true));
    }
    let shown = String::from_utf8_lossy(name);
    found.unwrap_or_else(|| Err(format!("option --{shown} not recognized")))
}

/// Options whose opposite would mean nothing.
const NEVER_NEGATED: &[&str] = &["help", "version"];

fn spellings(table: &[&'static Flag], flag: &Flag) -> Vec<(String, bool)> {
    let mut spellings = vec![(flag.long.to_owned(), true)];
    if flag.kind == FlagKind::Flag && !NEVER_NEGATED.contains(&flag.long) {
        let opposite = match flag.long.strip_prefix("no-") {
            Some(positive) => positive.to_owned(),
            None => format!("no-{}", flag.long),
        };
        if table.iter().all(|other| other.long != opposite) {
            spellings.push((opposite, false));
        }
    }
    spellings
}

fn short<'a>(
    table: &[&'static Flag],
    letters: &[u8],
    rest: &mut impl Iterator<Item = &'a Vec<u8>>,
    matches: &mut Matches,
) -> Result<(), String> {
    for (at, letter) in letters.iter().enumerate() {
        let letter = char::from(*letter);
        let flag = table.iter().find(|flag| flag.short == Some(letter));
        let flag = flag.ok_or_else(|| format!("option -{letter} not recognized"))?;
        if flag.kind == FlagKind::Flag {
            matches.given.push((flag.long, TypedValue::Flag(true)));
            continue;
        }
        let joined = &letters[at + 1..];
        let value = if joined.is_empty() {
            let next = rest.next().cloned();
            next.ok_or_else(|| format!("option -{letter} requires argument"))?
        } else {
            joined.to_vec()
        };
        matches.given.push((flag.long, TypedValue::Value(value)));
        break;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Flag] = &[
        Flag::flag('A', "all", ""),
        Flag::flag('n', "no-status", ""),
        Flag::flag('S', "subrepos", ""),
        Flag::long_value("rev", "REV", ""),
        Flag::list('I', "include", "PATTERN", ""),
        Flag::long_flag("removed", ""),
    ];

    fn parsed(words: &[&str]) -> Result<Matches, String> {
        let words: Vec<_> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        parse(&[TABLE], &words, Order::Anywhere)
    }

    #[test]
    fn options_stand_anywhere_and_may_be_cut_joined_and_taken_back() {
        let matches = parsed(&["a", "-An", "--inc=x", "b", "-Iy", "-I", "z", "--", "-A"]).unwrap();
        assert!(matches.flag("all") && matches.flag("no-status"));
        assert_eq!(matches.list("include"), [b"x", b"y", b"z"]);
        assert_eq!(matches.arguments(), [b"a".as_slice(), b"b", b"-A"]);
        let matches = parsed(&["-A", "--no-all", "--stat", "--rev", "1", "--rev=2"]).unwrap();
        assert_eq!(matches.switch("all"), Some(false));
        assert_eq!(matches.switch("no-status"), Some(false));
        assert_eq!(matches.value("rev"), Some(&b"2"[..]));
        assert_eq!(matches.switch("subrepos"), None);
    }

    #[test]
    fn the_exact_words_for_what_is_wrong() {
        for (words, expected) in [
            (&["--bogus=3"][..], "option --bogus not recognized"),
            (&["-Az"], "option -z not recognized"),
            (&["--re"], "option --re not a unique prefix"),
            (&["--no-s"], "option --no-s not a unique prefix"),
            (&["--rev"], "option --rev requires argument"),
            (&["-I"], "option -I requires argument"),
            (&["--al=x"], "option --all must not have an argument"),
        ] {
            assert_eq!(parsed(words).unwrap_err(), expected);
        }
    }
}
