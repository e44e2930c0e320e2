//! Programs that show differences: `-p`, `[extdiff]`, `[diff-tools]` and `[merge-tools]`.

use crate::arguments::{Flag, Matches};
use crate::commands::extension_value;
use crate::context::Config;
use crate::ui::Abort;
use varve_config::hgrc::{Hgrc, SettingSource};
use varve_workdir::quote_for_shell;

/// The section that makes commands of programs.
const SECTION: &str = "extdiff";
/// Sections that describe programs, the first of which counts before the other.
const DESCRIPTIONS: [&str; 2] = ["diff-tools", "merge-tools"];

/// Set by the commands that `[extdiff]` makes: the name in it.
pub(super) const NAMED: Flag =
    Flag::long_value("tool", "NAME", "the program of this name in [extdiff]");

/// A program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DiffTool {
    /// A line for the shell, with variables.
    pub line: Vec<u8>,
    /// The program has windows of its own, of which several may be open.
    pub has_windows: bool,
}

impl DiffTool {
    pub(super) fn of_call(config: &Config, matches: &Matches) -> Result<DiffTool, Abort> {
        let options: Vec<Vec<u8>> = matches
            .list("option")
            .iter()
            .map(|one| quote_for_shell(one))
            .collect();
        if let Some(name) = matches.value("tool") {
            let mut tool = DiffTool::named(config, &String::from_utf8_lossy(name))?;
            for option in options {
                tool.line.push(b' ');
                tool.line.extend(option);
            }
            return Ok(tool);
        }
        let program = matches
            .value("program")
            .filter(|program| !program.is_empty());
        let usual: &[Vec<u8>] = &[b"-Npru".to_vec()];
        let options = match (program, options.is_empty()) {
            (None, true) => usual,
            _ => &options,
        };
        let program = quote_for_shell(program.unwrap_or(b"diff"));
        Ok(DiffTool {
            line: [&[program], options].concat().join(&b' '),
            has_windows: false,
        })
    }

    /// The program that a key of `[extdiff]` is about.
    fn named(config: &Config, name: &str) -> Result<DiffTool, Abort> {
        let program = || {
            let program = described(config, name, "executable");
            quote_for_shell(&program.unwrap_or_else(|| name.as_bytes().to_vec()))
        };
        if let Some(path) = config.get(SECTION, &format!("cmd.{name}")) {
            let program = if path.is_empty() {
                program()
            } else {
                quote_for_shell(path)
            };
            let options = config.get(SECTION, &format!("opts.{name}"));
            let options = options
                .filter(|options| !options.is_empty())
                .map(<[u8]>::to_vec);
            let options = options.or_else(|| described(config, name, "diffargs"));
            return with_options(config, name, program, options.as_deref());
        }
        let line = config.get(SECTION, name).unwrap_or_default();
        match line.is_empty() {
            false => {
                let has_options = line.trim_ascii().contains(&b' ');
                let described = described(config, name, "diffargs").filter(|_| !has_options);
                with_options(config, name, line.to_vec(), described.as_deref())
            }
            true => {
                let options = described(config, name, "diffargs");
                with_options(config, name, program(), options.as_deref())
            }
        }
    }
}

fn with_options(
    config: &Config,
    name: &str,
    mut line: Vec<u8>,
    options: Option<&[u8]>,
) -> Result<DiffTool, Abort> {
    if let Some(options) = options {
        line.push(b' ');
        line.extend_from_slice(options);
    }
    let mut has_windows = config.boolean(SECTION, &format!("gui.{name}"), false)?;
    for section in DESCRIPTIONS {
        has_windows |= config.boolean(section, &format!("{name}.gui"), false)?;
    }
    Ok(DiffTool { line, has_windows })
}

/// A property of a program, from the first section that has it.
fn described(config: &Hgrc, name: &str, property: &str) -> Option<Vec<u8>> {
    let key = format!("{name}.{property}");
    let mut found = DESCRIPTIONS
        .iter()
        .filter_map(|section| config.get(section, &key));
    found.find(|value| !value.is_empty()).map(<[u8]>::to_vec)
}

/// The configuration with an alias for each program that `[extdiff]` names, if the extension is on.
pub(crate) fn with_tool_aliases(config: &Hgrc) -> Option<Hgrc> {
    if extension_value(config, SECTION).is_none_or(|value| !value.is_empty()) {
        return None;
    }
    let mut names: Vec<Vec<u8>> = Vec::new();
    for item in config.section(SECTION) {
        let name = match item.key.strip_prefix(b"cmd.") {
            Some(name) => name,
            None if item.key.starts_with(b"opts.") || item.key.starts_with(b"gui.") => continue,
            None => &item.key,
        };
        let is_alias = config
            .section("alias")
            .iter()
            .any(|alias| alias.key == name);
        if !is_alias && !name.is_empty() && !name.contains(&b':') {
            names.push(name.to_vec());
        }
    }
    if names.is_empty() {
        return None;
    }
    let mut config = config.clone();
    for name in names {
        let line = [b"extdiff --tool ", &quote_for_shell(&name)[..]].concat();
        let source = SettingSource::Named("extdiff".to_owned());
        config.set(b"alias", &name, &line, source);
    }
    Some(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(settings: &[(&str, &str, &str)]) -> Hgrc {
        let mut config = Hgrc::default();
        for (section, key, value) in settings {
            let source = SettingSource::Named("test".to_owned());
            config.set(section.as_bytes(), key.as_bytes(), value.as_bytes(), source);
        }
        config
    }

    #[test]
    fn each_program_of_the_section_is_a_command() {
        let settings = [
            ("extdiff", "cmd.old", "prog"),
            ("extdiff", "opts.old", "-a"),
            ("extdiff", "meld", ""),
            ("extdiff", "mine", "x"),
            ("alias", "mine", "diff"),
        ];
        assert!(with_tool_aliases(&config(&settings)).is_none());
        let on = [&settings[..], &[("extensions", "extdiff", "")]].concat();
        let made = with_tool_aliases(&config(&on)).unwrap();
        let of = |name| made.get("alias", name);
        assert_eq!(of("old"), Some(&b"extdiff --tool old"[..]));
        assert_eq!(of("meld"), Some(&b"extdiff --tool meld"[..]));
        assert_eq!(of("mine"), Some(&b"diff"[..]));
        assert_eq!(of("opts.old"), None);
    }
}
