//! Lexical rules of a language, and the language of a file.

use super::tables::{LANGUAGES, NAMES};

/// A kind of quoted text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Quote {
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    /// A backslash takes its meaning from the character behind it.
    pub(super) escapes: bool,
    pub(super) spans_lines: bool,
    /// A single character, as the mark has other meanings, too.
    pub(super) is_character: bool,
}

/// A form of directives, attributes and decorators.
#[derive(Debug)]
pub(super) enum Meta {
    /// A sign and a word at the beginning of a line.
    Directive(char),
    /// A sign and a word anywhere.
    Decorator(char),
    /// All between two signs.
    Attribute(&'static str, &'static str),
    /// A line that begins with a sign.
    Line(char),
}

/// A language, as far as it is highlighted.
#[derive(Debug)]
pub(super) struct Language {
    /// Endings of names of files.
    pub(super) endings: &'static [&'static str],
    /// With a blank between two; in small letters if their case does not matter.
    pub(super) keywords: &'static str,
    pub(super) ignores_case: bool,
    pub(super) line_comments: &'static [&'static str],
    /// A comment's sign means something else directly behind another character.
    pub(super) comments_follow_blanks: bool,
    pub(super) block_comments: &'static [(&'static str, &'static str)],
    pub(super) nests_comments: bool,
    /// Longer marks before their beginnings.
    pub(super) quotes: &'static [Quote],
    pub(super) meta: &'static [Meta],
    /// Characters of words beside letters, digits and `_`.
    pub(super) word_characters: &'static str,
    /// Texts before a colon are names.
    pub(super) has_keys: bool,
    /// Text with tags.
    pub(super) is_markup: bool,
}

/// A language without anything.
pub(super) const PLAIN: Language = Language {
    endings: &[],
    keywords: "",
    ignores_case: false,
    line_comments: &[],
    comments_follow_blanks: false,
    block_comments: &[],
    nests_comments: false,
    quotes: &[],
    meta: &[],
    word_characters: "",
    has_keys: false,
    is_markup: false,
};

impl Language {
    pub(super) fn is_keyword(&self, word: &str) -> bool {
        let mut keywords = self.keywords.split(' ');
        match self.ignores_case {
            true => keywords.any(|keyword| keyword.eq_ignore_ascii_case(word)),
            false => keywords.any(|keyword| keyword == word),
        }
    }
}

/// The language of a file, by its name's ending, its name, or the interpreter in its first line.
pub(super) fn of_file(path: &[u8], content: &[u8]) -> Option<&'static Language> {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let name = std::str::from_utf8(name).ok()?;
    let known = NAMES.iter().find(|(known, _)| *known == name);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    let ending = known.map(|(_, ending)| *ending).or(ending);
    match ending {
        Some(ending) => of_ending(&ending.to_ascii_lowercase()),
        None => of_interpreter(content),
    }
}

fn of_ending(ending: &str) -> Option<&'static Language> {
    let mut languages = LANGUAGES.iter();
    languages.find(|language| language.endings.contains(&ending))
}

fn of_interpreter(content: &[u8]) -> Option<&'static Language> {
    let line = content.strip_prefix(b"#!")?;
    let line = line.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(&line[..line.len().min(200)]).ok()?;
    let mut words = line.split_ascii_whitespace();
    let program = words.next()?.rsplit('/').next()?;
    let program = match program {
        "env" => words.find(|word| !word.starts_with('-'))?,
        program => program,
    };
    let program = program.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.');
    of_ending(match program {
        "sh" | "bash" | "zsh" | "dash" | "ksh" => "sh",
        "python" | "pypy" => "py",
        "perl" => "pl",
        "ruby" => "rb",
        "node" => "js",
        "lua" => "lua",
        "php" => "php",
        _ => return None,
    })
}
