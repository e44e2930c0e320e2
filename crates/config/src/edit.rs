//! Changing single values of a file and leaving the rest as its owner wrote it.

use crate::ini::Line;

/// The text with `key` of `section` set to `value`: in place where it was set last, else at the
/// end of the section, else in a new section at the end. Comments and order stay.
pub fn set(text: &str, section: &str, key: &str, value: &str) -> String {
    let place = find(text, section, key);
    let mut out = String::with_capacity(text.len() + key.len() + value.len() + 8);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let line = format!("{key} = {value}\n");
    match place {
        SettingPosition::Value { first, behind } => {
            out.extend(lines[..first].iter().copied());
            out.push_str(&line);
            out.extend(lines[behind..].iter().copied());
        }
        SettingPosition::SectionEnd(at) => {
            out.extend(lines[..at].iter().copied());
            end_line(&mut out);
            out.push_str(&line);
            out.extend(lines[at..].iter().copied());
        }
        SettingPosition::Nowhere => {
            out.push_str(text);
            end_line(&mut out);
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(&format!("[{section}]\n{line}"));
        }
    }
    out
}

/// The text without any line that sets `key` of `section`. Comments and order stay, also a section that is empty then.
pub fn remove(text: &str, section: &str, key: &str) -> String {
    let mut text = text.to_owned();
    // Each round takes a line away.
    while let SettingPosition::Value { first, behind } = find(&text, section, key) {
        let lines = text.split_inclusive('\n').enumerate();
        let kept = lines.filter(|(index, _)| !(first..behind).contains(index));
        text = kept.map(|(_, line)| line).collect();
    }
    text
}

/// Where a setting stands or belongs, in line indexes from 0 on.
enum SettingPosition {
    /// From `first` up to `behind`, with all continuations.
    Value { first: usize, behind: usize },
    /// Behind the last setting of the section.
    SectionEnd(usize),
    /// There is no such section.
    Nowhere,
}

fn find(text: &str, section: &str, key: &str) -> SettingPosition {
    let mut value = None;
    let mut section_end = None;
    let mut here = false;
    let mut inside = false;
    let mut ours = false;
    for (index, raw) in text.lines().enumerate() {
        match Line::of(raw, inside) {
            Line::Section(name) => {
                here = name == section;
                (inside, ours) = (false, false);
                if here {
                    section_end = Some(index + 1);
                }
            }
            Line::Pair { key: found, .. } => {
                inside = true;
                ours = here && found == key;
                if ours {
                    value = Some((index, index + 1));
                }
                if here {
                    section_end = Some(index + 1);
                }
            }
            Line::Continued(_) => {
                if let (true, Some((_, behind))) = (ours, value.as_mut()) {
                    *behind = index + 1;
                }
                if here {
                    section_end = Some(index + 1);
                }
            }
            Line::Blank | Line::Malformed => {}
        }
    }
    match (value, section_end) {
        (Some((first, behind)), _) => SettingPosition::Value { first, behind },
        (None, Some(at)) => SettingPosition::SectionEnd(at),
        (None, None) => SettingPosition::Nowhere,
    }
}

fn end_line(out: &mut String) {
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ini;
    use proptest::prelude::*;
    use std::path::Path;

    #[test]
    fn a_value_changes_and_the_rest_stays() {
        let text =
            "; mine\n[admins]\n# ann\nann = plain\n  more\nbob = b ; old\n\n[chttpd]\nport=1";
        assert_eq!(
            set(text, "admins", "ann", "-pbkdf2-x"),
            "; mine\n[admins]\n# ann\nann = -pbkdf2-x\nbob = b ; old\n\n[chttpd]\nport=1"
        );
        assert_eq!(
            set(text, "admins", "eve", "e"),
            "; mine\n[admins]\n# ann\nann = plain\n  more\nbob = b ; old\neve = e\n\n[chttpd]\nport=1"
        );
        assert!(set(text, "chttpd", "x", "y").ends_with("port=1\nx = y\n"));
        assert!(set(text, "new", "x", "y").ends_with("port=1\n\n[new]\nx = y\n"));
        assert_eq!(set("", "new", "x", "y"), "[new]\nx = y\n");
    }

    #[test]
    fn a_value_goes_with_all_that_set_it_and_comments_stay() {
        let text = "; mine\n[admins]\n# ann\nann = plain\n  more\nbob = b\n[chttpd]\nport=1\n[admins]\nann = x";
        assert_eq!(
            remove(text, "admins", "ann"),
            "; mine\n[admins]\n# ann\nbob = b\n[chttpd]\nport=1\n[admins]\n"
        );
        assert_eq!(remove(text, "chttpd", "ann"), text);
    }

    proptest! {
        #[test]
        fn what_is_set_is_read_back_and_others_keep_their_values(
            lines in proptest::collection::vec("(\\[[ab]\\]|[xyz] ?= ?[a-c;]{0,3}|  [a-c]{1,3}|;.{0,4})", 0..12),
            section in "[ab]", key in "[xyz]",
        ) {
            let text = format!("[a]\n{}\n", lines.join("\n"));
            let file = Path::new("p.ini");
            if let Ok(before) = Ini::parse(file, &text) {
                let after = Ini::parse(file, &set(&text, &section, &key, "new")).unwrap();
                prop_assert_eq!(&after.get(&section, &key).unwrap().value, "new");
                for old in before.settings().filter(|s| s.section != section || s.key != key) {
                    let was = before.get(&old.section, &old.key).map(|s| &s.value);
                    let is = after.get(&old.section, &old.key).map(|s| &s.value);
                    prop_assert_eq!(was, is);
                }
                let without = Ini::parse(file, &remove(&text, &section, &key)).unwrap();
                prop_assert!(without.get(&section, &key).is_none());
                for old in before.settings().filter(|s| s.section != section || s.key != key) {
                    let was = before.get(&old.section, &old.key).map(|s| &s.value);
                    let is = without.get(&old.section, &old.key).map(|s| &s.value);
                    prop_assert_eq!(was, is);
                }
            }
        }
    }
}
