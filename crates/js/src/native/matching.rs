//! Methods with regular expressions.

use super::heap::Made;
use super::known::Method;
use super::pattern::Pattern;
use super::program::Callback;
use super::run::Machine;
use super::texts::{check_count, has_pairs, part, units};
use super::value::{Chars, Result, Stop, Value, check_length};

/// A regular expression that was evaluated.
#[derive(Debug)]
pub(super) struct Matcher<'p> {
    pattern: &'p Pattern,
    /// Byte at which the next `test` or `exec` begins, if it is global.
    last: usize,
}

/// Byte ranges of a match and its groups, the whole of it first.
type Spans = Vec<Option<(usize, usize)>>;

impl<'d: 'p, 'p> Machine<'_, 'd, 'p> {
    pub(super) fn new_matcher(&mut self, pattern: &'p Pattern) -> Result<Value<'p>> {
        self.fill(size_of::<Matcher<'_>>())?;
        self.matchers.push(Matcher { pattern, last: 0 });
        Ok(Value::Pattern(self.matchers.len() - 1))
    }

    /// The first match at or behind a position, which may be behind the end.
    fn search(&mut self, pattern: &Pattern, text: &str, from: usize) -> Result<Option<Spans>> {
        // The search may have to look at all that follows before it knows that the match ends early.
        let rest = text.len().saturating_sub(from);
        self.work(8 + rest * (1 + pattern.weight) / 16)?;
        if from > text.len() {
            return Ok(None);
        }
        if pattern.regex.captures_len() == 1 {
            let found = pattern.regex.find_at(text, from);
            let end = found.map_or(text.len(), |found| found.end());
            self.work((end - from) * (1 + pattern.weight) / 4)?;
            return Ok(found.map(|found| vec![Some((found.start(), found.end()))]));
        }
        let found = pattern.regex.captures_at(text, from);
        let whole = found.as_ref().and_then(|found| found.get(0));
        let end = whole.map_or(text.len(), |whole| whole.end());
        self.work((end - from) * (1 + pattern.weight) / 4)?;
        let spans = found.map(|found| {
            let spans = found.iter();
            spans
                .map(|span| span.map(|span| (span.start(), span.end())))
                .collect::<Spans>()
        });
        self.fill(spans.as_ref().map_or(0, |spans| size_of_val(&**spans)))?;
        Ok(spans)
    }

    /// The first match, or all of a global pattern.
    fn matches(&mut self, matcher: usize, text: &str) -> Result<Vec<Spans>> {
        let pattern = self.matchers[matcher].pattern;
        let mut matches = Vec::new();
        let mut from = 0;
        while let Some(spans) = self.search(pattern, text, from)? {
            let (start, end) = spans[0].ok_or(Stop::Unsure)?;
            from = if end > start { end } else { behind(text, end) };
            self.fill(size_of_val(&*spans))?;
            matches.push(spans);
            if !pattern.is_global {
                break;
            }
        }
        if pattern.is_global {
            self.matchers[matcher].last = 0;
        }
        Ok(matches)
    }

    /// Whether it is known what a pattern finds in a text.
    fn check(&self, matcher: usize, text: &str) -> Result<&'p Pattern> {
        let pattern = self.matchers[matcher].pattern;
        match pattern.is_for_ascii && !text.is_ascii() || has_pairs(text) {
            true => Err(Stop::Unsure),
            false => Ok(pattern),
        }
    }

    /// Calls a method of a string that can take a pattern.
    pub(super) fn match_text(
        &mut self,
        text: &Chars<'p>,
        method: Method,
        arguments: &[Value<'p>],
    ) -> Result<Value<'p>> {
        self.work(text.len() / 4)?;
        match (method, arguments) {
            (Method::Replace, [Value::Text(sought), Value::Text(with)]) => {
                let found = text.find(&**sought);
                let spans = found.map(|at| vec![Some((at, at + sought.len()))]);
                self.replaced(text, spans.as_slice(), |_, spans, out| {
                    expand(text, spans, with, out)
                })
            }
            (Method::Replace, [Value::Pattern(matcher), Value::Text(with)]) => {
                self.check(*matcher, text)?;
                let matches = self.matches(*matcher, text)?;
                self.replaced(text, &matches, |_, spans, out| {
                    expand(text, spans, with, out)
                })
            }
            (Method::Match, [Value::Pattern(matcher)]) => {
                let pattern = self.check(*matcher, text)?;
                let matches = self.matches(*matcher, text)?;
                match matches.first() {
                    None => Ok(Value::Null),
                    Some(spans) if !pattern.is_global => self.groups(text, spans),
                    Some(_) => {
                        let whole = matches.iter().map(|spans| group(text, spans, 0));
                        let whole: Vec<_> = whole.collect();
                        check_count(&whole)?;
                        self.new_array(whole)
                    }
                }
            }
            (Method::Search, [Value::Pattern(matcher)]) => {
                let pattern = self.check(*matcher, text)?;
                let found = self.search(pattern, text, 0)?;
                let at = found.and_then(|spans| spans[0]);
                let position = at.map(|(start, _)| units(&text[..start]) as f64);
                Ok(Value::Number(position.unwrap_or(-1.0)))
            }
            (Method::Split, [Value::Pattern(matcher)]) => {
                let pattern = self.check(*matcher, text)?;
                self.split_by(text, pattern)
            }
            _ => Err(Stop::Unsure),
        }
    }

    /// `text.replace(pattern, callback)`
    pub(super) fn replace_by(
        &mut self,
        text: &Value<'p>,
        pattern: &Value<'p>,
        callback: Callback,
    ) -> Result<Value<'p>> {
        let (Value::Text(text), Value::Pattern(matcher)) = (text, pattern) else {
            return Err(Stop::Unsure);
        };
        self.check(*matcher, text)?;
        let matches = self.matches(*matcher, text)?;
        self.replaced(text, &matches, |machine, spans, out| {
            let groups = (0..spans.len()).map(|at| group(text, spans, at));
            let mut arguments: Vec<_> = groups.collect();
            let (start, _) = spans[0].ok_or(Stop::Unsure)?;
            arguments.push(Value::Number(units(&text[..start]) as f64));
            arguments.push(Value::Text(text.clone()));
            machine.work(start / 16)?;
            machine.call_back(callback, &arguments)?.push_to(out)
        })
    }

    /// The text with something else in the place of each match.
    fn replaced(
        &mut self,
        text: &Chars<'p>,
        matches: &[Spans],
        mut write: impl FnMut(&mut Self, &Spans, &mut String) -> Result<()>,
    ) -> Result<Value<'p>> {
        let mut out = String::new();
        let mut at = 0;
        for spans in matches {
            let (start, end) = spans[0].ok_or(Stop::Unsure)?;
            out.push_str(&text[at..start]);
            write(self, spans, &mut out)?;
            check_length(&out)?;
            at = end;
        }
        out.push_str(&text[at..]);
        self.made(Value::text(out)?)
    }

    /// The array of a match's groups.
    fn groups(&mut self, text: &Chars<'p>, spans: &Spans) -> Result<Value<'p>> {
        let groups = (0..spans.len()).map(|at| group(text, spans, at));
        let groups: Vec<_> = groups.collect();
        groups
            .iter()
            .try_for_each(|group| self.fill(group.size()))?;
        self.new_container(groups.len(), Made::Match(groups))
    }

    fn split_by(&mut self, text: &Chars<'p>, pattern: &Pattern) -> Result<Value<'p>> {
        let mut parts = Vec::new();
        if text.is_empty() {
            if self.search(pattern, text, 0)?.is_none() {
                parts.push(Value::Text(text.clone()));
            }
            return self.new_array(parts);
        }
        // `at` is where the part begins, `from` where the next match may.
        let (mut at, mut from) = (0, 0);
        while let Some(spans) = self.search(pattern, text, from)? {
            let (start, end) = spans[0].ok_or(Stop::Unsure)?;
            if start >= text.len() {
                break;
            }
            if end == at {
                from = behind(text, from);
                continue;
            }
            parts.push(part(text, at, start));
            parts.extend((1..spans.len()).map(|group_at| group(text, &spans, group_at)));
            check_count(&parts)?;
            (at, from) = (end, end);
        }
        parts.push(part(text, at, text.len()));
        parts.iter().try_for_each(|part| self.fill(part.size()))?;
        self.new_array(parts)
    }

    /// Calls a method of a regular expression.
    pub(super) fn of_pattern(
        &mut self,
        matcher: usize,
        method: Method,
        arguments: &[Value<'p>],
    ) -> Result<Value<'p>> {
        let text = match arguments {
            [Value::Text(text)] => text.clone(),
            [other] => Chars::Shared(other.to_chars()?.to_string().into()),
            _ => return Err(Stop::Unsure),
        };
        let pattern = self.check(matcher, &text)?;
        let from = self.matchers[matcher].last;
        // Positions in one text may lie inside of a character of another one.
        if pattern.is_global && !text.is_ascii() {
            return Err(Stop::Unsure);
        }
        let found = self.search(pattern, &text, from)?;
        if pattern.is_global {
            let end = found.as_ref().and_then(|spans| spans[0]);
            self.matchers[matcher].last = end.map_or(0, |(_, end)| end);
        }
        match (method, found) {
            (Method::Test, found) => Ok(Value::Bool(found.is_some())),
            (Method::Exec, None) => Ok(Value::Null),
            (Method::Exec, Some(spans)) => self.groups(&text, &spans),
            _ => Err(Stop::Unsure),
        }
    }
}

/// The position behind the character at a position; beyond the end of the text, there are more.
fn behind(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.chars().next().map_or(1, char::len_utf8)
}

fn group<'p>(text: &Chars<'p>, spans: &Spans, at: usize) -> Value<'p> {
    match spans.get(at).copied().flatten() {
        Some((from, to)) => part(text, from, to),
        None => Value::Undefined,
    }
}

/// Appends a replacement, in which `$1` is a group, `$&` the match, and so on.
fn expand(text: &str, spans: &Spans, with: &str, out: &mut String) -> Result<()> {
    let (start, end) = spans[0].ok_or(Stop::Unsure)?;
    let mut rest = with;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let mark = rest[at + 1..].bytes().next();
        let (written, len) = match mark {
            Some(b'$') => ("$", 2),
            Some(b'&') => (&text[start..end], 2),
            Some(b'`') => (&text[..start], 2),
            Some(b'\'') => (&text[end..], 2),
            Some(b'0'..=b'9') => match numbered(&rest[at + 1..], spans.len()) {
                Some((number, digits)) => {
                    let span = spans[number];
                    (span.map_or("", |(from, to)| &text[from..to]), 1 + digits)
                }
                None => ("$", 1),
            },
            _ => ("$", 1),
        };
        out.push_str(written);
        check_length(out)?;
        rest = &rest[at + len..];
    }
    out.push_str(rest);
    Ok(())
}

/// The group that one or two digits name, and how many these are.
fn numbered(digits: &str, groups: usize) -> Option<(usize, usize)> {
    [2, 1].into_iter().find_map(|count| {
        let number: usize = digits.get(..count)?.parse().ok()?;
        (1..groups).contains(&number).then_some((number, count))
    })
}
