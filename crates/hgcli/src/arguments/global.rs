//! Options of every command, and those among them that count before the command is known.

use crate::arguments::flag::Flag;
use crate::arguments::options::Matches;
use crate::ui::Abort;

/// Options that every command takes.
pub const GLOBAL: &[Flag] = &[
    Flag::value('R', "repository", "REPO", "work on this repository"),
    Flag::long_value("cwd", "DIR", "work in this directory"),
    Flag::flag(
        'y',
        "noninteractive",
        "ask nothing, take the first answer of every question",
    ),
    Flag::flag('q', "quiet", "print less"),
    Flag::flag('v', "verbose", "print more"),
    Flag::long_value(
        "color",
        "TYPE",
        "when to colour the output; always never auto debug",
    ),
    Flag::long_list(
        "config",
        "CONFIG",
        "set a configuration value, as section.name=value",
    ),
    Flag::long_list(
        "config-file",
        "HGRC",
        "read a file of configuration that counts like --config",
    ),
    Flag::long_flag("debugger", "stop in a debugger (not supported)"),
    Flag::long_flag("profile", "print where the time goes (not supported)"),
    Flag::long_flag("debug", "print what helps to find a fault"),
    Flag::long_value("encoding", "ENCODE", "encoding of the terminal"),
    Flag::long_value(
        "encodingmode",
        "MODE",
        "what is done about text of another encoding",
    ),
    Flag::long_flag(
        "traceback",
        "print which command failed, and what kind of failure that is",
    ),
    Flag::long_flag("time", "print how long the command took"),
    Flag::long_flag("version", "print the version and end"),
    Flag::flag('h', "help", "print help and end"),
    Flag::long_flag("hidden", "look at hidden changesets too"),
    Flag::long_value(
        "pager",
        "TYPE",
        "when to page through the output; always never auto",
    ),
];

/// Places of a command line in which options count that are needed to read the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlyPlace {
    /// All places.
    Anywhere,
    /// Before all arguments that are no global options (`HGPLAIN=+strictflags`), so that values from elsewhere that stand
    /// behind are never taken for them.
    First,
}

/// Options needed to read the configuration, which may define the command.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct EarlyOptions {
    /// `--config`, in order.
    pub config: Vec<Vec<u8>>,
    /// `--config-file`, in order.
    pub files: Vec<Vec<u8>>,
    /// The last `--cwd`.
    pub cwd: Option<Vec<u8>>,
    /// The last `-R`.
    pub repository: Option<Vec<u8>>,
}

impl EarlyOptions {
    /// Looks through the arguments, also those of a command that is not known yet; only whole names count. With
    /// [`EarlyPlace::First`] the first argument that is no global option ends the search.
    pub fn scan(arguments: &[Vec<u8>], place: EarlyPlace) -> EarlyOptions {
        let mut early = EarlyOptions::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            if argument == b"--" {
                break;
            }
            let found = EarlyOptions::global_flag(argument);
            let (long, value) = match found {
                Some((flag, Some(value))) if flag.takes_value() => (flag.long, value.to_vec()),
                Some((flag, None)) if flag.takes_value() => match rest.next() {
                    Some(value) => (flag.long, value.clone()),
                    None => break,
                },
                Some((_, None)) => continue,
                Some((_, Some(_))) | None => match place {
                    EarlyPlace::Anywhere => continue,
                    EarlyPlace::First => break,
                },
            };
            match long {
                "config" => early.config.push(value),
                "config-file" => early.files.push(value),
                "cwd" => early.cwd = Some(value),
                "repository" => early.repository = Some(value),
                _ => {}
            }
        }
        early
    }

    /// The global option that an argument spells out, with the value that is part of the argument.
    fn global_flag(argument: &[u8]) -> Option<(&'static Flag, Option<&[u8]>)> {
        if let Some(text) = argument.strip_prefix(b"--") {
            let mut halves = text.splitn(2, |byte| *byte == b'=');
            let name = match halves.next()? {
                b"repo" => b"repository",
                name => name,
            };
            let flag = GLOBAL.iter().find(|flag| flag.long.as_bytes() == name)?;
            return Some((flag, halves.next()));
        }
        let [b'-', letter, value @ ..] = argument else {
            return None;
        };
        let letter = Some(char::from(*letter));
        let flag = GLOBAL.iter().find(|flag| flag.short == letter)?;
        Some((flag, (!value.is_empty()).then_some(value)))
    }

    /// Whether the real parse of the arguments has found the same.
    pub fn check(&self, matches: &Matches) -> Result<(), Abort> {
        if self
            .config
            .iter()
            .map(Vec::as_slice)
            .ne(matches.list("config"))
        {
            return Err(Abort::input("option --config may not be abbreviated"));
        }
        let files = self.files.iter().map(Vec::as_slice);
        if files.ne(matches.list("config-file")) {
            return Err(Abort::input("option --config-file may not be abbreviated"));
        }
        if self.cwd.as_deref() != matches.value("cwd") {
            return Err(Abort::input("option --cwd may not be abbreviated"));
        }
        if self.repository.as_deref() != matches.value("repository") {
            return Err(Abort::input(
                "option -R has to be separated from other options (e.g. not -qR) and \
                 --repository may only be abbreviated as --repo",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(words: &str, place: EarlyPlace) -> String {
        let words: Vec<Vec<u8>> = words.split(' ').map(|word| word.into()).collect();
        let early = EarlyOptions::scan(&words, place);
        let text = |value: Option<Vec<u8>>| String::from_utf8(value.unwrap_or_default()).unwrap();
        let config = text(Some(early.config.join(&b' ')));
        format!("{config}|{}|{}", text(early.cwd), text(early.repository))
    }

    #[test]
    fn early_options_count_anywhere_or_first() {
        for (words, anywhere, first) in [
            ("--cwd a -Rb x -q --config=c", "c|a|b", "|a|b"),
            (
                "-q --repo b --config c.d=e --cwd= x",
                "c.d=e||b",
                "c.d=e||b",
            ),
            ("x --cwd a", "|a|", "||"),
            ("--other --cwd=a -- -Rb", "|a|", "||"),
            ("--color --cwd=a --cwd b", "|b|", "|b|"),
            ("-qRb --cwd --", "|--|", "||"),
            ("--debug=x --cwd", "||", "||"),
            ("-R=b", "||=b", "||=b"),
        ] {
            assert_eq!(scanned(words, EarlyPlace::Anywhere), anywhere, "{words}");
            assert_eq!(scanned(words, EarlyPlace::First), first, "{words}");
        }
    }
}
