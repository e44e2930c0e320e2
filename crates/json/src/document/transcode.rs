//! From a document's text to its body, without a value in between.
//!
//! Text and term are written while tokens are read. A list's count stands before its items in a
//! term, so the head is written when the list begins and corrected when it ends.

use super::Document;
use crate::lexer::{Lexer, NumberToken};
use crate::parse::value;
use crate::{Body, JsonError, Number, Value, term, write_string};
use std::collections::HashSet;
use std::ops::Range;

/// Up to this many names are compared pairwise; above, through a hash set.
const PAIRWISE: usize = 16;
const OBJECT_GOES_ON: &str = "',' or '}'";

/// Reads documents one after another.
pub(super) struct Transcoder {
    is_special: fn(&str) -> bool,
    text: Vec<u8>,
    term: Vec<u8>,
    open: Vec<Open>,
    /// Where in the text the names of open objects stand.
    names: Vec<Range<usize>>,
    has_repeated: bool,
}

/// A container whose end has not been read.
struct Open {
    kind: Kind,
    /// Items or members before the one that is read.
    count: usize,
    /// Where the head of the term's list stands.
    head: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Whether all items are integers that fit into a byte.
    Array { is_bytes: bool },
    /// Where its names begin.
    Object { names: usize },
}

/// An object has a name twice: only a tree of values shows which members stay.
struct Repeated;

impl Transcoder {
    pub(super) fn new(is_special: fn(&str) -> bool) -> Self {
        Transcoder {
            is_special,
            text: Vec::new(),
            term: Vec::new(),
            open: Vec::new(),
            names: Vec::new(),
            has_repeated: false,
        }
    }

    /// Reads a document, or any other value as it is.
    pub(super) fn item(
        &mut self,
        lexer: &mut Lexer<'_>,
    ) -> Result<Result<Document, Value>, JsonError> {
        if lexer.peek() != Some(b'{') {
            return Ok(Err(value(lexer)?));
        }
        let start = lexer.position();
        match self.document(lexer)? {
            Ok(document) => Ok(Ok(document)),
            Err(Repeated) => {
                lexer.go_back(start);
                Ok(match value(lexer)? {
                    Value::Object(object) => Ok(Document::new(object, self.is_special)),
                    other => Err(other),
                })
            }
        }
    }

    /// Reads an object; stands on its bracket.
    fn document(&mut self, lexer: &mut Lexer<'_>) -> Result<Result<Document, Repeated>, JsonError> {
        self.text.clear();
        self.term.clear();
        self.names.clear();
        self.has_repeated = false;
        lexer.enter()?;
        self.text.push(b'{');
        self.term.extend_from_slice(term::OBJECT);
        let head = self.begin_list();
        let (mut special, mut count) = (Vec::new(), 0);
        let mut goes_on = !lexer.leave(b'}');
        while goes_on {
            let name = lexer.name()?;
            if (self.is_special)(&name) {
                self.has_repeated |= special.iter().any(|(known, _)| *known == name);
                special.push((name.into_owned(), value(lexer)?));
            } else {
                if !self.names.is_empty() {
                    self.text.push(b',');
                }
                let before = self.term.len();
                self.name(&name);
                self.value(lexer)?;
                match term::counts(&name) {
                    true => count += 1,
                    false => self.term.truncate(before),
                }
            }
            goes_on = lexer.goes_on(b'}', OBJECT_GOES_ON)?;
        }
        self.text.push(b'}');
        self.end_list(head, count);
        self.check_names(0);
        if self.has_repeated {
            return Ok(Err(Repeated));
        }
        let body = Body::new(&self.text, &self.term);
        Ok(Ok(Document { special, body }))
    }

    /// Reads a value with all that is in it.
    fn value(&mut self, lexer: &mut Lexer<'_>) -> Result<(), JsonError> {
        loop {
            match lexer.peek() {
                Some(bracket @ (b'[' | b'{')) => {
                    self.enter(bracket, lexer)?;
                    if !lexer.leave(closing(bracket)) {
                        if bracket == b'{' {
                            self.name(&lexer.name()?);
                        }
                        continue;
                    }
                    self.leave();
                }
                _ => self.scalar(lexer)?,
            }
            loop {
                let Some(open) = self.open.last_mut() else {
                    return Ok(());
                };
                open.count += 1;
                let (bracket, expected) = match open.kind {
                    Kind::Array { .. } => (b']', "',' or ']'"),
                    Kind::Object { .. } => (b'}', OBJECT_GOES_ON),
                };
                if lexer.goes_on(bracket, expected)? {
                    self.text.push(b',');
                    if bracket == b'}' {
                        self.name(&lexer.name()?);
                    }
                    break;
                }
                self.leave();
            }
        }
    }

    /// Begins a container.
    fn enter(&mut self, bracket: u8, lexer: &mut Lexer<'_>) -> Result<(), JsonError> {
        lexer.enter()?;
        self.is_no_byte();
        self.text.push(bracket);
        let kind = match bracket {
            b'[' => Kind::Array { is_bytes: true },
            _ => {
                self.term.extend_from_slice(term::OBJECT);
                let names = self.names.len();
                Kind::Object { names }
            }
        };
        let head = self.begin_list();
        self.open.push(Open {
            kind,
            count: 0,
            head,
        });
        Ok(())
    }

    /// Ends the innermost container.
    fn leave(&mut self) {
        let Some(Open { kind, count, head }) = self.open.pop() else {
            return;
        };
        match kind {
            Kind::Array { is_bytes } => {
                self.text.push(b']');
                match is_bytes && (1..=term::LONGEST_BYTE_LIST).contains(&count) {
                    true => self.join_bytes(head, count),
                    false => self.end_list(head, count),
                }
            }
            Kind::Object { names } => {
                self.text.push(b'}');
                self.end_list(head, count);
                self.check_names(names);
            }
        }
    }

    /// Writes a member's name.
    fn name(&mut self, name: &str) {
        let start = self.text.len();
        write_string(name, &mut self.text);
        self.names.push(start..self.text.len());
        self.text.push(b':');
        term::member_head(name, &mut self.term);
    }

    /// Notes whether one of the names of an object that ends is there twice, and forgets them.
    fn check_names(&mut self, first: usize) {
        let (names, text) = (&self.names[first..], &self.text);
        let of = |range: &Range<usize>| &text[range.clone()];
        self.has_repeated |= match names.len() > PAIRWISE {
            true => {
                let mut seen = HashSet::with_capacity(names.len());
                !names.iter().all(|name| seen.insert(of(name)))
            }
            false => (1..names.len()).any(|index| {
                let name = of(&names[index]);
                names[..index].iter().any(|known| of(known) == name)
            }),
        };
        self.names.truncate(first);
    }

    fn scalar(&mut self, lexer: &mut Lexer<'_>) -> Result<(), JsonError> {
        match lexer.peek() {
            Some(b'"') => {
                let string = lexer.string()?;
                write_string(&string, &mut self.text);
                term::binary(string.as_bytes(), &mut self.term);
            }
            Some(b'-' | b'0'..=b'9') => return self.number(&lexer.number()?),
            Some(b't') => self.word("true", lexer)?,
            Some(b'f') => self.word("false", lexer)?,
            Some(b'n') => self.word("null", lexer)?,
            _ => return Err(lexer.unexpected("a value")),
        }
        self.is_no_byte();
        Ok(())
    }

    fn word(&mut self, word: &'static str, lexer: &mut Lexer<'_>) -> Result<(), JsonError> {
        lexer.word(word)?;
        self.text.extend_from_slice(word.as_bytes());
        term::atom(word, &mut self.term);
        Ok(())
    }

    fn number(&mut self, token: &NumberToken<'_>) -> Result<(), JsonError> {
        let number = token.read()?;
        if !matches!(number, Number::Int(0..=255)) {
            self.is_no_byte();
        }
        match token.is_written_so(&number) {
            true => self.text.extend_from_slice(token.text().as_bytes()),
            false => number.write(&mut self.text),
        }
        term::number(&number, &mut self.term);
        Ok(())
    }

    /// The innermost list has something else than bytes.
    fn is_no_byte(&mut self) {
        if let Some(Open {
            kind: Kind::Array { is_bytes },
            ..
        }) = self.open.last_mut()
        {
            *is_bytes = false;
        }
    }

    /// Leaves room for a list's head; returns where.
    fn begin_list(&mut self) -> usize {
        let head = self.term.len();
        self.term.extend_from_slice(&[0; term::LIST_HEAD]);
        head
    }

    fn end_list(&mut self, head: usize, count: usize) {
        match count {
            0 => self.term.truncate(head),
            _ => {
                self.term[head..head + term::LIST_HEAD].copy_from_slice(&term::head_of_list(count))
            }
        }
        self.term.push(term::END);
    }

    /// Makes a list of integers, two bytes each, a string of bytes.
    fn join_bytes(&mut self, head: usize, count: usize) {
        let bytes = head + term::LIST_HEAD;
        let short = term::head_of_bytes(count);
        self.term[head..head + short.len()].copy_from_slice(&short);
        for index in 0..count {
            self.term[head + short.len() + index] = self.term[bytes + 2 * index + 1];
        }
        self.term.truncate(head + short.len() + count);
    }
}

fn closing(bracket: u8) -> u8 {
    match bracket {
        b'[' => b']',
        _ => b'}',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Object, parse_object};

    fn is_special(name: &str) -> bool {
        name.starts_with('_') && name != "_kept"
    }

    /// Reads a document with and without a tree of values.
    fn both(text: &str) -> Document {
        let read = Document::parse(text.as_bytes(), is_special).unwrap();
        let object = parse_object(text.as_bytes()).unwrap();
        assert_eq!(read, Document::new(object, is_special), "{text}");
        read
    }

    #[test]
    fn bodies_are_what_a_tree_of_values_gives() {
        for text in [
            "{}",
            r#" { "a" : [ ] , "b" : { } , "_id" : "x" } "#,
            r#"{"bytes":[0,255,7],"no":[0,256],"no2":[1,-1],"no3":[1,[2],3],"no4":[1,1.0],"no5":[[],1]}"#,
            r#"{"_id":"a","_kept":[1,{"_id":2}],"n":null,"t":[true,false],"_rev":"1-a"}"#,
            r#"{"escaped\"\u00e9\n":"\ud83d\ude00\/\t","plain é":"\\"}"#,
            r#"{"i":[-0,0,1,-1,2147483647,-2147483649,9223372036854775807,-9223372036854775809]}"#,
            r#"{"f":[0.0,-0.0,1.0,1.50,0.000001,0.0000001,1e3,1E-9,123456789012345.5,12345678901234.5,1e21]}"#,
            r#"{"f":[100000000000000000000.0,0.1234567890123456,0.10,10.0,5e-324,-7.25,1.0e5,00.5]}"#
                .replace("00.5", "0.5").as_str(),
        ] {
            both(text);
        }
        let long: Vec<_> = (0..70_000)
            .map(|number| (number % 256).to_string())
            .collect();
        for count in [65_535, 65_536] {
            both(&format!(r#"{{"list":[{}]}}"#, long[..count].join(",")));
        }
    }

    #[test]
    fn of_repeated_names_the_last_member_stays() {
        let document = both(r#"{"a":1,"b":{"c":1,"d":2,"c":3},"a":-0.0,"_id":"x","_id":"y"}"#);
        assert_eq!(document.body.text(), br#"{"b":{"d":2,"c":3},"a":0.0}"#);
        assert_eq!(document.special, [("_id".to_owned(), "y".into())]);
        let many: Vec<_> = (0..40).map(|n| format!(r#""n{}":{n}"#, n % 39)).collect();
        let document = both(&format!("{{{}}}", many.join(",")));
        assert_eq!(document.body.to_object().unwrap().len(), 39);
        both(r#"{"a":{"a":{"a":1}},"b":{"a":1}}"#);
    }

    #[test]
    fn errors_are_those_of_reading_values() {
        for text in [
            "",
            "[",
            "{",
            "{1",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1,}"#,
            r#"{"a":[1,]}"#,
            r#"{"a":[1}"#,
            r#"{"a":01}"#,
            r#"{"a":-}"#,
            r#"{"a":1e999}"#,
            r#"{"a":nul}"#,
            r#"{"a":"\ud800"}"#,
            "{\"a\":\"\n\"}",
            r#"{"a":1} x"#,
            r#"{"a":{"b":1]}"#,
            "[]",
            "3",
            r#"{"_a":[}"#,
            r#"{"a":1,"a":}"#,
        ] {
            let wanted = parse_object(text.as_bytes()).unwrap_err();
            let found = Document::parse(text.as_bytes(), is_special).unwrap_err();
            assert_eq!(found, wanted, "{text}");
        }
        let deep = format!(r#"{{"a":{}1{}}}"#, "[".repeat(2499), "]".repeat(2499));
        assert_eq!(both(&deep).body.text(), deep.as_bytes());
        let deeper = format!(r#"{{"a":{}"#, "[".repeat(2500));
        let error = Document::parse(deeper.as_bytes(), is_special).unwrap_err();
        assert_eq!(error, JsonError::TooDeep { at: 2504 });
    }

    #[test]
    fn requests_are_read_in_any_order_of_their_members() {
        let read = |text: &str| super::super::Request::parse(text.as_bytes(), "docs", is_special);
        let request =
            read(r#" {"a":1,"docs":[{"_id":"x","b":[1]},7,{}],"new_edits":false} "#).unwrap();
        assert_eq!(request.rest.get("new_edits"), Some(&Value::Bool(false)));
        let documents = request.documents.unwrap();
        let first = documents[0].as_ref().unwrap();
        assert_eq!(first.body.text(), br#"{"b":[1]}"#);
        assert_eq!(
            first.body,
            Body::from(&parse_object(br#"{"b":[1]}"#).unwrap())
        );
        assert_eq!(documents[1], Err(Value::from(7_i64)));
        assert_eq!(
            documents[2].as_ref().unwrap().body,
            Body::from(&Object::new())
        );
        // The last member of a name counts.
        let request = read(r#"{"docs":[{}],"docs":5}"#).unwrap();
        assert!(request.documents.is_none() && request.rest.get("docs").is_some());
        let request = read(r#"{"docs":5,"docs":[]}"#).unwrap();
        assert!(request.documents.unwrap().is_empty() && request.rest.get("docs").is_none());
        assert_eq!(read("[1]").unwrap().rest, Value::Array(vec![1_i64.into()]));
        for text in [
            "{",
            r#"{"docs":[{]}"#,
            r#"{"docs":[{},]}"#,
            r#"{"docs":[]"#,
            r#"{"docs":[]} 1"#,
            "{}{",
        ] {
            let wanted = crate::parse(text.as_bytes()).unwrap_err();
            assert_eq!(read(text).unwrap_err(), wanted, "{text}");
        }
        let at = "{\"docs\":[{\"a\":".len() + 2497;
        let deep = format!("{{\"docs\":[{{\"a\":{}", "[".repeat(2498));
        assert_eq!(read(&deep).unwrap_err(), JsonError::TooDeep { at });
    }
}
