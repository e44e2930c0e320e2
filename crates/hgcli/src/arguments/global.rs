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
    /// Looks through all arguments, also those of a command that is not known yet; only whole
    /// names count.
    pub fn scan(arguments: &[Vec<u8>]) -> EarlyOptions {
        let mut early = EarlyOptions::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            if argument == b"--" {
                break;
            }
            for name in [
                &b"--config-file"[..],
                b"--config",
                b"--cwd",
                b"--repository",
                b"--repo",
                b"-R",
            ] {
                let Some(behind) = argument.strip_prefix(name) else {
                    continue;
                };
                let value = match behind {
                    [] => rest.next().cloned(),
                    [b'=', value @ ..] if name != b"-R" => Some(value.to_vec()),
                    value if name == b"-R" => Some(value.to_vec()),
                    _ => None,
                };
                let Some(value) = value else { continue };
                match name {
                    b"--config" => early.config.push(value),
                    b"--config-file" => early.files.push(value),
                    b"--cwd" => early.cwd = Some(value),
                    _ => early.repository = Some(value),
                }
                break;
            }
        }
        early
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
