//! From the first word to a command: exact names, unambiguous beginnings, `[alias]`, `[defaults]`.

use super::{FAILED_SHELL, extensions};
use crate::commands::OF_MERCURIAL;
use crate::context::{Command, CommandTable};
use crate::ui::{Abort, Streams};
use std::collections::BTreeMap;
use varve_config::hgrc::{ConfigItem, Hgrc};
use varve_lang::did_you_mean;

/// Options that count before the configuration is read, so that none can be in it.
const ONLY_TYPED: &[&str] = &["--config", "--cwd", "--repository", "--repo", "-R"];

/// Command or shell line to be run.
#[derive(Debug)]
pub(crate) enum ResolvedCommand {
    /// A command with its arguments, and its name or that of the alias which leads to it.
    Command(&'static Command, String, Vec<Vec<u8>>),
    /// A line for the shell, as a `!` alias gives it.
    Shell {
        /// The line.
        script: Vec<u8>,
        /// The alias, which is `$0`, and its arguments.
        words: Vec<Vec<u8>>,
    },
}

/// Meaning of a command word.
#[derive(Clone, Copy)]
enum Meaning {
    Command(&'static Command),
    /// Of Mercurial, and not here: its name keeps abbreviations from meaning something else.
    Absent,
    /// By its place among the aliases.
    Alias(usize),
}

/// Finds the command or shell line of `name` with `arguments`.
///
/// # Errors
/// Unknown and ambiguous names; aliases that lead nowhere.
pub(crate) fn resolve(
    name: &[u8],
    arguments: &[Vec<u8>],
    config: &Hgrc,
    commands: &CommandTable,
) -> Result<ResolvedCommand, Abort> {
    let mut name = String::from_utf8_lossy(name).into_owned();
    let mut arguments = arguments.to_vec();
    let mut through: Option<String> = None;
    let mut outermost: Option<String> = None;
    // An alias may use those that are defined before it, so this comes to an end.
    let mut aliases = config.section("alias");
    loop {
        let (full, meaning) = find(&name, (aliases, config), through.as_deref(), commands)?;
        match meaning {
            Meaning::Command(command) => {
                // An alias has defaults of its own, and not its command's.
                let name = outermost.unwrap_or_else(|| command.name().to_owned());
                let mut all = defaults(&name, config)?;
                all.append(&mut arguments);
                return Ok(ResolvedCommand::Command(command, name, all));
            }
            Meaning::Absent if through.is_none() && !commands.groups().is_empty() => {
                return Err(Abort::AbsentCommand { name: full });
            }
            Meaning::Absent => {
                return Err(unknown(&name, aliases, through.as_deref(), commands));
            }
            Meaning::Alias(at) => {
                let definition = aliases[at].value.as_slice();
                if let Some(script) = definition.strip_prefix(b"!") {
                    let mut words = vec![full.into_bytes()];
                    words.append(&mut arguments);
                    let script = script.trim_ascii().to_vec();
                    return Ok(ResolvedCommand::Shell { script, words });
                }
                (name, arguments) = expand(&full, definition, arguments)?;
                aliases = &aliases[..at];
                outermost.get_or_insert_with(|| full.clone());
                through = Some(full);
            }
        }
    }
}

fn find(
    name: &str,
    (aliases, config): (&[ConfigItem], &Hgrc),
    through: Option<&str>,
    commands: &CommandTable,
) -> Result<(String, Meaning), Abort> {
    let mut found: BTreeMap<String, Meaning> = BTreeMap::new();
    for names in OF_MERCURIAL {
        let names: Vec<&str> = names.split(' ').collect();
        if let Some(full) = matching(&names, name) {
            found.insert(full.to_owned(), Meaning::Absent);
        }
    }
    for command in commands.iter() {
        if let Some(full) = matching(command.names, name) {
            found.insert(full.to_owned(), Meaning::Command(command));
        }
    }
    for (at, item) in aliases.iter().enumerate() {
        // `name:doc` and the like describe an alias.
        let key = String::from_utf8_lossy(&item.key);
        if key.starts_with(name) && !key.contains(':') {
            found.insert(key.into_owned(), Meaning::Alias(at));
        }
    }
    if let Some(meaning) = found.get(name) {
        return Ok((name.to_owned(), *meaning));
    }
    // Beginnings mean a debugging command only where nothing else has them.
    if found.keys().any(|full| !full.starts_with("debug")) {
        found.retain(|full, _| !full.starts_with("debug"));
    }
    // Nor does one mean a command of this program alone where Mercurial has another.
    if found.keys().any(|full| !commands.is_own(full)) {
        found.retain(|full, _| !commands.is_own(full));
    }
    if found.len() > 1 {
        let candidates = found.into_keys().collect();
        return Err(match through {
            Some(alias) => Abort::Definition(format!(
                "alias '{alias}' resolves to ambiguous command '{name}'"
            )),
            None => Abort::AmbiguousCommand {
                name: name.to_owned(),
                candidates,
            },
        });
    }
    let off = || extensions::switched_off(name, config).filter(|_| through.is_none());
    found.pop_first().ok_or_else(|| match off() {
        Some(of) => Abort::OfExtension {
            name: name.to_owned(),
            extension: of.extensions[0],
            description: of.description,
        },
        None => unknown(name, aliases, through, commands),
    })
}

/// Which of a command's names is meant: the same one, or the first that begins so.
fn matching<'a>(names: &[&'a str], typed: &str) -> Option<&'a str> {
    let mut same = names.iter().copied().filter(|full| *full == typed);
    let mut begun = names.iter().copied().filter(|full| full.starts_with(typed));
    same.next().or_else(|| begun.next())
}

fn unknown(
    name: &str,
    aliases: &[ConfigItem],
    through: Option<&str>,
    commands: &CommandTable,
) -> Abort {
    let keys: Vec<_> = aliases
        .iter()
        .map(|item| String::from_utf8_lossy(&item.key))
        .collect();
    let names = commands.iter().flat_map(|command| command.names).copied();
    let similar = || did_you_mean(name, names.chain(keys.iter().map(|key| &**key)));
    match through {
        Some(alias) => Abort::Definition(format!(
            "alias '{alias}' resolves to unknown command '{name}'"
        )),
        None => Abort::UnknownCommand {
            name: name.to_owned(),
            similar: similar(),
        },
    }
}

/// Options that `[defaults]` adds before those of the user, for a command or an alias.
fn defaults(name: &str, config: &Hgrc) -> Result<Vec<Vec<u8>>, Abort> {
    match config.get("defaults", name) {
        Some(words) => split(words).ok_or_else(|| Abort::input("No closing quotation")),
        None => Ok(Vec::new()),
    }
}

/// The words of an alias with its arguments in their places, the first one apart.
fn expand(
    alias: &str,
    definition: &[u8],
    arguments: Vec<Vec<u8>>,
) -> Result<(String, Vec<Vec<u8>>), Abort> {
    let mut used = 0;
    let mut words = Vec::new();
    let wrong =
        |what: &str| Abort::Definition(format!("error in definition for alias '{alias}': {what}"));
    let split = split(definition).ok_or_else(|| wrong("No closing quotation"))?;
    for word in split {
        for global in ONLY_TYPED {
            if word.starts_with(global.as_bytes()) {
                return Err(wrong(&format!(
                    "{global} may only be given on the command line"
                )));
            }
        }
        if word == b"$@" {
            words.extend(arguments.iter().cloned());
            used = arguments.len();
            continue;
        }
        words.push(with_arguments(&word, &arguments, &mut used)?);
    }
    words.extend(arguments.into_iter().skip(used));
    let mut words = words.into_iter();
    let first = words
        .next()
        .ok_or_else(|| Abort::Definition(format!("no definition for alias '{alias}'")))?;
    Ok((
        String::from_utf8_lossy(&first).into_owned(),
        words.collect(),
    ))
}

/// Replaces `$1`, `$2` …; `used` becomes the highest number there is.
fn with_arguments(word: &[u8], arguments: &[Vec<u8>], used: &mut usize) -> Result<Vec<u8>, Abort> {
    let mut out = Vec::new();
    let mut rest = word;
    while let Some(dollar) = rest.iter().position(|byte| *byte == b'$') {
        out.extend_from_slice(&rest[..dollar]);
        rest = &rest[dollar + 1..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = std::str::from_utf8(&rest[..digits]).ok();
        match number.and_then(|digits| digits.parse::<usize>().ok()) {
            Some(number) if number > 0 => {
                let few = || Abort::input("too few arguments for command alias");
                out.extend_from_slice(arguments.get(number - 1).ok_or_else(few)?);
                *used = number.max(*used);
                rest = &rest[digits..];
            }
            _ => out.push(b'$'),
        }
    }
    out.extend_from_slice(rest);
    Ok(out)
}

/// Words as a shell splits them: white space, `'`, `"` and `\`; `None` if quotes are not closed.
fn split(text: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote: Option<u8> = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (Some(open), _) if byte == open => quote = None,
            (None, b'\'' | b'"') => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (None | Some(b'"'), b'\\') => {
                let next = bytes.next().unwrap_or(b'\\');
                let word = word.get_or_insert_default();
                if quote.is_some() && !matches!(next, b'"' | b'\\') {
                    word.push(b'\\');
                }
                word.push(next);
            }
            (None, _) if byte.is_ascii_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// Runs the line of a `!` alias; `$0` is the alias, `$1` and on its arguments.
///
/// # Errors
/// If there is no shell.
pub(crate) fn run_shell(streams: &Streams, script: &[u8], words: &[Vec<u8>]) -> Result<u8, Abort> {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let mut command = std::process::Command::new("sh");
    command.arg("-c").arg(OsStr::from_bytes(script));
    command.args(words.iter().map(|word| OsStr::from_bytes(word)));
    command.env("HG_ARGS", OsStr::from_bytes(&words.join(&b' ')));
    crate::ui::environment::name_this_program(&mut command);
    let status = streams.run(&mut command)?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.unwrap_or(FAILED_SHELL))
}
