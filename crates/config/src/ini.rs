//! The INI form that Mercurial's `hgrc` and CouchDB's `local.ini` have in common.
//!
//! ```text
//! ; a comment, also # a comment
//! [section]
//! key = value        ; a comment behind white space and a semicolon
//! key2 = first line
//!   and a second     (an indented line continues the value above it)
//! ```
//!
//! A later setting replaces an earlier one of the same section and key. An empty value unsets it.

use crate::{ConfigError, Setting};
use std::path::Path;

/// One file's settings in the order in which they were written.
#[derive(Clone, Debug, Default)]
pub struct Ini {
    settings: Vec<Setting>,
}

/// Kind of one line of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// Empty, or only a comment.
    Blank,
    /// `[name]`.
    Section(&'a str),
    /// `key = value`.
    Pair { key: &'a str, value: &'a str },
    /// Indented text that continues the value above.
    Continued(&'a str),
    /// None of these.
    Malformed,
}

impl<'a> Line<'a> {
    /// Sorts one line; `inside` says whether a value stands above it that it may continue.
    pub(crate) fn of(line: &'a str, inside: bool) -> Line<'a> {
        let line = line.trim_start_matches('\u{feff}');
        let text = line.trim();
        if text.is_empty() || text.starts_with([';', '#']) {
            return Line::Blank;
        }
        if inside && line.starts_with([' ', '\t']) {
            return Line::Continued(without_comment(text));
        }
        if let Some(rest) = text.strip_prefix('[') {
            return match rest.split_once(']') {
                Some((name, _)) if !name.trim().is_empty() => Line::Section(name.trim()),
                _ => Line::Malformed,
            };
        }
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => Line::Pair {
                key: key.trim(),
                value: without_comment(value.trim()),
            },
            _ => Line::Malformed,
        }
    }
}

/// Cuts `value ; comment`. A semicolon inside a word, as in many passwords, is no comment.
fn without_comment(value: &str) -> &str {
    if value.starts_with(';') {
        return "";
    }
    let cut = value
        .char_indices()
        .zip(value.chars().skip(1))
        .find(|((_, before), after)| before.is_whitespace() && *after == ';');
    match cut {
        Some(((at, _), _)) => value[..at].trim_end(),
        None => value,
    }
}

impl Ini {
    /// Reads a file's text; `file` is only for messages.
    ///
    /// # Errors
    /// [`ConfigError::Syntax`] for a line that is nothing known.
    pub fn parse(file: &Path, text: &str) -> Result<Ini, ConfigError> {
        let mut section: Option<&str> = None;
        let mut settings: Vec<Setting> = Vec::new();
        let mut inside = false;
        for (index, raw) in text.lines().enumerate() {
            let malformed = |expected| ConfigError::Syntax {
                file: file.to_owned(),
                line: index + 1,
                expected,
                found: raw.to_owned(),
            };
            match Line::of(raw, inside) {
                Line::Blank => continue,
                Line::Section(name) => {
                    section = Some(name);
                    inside = false;
                }
                Line::Pair { key, value } => {
                    let section = section.ok_or_else(|| malformed("a [section] first"))?;
                    settings.push(Setting {
                        file: file.to_owned(),
                        line: index + 1,
                        section: section.to_owned(),
                        key: key.to_owned(),
                        value: value.to_owned(),
                    });
                    inside = true;
                }
                Line::Continued(more) => {
                    if let Some(last) = settings.last_mut() {
                        last.value.push('\n');
                        last.value.push_str(more);
                    }
                }
                Line::Malformed => return Err(malformed("[section] or key = value")),
            }
        }
        Ok(Ini { settings })
    }

    /// The setting that counts: the last one of that name, unless it is empty.
    pub fn get(&self, section: &str, key: &str) -> Option<&Setting> {
        let mut written = self.settings.iter().rev();
        let last = written.find(|s| s.section == section && s.key == key)?;
        (!last.value.is_empty()).then_some(last)
    }

    /// Every setting that was written, in order, also replaced ones.
    pub fn settings(&self) -> impl Iterator<Item = &Setting> {
        self.settings.iter()
    }

    /// The settings of one section that count, in the order of their first appearance.
    pub fn section(&self, section: &str) -> Vec<&Setting> {
        let mut names: Vec<&str> = Vec::new();
        for setting in self.settings.iter().filter(|s| s.section == section) {
            if !names.contains(&setting.key.as_str()) {
                names.push(&setting.key);
            }
        }
        let counting = names.iter().filter_map(|key| self.get(section, key));
        counting.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Ini, String> {
        Ini::parse(Path::new("varve.ini"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn comments_continuations_and_replaced_values() {
        let text = "; first\n[chttpd]\nport = 5984 ; the port\n# hash\n\n[admins]\nann = se;cr=et\n\
                    [hooks]\nrun = one\n  two ; no\n\n\tthree\n[chttpd]\nport = 1\n[x]\ny =\n";
        let ini = parse(text).unwrap();
        let port = ini.get("chttpd", "port").unwrap();
        assert_eq!((port.value.as_str(), port.line), ("1", 14));
        assert_eq!(ini.get("admins", "ann").unwrap().value, "se;cr=et");
        assert_eq!(ini.get("hooks", "run").unwrap().value, "one\ntwo\nthree");
        assert_eq!(ini.get("x", "y"), None, "an empty value unsets");
        assert_eq!(ini.section("chttpd").len(), 1);
        assert_eq!(ini.settings().count(), 5);
    }

    #[test]
    fn the_exact_words_for_bad_lines() {
        let expected = "varve.ini:2: expected [section] or key = value, found \"port 5984\"";
        assert_eq!(parse("[chttpd]\nport 5984").unwrap_err(), expected);
        let expected = "varve.ini:1: expected a [section] first, found \"port = 1\"";
        assert_eq!(parse("port = 1").unwrap_err(), expected);
        assert!(parse("[chttpd").is_err());
        assert!(parse("[ ]").is_err());
        assert!(parse("[a]\n= 1").is_err());
        assert!(parse("\u{feff}[a]\r\nb = c\r\n").is_ok());
    }
}
