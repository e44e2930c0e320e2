//! Regular expressions: from the language's syntax to that of the crate `regex`, for patterns that mean the same in
//! both.
//!
//! Both take the first alternative that leads to a match, so what they find differs only in what is refused here: parts
//! that look around or refer back, repetitions of what can be empty, groups that are repeated (the language forgets what
//! they held before), lines, and characters that are two units of UTF-16. Classes such as `\w` are written out. Without
//! regard to case, pattern and text must be ASCII.

use oxc_allocator::Allocator;
use oxc_regular_expression::ast::{
    Alternative, BoundaryAssertionKind, Character, CharacterClass, CharacterClassContents,
    CharacterClassContentsKind, CharacterClassEscapeKind, CharacterKind, Disjunction, Quantifier,
    Term,
};
use oxc_regular_expression::{LiteralParser, Options};
use regex::{Regex, RegexBuilder};

/// Bytes that a compiled pattern may take.
const MAX_SIZE: usize = 1 << 20;
/// The longest repetition.
const MAX_TIMES: u64 = 1_000;
/// The heaviest pattern: see [`Pattern::weight`].
const MAX_WEIGHT: usize = 64;
const LAST: u32 = 0x10_ffff;

/// A pattern that is compiled.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) regex: Regex,
    pub(super) is_global: bool,
    /// How much work one byte of text is at the most: about the number of characters and classes in the pattern, each as
    /// often as it is repeated.
    pub(super) weight: usize,
    /// Whether it is only known what it finds in ASCII.
    pub(super) is_for_ascii: bool,
}

impl Pattern {
    /// The pattern of a literal.
    pub(super) fn new(source: &str, flags: &str) -> Option<Pattern> {
        let (mut is_global, mut ignores_case) = (false, false);
        for flag in flags.chars() {
            match flag {
                'g' => is_global = true,
                'i' => ignores_case = true,
                _ => return None,
            }
        }
        if ignores_case && !source.is_ascii() {
            return None;
        }
        let memory = Allocator::default();
        let parser = LiteralParser::new(&memory, source, Some(flags), Options::default());
        let parsed = parser.parse().ok()?;
        let mut translation = Translation {
            out: String::new(),
            ignores_case,
        };
        let shape = translation.disjunction(&parsed.body)?;
        if shape.weight > MAX_WEIGHT {
            return None;
        }
        let regex = RegexBuilder::new(&translation.out)
            .size_limit(MAX_SIZE)
            .dfa_size_limit(MAX_SIZE)
            .nest_limit(100)
            .build();
        Some(Pattern {
            regex: regex.ok()?,
            is_global,
            weight: shape.weight,
            is_for_ascii: ignores_case,
        })
    }
}

/// Properties of a part of a pattern that decide whether it may be repeated.
#[derive(Clone, Copy)]
struct Shape {
    can_be_empty: bool,
    has_groups: bool,
    weight: usize,
}

impl Shape {
    /// Of no alternatives.
    const NONE: Shape = Shape {
        can_be_empty: false,
        has_groups: false,
        weight: 0,
    };
    const EMPTY: Shape = Shape {
        can_be_empty: true,
        ..Shape::NONE
    };
}

struct Translation {
    out: String,
    ignores_case: bool,
}

impl Translation {
    fn disjunction(&mut self, disjunction: &Disjunction<'_>) -> Option<Shape> {
        let mut shape = Shape::NONE;
        for (index, alternative) in disjunction.body.iter().enumerate() {
            if index > 0 {
                self.out.push('|');
            }
            let one = self.alternative(alternative)?;
            shape.can_be_empty |= one.can_be_empty;
            shape.has_groups |= one.has_groups;
            shape.weight += one.weight;
        }
        Some(shape)
    }

    fn alternative(&mut self, alternative: &Alternative<'_>) -> Option<Shape> {
        let mut shape = Shape::EMPTY;
        for term in &alternative.body {
            let one = self.term(term)?;
            shape.can_be_empty &= one.can_be_empty;
            shape.has_groups |= one.has_groups;
            shape.weight += one.weight;
        }
        Some(shape)
    }

    fn term(&mut self, term: &Term<'_>) -> Option<Shape> {
        match term {
            Term::BoundaryAssertion(assertion) => {
                self.out.push_str(match assertion.kind {
                    BoundaryAssertionKind::Start => "^",
                    BoundaryAssertionKind::End => "$",
                    BoundaryAssertionKind::Boundary => r"(?-u:\b)",
                    BoundaryAssertionKind::NegativeBoundary => return None,
                });
                Some(Shape {
                    weight: 1,
                    ..Shape::EMPTY
                })
            }
            Term::Quantifier(quantifier) => self.quantifier(quantifier),
            Term::Character(character) => {
                let code = plain(character)?;
                self.class(vec![(code, code)], false)
            }
            Term::Dot(_) => {
                let ends = [0x0a, 0x0d, 0x2028, 0x2029];
                self.class(ends.map(|end| (end, end)).to_vec(), true)
            }
            Term::CharacterClassEscape(escape) => self.class(escaped(escape.kind), false),
            Term::CharacterClass(class) => {
                let is_negative = class.negative;
                self.class(ranges(class)?, is_negative)
            }
            Term::CapturingGroup(group) if group.name.is_none() => {
                self.out.push('(');
                let mut shape = self.disjunction(&group.body)?;
                self.out.push(')');
                shape.has_groups = true;
                Some(shape)
            }
            Term::IgnoreGroup(group) if group.modifiers.is_none() => {
                self.out.push_str("(?:");
                let shape = self.disjunction(&group.body)?;
                self.out.push(')');
                Some(shape)
            }
            _ => None,
        }
    }

    fn quantifier(&mut self, quantifier: &Quantifier<'_>) -> Option<Shape> {
        self.out.push_str("(?:");
        let shape = self.term(&quantifier.body)?;
        self.out.push(')');
        let most = quantifier.max;
        if shape.can_be_empty || (shape.has_groups && most != Some(1)) {
            return None;
        }
        if quantifier.min > MAX_TIMES || most.is_some_and(|most| most > MAX_TIMES) {
            return None;
        }
        let times = most.unwrap_or(quantifier.min).max(1) as usize;
        let most = most.map_or_else(String::new, |most| most.to_string());
        self.out.push_str(&format!("{{{},{most}}}", quantifier.min));
        if !quantifier.greedy {
            self.out.push('?');
        }
        Some(Shape {
            can_be_empty: quantifier.min == 0,
            weight: shape.weight.saturating_mul(times),
            ..shape
        })
    }

    /// Writes a class of characters.
    fn class(&mut self, mut ranges: Vec<(u32, u32)>, is_negative: bool) -> Option<Shape> {
        if self.ignores_case {
            ranges = in_both_cases(&ranges);
        }
        let ranges = match is_negative {
            true => complement(ranges),
            false => ranges,
        };
        // A class of nothing.
        if ranges.is_empty() {
            return None;
        }
        // Beyond ASCII, characters are several bytes.
        let is_wide = ranges.iter().any(|(_, last)| *last > 0x7f);
        self.out.push('[');
        for (first, last) in ranges {
            self.out
                .push_str(&format!("\\x{{{first:x}}}-\\x{{{last:x}}}"));
        }
        self.out.push(']');
        Some(Shape {
            weight: if is_wide { 3 } else { 1 },
            ..Shape::NONE
        })
    }
}

/// The code of a character that stands for itself.
fn plain(character: &Character) -> Option<u32> {
    let code = character.value;
    if code > 0xffff || (0xd800..=0xdfff).contains(&code) {
        return None;
    }
    let as_written = char::from_u32(code)?;
    match character.kind {
        CharacterKind::Symbol if matches!(as_written, '{' | '}' | ']') => None,
        // Letters and digits that need no backslash could mean something.
        CharacterKind::Identifier if as_written.is_alphanumeric() => None,
        CharacterKind::Octal1 | CharacterKind::Octal2 | CharacterKind::Octal3 => None,
        CharacterKind::ControlLetter => None,
        _ => Some(code),
    }
}

fn escaped(kind: CharacterClassEscapeKind) -> Vec<(u32, u32)> {
    use CharacterClassEscapeKind as Kind;
    let digits = || vec![(0x30, 0x39)];
    let word = || vec![(0x30, 0x39), (0x41, 0x5a), (0x5f, 0x5f), (0x61, 0x7a)];
    let blank = || {
        let spaces = [0x20, 0xa0, 0x1680, 0x202f, 0x205f, 0x3000, 0xfeff];
        let mut blanks = vec![(0x09, 0x0d), (0x2000, 0x200a), (0x2028, 0x2029)];
        blanks.extend(spaces.map(|space| (space, space)));
        blanks
    };
    match kind {
        Kind::D => digits(),
        Kind::W => word(),
        Kind::S => blank(),
        Kind::NegativeD => complement(digits()),
        Kind::NegativeW => complement(word()),
        Kind::NegativeS => complement(blank()),
    }
}

/// The characters between the brackets of a class.
fn ranges(class: &CharacterClass<'_>) -> Option<Vec<(u32, u32)>> {
    if class.kind != CharacterClassContentsKind::Union || class.strings {
        return None;
    }
    let mut ranges = Vec::new();
    for part in &class.body {
        match part {
            CharacterClassContents::Character(character) => {
                let code = in_class(character)?;
                ranges.push((code, code));
            }
            CharacterClassContents::CharacterClassRange(range) => {
                ranges.push((in_class(&range.min)?, in_class(&range.max)?));
            }
            CharacterClassContents::CharacterClassEscape(escape) => {
                ranges.extend(escaped(escape.kind));
            }
            _ => return None,
        }
    }
    Some(ranges)
}

/// As [`plain`], where braces stand for themselves.
fn in_class(character: &Character) -> Option<u32> {
    match (character.kind, char::from_u32(character.value)) {
        (CharacterKind::Symbol, Some('{' | '}')) => Some(character.value),
        _ => plain(character),
    }
}

/// All characters that are in none of the ranges.
fn complement(mut ranges: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    ranges.sort_unstable();
    let mut others = Vec::new();
    let mut next = 0;
    for (first, last) in ranges {
        if first > next {
            others.push((next, first - 1));
        }
        next = next.max(last + 1);
    }
    if next <= LAST {
        others.push((next, LAST));
    }
    others
}

/// The characters of ASCII in the ranges, letters in both cases. No other character is a letter's other case.
fn in_both_cases(ranges: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let has = |code: u8| {
        let code = u32::from(code);
        ranges
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&code))
    };
    let is_in =
        |code: &u8| has(*code) || has(code.to_ascii_lowercase()) || has(code.to_ascii_uppercase());
    let codes = (0..0x80).filter(is_in).map(u32::from);
    codes.map(|code| (code, code)).collect()
}
