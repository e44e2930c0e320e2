//! Syntax highlighting of source text, line by line.
//!
//! A scanner over tables of languages: one pass, no regular expressions, so that its time is that of the text's length whatever the
//! text is. Grammars of regular expressions (`syntect`) took 200 µs for a line, 0.7 s for a file of 3,700 lines, where a whole
//! page may take 50 ms.

mod languages;
mod tables;

use languages::{Language, Meta, Quote};

/// Bytes of the longest file that is highlighted.
const LONGEST_FILE: usize = 512 << 10;
/// Bytes of the longest line that is highlighted: longer ones are not written by people.
const LONGEST_LINE: usize = 2000;

/// Kind of a part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    Comment,
    Keyword,
    Number,
    Text,
    /// Directives, attributes and decorators.
    Meta,
}

impl TokenKind {
    /// Its class in the style sheet.
    pub(super) fn class(self) -> &'static str {
        match self {
            TokenKind::Comment => "hc",
            TokenKind::Keyword => "hk",
            TokenKind::Number => "hn",
            TokenKind::Text => "hs",
            TokenKind::Meta => "hm",
        }
    }
}

/// A part of a line; without a kind it is shown as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub(super) kind: Option<TokenKind>,
    pub(super) text: &'t str,
}

/// State of the scanner at the beginning of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineState {
    Code,
    /// A block comment that so many were opened in.
    Comment {
        rule: usize,
        depth: usize,
    },
    Text(&'static Quote),
    /// Between `<` and `>`.
    Tag,
}

/// Highlights the lines of one file, from the first to the last.
#[derive(Debug)]
pub(super) struct Highlighter {
    /// `None` leaves all lines as they are.
    language: Option<&'static Language>,
    state: LineState,
}

impl Highlighter {
    /// For a file with this path and content.
    pub(super) fn new(path: &[u8], content: &[u8]) -> Highlighter {
        let language = match content.len() <= LONGEST_FILE {
            true => languages::of_file(path, content),
            false => None,
        };
        Highlighter {
            language,
            state: LineState::Code,
        }
    }

    /// Leaves all lines as they are.
    pub(super) fn off() -> Highlighter {
        Highlighter {
            language: None,
            state: LineState::Code,
        }
    }

    /// The parts of the next line, which together are the line.
    pub(super) fn line<'t>(&mut self, line: &'t str) -> Vec<Token<'t>> {
        match self.language {
            Some(language) if line.len() <= LONGEST_LINE => {
                let mut scanner = Scanner {
                    language,
                    line,
                    indent: line.len() - line.trim_start().len(),
                    at: 0,
                    plain: 0,
                    tokens: Vec::new(),
                };
                self.state = scanner.scan(self.state);
                scanner.tokens
            }
            _ => vec![Token {
                kind: None,
                text: line,
            }],
        }
    }
}

/// One line while it is taken apart.
struct Scanner<'t> {
    language: &'static Language,
    line: &'t str,
    /// Bytes of blanks at its beginning.
    indent: usize,
    /// Bytes before this are done.
    at: usize,
    /// Bytes from here to `at` have no kind.
    plain: usize,
    tokens: Vec<Token<'t>>,
}

impl<'t> Scanner<'t> {
    fn rest(&self) -> &'t str {
        &self.line[self.at..]
    }

    /// Adds the next bytes as a token of a kind.
    fn add(&mut self, len: usize, kind: TokenKind) {
        self.end_plain();
        let text = &self.line[self.at..self.at + len];
        self.at += len;
        self.plain = self.at;
        if text.is_empty() {
            return;
        }
        // The parts of a comment are one token.
        if let Some(last) = self.tokens.last_mut()
            && last.kind == Some(kind)
        {
            let start = self.at - len - last.text.len();
            last.text = &self.line[start..self.at];
            return;
        }
        let kind = Some(kind);
        self.tokens.push(Token { kind, text });
    }

    fn end_plain(&mut self) {
        let text = &self.line[self.plain..self.at];
        if !text.is_empty() {
            self.tokens.push(Token { kind: None, text });
        }
        self.plain = self.at;
    }

    fn scan(&mut self, mut state: LineState) -> LineState {
        while self.at < self.line.len() {
            state = match state {
                LineState::Comment { rule, depth } => self.comment(rule, depth),
                LineState::Text(quote) => self.text(quote),
                LineState::Code | LineState::Tag => self.code(state),
            };
        }
        self.end_plain();
        match state {
            LineState::Text(quote) if !quote.spans_lines => LineState::Code,
            state => state,
        }
    }

    /// Goes on in a block comment.
    fn comment(&mut self, rule: usize, depth: usize) -> LineState {
        let (open, close) = self.language.block_comments[rule];
        let rest = self.rest();
        let end = rest.find(close);
        let nested = rest.find(open).filter(|_| self.language.nests_comments);
        match (end, nested) {
            (Some(end), nested) if nested.is_none_or(|nested| end <= nested) => {
                self.add(end + close.len(), TokenKind::Comment);
                match depth {
                    0 => LineState::Code,
                    depth => LineState::Comment {
                        rule,
                        depth: depth - 1,
                    },
                }
            }
            (_, Some(nested)) => {
                self.add(nested + open.len(), TokenKind::Comment);
                let depth = depth.saturating_add(1);
                LineState::Comment { rule, depth }
            }
            _ => {
                self.add(rest.len(), TokenKind::Comment);
                LineState::Comment { rule, depth }
            }
        }
    }

    /// Goes on in a quoted text.
    fn text(&mut self, quote: &'static Quote) -> LineState {
        let rest = self.rest();
        let len = quoted_len(rest, quote);
        self.add(len.unwrap_or(rest.len()), TokenKind::Text);
        match len {
            Some(_) if self.language.is_markup => LineState::Tag,
            Some(_) => LineState::Code,
            None => LineState::Text(quote),
        }
    }

    /// Goes on where neither a comment nor a text is open.
    fn code(&mut self, state: LineState) -> LineState {
        let (rest, language) = (self.rest(), self.language);
        if self.is_line_comment() {
            self.add(rest.len(), TokenKind::Comment);
            return state;
        }
        let opens = |(open, _): &(&str, &str)| rest.starts_with(open);
        if let Some(rule) = language.block_comments.iter().position(opens) {
            self.add(language.block_comments[rule].0.len(), TokenKind::Comment);
            return LineState::Comment { rule, depth: 0 };
        }
        if language.is_markup {
            return self.markup(state);
        }
        if let Some(len) = self.meta_len() {
            self.add(len, TokenKind::Meta);
            return state;
        }
        let opens = |quote: &&'static Quote| rest.starts_with(quote.open);
        if let Some(quote) = language.quotes.iter().find(opens) {
            return self.open_quote(quote);
        }
        self.word();
        state
    }

    fn is_line_comment(&self) -> bool {
        let (rest, language) = (self.rest(), self.language);
        let begins = language
            .line_comments
            .iter()
            .any(|sign| rest.starts_with(sign));
        let before = self.line[..self.at].chars().next_back();
        begins && (!language.comments_follow_blanks || before.is_none_or(char::is_whitespace))
    }

    fn open_quote(&mut self, quote: &'static Quote) -> LineState {
        let rest = self.rest();
        let inside = &rest[quote.open.len()..];
        if quote.is_character && !is_character(inside) {
            // A lifetime, a prime, or a quotation mark in a text.
            self.at += quote.open.len();
            return LineState::Code;
        }
        let len = quoted_len(inside, quote);
        let is_key = self.language.has_keys
            && len.is_some_and(|len| inside[len..].trim_start().starts_with(':'));
        let kind = match is_key {
            true => TokenKind::Keyword,
            false => TokenKind::Text,
        };
        self.add(quote.open.len() + len.unwrap_or(inside.len()), kind);
        match len {
            Some(_) => LineState::Code,
            None => LineState::Text(quote),
        }
    }

    /// The length of a directive, an attribute or a decorator here.
    fn meta_len(&self) -> Option<usize> {
        let rest = self.rest();
        let is_first = self.at <= self.indent;
        let word = |from: usize| {
            let end = rest[from..].find(|char: char| !is_word(char, self.language));
            end.map_or(rest.len(), |end| from + end)
        };
        self.language.meta.iter().find_map(|meta| match meta {
            Meta::Directive(sign) if is_first && rest.starts_with(*sign) => {
                let blanks = rest.len() - rest[sign.len_utf8()..].trim_start().len();
                Some(word(blanks))
            }
            Meta::Decorator(sign) if rest.starts_with(*sign) => {
                let end = word(sign.len_utf8());
                (end > sign.len_utf8()).then_some(end)
            }
            Meta::Attribute(open, close) if rest.starts_with(open) => {
                let end = rest.find(close).map(|end| end + close.len());
                Some(end.unwrap_or(rest.len()))
            }
            Meta::Line(sign) if is_first && rest.starts_with(*sign) => Some(rest.len()),
            _ => None,
        })
    }

    /// Takes a word, a number or one other character.
    fn word(&mut self) {
        let (rest, language) = (self.rest(), self.language);
        let Some(first) = rest.chars().next() else {
            return;
        };
        if first.is_ascii_digit() {
            let is_number = |char: char| char.is_ascii_alphanumeric() || matches!(char, '.' | '_');
            let len = rest
                .find(|char: char| !is_number(char))
                .unwrap_or(rest.len());
            // `1..n` is a range.
            let len = rest[..len].find("..").unwrap_or(len);
            self.add(len, TokenKind::Number);
        } else if is_word(first, language) {
            let len = rest.find(|char: char| !is_word(char, language));
            let len = len.unwrap_or(rest.len());
            match language.is_keyword(&rest[..len]) {
                true => self.add(len, TokenKind::Keyword),
                false => self.at += len,
            }
        } else {
            self.at += first.len_utf8();
        }
    }

    /// Goes on in markup: names of tags, and quoted values within them.
    fn markup(&mut self, state: LineState) -> LineState {
        let rest = self.rest();
        if state == LineState::Tag {
            let opens = |quote: &&'static Quote| rest.starts_with(quote.open);
            if let Some(quote) = self.language.quotes.iter().find(opens) {
                self.add(quote.open.len(), TokenKind::Text);
                return LineState::Text(quote);
            }
            let len = rest.find(['>', '"', '\'']).unwrap_or(rest.len());
            self.at += len;
            if self.rest().starts_with('>') {
                let closes = self.line[self.plain..self.at].ends_with(['/', '?']);
                self.at -= usize::from(closes);
                self.add(1 + usize::from(closes), TokenKind::Keyword);
                return LineState::Code;
            }
            return LineState::Tag;
        }
        self.at += rest.find('<').unwrap_or(rest.len());
        let rest = self.rest();
        if rest.starts_with("<!--") || rest.is_empty() {
            return LineState::Code;
        }
        let is_name = |char: char| {
            char.is_alphanumeric() || matches!(char, '/' | '!' | '?' | '-' | ':' | '_')
        };
        let len = rest[1..].find(|char: char| !is_name(char));
        let len = len.map_or(rest.len(), |len| 1 + len);
        if len == 1 {
            self.at += 1;
            return LineState::Code;
        }
        self.add(len, TokenKind::Keyword);
        LineState::Tag
    }
}

fn is_word(char: char, language: &Language) -> bool {
    char.is_alphanumeric() || char == '_' || language.word_characters.contains(char)
}

/// Returns whether a text behind a quotation mark is one character and another mark.
fn is_character(inside: &str) -> bool {
    let mut chars = inside.chars();
    match chars.next() {
        Some('\\') => true,
        Some('\'') | None => false,
        Some(_) => chars.next() == Some('\''),
    }
}

/// Bytes up to the end of a quoted text, with the mark that ends it; `None` if it goes on behind the line.
fn quoted_len(text: &str, quote: &Quote) -> Option<usize> {
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with(quote.close) {
            return Some(at + quote.close.len());
        }
        let mut chars = rest.chars();
        let first = chars.next().map_or(0, char::len_utf8);
        at += first;
        if quote.escapes && rest.starts_with('\\') {
            at += chars.next().map_or(0, char::len_utf8);
        }
    }
    None
}

#[cfg(test)]
mod tests;
