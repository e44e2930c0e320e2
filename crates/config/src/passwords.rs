//! `[chttpd_auth]`: which passwords users may have, and how they are stored.

use crate::setting::or;
use crate::{ConfigError, Ini, Setting};

/// The parts of `[chttpd_auth]` about passwords, but for `iterations` and `pbkdf2_prf`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passwords {
    /// `password_scheme` of new passwords of users; default `pbkdf2`.
    pub scheme: PasswordScheme,
    /// `min_iterations`: logins against a key of fewer rounds are refused; default 1.
    pub min_iterations: u32,
    /// `max_iterations`: logins against a key of more rounds are refused; default 10,000,000.
    pub max_iterations: u32,
    /// `upgrade_hash_on_auth`: whether a login stores the password as it would be stored now; default true.
    pub upgrade: bool,
    /// `password_regexp`: what a new password of a user must match.
    pub rules: Vec<PasswordRule>,
    /// The setting that has the rules.
    pub rules_setting: Option<Setting>,
}

/// `password_scheme`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasswordScheme {
    /// A key derived in many rounds.
    Pbkdf2,
    /// SHA-1 of password and salt: for programs that know nothing else.
    Simple,
}

/// One pattern of `password_regexp`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasswordRule {
    /// A regular expression, not compiled yet.
    pub pattern: String,
    /// The reason in the refusal of a password that does not match; may be empty.
    pub reason: String,
}

/// The most rounds that are ever waited for.
const MOST_ITERATIONS: i64 = 10_000_000;

/// # Errors
/// The first value that is not of its type.
pub(crate) fn read(ini: &Ini) -> Result<Passwords, ConfigError> {
    let auth = |key| {
        let newer = ini.get("chttpd_auth", key);
        newer.or_else(|| ini.get("couch_httpd_auth", key))
    };
    // CouchDB's own default of the upper bound is a hundred times what this server waits for.
    let rounds = |setting: &Setting| {
        let number = setting.number(1..=1_000_000_000)?;
        Ok(u32::try_from(number.min(MOST_ITERATIONS)).unwrap_or(u32::MAX))
    };
    let rules = auth("password_regexp");
    Ok(Passwords {
        scheme: or(auth("password_scheme"), scheme, PasswordScheme::Pbkdf2)?,
        min_iterations: or(auth("min_iterations"), rounds, 1)?,
        max_iterations: or(auth("max_iterations"), rounds, 10_000_000)?,
        upgrade: or(auth("upgrade_hash_on_auth"), Setting::boolean, true)?,
        rules: or(rules, read_rules, Vec::new())?,
        rules_setting: rules.cloned(),
    })
}

fn scheme(setting: &Setting) -> Result<PasswordScheme, ConfigError> {
    match setting.value.as_str() {
        "pbkdf2" => Ok(PasswordScheme::Pbkdf2),
        "simple" => Ok(PasswordScheme::Simple),
        _ => Err(setting.refuse("pbkdf2 or simple")),
    }
}

/// `["PATTERN", {"PATTERN", "reason"}]`, in Erlang's spelling of texts.
fn read_rules(setting: &Setting) -> Result<Vec<PasswordRule>, ConfigError> {
    const EXPECTED: &str = "a list such as [{\".{10,}\", \"At least 10 letters.\"}, \"[0-9]\"]";
    rules(&setting.value).ok_or_else(|| setting.refuse(EXPECTED))
}

fn rules(text: &str) -> Option<Vec<PasswordRule>> {
    let mut rest = text.trim().strip_prefix('[')?.strip_suffix(']')?.trim();
    let mut rules = Vec::new();
    while !rest.is_empty() {
        let mut reason = String::new();
        let pattern;
        if let Some(tuple) = rest.strip_prefix('{') {
            (pattern, rest) = quoted(tuple)?;
            if let Some(second) = rest.strip_prefix(',') {
                (reason, rest) = quoted(second)?;
            }
            rest = rest.strip_prefix('}')?.trim_start();
        } else {
            (pattern, rest) = quoted(rest)?;
        }
        rules.push(PasswordRule { pattern, reason });
        rest = match rest.strip_prefix(',') {
            Some(more) if !more.trim().is_empty() => more.trim_start(),
            None if rest.is_empty() => rest,
            _ => return None,
        };
    }
    Some(rules)
}

/// A text between quotes, where a backslash stands before a quote or another one, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start().strip_prefix('"')?;
    let mut read = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((read, text[at + 1..].trim_start())),
            '\\' => read.push(letters.next()?.1),
            _ => read.push(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn passwords(text: &str) -> Result<Passwords, String> {
        let ini = Ini::parse(Path::new("varve.ini"), &format!("[chttpd_auth]\n{text}")).unwrap();
        read(&ini).map_err(|error| error.to_string())
    }

    #[test]
    fn rules_are_read_as_couchdb_writes_them() {
        let rules = |text: &str| passwords(&format!("password_regexp = {text}"));
        let read = rules(r#"[{".{10,}", "Min \"10\"."}, "[A-Z]+", {"a}]"}, "\\d+"]"#).unwrap();
        let read: Vec<_> = read
            .rules
            .iter()
            .map(|rule| (rule.pattern.as_str(), rule.reason.as_str()))
            .collect();
        let expected = [
            (".{10,}", "Min \"10\"."),
            ("[A-Z]+", ""),
            ("a}]", ""),
            ("\\d+", ""),
        ];
        assert_eq!(read, expected);
        assert!(rules("[]").unwrap().rules.is_empty());
        for wrong in [
            "x",
            "[",
            "[x]",
            "[\"a\"",
            "[\"a]",
            "[\"a\" \"b\"]",
            "[\"a\",]",
            "[{\"a\"]",
            "[{1,2}]",
        ] {
            let told = rules(wrong).unwrap_err();
            assert!(told.contains("must be a list such as"), "{told}");
        }
    }

    #[test]
    fn rounds_have_bounds() {
        let read = passwords("min_iterations = 100\nmax_iterations = 1000000000").unwrap();
        assert_eq!(
            (read.min_iterations, read.max_iterations),
            (100, 10_000_000)
        );
        assert!(read.upgrade && read.scheme == PasswordScheme::Pbkdf2);
        assert!(passwords("password_scheme = bcrypt").is_err());
        assert!(passwords("min_iterations = 0").is_err());
    }
}
