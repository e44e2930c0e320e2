//! The rules of one section for one user.

use super::words::{AccessEvent, AccessRefusal};
use std::path::Path;
use varve_config::hgrc::Hgrc;
use varve_lang::patterns::{MatchRequest, Matcher, NameCheck};

/// Gives the members of a group.
pub(super) type Members<'a> = dyn Fn(&[u8]) -> Result<Vec<Vec<u8>>, AccessRefusal> + 'a;

/// A user or a group in the value of a rule.
#[derive(Debug, PartialEq, Eq)]
struct Principal<'a> {
    is_inverted: bool,
    is_group: bool,
    name: &'a [u8],
}

impl<'a> Principal<'a> {
    fn parse(word: &'a [u8]) -> Principal<'a> {
        let (is_inverted, word) = strip(word, b'!');
        let (is_group, name) = strip(word, b'@');
        Principal {
            is_inverted,
            is_group,
            name,
        }
    }

    fn includes(&self, user: &[u8], members: &Members<'_>) -> Result<bool, AccessRefusal> {
        let is_named = match self.is_group {
            true => members(self.name)?.iter().any(|member| member == user),
            false => self.name == user,
        };
        Ok(is_named != self.is_inverted)
    }
}

fn strip(word: &[u8], prefix: u8) -> (bool, &[u8]) {
    match word.split_first() {
        Some((first, rest)) if *first == prefix => (true, rest),
        _ => (false, word),
    }
}

/// Returns whether a rule whose value is `users` is about `user`. Groups behind the first match are not looked up.
fn is_about(users: &[u8], user: &[u8], members: &Members<'_>) -> Result<bool, AccessRefusal> {
    if users == b"*" {
        return Ok(true);
    }
    let words = users.split(|byte| *byte == b',' || byte.is_ascii_whitespace() || *byte == 0x0b);
    for word in words.filter(|word| !word.is_empty()) {
        if Principal::parse(word).includes(user, members)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The keys of a section whose users include one; `None` if there is no such section.
pub(super) fn keys_for_user(
    config: &Hgrc,
    section: &'static str,
    user: &[u8],
    (members, report): (&Members<'_>, &dyn Fn(AccessEvent<'_>)),
) -> Result<Option<Vec<Vec<u8>>>, AccessRefusal> {
    if !config.has_section(section) {
        report(AccessEvent::NotEnabled { section });
        return Ok(None);
    }
    let mut keys = Vec::new();
    for item in config.section(section) {
        if is_about(&item.value, user, members)? {
            keys.push(item.key.clone());
        }
    }
    let entries = keys.len();
    report(AccessEvent::Enabled {
        section,
        entries,
        user,
    });
    Ok(Some(keys))
}

/// Selects branches or bookmarks by name; the key `*` selects all.
pub(super) fn selects_name(keys: &[Vec<u8>], name: &[u8]) -> bool {
    keys.iter().any(|key| key == b"*" || key == name)
}

/// Selects files by patterns, globs from the root on unless they name another kind.
#[derive(Debug)]
pub(super) struct FileRules(Option<Matcher>);

impl FileRules {
    pub(super) fn compile(root: &Path, keys: &[Vec<u8>]) -> Result<FileRules, AccessRefusal> {
        if keys.is_empty() {
            return Ok(FileRules(None));
        }
        let request = MatchRequest::of_setting(root, keys);
        let matcher = Matcher::new(&request, &NameCheck).map_err(AccessRefusal::Pattern)?;
        Ok(FileRules(Some(matcher)))
    }

    pub(super) fn selects(&self, file: &[u8]) -> bool {
        let Some(matcher) = &self.0 else {
            return false;
        };
        matcher.matches(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_fred(users: &str) -> Option<bool> {
        let members = |group: &[u8]| match group {
            b"staff" => Ok(vec![b"betty".to_vec(), b"fred".to_vec()]),
            b"empty" => Ok(Vec::new()),
            _ => Err(AccessRefusal::UndefinedGroup(group.to_vec())),
        };
        is_about(users.as_bytes(), b"fred", &members).ok()
    }

    #[test]
    fn users_are_names_groups_and_their_opposites() {
        for users in [
            "*",
            "fred",
            "a,fred",
            "a\n fred",
            "@staff",
            "!betty",
            "!@empty",
            "betty !joe",
            "fred @nosuch",
        ] {
            assert_eq!(is_fred(users), Some(true), "{users}");
        }
        for users in [
            "",
            "Fred",
            "fre",
            "* *",
            "*,",
            "!fred",
            "@empty",
            "!@staff",
            "@fred",
            "fred@staff",
            "betty,@empty",
            "!",
            "@!staff",
        ] {
            // `!` alone is everybody with a name; `@!staff` is a group of that name.
            let expected = match users {
                "!" => Some(true),
                "@fred" | "@!staff" => None,
                _ => Some(false),
            };
            assert_eq!(is_fred(users), expected, "{users}");
        }
        assert_eq!(is_fred("@nosuch, fred"), None);
    }

    #[test]
    fn files_are_selected_from_the_root() {
        let keys = |keys: &[&str]| -> Vec<Vec<u8>> {
            keys.iter().map(|key| key.as_bytes().to_vec()).collect()
        };
        let rules = |patterns: &[&str]| FileRules::compile(Path::new("/r"), &keys(patterns));
        let some = rules(&["docs/**", "re:.*\\.py$", "path:src", "top"]).unwrap();
        for file in ["docs/a/b", "x/y.py", "src/deep/c", "top"] {
            assert!(some.selects(file.as_bytes()), "{file}");
        }
        for file in ["doc", "a/docs/b", "x.pyc", "top/below", "a/top"] {
            assert!(!some.selects(file.as_bytes()), "{file}");
        }
        assert!(!rules(&[]).unwrap().selects(b"a"));
        assert!(rules(&["set:added()"]).is_err() && rules(&["re:["]).is_err());
        assert!(selects_name(&keys(&["a", "*"]), b"b") && !selects_name(&keys(&["a"]), b"b"));
    }
}
